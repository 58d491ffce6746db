//===- CombinerTest.cpp - By what reductions combine ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"
#include "gtest/gtest.h"

using namespace fastk::catalog;

TEST(CombinerTest, ExtremaOfFloats) {
  for (CombinerKind kind : {CombinerKind::Max, CombinerKind::MaxNum}) {
    EXPECT_TRUE(isFloatMaximum(kind));
    EXPECT_TRUE(isFloatExtremum(kind));
  }
  for (CombinerKind kind : {CombinerKind::Min, CombinerKind::MinNum}) {
    EXPECT_FALSE(isFloatMaximum(kind));
    EXPECT_TRUE(isFloatExtremum(kind));
  }
  for (CombinerKind kind :
       {CombinerKind::Add, CombinerKind::Mul, CombinerKind::And,
        CombinerKind::Or, CombinerKind::MaxS, CombinerKind::MinS,
        CombinerKind::MaxU, CombinerKind::MinU}) {
    EXPECT_FALSE(isFloatMaximum(kind));
    EXPECT_FALSE(isFloatExtremum(kind));
  }
}
