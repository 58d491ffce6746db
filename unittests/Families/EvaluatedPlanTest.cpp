//===- EvaluatedPlanTest.cpp - What programs are run with -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/EvaluatedPlan.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using testing::HasSubstr;

TEST(EvaluatedPlanTest, OnAGpuItIsLaunches) {
  std::string text =
      R"json({"steps": [{"launch": "main", "grid": ["N / 32"], "block": [32],
                         "arguments": ["in0", "out0"]}]})json";
  std::string problem;
  auto plan = evaluatePlan(Language::cuda, text, {{"N", 64}}, problem);
  ASSERT_TRUE(plan) << problem;
  ASSERT_TRUE(plan->launches);
  EXPECT_EQ(std::get<worker::Launch>(plan->launches->steps[0]).grid[0], 2);
  EXPECT_EQ(plan->workspaceBytes, 0);
  EXPECT_TRUE(plan->hasExpressions);
  EXPECT_FALSE(evaluatePlan(Language::cuda, text, {}, problem));
  EXPECT_THAT(problem, HasSubstr("unknown name 'N'"));
  // Without launches nothing runs.
  EXPECT_FALSE(evaluatePlan(Language::cuda, "", {}, problem));
}

TEST(EvaluatedPlanTest, OnTheHostItIsAWorkspace) {
  std::string problem;
  auto bytesOf = [&](llvm::StringRef text, bool hasExpressions) {
    auto plan = evaluatePlan(Language::c, text, {{"N", 64}}, problem);
    EXPECT_TRUE(plan && !plan->launches) << problem;
    EXPECT_TRUE(plan && plan->hasExpressions == hasExpressions) << text.str();
    return plan ? plan->workspaceBytes : -1;
  };
  EXPECT_EQ(bytesOf("", false), 0);
  EXPECT_EQ(bytesOf(" \n", false), 0);
  EXPECT_EQ(bytesOf("{}", false), 0);
  EXPECT_EQ(bytesOf("{\"workspace_bytes\": 128}", false), 128);
  EXPECT_EQ(bytesOf("{\"workspace_bytes\": \"N * 4\"}", true), 256);
  EXPECT_FALSE(
      evaluatePlan(Language::c, "{\"workspace_bytes\": \"M\"}", {}, problem));
  EXPECT_THAT(problem, HasSubstr("the plan's workspace_bytes: "));
  EXPECT_FALSE(evaluatePlan(Language::c, "{\"steps\": []}", {}, problem));
}
