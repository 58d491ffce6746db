//===- CudaRefusalTest.cpp - Candidates that no GPU ever sees -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/CudaDevice.h"
#include "fastk/Cuda/CompileInChild.h"
#include <gtest/gtest.h>
#include <optional>

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

TEST(CudaRefusal, PTXDoesNotChooseItsAssembler) {
  auto assemble = [](const char *version) {
    std::string text = header;
    text.replace(text.find("8.0"), 3, version);
    return fastk::cuda::assembleInChild({text + "ret; }\n", "sm_90a"});
  };
  fastk::cuda::CompileResult known = assemble("8.0");
  EXPECT_EQ(newerRefusalOf(known), "");
  if (known.missingTool) {
    printf("needs ptxas, which was not found\n");
    return;
  }
  std::string why = newerRefusalOf(assemble("99.9"));
  EXPECT_NE(why.find("newer than the worker's ptxas"), std::string::npos);
  EXPECT_NE(why.find("Unsupported .version 99.9"), std::string::npos) << why;
}

TEST(CudaRefusal, SourceIsCheckedByTheCompiler) {
  EXPECT_EQ(refusalOf(Code::CUDA, "clock64()"), "");
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// What a plan with these arguments is told about a kernel of a pointer and an
/// i32; nothing where there is no ptxas.
static std::optional<std::string>
refusalOfArguments(std::vector<PlanArgument> arguments) {
  fastk::cuda::CompileResult code = fastk::cuda::assembleInChild(
      {".version 8.0\n.target sm_80\n.address_size 64\n"
       ".visible .entry k(.param .u64 x, .param .u32 n) { ret; }\n",
       "sm_90a"});
  if (code.missingTool)
    return std::nullopt;
  EXPECT_TRUE(code.ok()) << code.error;
  LaunchPlan plan;
  Launch launch;
  launch.kernel = "k";
  launch.arguments = std::move(arguments);
  plan.steps = {launch};
  return argumentsRefusalOf(plan, code.cubin);
}

TEST(CudaRefusal, ArgumentsAreTheKernelsParameters) {
  BufferRef buffer;
  PlanScalar number, wide;
  wide.type = PlanScalar::Type::I64;
  std::optional<std::string> right = refusalOfArguments({buffer, number});
  if (!right) {
    printf("needs ptxas, which was not found\n");
    return;
  }
  EXPECT_EQ(*right, "");
  struct {
    std::vector<PlanArgument> arguments;
    const char *why;
  } cases[] = {
      // The driver would read what lies behind the list.
      {{buffer}, "has 2 parameters, but the plan passes 1 arguments"},
      {{}, "has 2 parameters, but the plan passes 0 arguments"},
      {{buffer, number, number},
       "has 2 parameters, but the plan passes 3 arguments"},
      {{number, number},
       "parameter 0 has 8 bytes, but the plan's argument, an i32, has 4"},
      {{buffer, wide},
       "parameter 1 has 4 bytes, but the plan's argument, an i64, has 8"},
      {{TensorMapRef(), number},
       "parameter 0 has 8 bytes, but the plan's argument, a tensor map, has "
       "128"},
  };
  for (const auto &each : cases) {
    std::string why = refusalOfArguments(each.arguments).value_or("");
    EXPECT_NE(why.find(each.why), std::string::npos) << why;
    EXPECT_EQ(why.find("$.steps[0]: kernel 'k'"), 0u) << why;
  }
}
