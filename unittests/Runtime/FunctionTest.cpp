//===- FunctionTest.cpp - A function on the GPU ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "gmock/gmock.h"
#include <vector>

using namespace fastk;
using namespace fastk::cuda;
using namespace fastk::test;
using testing::Each;
using testing::HasSubstr;

namespace {

/// Input and output of an AddFunction, in the context that the runtime uses.
struct OnGpu : testing::Test {
  void SetUp() override {
    fastk_clear_error();
    std::string error;
    driver = Driver::get(error);
    ASSERT_NE(driver, nullptr) << error;
    CUcontext context = nullptr;
    check(driver->call(driver->cuDevicePrimaryCtxRetain, &context, 0));
    check(driver->call(driver->cuCtxSetCurrent, context));
    for (CUdeviceptr *memory : {&in, &out})
      check(driver->call(driver->cuMemAlloc, memory, addBytes));
    for (CUstream *each : {&stream, &other})
      check(driver->call(driver->cuStreamCreate, each,
                         unsigned(CU_STREAM_NON_BLOCKING)));
    fill(1);
  }
  void TearDown() override {
    fastk_set_stream(nullptr);
    for (CUdeviceptr memory : {in, out})
      driver->cuMemFree(memory);
    for (CUstream each : {stream, other})
      driver->cuStreamDestroy(each);
  }
  static void check(const std::string &error) { ASSERT_EQ(error, ""); }
  void fill(float value) {
    std::vector<float> values(addBytes / 4, value);
    check(driver->call(driver->cuMemcpyHtoD, in,
                       static_cast<const void *>(values.data()), addBytes));
    check(driver->call(driver->cuMemsetD8, out,
                       static_cast<unsigned char>(0xff), addBytes));
    check(driver->call(driver->cuCtxSynchronize));
  }
  std::vector<float> result() {
    check(driver->call(driver->cuCtxSynchronize));
    std::vector<float> values(addBytes / 4);
    check(driver->call(driver->cuMemcpyDtoH, static_cast<void *>(values.data()),
                       out, addBytes));
    return values;
  }
  int call(fastk_function &function) {
    void *buffers[] = {reinterpret_cast<void *>(uintptr_t(in)),
                       reinterpret_cast<void *>(uintptr_t(out))};
    return fastk_call(&function, buffers);
  }
  /// A graph of one call, captured on `stream`.
  int capture(fastk_function &function, CUgraph &graph) {
    check(driver->call(driver->cuStreamBeginCapture, stream,
                       CU_STREAM_CAPTURE_MODE_GLOBAL));
    int status = call(function);
    CUresult ended = driver->cuStreamEndCapture(stream, &graph);
    EXPECT_EQ(status == 0, ended == CUDA_SUCCESS && graph != nullptr);
    return status;
  }

  const Driver *driver = nullptr;
  CUdeviceptr in = 0, out = 0;
  CUstream stream = nullptr, other = nullptr;
};

FASTK_TEST_F_IF(gpuNeed(), OnGpu, ACallGoesThroughTheWorkspace) {
  AddFunction add;
  EXPECT_EQ(call(add.function), 0) << fastk_last_error();
  EXPECT_THAT(result(), Each(3.0f));
  fill(5);
  fastk_set_stream(stream);
  EXPECT_EQ(call(add.function), 0) << fastk_last_error();
  EXPECT_THAT(result(), Each(7.0f));
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, AThreadWithoutAContextGetsThePrimaryOne) {
  AddFunction add;
  check(driver->call(driver->cuCtxSetCurrent, CUcontext(nullptr)));
  EXPECT_EQ(call(add.function), 0) << fastk_last_error();
  EXPECT_THAT(result(), Each(3.0f));
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, ConstantsAreInputsBehindTheFunctions) {
  std::vector<float> values(addBytes / 4, 10.0f);
  AddFunction add(addFile(
      R"({"format": 1, "steps": [
    {"launch": "m::add", "grid": [4,1,1], "block": [256,1,1], "arguments": ["in1", "out0"]}]})",
      addPTX, {{reinterpret_cast<const char *>(values.data()), addBytes}}));
  EXPECT_EQ(call(add.function), 0) << fastk_last_error();
  EXPECT_THAT(result(), Each(11.0f));
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, PreparedItCanBeCaptured) {
  AddFunction add;
  fastk_set_stream(stream);
  ASSERT_EQ(fastk_prepare(&add.function), 0) << fastk_last_error();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(capture(add.function, graph), 0) << fastk_last_error();
  check(driver->call(driver->cuGraphInstantiate, &exec, graph, 0ull));
  for (float value : {1.0f, 8.0f}) {
    fill(value);
    check(driver->call(driver->cuGraphLaunch, exec, stream));
    EXPECT_THAT(result(), Each(value + 2));
  }
  driver->cuGraphExecDestroy(exec);
  driver->cuGraphDestroy(graph);
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, UnpreparedItSaysWhatToDo) {
  AddFunction add;
  fastk_set_stream(other);
  ASSERT_EQ(fastk_prepare(&add.function), 0) << fastk_last_error();
  // Prepared for another stream: this one has no workspace.
  fastk_set_stream(stream);
  check(driver->call(driver->cuStreamBeginCapture, stream,
                     CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(call(add.function), 1);
  EXPECT_THAT(fastk_last_error(),
              HasSubstr("the stream is being captured, and its first call has "
                        "to load code and allocate: call the function's "
                        "fastk_prepare_ on this stream"));
  // The capture is not broken by it.
  CUgraph graph = nullptr;
  check(driver->call(driver->cuStreamEndCapture, stream, &graph));
  driver->cuGraphDestroy(graph);
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, InAWorkspaceOfTheCallerItAllocatesNothing) {
  AddFunction add;
  CUdeviceptr workspace = 0;
  check(driver->call(driver->cuMemAlloc, &workspace,
                     size_t(fastk_workspace_bytes(&add.function))));
  fastk_set_stream(stream);
  ASSERT_EQ(fastk_load(&add.function), 0) << fastk_last_error();
  void *buffers[] = {reinterpret_cast<void *>(uintptr_t(in)),
                     reinterpret_cast<void *>(uintptr_t(out))};
  // So a capture needs nothing but the code.
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  check(driver->call(driver->cuStreamBeginCapture, stream,
                     CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(fastk_call_with(&add.function, buffers,
                            reinterpret_cast<void *>(uintptr_t(workspace))),
            0)
      << fastk_last_error();
  check(driver->call(driver->cuStreamEndCapture, stream, &graph));
  check(driver->call(driver->cuGraphInstantiate, &exec, graph, 0ull));
  check(driver->call(driver->cuGraphLaunch, exec, stream));
  EXPECT_THAT(result(), Each(3.0f));
  driver->cuGraphExecDestroy(exec);
  driver->cuGraphDestroy(graph);
  driver->cuMemFree(workspace);
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, AFileIsCalledAsALibraryIs) {
  std::string file = addFile();
  fastk_model *model = fastk_open_memory(file.data(), file.size());
  ASSERT_NE(model, nullptr) << fastk_last_error();
  fastk_function *function = fastk_find(model, "");
  ASSERT_NE(function, nullptr) << fastk_last_error();
  EXPECT_EQ(call(*function), 0) << fastk_last_error();
  EXPECT_THAT(result(), Each(3.0f));
  fastk_close(model);
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, ReleasedItIsLoadedAgain) {
  AddFunction add;
  EXPECT_EQ(call(add.function), 0);
  check(driver->call(driver->cuCtxSynchronize));
  fastk_release(&add.function);
  fill(2);
  EXPECT_EQ(call(add.function), 0) << fastk_last_error();
  EXPECT_THAT(result(), Each(4.0f));
}

FASTK_TEST_F_IF(gpuNeed(), OnGpu, CodeThatDoesNotLoadIsAnError) {
  AddFunction add(addFile(addTwice, "no code"));
  EXPECT_EQ(call(add.function), 1);
  EXPECT_THAT(fastk_last_error(),
              HasSubstr("forward (compiled for cuda:sm_80): "
                        "m: cuModuleLoadDataEx failed"));
  AddFunction unknown(addFile(R"({"format": 1, "steps": [
    {"launch": "m::sub", "grid": [4,1,1], "block": [256,1,1], "arguments": []}]})"));
  fastk_clear_error();
  EXPECT_EQ(call(unknown.function), 1);
  EXPECT_THAT(fastk_last_error(),
              HasSubstr("kernel 'sub': cuModuleGetFunction"));
  AddFunction other(addFile(R"({"format": 1, "steps": [
    {"launch": "n::add", "grid": [4,1,1], "block": [256,1,1], "arguments": []}]})"));
  fastk_clear_error();
  EXPECT_EQ(call(other.function), 1);
  EXPECT_THAT(fastk_last_error(),
              HasSubstr("kernel 'n::add': the program has no image 'n'"));
}

} // namespace
