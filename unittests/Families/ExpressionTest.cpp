//===- ExpressionTest.cpp - Comparisons and choices of expressions --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic is tested with what proposers read (ParametersTest.cpp).
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Numbers.h"
#include "gmock/gmock.h"

using namespace fastk::families;
using testing::HasSubstr;

static int64_t value(llvm::StringRef text, const Names &names = {}) {
  std::string problem;
  std::optional<int64_t> result = evaluateExpression(text, names, problem);
  EXPECT_TRUE(result) << text.str() << ": " << problem;
  return result.value_or(-1);
}

static std::string problemOf(llvm::StringRef text) {
  std::string problem;
  EXPECT_FALSE(evaluateExpression(text, {}, problem)) << text.str();
  return problem;
}

TEST(ExpressionTest, Comparisons) {
  EXPECT_EQ(value("1 < 2"), 1);
  EXPECT_EQ(value("2 <= 1"), 0);
  EXPECT_EQ(value("3 > 2 && 3 >= 3"), 1);
  EXPECT_EQ(value("3 == 3"), 1);
  EXPECT_EQ(value("3 != 3"), 0);
  EXPECT_EQ(value("2 + 1 == 9 / 3"), 1);
  EXPECT_EQ(value("!0 + !5"), 1);
  EXPECT_EQ(value("!(1 == 2)"), 1);
}

TEST(ExpressionTest, TruthHasThePrecedenceOfC) {
  EXPECT_EQ(value("1 || 0 && 0"), 1);
  EXPECT_EQ(value("(1 || 0) && 0"), 0);
  EXPECT_EQ(value("0 == 1 || 2 > 1"), 1);
  EXPECT_EQ(value("5 && 2"), 1);
}

TEST(ExpressionTest, Choices) {
  EXPECT_EQ(value("1 ? 2 : 3"), 2);
  EXPECT_EQ(value("0 ? 2 : 3"), 3);
  EXPECT_EQ(value("0 ? 2 : 0 ? 3 : 4"), 4);
  EXPECT_EQ(value("(N > 64 ? 128 : 64) * 2", {{"N", 65}}), 256);
  EXPECT_EQ(value("max(N < 8 ? N : 8, 3)", {{"N", 9}}), 8);
}

TEST(ExpressionTest, WhatIsNotTakenMayGoWrong) {
  EXPECT_EQ(value("N == 0 ? 7 : 100 / N", {{"N", 0}}), 7);
  EXPECT_EQ(value("1 ? 5 : 9223372036854775807 * 2"), 5);
  EXPECT_THAT(problemOf("1 ? 1 / 0 : 2"), HasSubstr("division by zero"));
  // Text that is none is refused wherever it stands.
  EXPECT_THAT(problemOf("1 ? 5 : nobody"), HasSubstr("unknown name 'nobody'"));
  EXPECT_THAT(problemOf("1 ? 5"), HasSubstr("a ':' is missing"));
  EXPECT_THAT(problemOf("1 = 2"), HasSubstr("unexpected '='"));
  EXPECT_THAT(problemOf("1 & 2"), HasSubstr("unexpected '&'"));
}

TEST(ExpressionTest, DepthIsBounded) {
  std::string deep(1000, '!');
  EXPECT_THAT(problemOf(deep.substr(0, 900) + "1"),
              HasSubstr("nested too deeply"));
  std::string choices;
  for (int i = 0; i < 200; ++i)
    choices += "0?1:";
  EXPECT_THAT(problemOf(choices + "1"), HasSubstr("nested too deeply"));
}

TEST(ExpressionTest, MacrosMayUseEarlierOnes) {
  ProgramDefinitions definitions("#define TILE 64 // tune: 64, 128\n"
                                 "#define ROWS (M > TILE ? TILE : M)\n"
                                 "#define TILES ceildiv(M, ROWS)\n"
                                 "#define LATER (AFTER + 1)\n"
                                 "#define AFTER 1\n");
  Names names = definitions.evaluate({{"M", 1000}});
  EXPECT_EQ(names["TILES"], 16);
  EXPECT_EQ(definitions.evaluate({{"M", 1000}, {"TILE", 128}})["TILES"], 8);
  EXPECT_EQ(names.count("LATER"), 0u);
}
/// What nobody asks for is not evaluated, and what is asked for has the value
/// that it has with all lines.
TEST(ExpressionTest, LinesThatNobodyAsksForAreLeftOut) {
  const char *text = "#define N 4 // tune: 4, 8\n"
                     "#define A (N * 2)\n#define B (A + 1)\n#define C (N + 3)\n"
                     "#if N > 4\n#define D (B * 10)\n#else\n#define D C\n"
                     "#endif\n#define E (D - 1)\n#undef A\n#define A 7\n";
  auto namesOf = [&](std::vector<llvm::StringRef> asked, int64_t n) {
    ProgramDefinitions definitions(text);
    definitions.fixAllBut(readNumbers(text).tuned);
    definitions.keepFor(asked);
    return definitions.evaluate({{"N", n}});
  };
  EXPECT_EQ(namesOf({"C * 2"}, 8), (Names{{"N", 8}, {"C", 11}}));
  EXPECT_EQ(namesOf({"B"}, 4), (Names{{"N", 4}, {"A", 7}, {"B", 9}}));
  // A condition that decides which line counts stays, and what it asks for.
  for (int64_t n : {4, 8}) {
    Names all = ProgramDefinitions(text).evaluate({{"N", n}});
    Names kept = namesOf({"max(E, 0)", "nobody"}, n);
    EXPECT_EQ(kept, all) << n;
  }
}

/// Expressions are read once for all values.
TEST(ExpressionTest, ConditionsKnowWhatIsDefined) {
  NameTable table;
  std::string problem;
  auto condition = Expression::read("defined A && !defined(B) || C > 1", table,
                                    problem, Expression::Kind::Condition);
  ASSERT_TRUE(condition) << problem;
  std::vector<NameValue> values(table.size());
  EXPECT_EQ(condition->evaluate(values), 0);
  values[table.placeOf("A")].isDefined = true;
  EXPECT_EQ(condition->evaluate(values), 1);
  values[table.placeOf("B")].isDefined = true;
  EXPECT_EQ(condition->evaluate(values), 0);
  values[table.placeOf("C")] = {2, true, true};
  EXPECT_EQ(condition->evaluate(values), 1);
  // A macro that is no number is not 0.
  values[table.placeOf("C")] = {0, false, true};
  EXPECT_EQ(condition->evaluate(values), std::nullopt);
  for (const char *ofCompiler : {"__CUDA_ARCH__ > 900", "defined(__clang__)"}) {
    auto unknown = Expression::read(ofCompiler, table, problem,
                                    Expression::Kind::Condition);
    ASSERT_TRUE(unknown) << problem;
    EXPECT_EQ(unknown->evaluate(values), std::nullopt);
  }
}
