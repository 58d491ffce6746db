//===- NoveltyTest.cpp - Programs that differ in nothing that counts ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State/Novelty.h"
#include "Proposals/IdeaShares.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace fastk;

static std::string novelty(const std::string &program) {
  Variant variant;
  variant.program = program;
  return noveltyOf(variant);
}

TEST(Novelty, CommentsAndWhiteSpaceDoNotCount) {
  std::string plain = novelty("int f(int a) {\n  return a + 1;\n}\n");
  EXPECT_EQ(plain, novelty("int   f(int a)\t{\n\n    return a + 1; // sum\n}"));
  EXPECT_EQ(plain,
            novelty("/* new */\nint f(int a) {\n  return /**/ a + 1;\n}"));
}

TEST(Novelty, WhatTheCompilerSeesCounts) {
  std::string plain = novelty("int f(int a) { return a + 1; }");
  EXPECT_NE(plain, novelty("int f(int a) { return a + 2; }"));
  EXPECT_NE(novelty("char *s = \"// a\";"), novelty("char *s = \"// b\";"));
  EXPECT_NE(novelty("char c = '\"'; // \" a"), novelty("char c = '\\''; // a"));
  // A line more or less is another program to the preprocessor.
  EXPECT_NE(novelty("#define A 1\nint a;"), novelty("#define A 1 int a;"));
  EXPECT_NE(novelty("int ab;"), novelty("int a b;"));
}

TEST(Novelty, PlanAndWorkspaceCount) {
  Variant a, b;
  a.program = b.program = "x";
  b.workspaceBytes = 4;
  EXPECT_NE(noveltyOf(a), noveltyOf(b));
}

TEST(Novelty, CutProgramsAreNoTrouble) {
  for (const char *text :
       {"", "/*", "/* a", "\"", "\"\\", "'", "//", "/", "\\"})
    EXPECT_FALSE(novelty(text).empty()) << text;
}

static int sum(const std::vector<int> &shares) {
  return std::accumulate(shares.begin(), shares.end(), 0);
}

TEST(IdeaShares, EqualWhileNothingIsKnown) {
  EXPECT_EQ(shareIdeas({{}, {}}, 6), (std::vector<int>{3, 3}));
  EXPECT_EQ(shareIdeas({{}, {6, 1, 1}}, 7), (std::vector<int>{4, 3}));
  EXPECT_EQ(shareIdeas({{}, {}, {}}, 2), (std::vector<int>{1, 1, 0}));
  EXPECT_TRUE(shareIdeas({}, 4).empty());
}

TEST(IdeaShares, TheBetterOneGetsMore) {
  std::vector<int> shares = shareIdeas({{40, 8, 40}, {40, 2, 40}}, 12);
  EXPECT_EQ(sum(shares), 12);
  EXPECT_GT(shares[0], shares[1]);
  EXPECT_GE(shares[1], 1);
}

TEST(IdeaShares, ThePriceCounts) {
  std::vector<int> shares = shareIdeas({{40, 4, 400}, {40, 4, 40}}, 12);
  EXPECT_EQ(sum(shares), 12);
  EXPECT_LT(shares[0], shares[1]);
}

TEST(IdeaShares, WhatWasSeldomAskedIsAskedAgain) {
  std::vector<int> shares = shareIdeas({{60, 3, 60}, {2, 0, 2}}, 12);
  EXPECT_EQ(sum(shares), 12);
  EXPECT_GT(shares[1], shares[0]);
}

TEST(IdeaShares, FreeModelsShareByGain) {
  std::vector<int> shares = shareIdeas({{20, 4, 0}, {20, 0, 0}}, 10);
  EXPECT_EQ(sum(shares), 10);
  EXPECT_GT(shares[0], shares[1]);
}
