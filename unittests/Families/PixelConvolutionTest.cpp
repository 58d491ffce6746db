//===- PixelConvolutionTest.cpp - Products as convolutions ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedConvolution.h"
#include "MatchedText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::ElementsAre;
using testing::HasSubstr;

/// A convolution of f32 by kernels of one element.
static ConvolutionText pixels(int64_t height, int64_t width) {
  ConvolutionText text;
  text.type = text.result = "f32";
  text.axes = {{height, 1, 1, 1, 0, 0, 1}, {width, 1, 1, 1, 0, 0, 1}};
  return text;
}

static ContractionText product() {
  ContractionText text;
  text.type = text.result = "f32";
  return text;
}

static void expectNoWindow(const std::string &text) {
  MatchedConvolution matched(text);
  EXPECT_FALSE(matched.core) << text;
  EXPECT_EQ(matched.why, "it has no window that moves");
  EXPECT_TRUE(MatchedText(text).core);
}

TEST(PixelConvolutionTest, PixelsAreAxesAsTheyAreWritten) {
  ConvolutionText text = pixels(9, 12);
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  const Convolution &core = *matched.core;
  EXPECT_FALSE(core.hasWindow);
  EXPECT_EQ(core.batchSize, 2);
  EXPECT_EQ(core.groupCount, 1);
  EXPECT_EQ(core.inChannelCount, 8);
  EXPECT_EQ(core.outChannelCount, 16);
  for (auto [axis, extent] : {std::pair(core.axes[1], 9), {core.axes[2], 12}}) {
    EXPECT_EQ(axis.in, extent);
    EXPECT_EQ(axis.out, extent);
    EXPECT_EQ(axis.kernel, 1);
    EXPECT_EQ(axis.stride, 1);
    EXPECT_EQ(axis.padding, 0);
  }
  EXPECT_TRUE(core.x.isPlain && core.w.isPlain && core.out.isPlain);
  EXPECT_EQ(core.x.strides[2], 9 * 12);
  EXPECT_EQ(core.out.strides[0], 16 * 9 * 12);
  EXPECT_THAT(matched.header(), HasSubstr("#define KERNEL_X 1\n"));
  EXPECT_TRUE(MatchedText(text.str()).core);
}

TEST(PixelConvolutionTest, FewPixelsStayX) {
  ConvolutionText text = pixels(2, 2);
  text.outChannels = 256;
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->outChannelCount, 256);
  EXPECT_EQ(matched.core->axes[2].out, 2);
}

TEST(PixelConvolutionTest, ImagesOfOnePixelAreRows) {
  ConvolutionText text = pixels(1, 1);
  text.batch = 64;
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->batchSize, 1);
  EXPECT_EQ(matched.core->axes[2].out, 64);
  EXPECT_EQ(matched.core->outChannelCount, 16);
}

TEST(PixelConvolutionTest, TheLargerSideOfAProductIsX) {
  for (bool isLhs : {true, false}) {
    ContractionText text = product();
    text.m = isLhs ? 96 : 48;
    text.n = isLhs ? 48 : 96;
    MatchedConvolution matched(text.str());
    ASSERT_TRUE(matched.core) << matched.why;
    const Convolution &core = *matched.core;
    EXPECT_FALSE(core.hasWindow);
    EXPECT_EQ(core.axes[2].in, 96);
    EXPECT_EQ(core.axes[2].out, 96);
    EXPECT_EQ(core.outChannelCount, 48);
    EXPECT_EQ(core.inChannelCount, 32);
    EXPECT_EQ(core.batchSize, 1);
    EXPECT_TRUE(core.x.isPlain && core.w.isPlain && core.out.isPlain);
    EXPECT_EQ(core.x.strides[5], 32);
    EXPECT_EQ(core.out.strides[5], isLhs ? 48 : 1);
    EXPECT_EQ(core.out.strides[2], isLhs ? 1 : 96);
    matched.header();
  }
}

TEST(PixelConvolutionTest, GroupsAreWhatBothHaveAndBatchWhatIsLeft) {
  ContractionText text = product();
  text.batch = 5;
  text.out = "bmn";
  text.a = "bmk";
  text.b = "bkn";
  MatchedConvolution shared(text.str());
  ASSERT_TRUE(shared.core) << shared.why;
  EXPECT_EQ(shared.core->groupCount, 5);
  EXPECT_EQ(shared.core->axes[2].out, 128);
  text.b = "kn";
  MatchedConvolution own(text.str());
  ASSERT_TRUE(own.core) << own.why;
  EXPECT_EQ(own.core->groupCount, 1);
  EXPECT_EQ(own.core->batchSize, 5);
  EXPECT_EQ(own.core->axes[2].out, 64);
  EXPECT_EQ(own.core->outChannelCount, 128);
}

TEST(PixelConvolutionTest, TheXAxisIsADimensionOfItsOwn) {
  // Rows m of the result are two dimensions of X, and columns are fewer.
  std::string text = R"(
func.func @f(%a: tensor<64x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %s = linalg.matmul ins(%a, %b : tensor<64x8xf32>, tensor<8x16xf32>) outs(%z : tensor<64x16xf32>) -> tensor<64x16xf32>
  %r = tensor.expand_shape %s [[0, 1], [2]] output_shape [4, 16, 16] : tensor<64x16xf32> into tensor<4x16x16xf32>
  %f = tensor.empty() : tensor<4x16x16xf32>
  %x = linalg.exp ins(%r : tensor<4x16x16xf32>) outs(%f : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %x : tensor<4x16x16xf32>
})";
  expectNoWindow(text);
}

TEST(PixelConvolutionTest, WhatIsComputedInPlaceIsW) {
  auto made = [](const std::string &factor) {
    return R"(
func.func @f(%a: tensor<64x8xf32>, %b: tensor<8x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<64x8xf32>, tensor<8x32xf32>) outs(%z : tensor<64x32xf32>) {
  ^bb0(%x: f32, %w: f32, %o: f32):
    %y = math.exp %)" +
           factor + R"( : f32
    %p = arith.mulf %)" +
           (factor == "x" ? "y, %w" : "x, %y") + R"( : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
})";
  };
  MatchedConvolution ofW(made("w"));
  ASSERT_TRUE(ofW.core) << ofW.why;
  EXPECT_TRUE(ofW.core->x.isPlain);
  EXPECT_FALSE(ofW.core->w.isPlain);
  EXPECT_THAT(ofW.header(), HasSubstr("expf("));
  expectNoWindow(made("x"));
}

TEST(PixelConvolutionTest, OneColumnOrAnotherTypeIsAContractionAlone) {
  ContractionText vector = product();
  vector.n = 1;
  vector.operands.clear();
  expectNoWindow(vector.str());
  for (const char *type : {"f16", "bf16"}) {
    ContractionText text = product();
    text.type = type;
    expectNoWindow(text.str());
    ConvolutionText pixel = pixels(9, 12);
    pixel.type = type;
    expectNoWindow(pixel.str());
  }
}

/// The cores of a text, by name; one that is seen in two ways once.
static std::vector<std::string> namesOf(const std::string &text,
                                        llvm::StringRef precision) {
  MatchedText matched(text);
  std::string why;
  std::vector<std::string> names;
  for (const CoreInstance &core :
       findCores(matched.form->getPattern().front(), "cuda:sm_90a", why, {},
                 precision)) {
    if (!llvm::is_contained(names, core.core))
      names.push_back(core.core);
    EXPECT_EQ(core.isProduct, core.core == "convolution");
    EXPECT_EQ(core.acceptsTF32, precision != "ieee");
    EXPECT_EQ(core.acceptsHalf, precision == "half");
  }
  return names;
}

TEST(PixelConvolutionTest, IsFirstWhereTF32IsAccepted) {
  for (const std::string &text : {pixels(9, 12).str(), product().str()}) {
    EXPECT_THAT(namesOf(text, "ieee"),
                ElementsAre("contraction", "convolution"));
    for (const char *looser : {"tf32", "half"})
      EXPECT_THAT(namesOf(text, looser),
                  ElementsAre("convolution", "contraction"));
  }
}

TEST(PixelConvolutionTest, TheHostHasNone) {
  for (const std::string &text : {pixels(9, 12).str(), product().str()}) {
    MatchedConvolution matched(text);
    ASSERT_TRUE(matched.core) << matched.why;
    std::string why;
    mlir::Block &body = matched.form->getPattern().front();
    EXPECT_FALSE(findCore("convolution", body, "host", why));
    EXPECT_EQ(why, "it has no window that moves");
    EXPECT_TRUE(findCore("contraction", body, "host", why)) << why;
  }
}
