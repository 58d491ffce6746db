//===- NestingTest.cpp - What counts as deep ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/Nesting.h"
#include "gtest/gtest.h"

using namespace fastk;

namespace {

std::string repeated(const std::string &part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += part;
  return text;
}

TEST(Nesting, CountsEveryKindOfBracket) {
  for (const char *open : {"(", "[", "{", "<", "tuple<", "({[<"}) {
    EXPECT_TRUE(isNestedDeeper(repeated(open, 201))) << open;
    EXPECT_FALSE(isNestedDeeper(repeated(open, 50))) << open;
  }
  EXPECT_FALSE(isNestedDeeper(repeated("(", 200)));
}

// A long text is not a deep one.
TEST(Nesting, ClosedBracketsCountNoMore) {
  for (const char *pair :
       {"()", "[]", "{}", "<>", "affine_map<(d0) -> (d0)>, ",
        "affine_set<(d0) : (d0 - 1 >= 0)>, ", "(d0 <= 5) ", "a -> b ", "-> ",
        ")", "// ((((\n", "\"((((\" ", "\"\\\"((((\" "})
    EXPECT_FALSE(isNestedDeeper(repeated(pair, 1000))) << pair;
}

TEST(Nesting, BracketsBehindStringsAndCommentsCount) {
  for (const char *part : {"\"x\" (", "// x\n(", "\"\\\\\" (", "a -> ("})
    EXPECT_TRUE(isNestedDeeper(repeated(part, 300))) << part;
}

TEST(Nesting, JSON) {
  auto deep = parseShallowJSON(repeated("[", 300) + repeated("]", 300));
  ASSERT_FALSE(static_cast<bool>(deep));
  EXPECT_EQ(llvm::toString(deep.takeError()), "nested more than 200 deep");
  auto wide = parseShallowJSON("[" + repeated("\"((<<[[{{\",", 300) + "0]");
  ASSERT_TRUE(static_cast<bool>(wide));
  EXPECT_EQ(wide->getAsArray()->size(), 301u);
  // In JSON these are no brackets, and are an error of its parser's.
  auto other = parseShallowJSON(repeated("<", 300));
  ASSERT_FALSE(static_cast<bool>(other));
  EXPECT_NE(llvm::toString(other.takeError()).find("Invalid JSON"),
            std::string::npos);
}

} // namespace
