//===- LauncherParts.cpp - The parts of a launcher that are fixed ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LauncherParts.h"

using namespace fastk;
using llvm::StringLiteral;

const char parts::kKernels[] = R"text(
namespace {{

constexpr int kKernels = {0};
// Dynamic shared memory in bytes, the most that a launch of each asks for.
constexpr int kSharedBytes[kKernels] = {1};
// How the runtime knows each kernel on the current device; null with `problem`
// set where it does not.
const void *kernelAt(int index);

// What went wrong last in this thread.
thread_local char problem[256];

bool check(cudaError_t code, const char *what) {{
  if (code == cudaSuccess)
    return true;
  std::snprintf(problem, sizeof problem, "%s: %s (%s)", what,
                cudaGetErrorString(code), cudaGetErrorName(code));
  return false;
}

[[maybe_unused]] void *address(void *buffer, long long offset) {{
  return static_cast<char *>(buffer) + offset;
}

template <typename Number, typename Bits>
[[maybe_unused]] Number numberOf(Bits bits) {{
  static_assert(sizeof(Number) == sizeof(Bits), "the same bits");
  Number number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
)text";

const StringLiteral parts::kDriver = R"text(
// A function of the driver: there is no library to link for it.
template <typename Function> bool find(Function &function, const char *name) {
  static void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  function = driver ? reinterpret_cast<Function>(dlsym(driver, name)) : nullptr;
  if (!function)
    std::snprintf(problem, sizeof problem,
                  "the NVIDIA driver here has no %s: install driver 525 or later",
                  name);
  return function != nullptr;
}
)text";

const StringLiteral parts::kTensorMaps = R"text(
bool encodeTiled(CUtensorMap &map, CUtensorMapDataType type, void *start,
                 std::initializer_list<cuuint64_t> dims,
                 std::initializer_list<cuuint64_t> strides,
                 std::initializer_list<cuuint32_t> box,
                 std::initializer_list<cuuint32_t> steps,
                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  static decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  if (!encode && !find(encode, "cuTensorMapEncodeTiled"))
    return false;
  const cuuint64_t none = 0;
  CUresult code = encode(&map, type, cuuint32_t(dims.size()), start, dims.begin(),
                         strides.size() ? strides.begin() : &none, box.begin(),
                         steps.begin(), interleave, swizzle, promotion, fill);
  if (code != CUDA_SUCCESS)
    std::snprintf(problem, sizeof problem,
                  "cuTensorMapEncodeTiled: error %d; tensors must begin at "
                  "multiples of 16 bytes",
                  int(code));
  return code == CUDA_SUCCESS;
}
)text";

const StringLiteral parts::kCudaKernel = R"text(
extern const void *const symbols[kKernels];
const void *kernelAt(int index) { return symbols[index]; }
)text";

const StringLiteral parts::kPTXKernel = R"text(
extern const char code[];
extern const char *const names[kKernels];

// The driver compiles the PTX at the first call, for every device alike.
const void *kernelAt(int index) {
  static std::atomic<CUlibrary> loaded{nullptr};
  static decltype(&cuLibraryLoadData) load = nullptr;
  static decltype(&cuLibraryGetKernel) get = nullptr;
  if (!find(load, "cuLibraryLoadData") || !find(get, "cuLibraryGetKernel"))
    return nullptr;
  CUlibrary library = loaded;
  CUresult error = CUDA_SUCCESS;
  if (!library) {
    error = load(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (error == CUDA_SUCCESS)
      loaded = library;
  }
  CUkernel kernel = nullptr;
  if (error == CUDA_SUCCESS)
    error = get(&kernel, library, names[index]);
  if (error != CUDA_SUCCESS)
    std::snprintf(problem, sizeof problem, "kernel %s: the driver's error %d",
                  names[index], int(error));
  return kernel;
}
)text";

const StringLiteral parts::kLaunch = R"text(
[[maybe_unused]] bool fill(void *start, int value, size_t bytes, cudaStream_t stream) {
  return check(cudaMemsetAsync(start, value, bytes, stream), "cudaMemsetAsync");
}

// More than 48 KB of shared memory, static one among it, has to be asked for, once
// for each device.
bool prepare(int index, const void *kernel) {
  static std::atomic<unsigned long long> prepared[kKernels];
  int device = 0;
  if (!check(cudaGetDevice(&device), "cudaGetDevice"))
    return false;
  unsigned long long bit = device < 64 ? 1ull << device : 0;
  if (kSharedBytes[index] == 0 || (prepared[index] & bit))
    return true;
  if (!check(cudaFuncSetAttribute(kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  kSharedBytes[index]),
             "the kernel's shared memory on this device"))
    return false;
  prepared[index] |= bit;
  return true;
}

template <typename... Arguments>
bool launch(int index, dim3 grid, dim3 block, dim3 cluster, unsigned sharedBytes,
            bool cooperative, bool overlapsPrevious, cudaStream_t stream,
            Arguments... arguments) {
  const void *kernel = kernelAt(index);
  if (!kernel || !prepare(index, kernel))
    return false;
  cudaLaunchAttribute attributes[3] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = sharedBytes;
  config.stream = stream;
  config.attrs = attributes;
  if (cluster.x * cluster.y * cluster.z != 1) {
    cudaLaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
  }
  if (cooperative) {
    cudaLaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  if (overlapsPrevious) {
    cudaLaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  // The last is for kernels without arguments.
  void *pointers[] = {&arguments..., nullptr};
  return check(cudaLaunchKernelExC(&config, kernel, pointers), "launch");
}
)text";

const char parts::kEnqueue[] = R"text(
} // namespace

// Bytes of scratch memory that a call needs; they begin at a multiple of 256.
extern "C" size_t fastk_{0}_workspace_bytes() {{ return {1}; }

// Enqueues one call on a stream of the current device. The arrays hold device
// pointers in the order that the head of this file gives; tensors are contiguous.
// Returns null, or what is wrong: a text that lasts until this thread's next call.
extern "C" const char *fastk_{0}(void *const *inputs, void *const *outputs,
                                 void *workspace, cudaStream_t stream) {{
  static_cast<void>(inputs), static_cast<void>(workspace);
{2}  return nullptr;
}
)text";

const char parts::kPTXCode[] = R"text(
namespace {{

// Device code as PTX, made by fastk's compiler.
const char code[] ={0};
const char *const names[kKernels] = {{{1}};

} // namespace
)text";

const char parts::kPreludeBegin[] = R"text(
// nvcc reads the code below for the host, too, without making any of it. There
// it has to see the same: what the prelude and the program have depends on this.
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ {0}
{1}#define FASTK_FOR_HOST
#endif

namespace fastk_device {{

// ------------------------------------------------------------------------------
// The prelude: what fastk's device code has without including anything.
// ------------------------------------------------------------------------------
)text";

const StringLiteral parts::kProgramBegin = R"text(
// ------------------------------------------------------------------------------
// The program, as it is in the bank. Its entries get names that no library has.
// ------------------------------------------------------------------------------
)text";

const char parts::kProgramEnd[] = R"text(
} // namespace fastk_device

#ifdef FASTK_FOR_HOST
#undef __CUDA_ARCH__
{1}#endif

namespace {{
const void *const symbols[kKernels] = {{{0}};
} // namespace
)text";
