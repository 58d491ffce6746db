//===- RuntimeErrorsTest.cpp - What cannot be called ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"
#include "gmock/gmock.h"
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

TEST_F(RuntimeErrors, AnotherFormat) {
  add.function.version = 99;
  EXPECT_EQ(fastk_prepare(&add.function), 1);
  EXPECT_STREQ(fastk_last_error(),
               "forward (compiled for cuda:sm_80): its library has format 99, "
               "this libfastk_runtime reads formats 1 to 2: compile the model "
               "with the fastk-opt of this runtime, or run it with the "
               "libfastk_runtime of that which compiled it");
}

// A runtime reads what was compiled before it, too.
TEST_F(RuntimeErrors, EarlierFormats) {
  void *buffers[] = {nullptr, aligned};
  for (uint32_t version = 0; version <= FASTK_FUNCTION_VERSION; ++version) {
    add.function.version = version;
    fastk_clear_error();
    EXPECT_EQ(fastk_call(&add.function, buffers), 1);
    EXPECT_THAT(fastk_last_error(),
                HasSubstr(version ? "input 0 is a null" : "has format 0"));
  }
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
