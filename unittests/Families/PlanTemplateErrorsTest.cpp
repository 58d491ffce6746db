//===- PlanTemplateErrorsTest.cpp - Conditions and names that fail --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Numbers.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using testing::AllOf;
using testing::HasSubstr;

static std::string problemOf(llvm::StringRef plan, const Names &names = {}) {
  std::string problem;
  EXPECT_FALSE(makePlan(plan, names, problem));
  return problem;
}

TEST(PlanTemplateErrorsTest, ConditionsAreExpressions) {
  EXPECT_THAT(
      problemOf(R"json({"steps": [{"when": "NOBODY", "launch": "k"}]})json"),
      AllOf(HasSubstr("$.steps[0].when"), HasSubstr("unknown name 'NOBODY'")));
  EXPECT_THAT(problemOf(R"json({"steps": [{"when": [1], "launch": "k"}]})json"),
              HasSubstr("\"when\" must be an expression"));
}

TEST(PlanTemplateErrorsTest, NamesAreOfWhatIsThere) {
  const char *plan =
      R"json({"workspaces": [{"when": "N > 1", "name": "parts", "bytes": 4}],
    "steps": [{"launch": "k", "grid": 1, "block": 32, "arguments": ["ws:parts"]}]})json";
  EXPECT_THAT(problemOf(plan, {{"N", 1}}),
              AllOf(HasSubstr("'ws:parts'"), HasSubstr("whenever this is")));
}
