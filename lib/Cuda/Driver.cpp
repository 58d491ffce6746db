//===- Driver.cpp - The CUDA driver, loaded at run time -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Driver.h"
#include <cstdint>
#include <dlfcn.h>

using namespace fastk::cuda;

/// What a user can do about an error; empty where the meaning says it all.
static const char *remedy(CUresult result) {
  switch (result) {
  case CUDA_ERROR_INVALID_VALUE:
    return "an argument is out of range: check block size, shared memory and "
           "alignment against the device's limits";
  case CUDA_ERROR_OUT_OF_MEMORY:
    return "free device memory (nvidia-smi shows who holds it) or use smaller "
           "shapes";
  case CUDA_ERROR_STUB_LIBRARY:
    return "the loaded libcuda is the toolkit's stub: remove its folder from "
           "LD_LIBRARY_PATH so that the driver's own is found";
  case CUDA_ERROR_NO_DEVICE:
    return "no GPU is visible to this process: check nvidia-smi and "
           "CUDA_VISIBLE_DEVICES";
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
    return "another process holds the GPU in exclusive mode: wait for it to "
           "end";
  case CUDA_ERROR_INVALID_DEVICE:
    return "name one of the devices that nvidia-smi lists";
  case CUDA_ERROR_INVALID_CONTEXT:
    return "no context is current on this thread";
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    return "the code was compiled for another GPU: compile it for this one "
           "with --target=cuda";
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return "the PTX is newer than the driver: update the driver, or compile "
           "with an older NVRTC";
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    return "the driver has no PTX compiler (libnvidia-ptxjitcompiler): load a "
           "cubin instead";
  case CUDA_ERROR_NOT_FOUND:
    return "no such symbol: kernels must be extern \"C\" and named as in the "
           "plan";
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    return "a kernel accessed memory out of bounds; compute-sanitizer shows "
           "where";
  case CUDA_ERROR_MISALIGNED_ADDRESS:
    return "a kernel made a vector access that is not aligned to its size";
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    return "block size times registers exceeds the SM: use fewer threads or "
           "__launch_bounds__";
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    return "the kernel ran longer than the display driver allows";
  case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    return "a cooperative grid must be resident at once: launch fewer blocks";
  case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    return "clusters of more than 8 blocks need the non-portable attribute, "
           "and the grid must be a multiple of the cluster";
  case CUDA_ERROR_SYSTEM_NOT_READY:
    return "start the fabric manager (nvidia-fabricmanager), or wait for it";
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return "libcuda and the kernel module differ in version: reboot, or "
           "reload the module";
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    return "this GPU does not support forward compatibility: update the "
           "driver";
  case CUDA_ERROR_NOT_SUPPORTED:
    return "this device or driver cannot do it";
  case CUDA_ERROR_ECC_UNCORRECTABLE:
    return "the GPU's memory is failing";
  default:
    return "";
  }
}

bool fastk::cuda::isStickyError(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default:
    return false;
  }
}

std::string Driver::describe(CUresult result, const char *function) const {
  if (result == CUDA_SUCCESS)
    return "";
  const char *name = nullptr, *meaning = nullptr;
  if (cuGetErrorName.pointer)
    cuGetErrorName(result, &name);
  if (cuGetErrorString.pointer)
    cuGetErrorString(result, &meaning);
  std::string text =
      std::string(function) + " failed: " +
      (name ? std::string(name) : "error " + std::to_string(int(result)));
  if (meaning)
    text += std::string(" (") + meaning + ")";
  if (const char *what = remedy(result); *what)
    text += std::string("; ") + what;
  return text;
}

template <typename... Args>
static bool resolve(void *library, const char *symbol,
                    DriverFunction<Args...> &function) {
  function.pointer =
      reinterpret_cast<typename DriverFunction<Args...>::Pointer>(
          dlsym(library, symbol));
  return function.pointer;
}

bool Driver::load(const std::string &path, Driver &driver, std::string &error) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    error = "no NVIDIA driver: " + path +
            " was not found; install the driver " +
            "(525 or later) on a machine with an NVIDIA GPU, or compile for " +
            "one with --target=cuda:sm_90a (" +
            (why ? why : "the loader gave no reason") + ")";
    return false;
  }
  const char *missing = nullptr;
#define FASTK_DRIVER_FUNCTION(NAME, SYMBOL, ...)                               \
  if (!resolve(library, SYMBOL, driver.NAME) && !missing)                      \
    missing = SYMBOL;
#define FASTK_DRIVER_OPTIONAL(NAME, SYMBOL, ...)                               \
  resolve(library, SYMBOL, driver.NAME);
#include "fastk/Cuda/DriverFunctions.def"
  if (missing) {
    error = "the NVIDIA driver is too old: " + path + " has no " + missing +
            "; install driver 525 or later";
    return false;
  }
  if (CUresult result = driver.cuInit(0); result != CUDA_SUCCESS) {
    error = driver.describe(result, "cuInit");
    return false;
  }
  driver.cuDriverGetVersion(&driver.cudaVersion);
  int count = 0;
  error = driver.call(driver.cuDeviceGetCount, &count);
  if (error.empty() && count == 0)
    error = driver.describe(CUDA_ERROR_NO_DEVICE, "cuDeviceGetCount");
  return error.empty();
}

const Driver *Driver::get(std::string &error) {
  struct State {
    Driver driver;
    std::string error;
    bool loaded = load("libcuda.so.1", driver, error);
  };
  static State state;
  error = state.error;
  return state.loaded ? &state.driver : nullptr;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
/// The driver's messages while it loads code. Sizes travel inside the pointer.
class LoadLog {
public:
  LoadLog() : info(16384, '\0'), errors(16384, '\0') {
    values[0] = info.data();
    values[1] = reinterpret_cast<void *>(uintptr_t(info.size()));
    values[2] = errors.data();
    values[3] = reinterpret_cast<void *>(uintptr_t(errors.size()));
  }
  CUjit_option options[4] = {
      CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
      CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[4];

  std::string finish(std::string error, std::string *log) {
    errors.resize(errors.find('\0') == errors.npos ? errors.size()
                                                   : errors.find('\0'));
    info.resize(info.find('\0') == info.npos ? info.size() : info.find('\0'));
    if (!error.empty() && !errors.empty())
      error += ":\n" + errors;
    if (log)
      *log = info + errors;
    return error;
  }

private:
  std::string info, errors;
};
} // namespace

std::string fastk::cuda::loadModule(const Driver &driver,
                                    std::string_view image, CUmodule &module,
                                    std::string *log) {
  std::string text(image); // PTX ends at its null character.
  LoadLog messages;
  return messages.finish(driver.call(driver.cuModuleLoadDataEx, &module,
                                     text.c_str(), 4u, messages.options,
                                     messages.values),
                         log);
}

std::string fastk::cuda::linkPTX(const Driver &driver, std::string_view ptx,
                                 std::string &cubin) {
  std::string text(ptx);
  LoadLog messages;
  CUlinkState state = nullptr;
  std::string error = driver.call(driver.cuLinkCreate, 4u, messages.options,
                                  messages.values, &state);
  if (!error.empty())
    return error;
  // The null character behind it counts.
  error = driver.call(driver.cuLinkAddData, state, CU_JIT_INPUT_PTX,
                      static_cast<void *>(text.data()), text.size() + 1,
                      static_cast<const char *>("kernel.ptx"), 0u,
                      static_cast<CUjit_option *>(nullptr),
                      static_cast<void **>(nullptr));
  void *code = nullptr;
  size_t bytes = 0;
  if (error.empty())
    error = driver.call(driver.cuLinkComplete, state, &code, &bytes);
  if (error.empty())
    cubin.assign(static_cast<const char *>(code), bytes);
  driver.cuLinkDestroy(state);
  return messages.finish(error, nullptr);
}

std::string fastk::cuda::getFunction(const Driver &driver, CUmodule module,
                                     const char *name, CUfunction &function) {
  std::string error =
      driver.call(driver.cuModuleGetFunction, &function, module, name);
  return error.empty() ? error : "kernel '" + std::string(name) + "': " + error;
}

std::string fastk::cuda::getAttributes(const Driver &driver,
                                       CUfunction function,
                                       FunctionAttributes &attributes) {
  const std::pair<CUfunction_attribute, int *> wanted[] = {
      {CU_FUNC_ATTRIBUTE_NUM_REGS, &attributes.registers},
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attributes.maxThreadsPerBlock},
      {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &attributes.staticSharedBytes},
      {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &attributes.localBytes},
      {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &attributes.constantBytes},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attributes.binaryVersion}};
  for (auto [attribute, value] : wanted)
    if (std::string error =
            driver.call(driver.cuFuncGetAttribute, value, attribute, function);
        !error.empty())
      return error;
  return "";
}

std::string
fastk::cuda::getParameters(const Driver &driver, CUfunction function,
                           std::optional<std::vector<uint64_t>> &sizes) {
  sizes.reset();
  if (!driver.cuFuncGetParamInfo.pointer)
    return "";
  // More than the bytes of all parameters that any device takes.
  constexpr size_t most = 32768;
  std::vector<uint64_t> found;
  while (found.size() < most) {
    size_t offset = 0, bytes = 0;
    CUresult result =
        driver.cuFuncGetParamInfo(function, found.size(), &offset, &bytes);
    // Behind the last one.
    if (result == CUDA_ERROR_INVALID_VALUE)
      break;
    if (result != CUDA_SUCCESS)
      return driver.describe(result, driver.cuFuncGetParamInfo.name);
    found.push_back(bytes);
  }
  sizes = std::move(found);
  return "";
}

std::string fastk::cuda::setMaxDynamicShared(const Driver &driver,
                                             CUfunction function,
                                             unsigned bytes) {
  return driver.call(driver.cuFuncSetAttribute, function,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     int(bytes));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// A launch as the driver takes it; points into itself.
struct Configuration {
  explicit Configuration(const Launch &launch) {
    config.gridDimX = launch.grid.x;
    config.gridDimY = launch.grid.y;
    config.gridDimZ = launch.grid.z;
    config.blockDimX = launch.block.x;
    config.blockDimY = launch.block.y;
    config.blockDimZ = launch.block.z;
    config.sharedMemBytes = launch.dynamicSharedBytes;
    config.hStream = launch.stream;
    config.attrs = attributes;
    const Dim3 &cluster = launch.cluster;
    if (cluster.x * cluster.y * cluster.z != 1)
      add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {
          cluster.x, cluster.y, cluster.z};
    if (launch.cooperative)
      add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
    if (launch.programmaticStreamSerialization)
      add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
          .programmaticStreamSerializationAllowed = 1;
  }
  Configuration(const Configuration &) = delete;

  CUlaunchConfig config = {};

private:
  CUlaunchAttributeValue &add(CUlaunchAttributeID id) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = id;
    return attribute.value;
  }
  CUlaunchAttribute attributes[3] = {};
};
} // namespace

std::string fastk::cuda::launch(const Driver &driver, CUfunction function,
                                const Launch &launch, void **arguments) {
  Configuration configuration(launch);
  return driver.call(driver.cuLaunchKernelEx, &configuration.config, function,
                     arguments, nullptr);
}

std::string fastk::cuda::maxActiveClusters(const Driver &driver,
                                           CUfunction function,
                                           const Launch &launch,
                                           int &clusters) {
  Configuration configuration(launch);
  return driver.call(driver.cuOccupancyMaxActiveClusters, &clusters, function,
                     &configuration.config);
}
