//===- ConvolutionTest.cpp - What a convolution is, and its header --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedConvolution.h"
#include "MatchedText.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using families::Convolution;
using families::ConvolutionAxis;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

static std::string headerOf(const ConvolutionText &text) {
  return MatchedConvolution(text).header();
}

TEST(ConvolutionTest, AxesComeFromMapsAndZeros) {
  ConvolutionText text;
  text.axes[0] = {15, 5, 2, 3, 4, 1, 1};
  text.axes[1] = {40, 3, 3, 1, 0, 0, 1};
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  const auto &[z, y, x] = matched.core->axes;
  EXPECT_EQ(z.in * z.out * z.kernel, 1);
  EXPECT_EQ(y.in, 15);
  EXPECT_EQ(y.out, 4);
  EXPECT_EQ(y.kernel, 5);
  EXPECT_EQ(y.stride, 2);
  EXPECT_EQ(y.dilation, 3);
  EXPECT_EQ(y.padding, 4);
  EXPECT_EQ(x.out, 13);
  EXPECT_EQ(x.stride, 3);
  EXPECT_EQ(x.padding, 0);
}

TEST(ConvolutionTest, StridesComeFromLayouts) {
  ConvolutionText text;
  text.axes = {{16, 3, 1, 1, 1, 1, 1}, {24, 5, 1, 1, 2, 2, 1}};
  // One axis that is not there, and its distance to the next, is 16 aligned
  // elements behind all.
  auto aligned = [](int64_t elements) { return (elements + 15) / 16 * 16; };
  int64_t groupsOfX = aligned(2 * 8 * 16 * 24);
  MatchedConvolution first(text);
  ASSERT_TRUE(first.core) << first.why;
  EXPECT_THAT(first.core->x.strides,
              ElementsAre(8 * 16 * 24, groupsOfX, 16 * 24, groupsOfX, 24, 1));
  EXPECT_THAT(first.core->w.strides, ElementsAre(1920, 8 * 15, 15, 1920, 5, 1));
  text.x = "nYXc";
  text.w = "vwco";
  text.out = "nyxo";
  MatchedConvolution last(text);
  ASSERT_TRUE(last.core) << last.why;
  EXPECT_THAT(last.core->x.strides,
              ElementsAre(8 * 16 * 24, groupsOfX, 1, groupsOfX, 8 * 24, 8));
  EXPECT_THAT(last.core->w.strides,
              ElementsAre(1920, 1, 16, 1920, 5 * 128, 128));
  EXPECT_EQ(last.core->out.strides[2], 1);
  std::string header = last.header();
  EXPECT_THAT(header, HasSubstr("#define PAIRS_ALONG_O 1\n"));
  EXPECT_THAT(header, HasSubstr("#define X_ALIGNED 1\n"));
}

TEST(ConvolutionTest, GroupsAreWhatBothFactorsHave) {
  ConvolutionText text;
  text.groups = 4;
  text.inChannels = 2;
  text.outChannels = 3;
  text.operands.clear();
  // Apart, and in one dimension with the channels.
  for (auto [x, w, out] : {std::tuple("ngcYX", "gocvw", "ngoyx"),
                           {"nCYX", "Ocvw", "nOyx"},
                           {"nYXC", "vwcO", "nyxO"}}) {
    text.x = x;
    text.w = w;
    text.out = out;
    MatchedConvolution matched(text);
    ASSERT_TRUE(matched.core) << matched.why << " " << x;
    EXPECT_EQ(matched.core->groupCount, 4);
    EXPECT_EQ(matched.core->inChannelCount, 2);
    EXPECT_EQ(matched.core->outChannelCount, 3);
    EXPECT_TRUE(matched.core->x.isPlain && matched.core->w.isPlain);
  }
}

TEST(ConvolutionTest, DepthwiseHasGroupsOfOneChannel) {
  ConvolutionText text;
  text.groups = 24;
  text.inChannels = text.outChannels = 1;
  text.x = "nYXg";
  text.w = "gvw";
  text.out = "nyxg";
  text.operands = {{"bias", "g"}};
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->groupCount, 24);
  EXPECT_EQ(matched.core->inChannelCount, 1);
  EXPECT_THAT(matched.header(), HasSubstr("#define PAIRS_ALONG_G 1\n"));
}

TEST(ConvolutionTest, TransposedConvolutionsHaveZerosBetweenElements) {
  ConvolutionText text;
  for (auto &axis : text.axes)
    axis = {9, 3, 1, 1, 2, 2, 2};
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  const ConvolutionAxis &x = matched.core->axes[2];
  EXPECT_EQ(x.in, 9);
  EXPECT_EQ(x.out, 19);
  EXPECT_EQ(x.padding, 2);
  EXPECT_EQ(x.inputDilation, 2);
  EXPECT_TRUE(matched.core->x.isPlain);
}

TEST(ConvolutionTest, AnUnpaddedOneIsAContractionToo) {
  ConvolutionText text;
  for (auto &axis : text.axes)
    axis.low = axis.high = 0;
  EXPECT_TRUE(MatchedConvolution(text).core);
  EXPECT_TRUE(MatchedText(text.str()).core);
}

TEST(ConvolutionTest, WhatIsComputedIsNotPlain) {
  ConvolutionText text;
  text.prologueX.lines = "%a1 = arith.addf %a0, %a0 : f16";
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_FALSE(matched.core->x.isPlain);
  EXPECT_TRUE(matched.core->w.isPlain);
  // Zeros are not computed.
  EXPECT_EQ(matched.core->axes[2].padding, 1);
}

TEST(ConvolutionTest, TheHeaderHasSizesAndWhatSurroundsTheSums) {
  ConvolutionText text;
  text.tail = "%w0 = arith.addf %x, %bias32 : f32\n%v = math.tanh %w0 : f32";
  std::string header = headerOf(text);
  for (const char *line :
       {"#define BATCH 2\n",
        "#define GROUPS 1\n",
        "#define IN_CHANNELS 8\n",
        "#define OUT_CHANNELS 16\n",
        "#define IN_Z 1\n",
        "#define OUT_X 12\n",
        "#define KERNEL_Y 3\n",
        "#define STRIDE_X 1\n",
        "#define PADDING_X 1\n",
        "#define DILATION_Y 1\n",
        "#define INPUT_DILATION_Y 1\n",
        "#define X_IS_F16 1\n",
        "#define W_PLAIN 1\n",
        "#define OUT_BITS 16\n",
        "#define OUT_STRIDE_O 144\n",
        "#define PAIRS_ALONG_X 1\n",
        "FASTK_DEVICE f16 elementX(OPERAND_PARAMETERS, i32 n, i32 g, i32 c, "
        "i32 z, i32 y, i32 x) {",
        "FASTK_DEVICE f16 paddedX(",
        "FASTK_DEVICE f16 elementW(",
        "FASTK_DEVICE i64 outOffset(i32 n, i32 g, i32 o, i32 z, i32 y, i32 x)",
        "// Of columns x (even) and x + 1"})
    EXPECT_THAT(header, HasSubstr(line));
  EXPECT_THAT(header, HasSubstr("tanhf("));
  text.result = "f32";
  header = headerOf(text);
  EXPECT_THAT(header, Not(HasSubstr("finish2")));
  EXPECT_THAT(header, Not(HasSubstr("fastTanh")));
}

TEST(ConvolutionTest, ResultsMayBePixelsInOneDimension) {
  // Tokens of patches: the pixels of the result are one dimension.
  MatchedConvolution matched(std::string(R"(
func.func @f(%x: tensor<2x3x16x16xf32>, %w: tensor<8x3x4x4xf32>) -> tensor<2x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  %s = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<4> : vector<2xi64>}
      ins(%x, %w : tensor<2x3x16x16xf32>, tensor<8x3x4x4xf32>) outs(%z : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  %c = tensor.collapse_shape %s [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
  %f = tensor.empty() : tensor<2x8x16xf32>
  %r = linalg.exp ins(%c : tensor<2x8x16xf32>) outs(%f : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return %r : tensor<2x8x16xf32>
})"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->axes[1].out, 4);
  EXPECT_EQ(matched.core->axes[2].stride, 4);
}

TEST(ConvolutionTest, WhatAnImporterGivesIsRecognised) {
  for (const char *name :
       {"conv1d_small", "conv2d_small", "conv3d_small", "conv3x3_small",
        "depthwise_conv_small", "dilated_conv_small", "grouped_conv_small",
        "transposed_conv_small"}) {
    auto file = llvm::MemoryBuffer::getFile(std::string(FASTK_GOLDEN_DIR) +
                                            "/" + name + ".mlir");
    ASSERT_TRUE(file) << name;
    MatchedConvolution matched((*file)->getBuffer().str());
    ASSERT_TRUE(matched.core) << name << ": " << matched.why;
    EXPECT_THAT(matched.header(), HasSubstr("finishValue(")) << name;
    EXPECT_TRUE(matched.core->x.isPlain) << name;
    // W of a transposed one is turned around, so it is computed.
    bool isTransposed = llvm::StringRef(name).starts_with("transposed");
    EXPECT_EQ(matched.core->w.isPlain, !isTransposed) << name;
    EXPECT_EQ(matched.core->axes[2].inputDilation > 1, isTransposed) << name;
  }
}
