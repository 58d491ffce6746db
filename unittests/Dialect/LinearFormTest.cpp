//===- LinearFormTest.cpp - Sums of indices times constants ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Linalg/LinearForm.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using fastk::LinearForm;
using testing::ElementsAre;

namespace {
class LinearFormTest : public testing::Test {
protected:
  AffineExpr dim(unsigned position) {
    return getAffineDimExpr(position, &context);
  }
  MLIRContext context;
};
} // namespace

TEST_F(LinearFormTest, AWindowIsLinear) {
  auto form = LinearForm::ofExpr(dim(0) * 2 + dim(1) * 3 - 1, 3);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->constant, -1);
  EXPECT_THAT(form->coefficients, ElementsAre(2, 3, 0));
}

TEST_F(LinearFormTest, DivisionsAndRemaindersAreNot) {
  EXPECT_FALSE(LinearForm::ofExpr(dim(0).floorDiv(2), 1));
  EXPECT_FALSE(LinearForm::ofExpr(dim(0) % 2 + dim(0), 1));
}

TEST_F(LinearFormTest, ASymbolIsNot) {
  EXPECT_FALSE(
      LinearForm::ofExpr(dim(0) + getAffineSymbolExpr(0, &context), 1));
}

TEST_F(LinearFormTest, AnAccessAddsItsStrides) {
  // Row d1 of 8 elements, column d0 + d2.
  AffineMap map = AffineMap::get(3, 0, {dim(1), dim(0) + dim(2)}, &context);
  auto address = LinearForm::ofAccess(map, {8, 1});
  ASSERT_TRUE(address);
  EXPECT_EQ(address->constant, 0);
  EXPECT_THAT(address->coefficients, ElementsAre(1, 8, 1));
}

TEST_F(LinearFormTest, AStrideThatIsNotKnownHasNoAddress) {
  AffineMap map = AffineMap::getMultiDimIdentityMap(2, &context);
  EXPECT_FALSE(LinearForm::ofAccess(map, {ShapedType::kDynamic, 1}));
}

TEST_F(LinearFormTest, FormsOfOtherIndicesReplaceIndices) {
  LinearForm twice = LinearForm::ofDim(0, 1).scaled(2);
  LinearForm moved = twice.plus(LinearForm::ofConstant(5, 1));
  LinearForm form = LinearForm::ofDim(0, 2).plus(LinearForm::ofDim(1, 2), 10);
  LinearForm replaced = form.substitute({twice, moved}, 1);
  EXPECT_EQ(replaced.constant, 50);
  EXPECT_THAT(replaced.coefficients, ElementsAre(22));
}
