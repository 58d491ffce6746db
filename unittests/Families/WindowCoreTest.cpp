//===- WindowCoreTest.cpp - Workloads that reduce windows -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/WindowCore.h"
#include "Matched.h"
#include "fastk/Families/Samples.h"
#include "fastk/Families/WindowText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

using MatchedWindow = Matched<WindowText, matchWindows>;

TEST(WindowCoreTest, MaximaOfPaddedWindows) {
  WindowText text;
  text.axes['x'] = {16, 3, 2, 1, 1, 1};
  text.axes['y'] = {12, 3, 2, 1, 1, 1};
  MatchedWindow matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  const WindowCore &core = *matched.core;
  EXPECT_EQ(core.outerCount, 6);
  EXPECT_FALSE(core.channel);
  EXPECT_FALSE(core.axes[0].windowVar);
  for (const SlidingAxis *axis : {&core.axes[1], &core.axes[2]}) {
    EXPECT_EQ(axis->window, 3);
    EXPECT_EQ(axis->stride, 2);
    EXPECT_EQ(axis->dilation, 1);
  }
  EXPECT_EQ(core.axes[1].out, 6);
  EXPECT_EQ(core.axes[2].out, 8);
  ASSERT_EQ(core.loads.size(), 1u);
  EXPECT_EQ(core.loads[0].guards.size(), 2u);
  EXPECT_TRUE(core.finishLoads.empty());
  std::string header = matched.header();
  // Rows begin at multiples of 16 bytes: the one before is the last of four.
  for (const char *line :
       {"#define OUTER 6\n", "#define CHANNELS 1\n", "#define OUT_Z 1\n",
        "#define OUT_Y 6\n", "#define OUT_X 8\n", "#define WINDOW_X 3\n",
        "#define STRIDE_Y 2\n", "#define DILATION_X 1\n",
        "#define POSITIONS_Y 13\n", "#define POSITIONS_X 20\n",
        "#define BEGIN_X 3\n", "#define ALONG_X 1\n", "#define VECTOR 4\n",
        "#define OUT_VECTOR 4\n", "#define READ_BYTES 4\n",
        "#define SUM_BYTES 4\n", "typedef float Sum;\n", "return -INFINITY; }",
        "fk_maxs_f32(a, b)"})
    EXPECT_THAT(header, HasSubstr(line));
}

TEST(WindowCoreTest, ChannelsMayLieTogether) {
  WindowText text;
  text.dims = text.out = "nyxc";
  text.operands = {{"e", "nyxc", "f16"}};
  text.result = "f16";
  text.extents['c'] = 24;
  text.axes['x'] = {16, 3, 1, 1, 1, 1};
  MatchedWindow matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->channelCount, 24);
  EXPECT_EQ(matched.core->outerCount, 2);
  std::string header = matched.header();
  for (const char *line : {"#define CHANNELS 24\n", "#define ALONG_X 0\n",
                           "#define VECTOR 8\n", "#define OUT_VECTOR 8\n",
                           "#define BEGIN_X 0\n", "#define POSITIONS_X 18\n"})
    EXPECT_THAT(header, HasSubstr(line));
}

TEST(WindowCoreTest, RowsThatBeginAnywhereAreLoadedOneByOne) {
  WindowText text;
  text.axes['x'] = {13, 3, 2, 1, 1, 1};
  std::string header = MatchedWindow(text).header();
  EXPECT_THAT(header, HasSubstr("#define VECTOR 1\n"));
  EXPECT_THAT(header, HasSubstr("#define POSITIONS_X 15\n"));
}

// One row: its length says nothing of where others begin, but of where it ends.
TEST(WindowCoreTest, NothingIsLoadedBehindAnOperand) {
  WindowText text;
  text.dims = text.out = "x";
  text.operands = {{"e", "x"}};
  text.axes = {{'x', {13, 2, 1, 1, 0, 0}}};
  EXPECT_THAT(MatchedWindow(text).header(), HasSubstr("#define VECTOR 1\n"));
  text.axes = {{'x', {16, 2, 1, 1, 0, 0}}};
  EXPECT_THAT(MatchedWindow(text).header(), HasSubstr("#define VECTOR 4\n"));
}

TEST(WindowCoreTest, WhatBecomesOfASumMayDependOnCoordinates) {
  WindowText text;
  text.combiner = "arith.addf";
  text.neutral = text.padding = "0.0";
  text.axes['x'].low = text.axes['x'].high = 1;
  text.dividesByCount = true;
  text.finishOperands = {{"bias", "c"}};
  text.finishLines = "    %z = arith.addf %r, %bias : f32\n";
  text.finishValue = "%z";
  MatchedWindow matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->finishLoads.size(), 1u);
  EXPECT_THAT(matched.header(), HasSubstr("return 0; }"));
}

TEST(WindowCoreTest, AnElementMayBeComputed) {
  WindowText text;
  text.operands = {{"e", "ncyx"}, {"scale", "c"}};
  text.lines = "    %v = arith.mulf %e, %scale : f32\n";
  text.value = "%v";
  text.axes['y'].low = 1;
  MatchedWindow matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->loads.size(), 2u);
}

TEST(WindowCoreTest, AWindowMayBeAllOfADimension) {
  WindowText text;
  text.axes['y'] = {7, 7, 1, 1, 0, 0};
  MatchedWindow matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->axes[1].window, 7);
  EXPECT_EQ(matched.core->axes[1].out, 1);
  EXPECT_EQ(matched.core->axes[2].out, 14);
}

/// What `ncyx` f32 tensors become.
static std::string function(const std::string &type, const std::string &made,
                            const std::string &body) {
  return "func.func @f(%a: tensor<" + type + ">) -> tensor<" + made + "> {\n" +
         body + "  return %r : tensor<" + made + ">\n}\n";
}

// The same windows in other spellings.
TEST(WindowCoreTest, ANamedOp) {
  MatchedWindow matched(function("2x3x16x16xf32", "2x3x7x7xf32", R"(
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x3x7x7xf32>
  %i = linalg.fill ins(%low : f32) outs(%e : tensor<2x3x7x7xf32>) -> tensor<2x3x7x7xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %r = linalg.pooling_nchw_max {strides = dense<2> : vector<2xi64>} ins(%a, %w : tensor<2x3x16x16xf32>, tensor<3x3xf32>) outs(%i : tensor<2x3x7x7xf32>) -> tensor<2x3x7x7xf32>
)"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->axes[2].stride, 2);
  EXPECT_EQ(matched.core->axes[2].out, 7);
}

TEST(WindowCoreTest, WindowsThatAreUnfoldedFirst) {
  MatchedWindow matched(function("5x31xf32", "5x15xf32", R"(
  %zero = arith.constant 0.0 : f32
  %u = tensor.empty() : tensor<5x15x3xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(c, x, k) -> (c, x * 2 + k)>, affine_map<(c, x, k) -> (c, x, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<5x31xf32>) outs(%u : tensor<5x15x3xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<5x15x3xf32>
  %e = tensor.empty() : tensor<5x15xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<5x15xf32>) -> tensor<5x15xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, x, k) -> (c, x, k)>, affine_map<(c, x, k) -> (c, x)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w : tensor<5x15x3xf32>) outs(%i : tensor<5x15xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %o, %x : f32
    linalg.yield %s : f32
  } -> tensor<5x15xf32>
)"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->axes[2].stride, 2);
  EXPECT_EQ(matched.core->axes[2].window, 3);
  EXPECT_EQ(matched.core->reduction.kind, catalog::CombinerKind::Add);
}

TEST(WindowCoreTest, WindowsOfChannels) {
  WindowText text;
  text.dims = text.out = "nxc";
  text.operands = {{"e", "nxc"}};
  text.axes = {{'x', {9, 5, 1, 1, 2, 2}}};
  MatchedWindow matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->axes[2].out, 9);
}

TEST(WindowCoreTest, EverySampleIsOne) {
  for (uint64_t number = 0; number < 120; ++number) {
    WindowSample sample = sampleWindow(1, number);
    MatchedWindow matched(sample.text);
    ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why << "\n"
                              << sample.text.str();
    int64_t results = matched.core->outerCount * matched.core->channelCount,
            window = 1, terms = 1;
    for (const SlidingAxis &axis : matched.core->axes) {
      results *= axis.out;
      window *= axis.window;
    }
    for (auto &[dim, axis] : sample.text.axes)
      terms *= axis.window;
    EXPECT_EQ(results, sample.text.elements(sample.text.out, true));
    EXPECT_EQ(window, terms) << sample.about;
    EXPECT_THAT(matched.header(), HasSubstr("#define OUTER ")) << sample.about;
  }
}

TEST(WindowCoreTest, EveryKindIsAmongThoseOfAnAdmission) {
  for (uint64_t seed : {0, 1, 2}) {
    std::string all;
    for (uint64_t number = 0; number < 60; ++number) {
      WindowSample sample = sampleWindow(seed, number);
      all += sample.about + "\n";
      EXPECT_LE(sample.text.elements(sample.text.dims, false),
                kMaxSampleElements);
    }
    for (const char *kind :
         {"sum of ", "product of ", "maximum of ", "minimum of ", " f32 ",
          " f16 ", " bf16 ", " ncyx", " nyxc", " nczyx", "mean", "squared",
          "by their number", " apart ", " pad ", "scaled by c", "plus "})
      EXPECT_THAT(all, HasSubstr(kind)) << seed;
  }
}
