//===- PlainTextTest.cpp - Text of strangers on a terminal ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/PlainText.h"
#include <gtest/gtest.h>

using namespace fastk;

TEST(PlainText, WhatTerminalsObeyIsGone) {
  EXPECT_EQ(plainText("a\x1b]52;c;x\x07z"), "a ]52;c;x z");
  EXPECT_EQ(plainText("a\x7f\r\nb"), "a   b");
  EXPECT_EQ(plainText("a\xc2\x9b"
                      "31mb"),
            "a 31mb");
}

TEST(PlainText, OtherLettersStay) {
  EXPECT_EQ(plainText("M\xc3\xbcller \xc2\xb5s"), "M\xc3\xbcller \xc2\xb5s");
  EXPECT_EQ(plainText("cut \xc2"), "cut \xc2");
  EXPECT_EQ(plainText(""), "");
}
