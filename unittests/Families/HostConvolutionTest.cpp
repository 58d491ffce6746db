//===- HostConvolutionTest.cpp - Convolutions in C ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers and instances of convolutions, random ones and those with edges, are
// compiled and run: functions of vectors against those of one element, and
// results against sums of products in f64.
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "MatchedConvolution.h"
#include "fastk/Families/Samples.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using families::CoreInstance;
using testing::HasSubstr;

/// Random workloads that are run.
static constexpr uint64_t kSamples = 10;

/// Every function of a vector, at random places.
static const char *kVectors = R"(
#define TAPS_ (KERNEL_Z * KERNEL_Y * KERNEL_X)
#define CHECK_LANES(what, lanes, count, element) \
  for (long i = 0; i < min(count, LANES); ++i) \
    if (!isNear(lanes[i], element, 1e-5)) return bad(what, n, g, c, o, lanes[i], element);
#define CHECK_RESULTS(what, count, at, place) \
  for (long i = 0; i < min(count, LANES); ++i) { \
    const float y = read_(out[outOffset place]), wanted = read_(finish at); \
    if (!isNear(y, wanted, OUT_BITS == 32 ? 1e-5 : 1e-2)) return bad(what, g, o, y_, x_ + i, y, wanted); \
  }
#define CHECK_BEHIND(what, count) \
  if (behind >= 0 && count < LANES && memcmp(&before, &out[behind], sizeof before)) return bad(what, n, g, o, count, 1, 0);
  for (int round = 0; round < 3000; ++round) {
    const long n = draw() % BATCH, g = draw() % GROUPS, c = draw() % IN_CHANNELS, o = draw() % OUT_CHANNELS;
    const long z = draw() % IN_Z, y = draw() % IN_Y, x = draw() % IN_X;
    const long kz = draw() % KERNEL_Z, ky = draw() % KERNEL_Y, kx = draw() % KERNEL_X, k = draw() % (IN_CHANNELS * TAPS_);
    const long z_ = draw() % OUT_Z, y_ = draw() % OUT_Y, x_ = draw() % OUT_X, p = (z_ * OUT_Y + y_) * OUT_X + x_;
    const long want = 1 + draw() % (LANES + 2);
    const long ofG = min(want, GROUPS - g), ofC = min(want, IN_CHANNELS - c), ofX = min(want, IN_X - x), ofO = min(want, OUT_CHANNELS - o);
    const long ofK = min(want, IN_CHANNELS * TAPS_ - k), ofP = min(want, OUT_Z * OUT_Y * OUT_X - p);
    vf32 v = elementsX_G(OPERANDS, n, g, c, z, y, x, ofG);
    CHECK_LANES("X along g", v, ofG, elementX(OPERANDS, n, g + i, c, z, y, x))
    v = elementsX_C(OPERANDS, n, g, c, z, y, x, ofC);
    CHECK_LANES("X along c", v, ofC, elementX(OPERANDS, n, g, c + i, z, y, x))
    v = elementsX_X(OPERANDS, n, g, c, z, y, x, ofX);
    CHECK_LANES("X along x", v, ofX, elementX(OPERANDS, n, g, c, z, y, x + i))
    v = elementsW_G(OPERANDS, g, o, c, kz, ky, kx, ofG);
    CHECK_LANES("W along g", v, ofG, elementW(OPERANDS, g + i, o, c, kz, ky, kx))
    v = elementsW_O(OPERANDS, g, o, c, kz, ky, kx, ofO);
    CHECK_LANES("W along o", v, ofO, elementW(OPERANDS, g, o + i, c, kz, ky, kx))
    v = elementsW_C(OPERANDS, g, o, c, kz, ky, kx, ofC);
    CHECK_LANES("W along c", v, ofC, elementW(OPERANDS, g, o, c + i, kz, ky, kx))
    v = elementsW_K(OPERANDS, g, o, k, ofK);
    CHECK_LANES("W along k", v, ofK, elementW(OPERANDS, g, o, (k + i) / TAPS_, (k + i) % TAPS_ / (KERNEL_Y * KERNEL_X), (k + i) / KERNEL_X % KERNEL_Y, (k + i) % KERNEL_X))
    CHECK_LANES("terms of W", v, ofK, termW(OPERANDS, g, o, k + i))
    vf32 sums;
    for (long i = 0; i < LANES; ++i) sums[i] = (float)(draw() % 65 - 32) / 8;
    long behind = g + ofG < GROUPS ? outOffset(n, g + ofG, o, z_, y_, x_) : -1;
    OUT_TYPE before = behind < 0 ? 0 : out[behind];
    finishG(out, OPERANDS, n, g, o, z_, y_, x_, sums, ofG);
    CHECK_RESULTS("result along g", ofG, (OPERANDS, n, g + i, o, z_, y_, x_, sums[i]), (n, g + i, o, z_, y_, x_))
    CHECK_BEHIND("what is behind g", ofG)
    behind = o + ofO < OUT_CHANNELS ? outOffset(n, g, o + ofO, z_, y_, x_) : -1;
    before = behind < 0 ? 0 : out[behind];
    finishO(out, OPERANDS, n, g, o, z_, y_, x_, sums, ofO);
    CHECK_RESULTS("result along o", ofO, (OPERANDS, n, g, o + i, z_, y_, x_, sums[i]), (n, g, o + i, z_, y_, x_))
    CHECK_BEHIND("what is behind o", ofO)
#define AT(q) (q) / (OUT_Y * OUT_X), (q) / OUT_X % OUT_Y, (q) % OUT_X
    behind = p + ofP < OUT_Z * OUT_Y * OUT_X ? outOffset(n, g, o, AT(p + ofP)) : -1;
    before = behind < 0 ? 0 : out[behind];
    finishP(out, OPERANDS, n, g, o, p, sums, ofP);
    CHECK_RESULTS("result along p", ofP, (OPERANDS, n, g, o, AT(p + i), sums[i]), (n, g, o, AT(p + i)))
    CHECK_BEHIND("what is behind p", ofP)
  }
)";

/// The whole, of an instance: its corners and many others.
static const char *kWhole = R"(
  char *workspace = malloc(WORKSPACE + 64);
  memset(workspace, 0xff, WORKSPACE);
  memset(out, 0xff, elements * sizeof(OUT_TYPE));
  fastk_kernel(OPERANDS, out, workspace);
#define DRAW(all, bit) (round < 64 ? (round >> bit & 1) * (all - 1) : draw() % all)
  for (int round = 0; round < 600; ++round) {
    const long n = DRAW(BATCH, 0), g = DRAW(GROUPS, 1), o = DRAW(OUT_CHANNELS, 2), z = DRAW(OUT_Z, 3), y = DRAW(OUT_Y, 4), x = DRAW(OUT_X, 5);
    double sum = 0, size = 0;
    for (long c = 0; c < IN_CHANNELS; ++c)
      for (long kz = 0; kz < KERNEL_Z; ++kz)
        for (long ky = 0; ky < KERNEL_Y; ++ky)
          for (long kx = 0; kx < KERNEL_X; ++kx) {
            const double each = (double)elementW(OPERANDS, g, o, c, kz, ky, kx) * paddedX(OPERANDS, n, g, c,
              z * STRIDE_Z + kz * DILATION_Z - PADDING_Z, y * STRIDE_Y + ky * DILATION_Y - PADDING_Y, x * STRIDE_X + kx * DILATION_X - PADDING_X);
            sum += each;
            size += fabs(each);
          }
    // What a sum is off by, and what becomes of that.
    const double off = size * 1e-6 + 1e-6, got = read_(out[outOffset(n, g, o, z, y, x)]);
    const double low = read_(finish(OPERANDS, n, g, o, z, y, x, sum - off)), middle = read_(finish(OPERANDS, n, g, o, z, y, x, sum)), high = read_(finish(OPERANDS, n, g, o, z, y, x, sum + off));
    const double bound = fabs(high - middle) + fabs(middle - low) + (OUT_BITS == 32 ? 1e-5 : 2e-2) * (1 + fabs(middle));
    if (!(got == middle || (got != got && middle != middle) || fabs(got - middle) <= bound)) return bad("sum", g, o, y, x, got, middle);
  }
  for (long i = 0; i < 64; ++i)
    if (read_(out[elements + i]) != 0) return bad("what is behind the result", i, 0, 0, 0, 1, 0);
)";

static bool check(llvm::StringRef family, const ConvolutionText &text,
                  const std::string &about, uint64_t number) {
  MatchedConvolution matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  return checkOnHost(family, "convolution", *matched.form,
                     std::string(kVectors) + kWhole, about, number);
}

/// All choices of several instances.
static void checkAll(const ConvolutionText &text, const std::string &about) {
  for (uint64_t number = 0; number < 2; ++number)
    EXPECT_TRUE(check("convolution-panels", text, about, number)) << about;
}

TEST(HostConvolutionTest, InstancesOfRandomConvolutionsAreRight) {
  for (uint64_t number = 0; number < kSamples; ++number) {
    families::ConvolutionSample sample = families::sampleConvolution(5, number);
    EXPECT_TRUE(check("convolution-panels", sample.text, sample.about, number))
        << sample.about;
  }
}

TEST(HostConvolutionTest, ZerosReachBeyondTheKernel) {
  ConvolutionText text;
  for (auto &axis : text.axes) {
    axis.in = 3;
    axis.low = 5;
    axis.high = 7;
  }
  checkAll(text, "more zeros than the window is wide");
}

TEST(HostConvolutionTest, ATransposedConvolutionSkipsZeros) {
  ConvolutionText text;
  text.axes[0].inputDilation = 2;
  text.axes[1].inputDilation = 3;
  text.axes[1].kernel = 4;
  text.axes[1].dilation = 2;
  checkAll(text, "zeros between elements");
  // Positions of some phases meet no element of the kernel.
  text.axes[1].dilation = 3;
  checkAll(text, "a dilation that is that of the input");
  text.axes[0].stride = 2;
  text.axes[1].stride = 2;
  checkAll(text, "zeros between elements, and strides");
}

TEST(HostConvolutionTest, AKernelOfOneElementTakesWhatItMeets) {
  ConvolutionText text;
  text.axes[0].kernel = 1;
  text.axes[0].stride = 3;
  text.axes[1].kernel = 1;
  text.axes[1].stride = 2;
  text.axes[1].in = 33;
  checkAll(text, "a stride in both directions");
  text.x = "nYXc";
  text.out = "nyxo";
  checkAll(text, "with channels last");
}

TEST(HostConvolutionTest, LongRowsAreCutIntoBlocks) {
  ConvolutionText text;
  text.batch = 1;
  text.inChannels = 37;
  text.axes.assign(1, ConvolutionText::Axis());
  text.axes[0].in = 4001;
  text.axes[0].kernel = 5;
  text.axes[0].stride = 2;
  text.x = "ncX";
  text.w = "ocw";
  text.out = "nox";
  checkAll(text, "one dimension");
}

/// A depthwise convolution of 37 channels, which fill no whole vectors.
static ConvolutionText depthwise(bool isLast) {
  ConvolutionText text;
  text.groups = 37;
  text.inChannels = text.outChannels = 1;
  text.x = isLast ? "nYXg" : "ngYX";
  text.w = isLast ? "vwg" : "gvw";
  text.out = isLast ? "nyxg" : "ngyx";
  text.operands = {{"bias", "g"}};
  text.axes[1].in = 29;
  return text;
}

TEST(HostConvolutionTest, RowsOfDepthwiseConvolutionsAreRight) {
  ConvolutionText text = depthwise(false);
  for (uint64_t number = 0; number < 3; ++number) {
    text.axes[0].stride = 1 + number;
    text.axes[1].stride = 1 + number;
    text.axes[1].dilation = 1 + number % 2;
    text.type = number == 1 ? "bf16" : "f32";
    EXPECT_TRUE(check("convolution-rows", text, "", number));
  }
  text.axes[1].inputDilation = 2;
  EXPECT_TRUE(check("convolution-rows", text, "transposed", 3));
}

TEST(HostConvolutionTest, RowsOfFewOutputChannelsAreRight) {
  ConvolutionText text;
  text.inChannels = 5;
  text.outChannels = 4;
  // Too large a window to be unrolled.
  for (auto &axis : text.axes)
    axis.kernel = 11;
  text.axes[0].in = 23;
  EXPECT_TRUE(check("convolution-rows", text, "", 0));
  EXPECT_TRUE(check("convolution-rows", text, "", 1));
  text.outChannels = 64;
  EXPECT_FALSE(check("convolution-rows", text, "", 0));
}

TEST(HostConvolutionTest, VectorsOfGroupsAreRight) {
  ConvolutionText text = depthwise(true);
  for (uint64_t number = 0; number < 3; ++number) {
    text.axes[0].stride = 1 + number % 2;
    text.axes[1].dilation = 1 + number;
    text.w = number == 1 ? "gvw" : "vwg";
    text.type = number == 1 ? "f16" : "f32";
    EXPECT_TRUE(check("convolution-groups", text, "", number));
  }
  text.axes[1].inputDilation = 2;
  EXPECT_TRUE(check("convolution-groups", text, "transposed", 3));
  EXPECT_FALSE(check("convolution-groups", depthwise(false), "", 0));
}

TEST(HostConvolutionTest, TheHeaderSaysHowOperandsLie) {
  ConvolutionText text;
  text.x = "nYXc";
  text.w = "vwco";
  text.out = "nyxo";
  text.type = text.result = "f16";
  MatchedConvolution matched(text);
  CoreInstance core = describeInC("convolution", *matched.form, 32, 2);
  for (const char *line :
       {"#define THREADS 2\n", "#define LANES 8\n", "#define IN_CHANNELS 8\n",
        "#define PADDING_X 1\n", "#define X_IS_F16 1\n", "#define X_PLAIN 1\n",
        "#define X_STRIDE_X 8\n", "#define X_BUFFER in0\n",
        "#define X_ALONG_C 1\n", "#define X_ALONG_X 0\n",
        "#define W_BUFFER in1\n", "#define W_ALONG_O 1\n",
        "#define W_ALONG_K 0\n", "#define OUT_ALONG_O 1\n",
        "#define OUT_ALONG_P 0\n", "#define FINISH_IS_SUM 0\n"})
    EXPECT_THAT(families::headerOf(core), HasSubstr(line));
}

TEST(HostConvolutionTest, APaddingOfOtherThanZerosHasNoHeader) {
  std::string text = ConvolutionText().str();
  size_t place = text.find("%none_x = arith.constant 0.0");
  ASSERT_NE(place, std::string::npos);
  text.replace(text.find("0.0", place), 3, "1.0");
  MatchedConvolution matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  std::string why;
  EXPECT_FALSE(families::findCore(
      "convolution", matched.form->getPattern().front(), "host", why));
  EXPECT_EQ(why, "no expression computes the result of tensor.pad");
}
