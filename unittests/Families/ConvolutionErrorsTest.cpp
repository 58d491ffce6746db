//===- ConvolutionErrorsTest.cpp - What is no convolution -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedConvolution.h"
#include "MatchedText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

static std::string whyNot(const std::string &text) {
  MatchedConvolution matched(text);
  EXPECT_FALSE(matched.core) << text;
  return matched.why;
}

// Of f32 both are convolutions, too: PixelConvolutionTest.cpp.
TEST(ConvolutionErrorsTest, AContractionHasNoWindow) {
  EXPECT_THAT(whyNot(ContractionText().str()),
              HasSubstr("no window that moves"));
}

TEST(ConvolutionErrorsTest, AKernelOfOneElementIsAContraction) {
  ConvolutionText text;
  for (auto &axis : text.axes) {
    axis.kernel = 1;
    axis.low = axis.high = 0;
  }
  EXPECT_THAT(whyNot(text.str()), HasSubstr("no window that moves"));
  EXPECT_TRUE(MatchedText(text.str()).core);
  // With a stride it is both.
  text.axes[1].stride = 2;
  EXPECT_TRUE(MatchedConvolution(text).core);
  EXPECT_TRUE(MatchedText(text.str()).core);
}

TEST(ConvolutionErrorsTest, AWindowThatIsAllOfXIsAContraction) {
  ConvolutionText text;
  for (auto &axis : text.axes) {
    axis.kernel = axis.in;
    axis.low = axis.high = 0;
  }
  EXPECT_THAT(whyNot(text.str()), HasSubstr("no window that moves"));
  EXPECT_TRUE(MatchedText(text.str()).core);
}

TEST(ConvolutionErrorsTest, WhatSurroundsXIsZero) {
  std::string text = ConvolutionText().str();
  size_t place = text.find("%none_x = arith.constant 0.0");
  ASSERT_NE(place, std::string::npos);
  text.replace(text.find("0.0", place), 3, "1.0");
  // The sum then moves over what is padded, as it lies.
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  std::string why;
  EXPECT_FALSE(describeCore(*matched.core, why));
  EXPECT_THAT(why, HasSubstr("tensor.pad"));
}

TEST(ConvolutionErrorsTest, ZerosAreWhereAWindowMoves) {
  // Terms of a sum are padded.
  EXPECT_THAT(whyNot(R"(
func.func @f(%a: tensor<8x12xf32>, %b: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[0, 2] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x12xf32> to tensor<8x16xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%p, %b : tensor<8x16xf32>, tensor<16x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
})"),
              HasSubstr("zeros are where no window moves"));
}

/// A convolution of one dimension without channels, whose X is read at
/// `place`.
static std::string windowAt(const std::string &place) {
  return R"(
func.func @f(%x: tensor<4x32xf32>, %w: tensor<4x3xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(x, o, c, k) -> (c, )" +
         place +
         R"()>, affine_map<(x, o, c, k) -> (o, k)>, affine_map<(x, o, c, k) -> (x, o)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<4x32xf32>, tensor<4x3xf32>) outs(%z : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})";
}

TEST(ConvolutionErrorsTest, AWindowIsADimensionOfItsOwnAndRunsForwards) {
  EXPECT_TRUE(MatchedConvolution(windowAt("x * 2 + k")).core);
  EXPECT_THAT(whyNot(windowAt("x * 2 + k + c")),
              HasSubstr("no dimension of its own"));
  EXPECT_THAT(whyNot(windowAt("x - k + 2")), HasSubstr("runs backwards"));
}

TEST(ConvolutionErrorsTest, OnlyOneFactorHasWindows) {
  EXPECT_THAT(whyNot(R"(
func.func @f(%x: tensor<10x3xf32>, %w: tensor<10x3xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(x, y, k, l) -> (x + k, l)>, affine_map<(x, y, k, l) -> (y + l, k)>,
                                        affine_map<(x, y, k, l) -> (x, y)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<10x3xf32>, tensor<10x3xf32>) outs(%z : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
})"),
              HasSubstr("both factors have windows"));
}

TEST(ConvolutionErrorsTest, PixelsAreCountedIn32Bits) {
  ConvolutionText text;
  text.batch = 1 << 30;
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  std::string why;
  EXPECT_FALSE(families::describeCore(*matched.core, why));
  EXPECT_EQ(why, "its pictures have more than 2^31 pixels");
}
