//===- DriverTest.cpp - The driver, with and without one ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Driver.h"
#include "CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/QueryDevice.h"
#include <cstring>

using namespace fastk;
using namespace fastk::cuda;

namespace {

TEST(Driver, AMissingLibraryIsOneSentence) {
  Driver driver;
  std::string error;
  EXPECT_FALSE(Driver::load("libcuda-nowhere.so.1", driver, error));
  EXPECT_EQ(error.find("no NVIDIA driver: libcuda-nowhere.so.1 was not found; "
                       "install the driver"),
            0u)
      << error;
  EXPECT_NE(error.find("--target=cuda:sm_90a"), std::string::npos);
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(Driver, AnotherLibraryIsRefused) {
  Driver driver;
  std::string error;
  EXPECT_FALSE(Driver::load("libm.so.6", driver, error));
  EXPECT_NE(error.find("too old: libm.so.6 has no cuInit"), std::string::npos)
      << error;
}

TEST(Driver, ErrorsNameTheCallAndTheRemedy) {
  Driver driver; // Without a library names are missing, remedies are not.
  EXPECT_EQ(driver.describe(CUDA_SUCCESS, "cuInit"), "");
  EXPECT_EQ(driver.describe(CUDA_ERROR_ILLEGAL_ADDRESS, "cuStreamSynchronize"),
            "cuStreamSynchronize failed: error 700; a kernel accessed memory "
            "out of bounds; compute-sanitizer shows where");
}

TEST(Driver, StickyErrors) {
  EXPECT_TRUE(isStickyError(CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_TRUE(isStickyError(CUDA_ERROR_LAUNCH_FAILED));
  EXPECT_FALSE(isStickyError(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_FALSE(isStickyError(CUDA_ERROR_NOT_READY));
  EXPECT_FALSE(isStickyError(CUDA_SUCCESS));
}

TEST(QueryDevice, WithoutADriverTheReasonIsTheDrivers) {
  std::string error;
  DeviceDescription device;
  if (!Driver::get(error)) {
    EXPECT_EQ(queryCudaDevice(device), error);
    EXPECT_FALSE(error.empty());
    EXPECT_TRUE(device.model.empty());
  } else {
    EXPECT_EQ(queryCudaDevice(device), "");
    EXPECT_GT(device.multiprocessors, 0u);
    EXPECT_GE(device.sharedBytesPerBlockOptIn, 99 << 10);
    EXPECT_GT(device.peak.memory, 1e11);
    EXPECT_NE(queryCudaDevice(device, 1000), "");
    if (std::optional<DeviceDescription> known = describeDevice(device.arch);
        known && known->model == device.model) {
      EXPECT_EQ(device.multiprocessors, known->multiprocessors);
      EXPECT_LE(device.l2Bytes, known->l2Bytes);
      EXPECT_EQ(device.sharedBytesPerBlockOptIn,
                known->sharedBytesPerBlockOptIn);
      EXPECT_EQ(device.sharedBytesPerMultiprocessor,
                known->sharedBytesPerMultiprocessor);
      EXPECT_EQ(device.clockHz, known->clockHz);
    }
  }
}

/// A context on device 0, gone at the end.
struct Gpu {
  Gpu() : driver(*Driver::get(error)) {
    CUdevice device = 0;
    EXPECT_EQ(driver.call(driver.cuDeviceGet, &device, 0), "");
    EXPECT_EQ(driver.call(driver.cuDevicePrimaryCtxRetain, &context, device),
              "");
    EXPECT_EQ(driver.call(driver.cuCtxSetCurrent, context), "");
    int major = 0, minor = 0;
    driver.cuDeviceGetAttribute(
        &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.cuDeviceGetAttribute(
        &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    arch = "sm_" + std::to_string(major) + std::to_string(minor);
    if (major == 9)
      arch += "a";
    isHopper = major >= 9;
  }
  ~Gpu() { driver.cuDevicePrimaryCtxRelease(0); }
  /// Compiles and loads; the kernel is called "k".
  CUfunction kernel(const std::string &source, bool ptx = false) {
    CompileRequest request;
    request.source = source;
    request.arch = arch;
    CompileResult result = compileInChild(request);
    EXPECT_TRUE(result.ok()) << result.error;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(loadModule(driver, ptx ? result.ptx : result.cubin, module), "");
    EXPECT_EQ(getFunction(driver, module, "k", function), "");
    return function;
  }
  std::string error;
  const Driver &driver;
  CUcontext context = nullptr;
  std::string arch;
  bool isHopper = false;
};

GPU_TEST(DriverGpu, CubinAndPtxRun) {
  Gpu gpu;
  const Driver &driver = gpu.driver;
  for (bool ptx : {false, true}) {
    CUfunction k = gpu.kernel("extern \"C\" __global__ void k(u32 *x, u32 n) {"
                              " u32 i = blockIdx.x * blockDim.x + threadIdx.x;"
                              " if (i < n) x[i] = 3 * i; }",
                              ptx);
    FunctionAttributes attributes;
    EXPECT_EQ(getAttributes(driver, k, attributes), "");
    EXPECT_GT(attributes.registers, 0);
    CUdeviceptr memory = 0;
    unsigned count = 1000, host[1001];
    EXPECT_EQ(driver.call(driver.cuMemAlloc, &memory, sizeof(host)), "");
    EXPECT_EQ(driver.call(driver.cuMemsetD32, memory, 7u, size_t(1001)), "");
    void *arguments[] = {&memory, &count};
    Launch config;
    config.grid.x = 4;
    config.block.x = 256;
    EXPECT_EQ(launch(driver, k, config, arguments), "");
    EXPECT_EQ(driver.call(driver.cuCtxSynchronize), "");
    EXPECT_EQ(driver.call(driver.cuMemcpyDtoH, host, memory, sizeof(host)), "");
    for (unsigned i = 0; i < count; ++i)
      ASSERT_EQ(host[i], 3 * i);
    EXPECT_EQ(host[1000], 7u);
    EXPECT_EQ(driver.call(driver.cuMemFree, memory), "");
  }
}

GPU_TEST(DriverGpu, LimitsAreErrorsWithRemedies) {
  Gpu gpu;
  CUfunction k = gpu.kernel("extern \"C\" __global__ void k() {}");
  Launch config;
  config.block.x = 2048;
  std::string error = launch(gpu.driver, k, config, nullptr);
  EXPECT_NE(error.find("cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE"),
            std::string::npos)
      << error;
  CUmodule module = nullptr;
  EXPECT_NE(
      loadModule(gpu.driver, ".version 8.0\n.target sm_80\nnonsense;", module),
      "");
  CUdeviceptr memory = 0;
  EXPECT_NE(gpu.driver.call(gpu.driver.cuMemAlloc, &memory, size_t(1) << 50)
                .find("CUDA_ERROR_OUT_OF_MEMORY"),
            std::string::npos);
}

GPU_TEST(DriverGpu, StreamsEventsAndGraphs) {
  Gpu gpu;
  const Driver &driver = gpu.driver;
  CUfunction k = gpu.kernel(
      "extern \"C\" __global__ void k(u32 *x) { x[threadIdx.x] += 1; }");
  CUstream stream = nullptr;
  CUevent begin = nullptr, end = nullptr;
  EXPECT_EQ(driver.call(driver.cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING),
            "");
  EXPECT_EQ(driver.call(driver.cuEventCreate, &begin, CU_EVENT_DEFAULT), "");
  EXPECT_EQ(driver.call(driver.cuEventCreate, &end, CU_EVENT_DEFAULT), "");
  CUdeviceptr memory = 0;
  EXPECT_EQ(driver.call(driver.cuMemAlloc, &memory, size_t(128)), "");
  EXPECT_EQ(driver.call(driver.cuMemsetD8Async, memory, (unsigned char)0,
                        size_t(128), stream),
            "");
  void *arguments[] = {&memory};
  Launch config;
  config.block.x = 32;
  config.stream = stream;
  EXPECT_EQ(driver.call(driver.cuStreamBeginCapture, stream,
                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            "");
  EXPECT_EQ(launch(driver, k, config, arguments), "");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver.call(driver.cuStreamEndCapture, stream, &graph), "");
  EXPECT_EQ(driver.call(driver.cuGraphInstantiate, &exec, graph, 0ull), "");
  EXPECT_EQ(driver.call(driver.cuEventRecord, begin, stream), "");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(driver.call(driver.cuGraphLaunch, exec, stream), "");
  EXPECT_EQ(driver.call(driver.cuEventRecord, end, stream), "");
  EXPECT_EQ(driver.call(driver.cuStreamSynchronize, stream), "");
  float milliseconds = -1;
  EXPECT_EQ(driver.call(driver.cuEventElapsedTime, &milliseconds, begin, end),
            "");
  EXPECT_GT(milliseconds, 0);
  void *pinned = nullptr;
  EXPECT_EQ(driver.call(driver.cuMemHostAlloc, &pinned, size_t(128), 0u), "");
  EXPECT_EQ(driver.call(driver.cuMemcpyDtoHAsync, pinned, memory, size_t(128),
                        stream),
            "");
  EXPECT_EQ(driver.call(driver.cuStreamSynchronize, stream), "");
  for (int i = 0; i < 32; ++i)
    ASSERT_EQ(static_cast<unsigned *>(pinned)[i], 5u);
  driver.cuMemFreeHost(pinned);
  driver.cuMemFree(memory);
  driver.cuGraphExecDestroy(exec);
  driver.cuGraphDestroy(graph);
  driver.cuEventDestroy(begin);
  driver.cuEventDestroy(end);
  driver.cuStreamDestroy(stream);
}

GPU_TEST(DriverGpu, ClustersTensorMapsAndTma) {
  Gpu gpu;
  if (!gpu.isHopper)
    return; // Clusters and TMA begin with sm_90.
  const Driver &driver = gpu.driver;
  // Two blocks a cluster; each loads a 16 x 32 box and stores it transposed.
  CUfunction k = gpu.kernel(R"(
extern "C" __global__ void k(const __grid_constant__ CUtensorMap map, float *y) {
  extern __shared__ __align__(1024) float tile[];
  __shared__ u64 bar;
  if (threadIdx.x == 0) { mbarInit(&bar, 1); mbarInitFence(); }
  __syncthreads();
  clusterSync();
  if (threadIdx.x == 0) {
    mbarExpectTx(&bar, 16 * 32 * 4);
    tmaLoad2D(tile, &map, &bar, 0, 16 * ctaRank());
  }
  mbarWait(&bar, 0);
  for (int i = 0; i < 16; ++i)
    y[threadIdx.x * 32 + 16 * ctaRank() + i] = tile[i * 32 + threadIdx.x];
  clusterSync();
})");
  float host[1024], back[1024];
  for (int i = 0; i < 1024; ++i)
    host[i] = float(i);
  CUdeviceptr x = 0, y = 0;
  EXPECT_EQ(driver.call(driver.cuMemAlloc, &x, sizeof(host)), "");
  EXPECT_EQ(driver.call(driver.cuMemAlloc, &y, sizeof(host)), "");
  EXPECT_EQ(driver.call(driver.cuMemcpyHtoD, x, host, sizeof(host)), "");
  CUtensorMap map;
  cuuint64_t dims[] = {32, 32}, strides[] = {128};
  cuuint32_t box[] = {32, 16}, steps[] = {1, 1};
  EXPECT_EQ(
      driver.call(
          driver.cuTensorMapEncodeTiled, &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
          2u, reinterpret_cast<void *>(x), dims, strides, box, steps,
          CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
          CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "");
  EXPECT_EQ(setMaxDynamicShared(driver, k, 100000), "");
  Launch config;
  config.grid.x = config.cluster.x = 2;
  config.block.x = 32;
  config.dynamicSharedBytes = 100000;
  config.programmaticStreamSerialization = true;
  int clusters = 0;
  EXPECT_EQ(maxActiveClusters(driver, k, config, clusters), "");
  EXPECT_GT(clusters, 0);
  void *arguments[] = {&map, &y};
  EXPECT_EQ(launch(driver, k, config, arguments), "");
  EXPECT_EQ(driver.call(driver.cuCtxSynchronize), "");
  EXPECT_EQ(driver.call(driver.cuMemcpyDtoH, back, y, sizeof(back)), "");
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j)
      ASSERT_EQ(back[j * 32 + i], host[i * 32 + j]);
  driver.cuMemFree(x);
  driver.cuMemFree(y);
}

} // namespace
