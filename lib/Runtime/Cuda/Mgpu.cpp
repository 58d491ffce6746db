//===- Mgpu.cpp - What upstream's GPU lowering calls ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry points that `gpu-to-llvm` and the translation of `gpu.binary` and
// `gpu.launch_func` to LLVM IR (MLIR 22.1) emit calls of, so that a module
// which anyone's pipeline lowered links with this runtime. Upstream's own print
// an error and carry on, or abort; these keep it for fastk_last_error(), and
// what works on the null handle that a failure returned does nothing. Code that
// fastk compiles calls fastk_call instead.
//
//===----------------------------------------------------------------------===//

#include "RuntimeContext.h"
#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

using namespace fastk;
using namespace fastk::runtime;
using namespace fastk::cuda;

/// Whether the call came through; otherwise its error is kept.
static bool keep(const std::string &error) {
  if (!error.empty())
    recordError(error);
  return error.empty();
}

/// The driver with a current context, or null with the error kept.
static const Driver *enter() {
  std::string error;
  CUcontext context = nullptr;
  const Driver *driver = runtime::enter(error, context);
  keep(error);
  return driver;
}

static CUdeviceptr address(const void *pointer) {
  return CUdeviceptr(reinterpret_cast<uintptr_t>(pointer));
}

namespace {
/// Functions of modules by name: upstream asks anew before each launch.
struct FunctionCache {
  std::mutex mutex;
  std::map<std::pair<CUmodule, std::string>, CUfunction> functions;
  /// Dynamic shared memory that a function was given beyond 48 KiB.
  std::map<CUfunction, int32_t> shared;

  static FunctionCache &get() {
    static FunctionCache *cache = new FunctionCache();
    return *cache;
  }
};
} // namespace

static CUmodule load(std::string_view image) {
  CUmodule module = nullptr;
  if (const Driver *driver = enter())
    keep(loadModule(*driver, image, module));
  return module;
}

static void launch(CUfunction function, Launch launch, CUstream stream,
                   int32_t shared, void **arguments) {
  const Driver *driver = function ? enter() : nullptr;
  if (!driver)
    return;
  // 48 KiB need no leave, but static shared memory is part of them.
  if (shared > 0) {
    FunctionCache &cache = FunctionCache::get();
    std::lock_guard<std::mutex> lock(cache.mutex);
    int32_t &most = cache.shared[function];
    if (shared > most) {
      if (!keep(setMaxDynamicShared(*driver, function, unsigned(shared))))
        return;
      most = shared;
    }
  }
  launch.dynamicSharedBytes = unsigned(shared);
  launch.stream = stream;
  keep(cuda::launch(*driver, function, launch, arguments));
}

static Dim3 dim(intptr_t x, intptr_t y, intptr_t z) {
  return {unsigned(x), unsigned(y), unsigned(z)};
}

/// What memref descriptors look like in memory.
namespace {
struct MemRefHead {
  void *allocated, *aligned;
  int64_t offset;
};
} // namespace

#pragma GCC visibility push(default)
extern "C" {

void *mgpuModuleLoad(void *data, size_t bytes) {
  return load({static_cast<const char *>(data), bytes});
}

void *mgpuModuleLoadJIT(void *ptx, int) {
  return load(static_cast<const char *>(ptx));
}

void mgpuModuleUnload(void *handle) {
  auto *module = static_cast<CUmodule>(handle);
  const Driver *driver = module ? enter() : nullptr;
  if (!driver)
    return;
  FunctionCache &cache = FunctionCache::get();
  std::lock_guard<std::mutex> lock(cache.mutex);
  for (auto at = cache.functions.begin(); at != cache.functions.end();) {
    bool isOurs = at->first.first == module;
    if (isOurs)
      cache.shared.erase(at->second);
    at = isOurs ? cache.functions.erase(at) : std::next(at);
  }
  // After main the driver may be gone: then nothing is left to unload.
  driver->cuModuleUnload(module);
}

void *mgpuModuleGetFunction(void *handle, const char *name) {
  auto *module = static_cast<CUmodule>(handle);
  const Driver *driver = module ? enter() : nullptr;
  if (!driver)
    return nullptr;
  FunctionCache &cache = FunctionCache::get();
  std::lock_guard<std::mutex> lock(cache.mutex);
  CUfunction &function = cache.functions[{module, name}];
  if (!function)
    keep(getFunction(*driver, module, name, function));
  return function;
}

void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t shared, void *stream,
                      void **arguments, void **, size_t) {
  Launch configuration;
  configuration.grid = dim(gridX, gridY, gridZ);
  configuration.block = dim(blockX, blockY, blockZ);
  launch(static_cast<CUfunction>(function), configuration,
         static_cast<CUstream>(stream), shared, arguments);
}

void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                             intptr_t clusterY, intptr_t clusterZ,
                             intptr_t gridX, intptr_t gridY, intptr_t gridZ,
                             intptr_t blockX, intptr_t blockY, intptr_t blockZ,
                             int32_t shared, void *stream, void **arguments,
                             void **) {
  Launch configuration;
  configuration.cluster = dim(clusterX, clusterY, clusterZ);
  configuration.grid = dim(gridX, gridY, gridZ);
  configuration.block = dim(blockX, blockY, blockZ);
  launch(static_cast<CUfunction>(function), configuration,
         static_cast<CUstream>(stream), shared, arguments);
}

/// A stream of its own is ordered with the default stream, unlike upstream's: a
/// caller who never asked for streams sees results in order.
void *mgpuStreamCreate() {
  CUstream stream = nullptr;
  if (const Driver *driver = enter())
    keep(driver->call(driver->cuStreamCreate, &stream,
                      unsigned(CU_STREAM_DEFAULT)));
  return stream;
}

void mgpuStreamDestroy(void *stream) {
  const Driver *driver = stream ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuStreamDestroy, static_cast<CUstream>(stream)));
}

void mgpuStreamSynchronize(void *stream) {
  if (const Driver *driver = enter())
    keep(driver->call(driver->cuStreamSynchronize,
                      static_cast<CUstream>(stream)));
}

void mgpuStreamWaitEvent(void *stream, void *event) {
  const Driver *driver = event ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuStreamWaitEvent, static_cast<CUstream>(stream),
                      static_cast<CUevent>(event), 0u));
}

void *mgpuEventCreate() {
  CUevent event = nullptr;
  if (const Driver *driver = enter())
    keep(driver->call(driver->cuEventCreate, &event,
                      unsigned(CU_EVENT_DISABLE_TIMING)));
  return event;
}

void mgpuEventDestroy(void *event) {
  const Driver *driver = event ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuEventDestroy, static_cast<CUevent>(event)));
}

void mgpuEventSynchronize(void *event) {
  const Driver *driver = event ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuEventSynchronize, static_cast<CUevent>(event)));
}

void mgpuEventRecord(void *event, void *stream) {
  const Driver *driver = event ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuEventRecord, static_cast<CUevent>(event),
                      static_cast<CUstream>(stream)));
}

void *mgpuMemAlloc(uint64_t bytes, void *, bool isHostShared) {
  CUdeviceptr memory = 0;
  const Driver *driver = bytes ? enter() : nullptr;
  if (driver && isHostShared)
    keep(driver->call(driver->cuMemAllocManaged, &memory, size_t(bytes),
                      unsigned(CU_MEM_ATTACH_GLOBAL)));
  else if (driver)
    keep(driver->call(driver->cuMemAlloc, &memory, size_t(bytes)));
  return reinterpret_cast<void *>(uintptr_t(memory));
}

void mgpuMemFree(void *memory, void *) {
  const Driver *driver = memory ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuMemFree, address(memory)));
}

void mgpuMemcpy(void *target, void *source, size_t bytes, void *stream) {
  const Driver *driver = bytes ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuMemcpyAsync, address(target), address(source),
                      bytes, static_cast<CUstream>(stream)));
}

void mgpuMemset32(void *target, unsigned value, size_t count, void *stream) {
  const Driver *driver = count ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuMemsetD32Async, address(target), value, count,
                      static_cast<CUstream>(stream)));
}

void mgpuMemset16(void *target, unsigned short value, size_t count,
                  void *stream) {
  const Driver *driver = count ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuMemsetD16Async, address(target), value, count,
                      static_cast<CUstream>(stream)));
}

void mgpuMemHostRegister(void *memory, uint64_t bytes) {
  const Driver *driver = bytes ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuMemHostRegister, memory, size_t(bytes), 0u));
}

void mgpuMemHostUnregister(void *memory) {
  const Driver *driver = memory ? enter() : nullptr;
  if (driver)
    keep(driver->call(driver->cuMemHostUnregister, memory));
}

/// The whole of a memref: its sizes and strides stand behind the head.
void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                               int64_t elementBytes) {
  auto *head = static_cast<MemRefHead *>(descriptor);
  auto *sizes = reinterpret_cast<int64_t *>(head + 1);
  int64_t elements = 1;
  for (int64_t i = 0; i < rank; ++i)
    elements *= sizes[i];
  mgpuMemHostRegister(static_cast<char *>(head->aligned) +
                          head->offset * elementBytes,
                      uint64_t(elements * elementBytes));
}

void mgpuMemHostUnregisterMemRef(int64_t, void *descriptor,
                                 int64_t elementBytes) {
  auto *head = static_cast<MemRefHead *>(descriptor);
  mgpuMemHostUnregister(static_cast<char *>(head->aligned) +
                        head->offset * elementBytes);
}

void mgpuSetDefaultDevice(int32_t device) { setDefaultDevice(device); }

/// A tensor map of a contiguous memref, outermost dimension first; returns it
/// in device memory, which lives as long as the context.
void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor, int type,
                                     int interleave, int swizzle, int promotion,
                                     int fill, int64_t *boxSizes) {
  const Driver *driver = enter();
  if (!driver)
    return nullptr;
  if (rank < 1 || rank > 5) {
    recordError("a tensor map has 1 to 5 dimensions, not " +
                std::to_string(rank));
    return nullptr;
  }
  static constexpr cuuint64_t elementBytes[] = {1, 2, 4, 4, 8, 8, 2,
                                                4, 8, 2, 4, 4, 4};
  if (type < 0 || type >= int(std::size(elementBytes))) {
    recordError("unknown element type " + std::to_string(type) +
                " of a tensor map");
    return nullptr;
  }
  auto *head = static_cast<MemRefHead *>(descriptor);
  auto *sizes = reinterpret_cast<int64_t *>(head + 1);
  int64_t *strides = sizes + rank;
  std::vector<cuuint64_t> dims, bytes;
  std::vector<cuuint32_t> box, steps(size_t(rank), 1);
  for (int64_t i = rank - 1; i >= 0; --i) {
    dims.push_back(cuuint64_t(sizes[i]));
    box.push_back(cuuint32_t(boxSizes[i]));
    if (i < rank - 1)
      bytes.push_back(cuuint64_t(strides[i]) * elementBytes[type]);
  }
  bytes.resize(std::max<size_t>(bytes.size(), 1));
  char *base = static_cast<char *>(head->aligned) +
               head->offset * int64_t(elementBytes[type]);
  CUtensorMap map;
  CUdeviceptr memory = 0;
  if (!keep(driver->call(
          driver->cuTensorMapEncodeTiled, &map, CUtensorMapDataType(type),
          cuuint32_t(rank), static_cast<void *>(base),
          const_cast<const cuuint64_t *>(dims.data()),
          const_cast<const cuuint64_t *>(bytes.data()),
          const_cast<const cuuint32_t *>(box.data()),
          const_cast<const cuuint32_t *>(steps.data()),
          CUtensorMapInterleave(interleave), CUtensorMapSwizzle(swizzle),
          CUtensorMapL2promotion(promotion), CUtensorMapFloatOOBfill(fill))) ||
      !keep(driver->call(driver->cuMemAlloc, &memory, sizeof(map))) ||
      !keep(driver->call(driver->cuMemcpyHtoD, CUdeviceptr(memory),
                         static_cast<const void *>(&map), sizeof(map))))
    return nullptr;
  return reinterpret_cast<void *>(uintptr_t(memory));
}

} // extern "C"
#pragma GCC visibility pop
