//===- KeptTextTest.cpp - What is computed once for many sums -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptText.h"
#include "gmock/gmock.h"

using namespace fastk;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

static families::KeptText keep(llvm::StringRef lines) {
  return families::keepLines(lines, {"g", "o"}, {"acc", "n", "x"});
}

/// A batch norm behind a convolution.
static constexpr llvm::StringLiteral kNorm = R"(  const i32 r0 = n;
  const i32 r1 = o;
  const float t0 = (float)0x1.4f8b588e368f1p-17;
  const float t1 = (float)in2[r1];
  const float t2 = t0 + t1;
  const float t3 = sqrtf(t2);
  const float t4 = (float)in3[r1];
  const float t5 = t4 / t3;
  const float t6 = acc * t5;
  const float t7 = (float)in4[r1];
  const float t8 = t6 + t7;
)";

TEST(KeptTextTest, WhatAChannelNeedsIsKept) {
  families::KeptText kept = keep(kNorm);
  EXPECT_THAT(kept.names, ElementsAre("t5", "t7"));
  EXPECT_THAT(kept.keep, HasSubstr("const float t5 = t4 / t3;\n"));
  EXPECT_THAT(kept.keep, Not(HasSubstr("acc")));
  EXPECT_THAT(kept.finish, HasSubstr("const float t5 = kept.v[0];\n"));
  EXPECT_THAT(kept.finish, HasSubstr("const float t7 = kept.v[1];\n"));
  EXPECT_THAT(kept.finish, HasSubstr("const float t8 = t6 + t7;\n"));
  EXPECT_FALSE(kept.loadsEach);
}

TEST(KeptTextTest, AResidualIsLoadedForEachSum) {
  families::KeptText kept = keep(R"(  const i32 r1 = o;
  const i32 r3 = x;
  const float t0 = (float)in2[64L*r1 + r3];
  const float t1 = acc + t0;
)");
  EXPECT_THAT(kept.names, IsEmpty());
  EXPECT_TRUE(kept.loadsEach);
}

TEST(KeptTextTest, WhatAColumnAloneNeedsIsNoResidual) {
  families::KeptText kept = keep(R"(  const i32 r3 = x;
  const float t0 = (float)in2[r3];
  const float t1 = acc + t0;
)");
  EXPECT_THAT(kept.names, IsEmpty());
  EXPECT_FALSE(kept.loadsEach);
}

TEST(KeptTextTest, NumbersAreNotKept) {
  families::KeptText kept = keep("  const float t0 = (float)0x1p-1;\n"
                                 "  const float t1 = acc * t0;\n");
  EXPECT_THAT(kept.names, IsEmpty());
  EXPECT_THAT(kept.finish, HasSubstr("const float t0 = (float)0x1p-1;\n"));
}

TEST(KeptTextTest, NothingIsKeptOfManyNumbersOrOtherLines) {
  std::string many = "  const i32 r1 = o;\n";
  std::string sum = "acc";
  for (int i = 0; i < 9; ++i) {
    many += "  const float t" + std::to_string(i) + " = (float)in" +
            std::to_string(i) + "[r1];\n";
    sum += " + t" + std::to_string(i);
  }
  many += "  const float t9 = " + sum + ";\n";
  EXPECT_THAT(keep(many).names, IsEmpty());
  EXPECT_EQ(keep(many).finish, many);
  for (const char *line :
       {"  if (acc > 0) return acc;\n", "  const unsigned int t9 = 1;\n"}) {
    // What cannot be read may load anything.
    std::string other = line + kNorm.str();
    EXPECT_THAT(keep(other).names, IsEmpty());
    EXPECT_EQ(keep(other).finish, other);
    EXPECT_TRUE(keep(other).loadsEach);
  }
}
