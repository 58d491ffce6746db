//===- SharedMemoryTest.cpp - Leave for much shared memory is asked -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block may have 48 KiB, its kernel's static shared memory included, and more
// where the driver was asked before.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "fastk/Cuda/LoadedProgram.h"
#include "gtest/gtest.h"
#include <vector>

using namespace fastk;
using namespace fastk::cuda;

namespace {

/// What the one kernel has statically, and what was asked for it.
int staticBytes = 0;
std::vector<int> asked;

std::vector<int> askedFor(std::vector<int64_t> dynamicBytes) {
  Driver driver;
  loadAnything(driver);
  driver.cuModuleGetFunction.pointer = [](CUfunction *function, CUmodule,
                                          const char *) {
    *function = reinterpret_cast<CUfunction>(16);
    return CUDA_SUCCESS;
  };
  driver.cuFuncGetAttribute.pointer = [](int *value,
                                         CUfunction_attribute attribute,
                                         CUfunction) {
    *value = attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? staticBytes : 0;
    return CUDA_SUCCESS;
  };
  driver.cuFuncSetAttribute.pointer = [](CUfunction, CUfunction_attribute,
                                         int value) {
    asked.push_back(value);
    return CUDA_SUCCESS;
  };
  worker::LaunchPlan plan;
  for (int64_t bytes : dynamicBytes) {
    worker::Launch launch;
    launch.kernel = "k";
    launch.sharedBytes = bytes;
    plan.steps.emplace_back(launch);
  }
  asked.clear();
  LoadedProgram program(driver);
  EXPECT_EQ(program.load({{"", "image"}}, plan), "");
  return asked;
}

using Bytes = std::vector<int>;

TEST(SharedMemory, UpTo48KiBNeedsNoLeave) {
  staticBytes = 0;
  EXPECT_EQ(askedFor({0, 1024, 49152}), Bytes());
  EXPECT_EQ(askedFor({49153}), Bytes({49153}));
  EXPECT_EQ(askedFor({50000, 49999, 60000}), Bytes({50000, 60000}));
}

TEST(SharedMemory, StaticOneIsPartOfThat) {
  staticBytes = 256;
  EXPECT_EQ(askedFor({0, 48896}), Bytes());
  EXPECT_EQ(askedFor({48897}), Bytes({48897}));
  // That of a family for rows, which was refused: none of its blocks fitted.
  EXPECT_EQ(askedFor({49152, 49152}), Bytes({49152}));
}

} // namespace
