//===- StaticCheckerTest.cpp - Words that KernelBench refuses -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticChecker.h"
#include "gtest/gtest.h"

using namespace fastk;

TEST(StaticChecker, FindsItsWordsWhereverTheyStand) {
  EXPECT_EQ(findRefusedWord("for (int pass = 0;"), "pass");
  EXPECT_EQ(findRefusedWord("/* one pass */"), "pass");
  EXPECT_EQ(findRefusedWord("try :\n"), "try");
  EXPECT_EQ(findRefusedWord("/* all except one */"), "except");
  EXPECT_EQ(findRefusedWord("except:\n"), "except");
}

TEST(StaticChecker, OverlooksWhatTheCheckerCuts) {
  EXPECT_EQ(findRefusedWord("x = 1 // tune: pass, except y"), "");
  EXPECT_EQ(findRefusedWord("x = 1  # try: pass"), "");
  EXPECT_EQ(findRefusedWord("#define A pass"), "");
}

TEST(StaticChecker, IsNotMistakenForOtherWords) {
  EXPECT_EQ(findRefusedWord("bypass passed pass_ retry: try_wait noexcept f"),
            "");
  EXPECT_EQ(findRefusedWord("try.wait except)"), "");
}

TEST(StaticChecker, RewordsCodeAndComments) {
  EXPECT_EQ(avoidRefusedWords("int pass = pass_id(pass); /* try: pass */"),
            "int pass_ = pass_id(pass_); /* trying: passage */");
  EXPECT_EQ(avoidRefusedWords("/* except rows */ a // pass\nb"),
            "/* excepting rows */ a // pass\nb");
}

TEST(StaticChecker, LeavesTextsInQuotes) {
  for (const char *code :
       {"\"pass\"", "'\\''", "R\"x(\" pass )\")x\" y", "asm(\"a\\\" pass\")",
        "1'000'000", "\"unfinished pass", "/* unfinished"})
    EXPECT_EQ(avoidRefusedWords(code), code);
  EXPECT_EQ(avoidRefusedWords("1'0 pass 'a'"), "1'0 pass_ 'a'");
}
