//===- ModuleWatchTest.cpp - Does a program change its module? ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a driver of a few functions, whose device memory is the host's.
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/ModuleWatch.h"
#include "CudaTest.h"
#include "FakeDriver.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/LoadedProgram.h"
#include <cstring>

using namespace fastk;
using namespace fastk::cuda;

namespace {

/// What the functions below find; there is one test at a time.
struct FakeDevice {
  Cubin cubin;
  /// By the name of the section.
  std::map<std::string, std::string> memory;
  /// Symbols that the driver does not find.
  std::string hidden;
  std::vector<size_t> parameters;

  CUdeviceptr addressOf(const ModuleData &data) {
    return CUdeviceptr(uintptr_t(memory[data.section].data()));
  }
} *device;

CUresult getGlobal(CUdeviceptr *address, size_t *bytes, CUmodule,
                   const char *name) {
  for (const ModuleData &data : device->cubin.data)
    for (const ModuleData::Symbol &symbol : data.symbols)
      if (symbol.name == name && symbol.name != device->hidden) {
        *address = device->addressOf(data) + CUdeviceptr(symbol.offset);
        *bytes = symbol.bytes;
        return CUDA_SUCCESS;
      }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult copyToHost(void *to, CUdeviceptr from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void *>(uintptr_t(from)), bytes);
  return CUDA_SUCCESS;
}

CUresult paramInfo(CUfunction, size_t index, size_t *offset, size_t *bytes) {
  if (index >= device->parameters.size())
    return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *bytes = device->parameters[index];
  return CUDA_SUCCESS;
}

CUresult functionOf(CUfunction *function, CUmodule, const char *) {
  *function = reinterpret_cast<CUfunction>(16);
  return CUDA_SUCCESS;
}

Driver fakeDriver() {
  Driver driver;
  driver.cuModuleGetGlobal.pointer = getGlobal;
  driver.cuMemcpyDtoH.pointer = copyToHost;
  driver.cuFuncGetParamInfo.pointer = paramInfo;
  loadAnything(driver);
  driver.cuModuleGetFunction.pointer = functionOf;
  return driver;
}

/// A program with a table and a constant, loaded by the driver above.
class Loaded {
public:
  Loaded() : driver(fakeDriver()) {
    device = &fake;
    CompileRequest request;
    request.source = R"(
__device__ const float table[4] = {1, 2, 3, 4};
__device__ const float more[4] = {1, 2, 3, 4};
__constant__ float constants[8];
extern "C" __global__ void k(int *x, float *y) {
  y[0] = table[x[0]] + more[x[1]] + constants[x[2]];
})";
    CompileResult result = compileInChild(request);
    EXPECT_TRUE(result.ok()) << result.error;
    code = result.cubin;
    EXPECT_EQ(readCubin(code, fake.cubin), "");
    for (const ModuleData &data : fake.cubin.data)
      fake.memory[data.section] = std::string(data.bytes, 'x');
  }
  ~Loaded() { device = nullptr; }

  FakeDevice fake;
  Driver driver;
  std::string code;
};

NVRTC_TEST(ModuleWatch, AChangedByteIsNamed) {
  Loaded loaded;
  ASSERT_EQ(loaded.fake.memory.size(), 2u);
  ModuleWatch watch(loaded.driver);
  EXPECT_TRUE(watch.isEmpty());
  EXPECT_EQ(watch.start(nullptr, loaded.code), "");
  EXPECT_FALSE(watch.isEmpty());
  EXPECT_EQ(watch.check(), "");
  for (const ModuleData &data : loaded.fake.cubin.data)
    for (const ModuleData::Symbol &symbol : data.symbols)
      for (uint64_t offset : {uint64_t(0), symbol.bytes - 1}) {
        char &byte = loaded.fake.memory[data.section][symbol.offset + offset];
        byte = 'y';
        EXPECT_EQ(watch.check().find("it changed '" + symbol.name +
                                     "' of its module"),
                  0u)
            << watch.check();
        byte = 'x';
        EXPECT_EQ(watch.check(), "");
      }
}

NVRTC_TEST(ModuleWatch, OneSymbolTellsWhereTheSectionIs) {
  Loaded loaded;
  loaded.fake.hidden = "table";
  ModuleWatch watch(loaded.driver);
  for (const ModuleData &data : loaded.fake.cubin.data)
    for (const ModuleData::Symbol &symbol : data.symbols)
      if (symbol.name.find("table") != std::string::npos)
        loaded.fake.hidden = symbol.name;
  EXPECT_EQ(watch.start(nullptr, loaded.code), "");
  loaded.fake.memory[".nv.global.init"][3] = 'y';
  EXPECT_NE(watch.check(), "");
}

NVRTC_TEST(ModuleWatch, WhatCannotBeFoundIsAnError) {
  Loaded loaded;
  for (const ModuleData &data : loaded.fake.cubin.data)
    for (const ModuleData::Symbol &symbol : data.symbols)
      if (symbol.name.find("constants") != std::string::npos)
        loaded.fake.hidden = symbol.name;
  ModuleWatch watch(loaded.driver);
  EXPECT_EQ(watch.start(nullptr, loaded.code)
                .find("where .nv.constant3 of the module lies cannot be found"),
            0u);
}

NVRTC_TEST(LoadedProgram, ArgumentsAreWhatTheDriverSays) {
  Loaded loaded;
  worker::LaunchPlan plan;
  worker::Launch launch;
  launch.kernel = "k";
  launch.arguments = {worker::BufferRef(), worker::PlanScalar()};
  plan.steps = {launch, launch};
  auto load = [&](std::vector<size_t> parameters) {
    loaded.fake.parameters = std::move(parameters);
    LoadedProgram program(loaded.driver);
    std::string error = program.load(loaded.code, plan);
    EXPECT_TRUE(program.module());
    EXPECT_FALSE(program.module("other"));
    return error;
  };
  EXPECT_EQ(load({8, 4}), "");
  EXPECT_EQ(load({8}),
            "kernel 'k' has 1 parameters, but the plan passes 2 arguments");
  EXPECT_EQ(load({8, 8}), "kernel 'k': parameter 1 has 8 bytes, but the plan's "
                          "argument, an i32, has 4");
  // Older drivers do not say.
  loaded.driver.cuFuncGetParamInfo.pointer = nullptr;
  EXPECT_EQ(load({8}), "");
}

//===----------------------------------------------------------------------===//
// With a GPU
//===----------------------------------------------------------------------===//

/// A module that has not been checked, in a context on device 0.
class OnGpu {
public:
  OnGpu() : driver(*Driver::get(error)) {
    CUdevice device = 0;
    EXPECT_EQ(driver.call(driver.cuDeviceGet, &device, 0), "");
    EXPECT_EQ(driver.call(driver.cuDevicePrimaryCtxRetain, &context, device),
              "");
    EXPECT_EQ(driver.call(driver.cuCtxSetCurrent, context), "");
    EXPECT_EQ(driver.call(driver.cuMemAlloc, &memory, size_t(64)), "");
    EXPECT_EQ(driver.call(driver.cuMemsetD32, memory, 0u, size_t(16)), "");
    int major = 0, minor = 0;
    driver.cuDeviceGetAttribute(
        &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.cuDeviceGetAttribute(
        &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    request.arch = "sm_" + std::to_string(major) + std::to_string(minor);
    request.source = R"(
__device__ const int table[4] = {1, 2, 3, 4};
static __device__ const int hidden[4] = {1, 2, 3, 4};
__constant__ int constants[4];
__device__ int counter;
extern "C" __global__ void k(int *x, int what) {
  int *to = what == 1   ? const_cast<int *>(table)
            : what == 2 ? const_cast<int *>(hidden)
            : what == 3 ? &counter
            : what == 4 ? constants
                        : x;
  ((volatile int *)to)[what == 3 ? 0 : x[1] & 3] = 77;
  x[0] = table[x[2] & 3] + hidden[x[2] & 3] + constants[x[2] & 3];
})";
    CompileResult result = Nvrtc::get(error)->compile(request, {});
    EXPECT_TRUE(result.ok()) << result.error;
    code = result.cubin;
    EXPECT_EQ(loadModule(driver, code, module), "");
    EXPECT_EQ(getFunction(driver, module, "k", function), "");
  }
  ~OnGpu() {
    driver.cuMemFree(memory);
    driver.cuModuleUnload(module);
    driver.cuDevicePrimaryCtxRelease(0);
  }
  std::string run(int what) {
    void *arguments[] = {&memory, &what};
    std::string problem = launch(driver, function, Launch(), arguments);
    std::string late = driver.call(driver.cuCtxSynchronize);
    return problem.empty() ? late : problem;
  }

  std::string error;
  const Driver &driver;
  CompileRequest request;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  std::string code;
};

GPU_TEST(ModuleWatchGpu, WhatIsWrittenIsNoticed) {
  OnGpu gpu;
  ModuleWatch watch(gpu.driver);
  ASSERT_EQ(watch.start(gpu.module, gpu.code), "");
  ASSERT_FALSE(watch.isEmpty());
  ASSERT_EQ(gpu.run(0), "");
  EXPECT_EQ(watch.check(), "");
  const char *names[] = {"", "table", "hidden", "counter"};
  for (int what : {1, 2, 3}) {
    ModuleWatch again(gpu.driver);
    ASSERT_EQ(again.start(gpu.module, gpu.code), "");
    ASSERT_EQ(gpu.run(what), "");
    EXPECT_NE(again.check().find(names[what]), std::string::npos)
        << names[what] << ": " << again.check();
  }
}

// Through a generic address: it faults, it is noticed, or nothing is written.
GPU_TEST(ModuleWatchGpu, ConstantsKeepNothingUnseen) {
  OnGpu gpu;
  ModuleWatch watch(gpu.driver);
  ASSERT_EQ(watch.start(gpu.module, gpu.code), "");
  std::string error = gpu.run(4);
  if (!error.empty()) {
    printf("a write to constant memory: %s\n", error.c_str());
    return;
  }
  std::string changed = watch.check();
  printf("a write to constant memory: %s\n",
         changed.empty() ? "nothing is written" : changed.c_str());
  ASSERT_EQ(gpu.run(0), "");
  int x = 0;
  EXPECT_EQ(gpu.driver.call(gpu.driver.cuMemcpyDtoH, static_cast<void *>(&x),
                            gpu.memory, sizeof(x)),
            "");
  if (x >= 77) {
    EXPECT_NE(changed, "");
  }
}

GPU_TEST(ModuleWatchGpu, TheDriverTellsParameters) {
  OnGpu gpu;
  std::optional<std::vector<uint64_t>> sizes;
  ASSERT_EQ(getParameters(gpu.driver, gpu.function, sizes), "");
  if (gpu.driver.cuFuncGetParamInfo.pointer) {
    ASSERT_TRUE(sizes);
    EXPECT_EQ(*sizes, (std::vector<uint64_t>{8, 4}));
  }
}

GPU_TEST(ModuleWatchGpu, TheDriverAssembles) {
  OnGpu gpu;
  std::string cubin;
  ASSERT_EQ(linkPTX(gpu.driver,
                    ".version 8.0\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k(.param .u64 x, .param .u32 n) { ret; "
                    "}\n",
                    cubin),
            "");
  Cubin read;
  ASSERT_EQ(readCubin(cubin, read), "");
  EXPECT_EQ(read.kernels["k"], (std::vector<uint64_t>{8, 4}));
  EXPECT_NE(linkPTX(gpu.driver, "nonsense", cubin), "");
}

} // namespace
