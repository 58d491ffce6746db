//===- CompilerLogTest.cpp - Facts out of what ptxas prints ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxasLog.h"
#include "fastk/Cuda/Nvrtc.h"
#include "gtest/gtest.h"

using namespace fastk::cuda;

namespace {

/// As NVRTC 13.0 prints it.
constexpr const char *kLog =
    R"(kernel.cu(3): warning #177-D: variable "q" was declared but never referenced

ptxas info    : 312 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'a'
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
ptxas         .     88 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 168 registers, used 3 barriers, 88 bytes cumulative stack size, 256 bytes smem
ptxas info    : Compile time = 18.091 ms
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 26 registers, used 0 barriers
ptxas info    : Function properties for helper
ptxas         .     8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
)";

TEST(CompilerLog, FactsOfEachKernel) {
  CompileResult result;
  parseCompilerLog(kLog, result.kernels, result.warnings);
  ASSERT_EQ(result.kernels.size(), 3u);
  const KernelFacts *a = result.kernel("a");
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->isEntry);
  EXPECT_EQ(a->registers, 168u);
  EXPECT_EQ(a->barriers, 3u);
  EXPECT_EQ(a->stackBytes, 88u);
  EXPECT_EQ(a->spillStoreBytes, 12u);
  EXPECT_EQ(a->spillLoadBytes, 16u);
  EXPECT_EQ(a->staticSharedBytes, 256u);
  const KernelFacts *b = result.kernel("b");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->registers, 26u);
  EXPECT_EQ(b->staticSharedBytes, 0u);
  const KernelFacts *helper = result.kernel("helper");
  ASSERT_TRUE(helper);
  EXPECT_FALSE(helper->isEntry);
  EXPECT_EQ(helper->stackBytes, 8u);
  EXPECT_EQ(result.kernel("c"), nullptr);
}

TEST(CompilerLog, Warnings) {
  CompileResult result;
  parseCompilerLog(kLog, result.kernels, result.warnings);
  ASSERT_EQ(result.warnings.size(), 2u);
  EXPECT_EQ(result.warnings[0].code, "");
  EXPECT_NE(result.warnings[0].text.find("never referenced"),
            std::string::npos);
  EXPECT_EQ(result.warnings[1].code, "C7510");
}

// Diagnostics quote the source, indented; a quoted line is no fact.
TEST(CompilerLog, QuotedSourceIsNoFact) {
  CompileResult result;
  parseCompilerLog(
      "  ptxas info    : Compiling entry function 'x' for 'sm_90a'\n"
      "  ptxas info    : Used 1 registers\n",
      result.kernels, result.warnings);
  EXPECT_TRUE(result.kernels.empty());
}

TEST(PtxasLog, PtxasSpeaksInLinesOfItsOwn) {
  EXPECT_TRUE(saysTooNew("ptxas /proc/self/fd/4, line 1; fatal   : Unsupported "
                         ".version 99.9; current version is '9.0'\n"
                         "ptxas fatal   : Ptx assembly aborted due to errors"));
  EXPECT_TRUE(saysTooNew("ptxas info : x\nptxas fatal : Unsupported .version "
                         "99.9"));
  std::string unknown =
      "ptxas fatal   : Value 'sm_99' is not defined for option 'gpu-name'";
  EXPECT_TRUE(saysUnknownGpu(unknown, "sm_99"));
  EXPECT_TRUE(saysUnknownGpu("ptxas info : x\n" + unknown + "\n", "sm_99"));
  EXPECT_FALSE(saysUnknownGpu(unknown, "sm_90a"));
}

TEST(PtxasLog, ProgramsSpeakInsideOfLines) {
  for (const std::string &message :
       {std::string("is not defined for option 'gpu-name'"),
        std::string("Value 'sm_90a' is not defined for option 'gpu-name'"),
        std::string("Unsupported .version 99.9"),
        std::string("; fatal   : Unsupported .version 99.9"),
        std::string("ptxas a, line 1; fatal   : Unsupported .version 99.9"),
        std::string("ptxas fatal   : Value 'sm_90a' is not defined for option "
                    "'gpu-name'")})
    for (const char *before :
         {"ptxas warning : Pragma '", "ptxas error   : ",
          "ptxas /proc/self/fd/4, line 5; error   : Unknown symbol '",
          "ptxas /proc/self/fd/4, line 5; fatal   : Parsing error near '",
          "ptxas fatal   : Parsing error near '", " "}) {
      std::string log = before + message +
                        "' unsupported\n"
                        "ptxas fatal   : Ptx assembly "
                        "aborted due to errors\n";
      EXPECT_FALSE(saysTooNew(log)) << log;
      EXPECT_FALSE(saysUnknownGpu(log, "sm_90a")) << log;
    }
  for (const char *cut : {"", "\n", "ptxas", "ptxas ", "ptxas fatal",
                          "ptxas fatal :", "ptxas a, line", "ptxas a, line 1;",
                          "ptxas a, line 1; fatal   :"}) {
    EXPECT_FALSE(saysTooNew(cut));
    EXPECT_FALSE(saysUnknownGpu(cut, ""));
  }
}

} // namespace
