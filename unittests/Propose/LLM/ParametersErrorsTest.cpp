//===- ParametersErrorsTest.cpp - Expressions and plans that are wrong ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLMTestUtils.h"
#include "fastk/Propose/Parameters.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using testing::AllOf;
using testing::HasSubstr;

namespace {

std::string problemOf(llvm::StringRef text) {
  std::string problem;
  EXPECT_FALSE(evaluateExpression(text, {{"N", 4}}, problem)) << text.str();
  return problem;
}

TEST(ExpressionErrorsTest, EachNamesWhatIsWrong) {
  EXPECT_THAT(problemOf("TILE * 2"),
              AllOf(HasSubstr("'TILE * 2'"), HasSubstr("unknown name 'TILE'")));
  EXPECT_THAT(problemOf("1 / (N - 4)"), HasSubstr("division by zero"));
  EXPECT_THAT(problemOf("1 % 0"), HasSubstr("division by zero"));
  EXPECT_THAT(problemOf("9223372036854775807 + 1"), HasSubstr("64 bits"));
  EXPECT_THAT(problemOf("9223372036854775807 * N"), HasSubstr("64 bits"));
  EXPECT_THAT(problemOf("-9223372036854775807 - 2"), HasSubstr("64 bits"));
  EXPECT_THAT(problemOf("(-9223372036854775807 - 1) / -1"),
              HasSubstr("64 bits"));
  EXPECT_THAT(problemOf("99999999999999999999"), HasSubstr("no integer"));
  EXPECT_THAT(problemOf("1.5"), HasSubstr("unexpected '.'"));
  EXPECT_THAT(problemOf("12ab"), HasSubstr("'12ab'"));
  EXPECT_THAT(problemOf("ceildiv(1)"), HasSubstr("two numbers"));
  EXPECT_THAT(problemOf("ceildiv(1, 0)"), HasSubstr("positive"));
  EXPECT_THAT(problemOf("ceildiv(-1, 2)"), HasSubstr("negative"));
  EXPECT_THAT(problemOf("log2(8)"), HasSubstr("unknown function 'log2'"));
  EXPECT_THAT(problemOf("(1 + 2"), HasSubstr("')' is missing"));
  EXPECT_THAT(problemOf("min(1, 2"), HasSubstr("')' is missing"));
  EXPECT_THAT(problemOf("1 2"), HasSubstr("unexpected '2'"));
  EXPECT_THAT(problemOf("1 << 2"), HasSubstr("unexpected '<'"));
  EXPECT_THAT(problemOf(""), HasSubstr("ends where a number"));
  EXPECT_THAT(problemOf("1 +"), HasSubstr("ends where a number"));
}

TEST(ExpressionErrorsTest, NeitherLengthNorDepthDoesHarm) {
  EXPECT_THAT(problemOf(std::string(5000, '1')), HasSubstr("longer than"));
  EXPECT_THAT(problemOf(std::string(900, '(')), HasSubstr("too deeply"));
  EXPECT_THAT(problemOf(std::string(900, '-')), HasSubstr("too deeply"));
  EXPECT_THAT(problemOf("\x1b[31m"), HasSubstr("'?[31m'"));
}

std::string planProblem(llvm::StringRef plan) {
  return makeVariant(Language::cuda, test::goodProgram(), plan).problem;
}

TEST(PlanErrorsTest, EachNamesThePlace) {
  EXPECT_THAT(planProblem("{"), HasSubstr("the plan is not JSON"));
  EXPECT_THAT(planProblem("[]"), HasSubstr("one JSON object"));
  EXPECT_THAT(planProblem(std::string(5000, '[')), HasSubstr("64 levels"));
  EXPECT_THAT(
      planProblem(
          R"json({"steps": [{"launch": "relu", "grid": ["M"], "block": [1], "arguments": []}]})json"),
      AllOf(HasSubstr("$.steps[0].grid[0]"), HasSubstr("unknown name 'M'")));
  EXPECT_THAT(
      planProblem(
          R"json({"steps": [{"launch": "relu", "grid": [1], "block": [1], "arguments": ["in0+M"]}]})json"),
      AllOf(HasSubstr("$.steps[0].arguments[0]"), HasSubstr("'M'")));
  EXPECT_THAT(planProblem(R"json({"steps": [{"launch": "relu"}]})json"),
              HasSubstr("$.steps[0]"));
  EXPECT_THAT(planProblem(R"json({"format": 2, "steps": []})json"),
              HasSubstr("format"));
  EXPECT_THAT(
      planProblem(
          R"json({"steps": [{"launch": "relu", "grid": [1], "block": [1], "arguments": []}], "streams": 2})json"),
      HasSubstr("streams"));
}

TEST(PlanErrorsTest, OfTheHost) {
  auto problem = [](llvm::StringRef plan) {
    return makeVariant(Language::c, "void fastk_kernel() {}", plan).problem;
  };
  EXPECT_THAT(problem("{\"bytes\": 5}"), HasSubstr("workspace_bytes"));
  EXPECT_THAT(problem("{\"workspace_bytes\": -5}"), HasSubstr("0 to 8 GiB"));
  EXPECT_THAT(problem("{\"workspace_bytes\": 1e30}"), HasSubstr("0 to 8 GiB"));
  EXPECT_THAT(problem("{\"workspace_bytes\": \"N\"}"),
              HasSubstr("unknown name 'N'"));
  EXPECT_THAT(problem("5"), HasSubstr("workspace_bytes"));
}

} // namespace
