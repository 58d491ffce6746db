//===- WorkerTestMain.cpp - Runs tests, and is the programs' process ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeedsGpu.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/Driver.h"
#include "fastk/Worker/Worker.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fastk;

bool fastk::worker::test::hasGpu() {
  std::string error;
  if (cuda::Driver::get(error) && cuda::Nvrtc::get(error))
    return true;
  std::printf("needs a GPU: %s\n", error.c_str());
  if (std::getenv("FASTK_REQUIRE_GPU"))
    ADD_FAILURE() << "FASTK_REQUIRE_GPU is set: " << error;
  return false;
}

int main(int argc, char **argv) {
  if (cuda::isNvrtcChild(argc, argv))
    _exit(cuda::nvrtcChildMain(argc, argv));
  int code = 0;
  if (worker::childMain(argc, argv, code))
    _exit(code);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
