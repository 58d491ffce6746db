//===- SumOfProductsTest.cpp - What contractions compute ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "../Analysis/ParsedModule.h"

using namespace mlir;
using namespace fastk;

/// A row of sums whose body is `lines`, ending in `%r`.
static std::string sumOf(StringRef lines, StringRef iterator = "reduction") {
  return ("func.func @f(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, "
          "%o: tensor<4xf32>) -> tensor<4xf32> {\n"
          "  %s = linalg.generic {indexing_maps = ["
          "affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k)>, "
          "affine_map<(i, k) -> (i)>], iterator_types = [\"parallel\", \"" +
          iterator +
          "\"]} ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) "
          "outs(%o : tensor<4xf32>) {\n  ^bb0(%x: f32, %y: f32, %c: f32):\n" +
          lines +
          "    linalg.yield %r : f32\n  } -> tensor<4xf32>\n"
          "  return %s : tensor<4xf32>\n}\n")
      .str();
}

static std::optional<SumOfProducts> match(ParsedModule &parsed) {
  std::optional<SumOfProducts> found;
  parsed.body().walk(
      [&](linalg::GenericOp op) { found = matchSumOfProducts(op); });
  return found;
}

TEST(SumOfProducts, EitherOrderOfTheSumIsOne) {
  for (StringRef sum : {"%c, %p", "%p, %c"}) {
    ParsedModule parsed(sumOf("    %p = arith.mulf %x, %y : f32\n"
                              "    %r = arith.addf " +
                              sum.str() + " : f32\n"));
    auto found = match(parsed);
    ASSERT_TRUE(found);
    EXPECT_EQ(cast<BlockArgument>(found->lhs).getArgNumber(), 0u);
    EXPECT_EQ(cast<BlockArgument>(found->rhs).getArgNumber(), 1u);
    EXPECT_TRUE(found->product.hasOneUse());
  }
}

TEST(SumOfProducts, ASumOfSumsIsNone) {
  ParsedModule parsed(sumOf("    %p = arith.addf %x, %y : f32\n"
                            "    %r = arith.addf %c, %p : f32\n"));
  EXPECT_FALSE(match(parsed));
}

TEST(SumOfProducts, AProductOfTheAccumulatorIsNone) {
  ParsedModule parsed(sumOf("    %p = arith.mulf %c, %y : f32\n"
                            "    %r = arith.addf %x, %p : f32\n"));
  EXPECT_FALSE(match(parsed));
}
