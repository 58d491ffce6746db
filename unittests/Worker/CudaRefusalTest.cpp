//===- CudaRefusalTest.cpp - Candidates that no GPU ever sees -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/CudaDevice.h"
#include <gtest/gtest.h>

using namespace fastk::worker;

static const char *const header = ".version 8.0\n.target sm_80\n"
                                  ".address_size 64\n"
                                  ".visible .entry k() {\n";

TEST(CudaRefusal, ACubinCannotBeChecked) {
  std::string why = refusalOf(Code::Cubin, "\x7f"
                                           "ELF");
  EXPECT_NE(why.find("a cubin cannot be checked"), std::string::npos) << why;
  EXPECT_NE(why.find("give its PTX"), std::string::npos) << why;
}

TEST(CudaRefusal, PTXIsCheckedAsItIs) {
  EXPECT_EQ(refusalOf(Code::PTX, std::string(header) + "ret; }\n"), "");
  std::string why = refusalOf(
      Code::PTX,
      std::string(header) + ".reg .b64 %t; mov.u64 %t, %globaltimer; ret; }\n");
  EXPECT_NE(why.find("must not know the time"), std::string::npos) << why;
}

TEST(CudaRefusal, SourceIsCheckedByTheCompiler) {
  EXPECT_EQ(refusalOf(Code::CUDA, "clock64()"), "");
}
