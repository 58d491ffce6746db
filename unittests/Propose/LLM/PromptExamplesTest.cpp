//===- PromptExamplesTest.cpp - What the prompts show compiles ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The worked example of example-cuda.md is read as a reply would be and
// compiled, with every value of its numbers; what the contract forbids is
// refused.
//
//===----------------------------------------------------------------------===//

#include "../../Cuda/CudaTest.h"
#include "ReadReply.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Propose/LLM/PromptTemplates.h"
#include "fastk/Propose/Parameters.h"
#include "gmock/gmock.h"

using namespace fastk;
using testing::HasSubstr;

/// 8192 x 4096 floats in and out.
static const PlanCheck kCheck = {
    {int64_t(8192) * 4096 * 4}, {int64_t(8192) * 4096 * 4}, {}};

static cuda::CompileResult compile(const std::string &program) {
  cuda::CompileRequest request;
  request.source = program;
  return cuda::compileCached(request);
}

static void expectRuns(const Variant &variant) {
  ASSERT_EQ(variant.problem, "");
  EXPECT_THAT(worker::verifyLaunchPlan(*variant.plan, kCheck.inputBytes,
                                       kCheck.outputBytes, kCheck.limits),
              testing::IsEmpty());
  cuda::CompileResult result = compile(variant.program);
  ASSERT_TRUE(result.ok()) << result.error << "\n" << variant.program;
  for (const worker::PlanStep &step : variant.plan->steps)
    EXPECT_TRUE(result.kernel(std::get<worker::Launch>(step).kernel));
}

NVRTC_TEST(PromptExamplesTest, TheWorkedExampleCompilesWithAllItsNumbers) {
  PromptTemplates templates = llvm::cantFail(PromptTemplates::load());
  llm::ProgramReply reply =
      llm::readProgram(templates.text("example-cuda"), Language::cuda);
  ASSERT_EQ(reply.problem, "");
  Variant variant = makeVariant(Language::cuda, reply.program, reply.plan);
  expectRuns(variant);
  EXPECT_EQ(variant.parameters.size(), 2u);
  std::vector<Variant> next = neighboursOf(variant, {}, 100, &kCheck);
  EXPECT_EQ(next.size(), 5u);
  for (const Variant &each : next)
    expectRuns(each);
}

NVRTC_TEST(PromptExamplesTest, WhatTheContractForbidsIsRefused) {
  auto refused = [](llvm::StringRef line, llvm::StringRef before = "") {
    return compile((before + "extern \"C\" __global__ void k(float *x) {\n" +
                    line + "\n}\n")
                       .str())
        .error;
  };
  EXPECT_EQ(refused("x[0] = table[threadIdx.x & 3];",
                    "__device__ const float table[4] = {1, 2, 3, 4};\n"),
            "");
  EXPECT_EQ(refused("x[0] = table[threadIdx.x & 3];",
                    "__constant__ float table[4] = {1, 2, 3, 4};\n"),
            "");
  EXPECT_NE(refused("x[0] = atomicAdd(&counter, 1);", "__device__ int counter;"
                                                      "\n"),
            "");
  for (llvm::StringRef line :
       {"x[0] = clock64();", "static int n; x[0] = ++n;", "printf(\"x\");",
        "x = (float *)malloc(4);", "x = new float[4];", "asm(\"trap;\");",
        "__trap();"})
    EXPECT_NE(refused(line), "") << line.str();
  for (llvm::StringRef header :
       {"cstdint", "cuda_runtime.h", "cuda/barrier", "cooperative_groups.h"})
    EXPECT_FALSE(compile(("#include <" + header + ">\n").str()).ok());
  for (llvm::StringRef header :
       {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h"})
    EXPECT_TRUE(compile(("#include <" + header +
                         ">\nextern \"C\" __global__ void k() {}\n")
                            .str())
                    .ok())
        << header.str();
}
