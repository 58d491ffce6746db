//===- VectorLimitTest.cpp - What FASTK_VECTOR_BYTES may be ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/VectorLimit.h"
#include <gtest/gtest.h>

using fastk::parseVectorLimit;

TEST(VectorLimit, IsWhatTheVariableSays) {
  EXPECT_EQ(parseVectorLimit(nullptr), 64u);
  EXPECT_EQ(parseVectorLimit(""), 64u);
  EXPECT_EQ(parseVectorLimit("64"), 64u);
  EXPECT_EQ(parseVectorLimit("32"), 32u);
}

TEST(VectorLimit, OtherValuesAreNone) {
  for (const char *wrong : {"0", "16", "128", "32 ", "-32", "avx2", "32.0"})
    EXPECT_EQ(parseVectorLimit(wrong), 0u) << wrong;
}
