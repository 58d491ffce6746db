//===- RuntimeErrorsTest.cpp - What cannot be called ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "gmock/gmock.h"
#include <cstddef>
#include <thread>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

struct RuntimeErrors : testing::Test {
  void SetUp() override { fastk_clear_error(); }
  AddFunction add;
  void *aligned = reinterpret_cast<void *>(uintptr_t(4096));
};

TEST_F(RuntimeErrors, NothingIsWrongAtFirst) {
  EXPECT_STREQ(fastk_last_error(), "");
  EXPECT_EQ(fastk_get_stream(), nullptr);
}

TEST_F(RuntimeErrors, WithoutADriverTheReasonIsTheDrivers) {
  std::string missing;
  if (cuda::Driver::get(missing))
    return; // FunctionTest runs it.
  std::string expected = "forward (compiled for cuda:sm_80): " + missing;
  EXPECT_EQ(fastk_prepare(&add.function), 1);
  EXPECT_EQ(fastk_last_error(), expected);
  fastk_clear_error();
  void *buffers[] = {aligned, aligned};
  EXPECT_EQ(fastk_call(&add.function, buffers), 1);
  EXPECT_EQ(fastk_last_error(), expected);
  EXPECT_EQ(expected.find('\n'), std::string::npos);
}

// The name is where it was in formats 1 and 2.
TEST_F(RuntimeErrors, AnotherFormat) {
  static_assert(offsetof(fastk_function, name) == 24);
  for (uint32_t version : {0u, 1u, 2u, 99u}) {
    add.function.version = version;
    fastk_clear_error();
    EXPECT_EQ(fastk_prepare(&add.function), 1);
    EXPECT_EQ(fastk_last_error(),
              "forward: its library has format " + std::to_string(version) +
                  ", this libfastk_runtime reads format 3: compile the model "
                  "with the fastk-opt of this runtime, or run it with the "
                  "libfastk_runtime of that which compiled it");
  }
}

TEST_F(RuntimeErrors, AFileThatIsNone) {
  AddFunction broken("no plan");
  EXPECT_EQ(fastk_prepare(&broken.function), 1);
  EXPECT_THAT(fastk_last_error(),
              StartsWith("forward: its plan file is no plan file: one begins"));
  fastk_clear_error();
  EXPECT_EQ(fastk_signature(&broken.function), nullptr);
  EXPECT_EQ(fastk_workspace_bytes(&broken.function), UINT64_MAX);
  EXPECT_STRNE(fastk_last_error(), "");
}

TEST_F(RuntimeErrors, AFunctionThatIsNotInIt) {
  add.function.name = "backward";
  EXPECT_EQ(fastk_prepare(&add.function), 1);
  EXPECT_STREQ(fastk_last_error(), "backward: there is no function 'backward': "
                                   "the model has forward");
}

TEST_F(RuntimeErrors, AWorkspaceOfTheCaller) {
  EXPECT_EQ(fastk_workspace_bytes(&add.function), 256u + 4096u);
  void *buffers[] = {aligned, aligned};
  EXPECT_EQ(fastk_call_with(&add.function, buffers, nullptr), 1);
  EXPECT_STREQ(fastk_last_error(),
               "forward (compiled for cuda:sm_80): the workspace is a null "
               "pointer; the function needs 4352 bytes of the GPU's memory, "
               "see fastk_workspace_bytes()");
  fastk_clear_error();
  EXPECT_EQ(fastk_call_with(&add.function, buffers,
                            static_cast<char *>(aligned) + 16),
            1);
  EXPECT_THAT(fastk_last_error(), HasSubstr("is not 256-byte aligned"));
}

TEST_F(RuntimeErrors, ANullPointer) {
  void *buffers[] = {aligned, nullptr};
  EXPECT_EQ(fastk_call(&add.function, buffers), 1);
  EXPECT_THAT(fastk_last_error(), HasSubstr("output 0 is a null pointer; it "
                                            "needs 4096 bytes"));
}

TEST_F(RuntimeErrors, AMisalignedPointer) {
  void *buffers[] = {static_cast<char *>(aligned) + 4, aligned};
  EXPECT_EQ(fastk_call(&add.function, buffers), 1);
  EXPECT_THAT(fastk_last_error(),
              HasSubstr("input 0 is not 16-byte aligned: pass"));
}

TEST_F(RuntimeErrors, TheFirstErrorStays) {
  void *buffers[] = {nullptr, aligned};
  EXPECT_EQ(fastk_call(&add.function, buffers), 1);
  add.function.version = 99;
  EXPECT_EQ(fastk_prepare(&add.function), 1);
  EXPECT_THAT(fastk_last_error(), HasSubstr("input 0 is a null pointer"));
  fastk_clear_error();
  EXPECT_STREQ(fastk_last_error(), "");
}

TEST_F(RuntimeErrors, StreamAndErrorAreTheThreads) {
  add.function.version = 99;
  fastk_set_stream(aligned);
  fastk_prepare(&add.function);
  std::thread([&] {
    EXPECT_STREQ(fastk_last_error(), "");
    EXPECT_EQ(fastk_get_stream(), nullptr);
  }).join();
  EXPECT_EQ(fastk_get_stream(), aligned);
  EXPECT_STRNE(fastk_last_error(), "");
  fastk_set_stream(nullptr);
}

} // namespace
