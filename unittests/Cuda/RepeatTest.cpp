//===- RepeatTest.cpp - Repeats of a plan are followed --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a driver of a few functions, whose device memory is the host's and whose
// kernels are the host's functions.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "fastk/Cuda/LoadedProgram.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace fastk;
using namespace fastk::cuda;

namespace {

/// The kernels, by their names.
using Kernel = void (*)(void **arguments);
std::map<std::string, Kernel> *kernels;
/// Calls until one fails; -1: none does.
int callsLeft = -1;

template <typename T>
T *pointer(void *argument) {
  CUdeviceptr address = 0;
  std::memcpy(&address, argument, sizeof(address));
  return reinterpret_cast<T *>(uintptr_t(address));
}

CUresult functionOf(CUfunction *function, CUmodule, const char *name) {
  auto found = kernels->find(name);
  if (found == kernels->end())
    return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(found->second);
  return CUDA_SUCCESS;
}
CUresult launchAny(const CUlaunchConfig *, CUfunction function,
                   void **arguments, void **) {
  if (callsLeft == 0)
    return CUDA_ERROR_LAUNCH_FAILED;
  callsLeft -= callsLeft > 0;
  reinterpret_cast<Kernel>(function)(arguments);
  return CUDA_SUCCESS;
}
CUresult setBytes(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
  std::memset(reinterpret_cast<void *>(uintptr_t(to)), value, bytes);
  return CUDA_SUCCESS;
}
/// Such a map is the address that it is for.
CUresult encodeAny(CUtensorMap *map, CUtensorMapDataType, cuuint32_t,
                   void *address, const cuuint64_t *, const cuuint64_t *,
                   const cuuint32_t *, const cuuint32_t *,
                   CUtensorMapInterleave, CUtensorMapSwizzle,
                   CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  auto number = CUdeviceptr(uintptr_t(address));
  std::memcpy(map, &number, sizeof(number));
  return CUDA_SUCCESS;
}

struct Repeats : testing::Test {
  Repeats() {
    loadAnything(driver);
    driver.cuModuleGetFunction.pointer = functionOf;
    driver.cuLaunchKernelEx.pointer = launchAny;
    driver.cuMemsetD8Async.pointer = setBytes;
    driver.cuTensorMapEncodeTiled.pointer = encodeAny;
    kernels = &known;
    callsLeft = -1;
  }

  static CUdeviceptr address(const void *memory) {
    return CUdeviceptr(reinterpret_cast<uintptr_t>(memory));
  }
  /// Follows the plan on this memory.
  std::string run(const char *text, const DeviceBuffers &buffers) {
    std::string error;
    std::optional<worker::LaunchPlan> plan =
        worker::parseLaunchPlan(text, error, worker::PlanOf::Model);
    if (!plan)
      return error;
    LoadedProgram program(driver);
    error = program.load("code", *plan);
    BoundProgram bound;
    if (error.empty())
      error = program.bind(buffers, bound);
    if (error.empty())
      error = program.enqueue(bound, nullptr);
    return error;
  }

  Driver driver;
  std::map<std::string, Kernel> known;
};

/// Slices from the last one on, a state in two buffers, results as they come.
constexpr const char *recurrence = R"({"format": 1,
 "workspaces": [{"bytes": 512, "zero": true}],
 "steps": [
  {"repeat": 5, "steps": [
   {"launch": "step", "grid": [1], "block": [1], "arguments": [
    {"buffer": "in0+16", "each": [-4]},
    {"buffer": "ws0", "odd": [256]}, {"buffer": "ws0+256", "odd": [-256]}]},
   {"launch": "copy", "grid": [1], "block": [1], "arguments": [
    {"buffer": "ws0+256", "odd": [-256]}, {"buffer": "out0", "each": [4]}]}]},
  {"launch": "copy", "grid": [1], "block": [1], "arguments": ["ws0+256", "out0+20"]}]}
)";

void step(void **arguments) {
  *pointer<float>(arguments[2]) =
      *pointer<float>(arguments[0]) + 10 * *pointer<float>(arguments[1]);
}
void copy(void **arguments) {
  *pointer<float>(arguments[1]) = *pointer<float>(arguments[0]);
}

TEST_F(Repeats, ARecurrence) {
  known = {{"step", step}, {"copy", copy}};
  float in[5] = {5, 4, 3, 2, 1}, out[6] = {};
  float state[128];
  state[0] = state[64] = NAN;
  ASSERT_EQ(run(recurrence, {{address(in)}, {address(out)}, {address(state)}}),
            "");
  const float want[6] = {1, 12, 123, 1234, 12345, 12345};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(out[i], want[i]) << i;
}

/// A bound program is enqueued as often as it is called.
TEST_F(Repeats, CallsBeginAtTheFirstIteration) {
  known = {{"step", step}, {"copy", copy}};
  float in[5] = {5, 4, 3, 2, 1}, out[6] = {};
  float state[128] = {};
  DeviceBuffers buffers = {{address(in)}, {address(out)}, {address(state)}};
  std::string error;
  LoadedProgram program(driver);
  ASSERT_EQ(program.load("code", *worker::parseLaunchPlan(
                                     recurrence, error, worker::PlanOf::Model)),
            "");
  BoundProgram bound;
  ASSERT_EQ(program.bind(buffers, bound), "");
  for (int i = 0; i < 2; ++i) {
    std::fill(std::begin(out), std::end(out), 0.0f);
    ASSERT_EQ(program.enqueue(bound, nullptr), "");
    EXPECT_EQ(out[4], 12345);
    EXPECT_EQ(out[5], 12345);
  }
}

TEST_F(Repeats, LoopsInLoops) {
  known = {{"copy", copy}};
  // A transpose of 3 x 4, and each row of the result set from its second
  // element on.
  float in[12], out[12] = {};
  for (int i = 0; i < 12; ++i)
    in[i] = float(i);
  ASSERT_EQ(run(R"({"format": 1, "steps": [
    {"repeat": 4, "steps": [
     {"repeat": 3, "steps": [
      {"launch": "copy", "grid": [1], "block": [1], "arguments": [
       {"buffer": "in0", "each": [4, 16]}, {"buffer": "out0", "each": [12, 4]}]}]},
     {"memset": {"buffer": "out0+4", "each": [12]}, "bytes": 8}]}]})",
                {{address(in)}, {address(out)}, {}}),
            "");
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 3; ++column)
      EXPECT_EQ(out[row * 3 + column], column ? 0 : float(row))
          << row << ", " << column;
}

void addMapped(void **arguments) {
  *pointer<float>(arguments[1]) += *pointer<float>(arguments[0]);
}

TEST_F(Repeats, TensorMapsAreMadeForEachIteration) {
  known = {{"add", addMapped}};
  float in[12] = {1, 0, 0, 0, 20, 0, 0, 0, 300, 0, 0, 0}, out = 0;
  ASSERT_EQ(run(R"({"format": 1,
    "tensor_maps": [{"buffer": {"buffer": "in0", "each": [16]},
                     "type": "f32", "dims": [4], "box": [4]}],
    "steps": [
     {"repeat": 3, "steps": [
      {"launch": "add", "grid": [1], "block": [1], "arguments": ["map0", "out0"]}]}]})",
                {{address(in)}, {address(&out)}, {}}),
            "");
  EXPECT_EQ(out, 321);
}

TEST_F(Repeats, AnErrorEndsThem) {
  known = {{"step", step}, {"copy", copy}};
  callsLeft = 3;
  float in[5] = {5, 4, 3, 2, 1}, out[6] = {}, state[128] = {};
  std::string error =
      run(recurrence, {{address(in)}, {address(out)}, {address(state)}});
  EXPECT_EQ(error.find("cuLaunchKernelEx failed"), 0u) << error;
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 0);
}

} // namespace
