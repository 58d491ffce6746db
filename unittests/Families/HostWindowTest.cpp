//===- HostWindowTest.cpp - Windows in C ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances of windows, random ones and those with edges, are compiled and run
// against loops over each window, element by element.
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "Matched.h"
#include "fastk/Families/WindowCore.h"
#include "fastk/Families/WindowText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

using MatchedWindow = Matched<WindowText, matchWindows>;

static constexpr uint64_t kSamples = 16;

static const char *kWhole = R"(
  char *workspace = aligned_alloc(64, WORKSPACE / 64 * 64 + 128);
  memset(out, 0x7f, elements * sizeof(OUT_TYPE));
  fastk_kernel(OPERANDS, out, workspace);
  for (long i = 0; i < 64; ++i)
    if (read_(out[elements + i]) != 0) return bad("what is behind the result", i, 0, 0, 0, read_(out[elements + i]), 0);
)";

/// Every result against that of its window's elements, one by one.
static const char *kEach = R"(
  OUT_TYPE *other = calloc(elements + 64, sizeof(OUT_TYPE));
  for (long o = 0; o < OUTER; ++o)
    for (long z = 0; z < OUT_Z; ++z)
      for (long y = 0; y < OUT_Y; ++y)
        for (long x = 0; x < OUT_X; ++x)
          for (long c = 0; c < CHANNELS; ++c)
            computeOne(OPERANDS, other, o, z, y, x, c);
  for (long i = 0; i < elements; ++i)
    if (!isNear(read_(out[i]), read_(other[i]), OUT_BITS >= 32 ? 2e-5 : 2e-2)) return bad("result", i, 0, 0, 0, read_(out[i]), read_(other[i]));
)";

static void check(const std::string &text, const std::string &checks,
                  const std::string &about, const std::string &before = "") {
  for (uint64_t number = 0; number < 5; ++number) {
    MatchedWindow matched(text);
    ASSERT_TRUE(matched.core) << about << ": " << matched.why;
    EXPECT_TRUE(checkOnHost("window-rows", "window", *matched.form,
                            before + kWhole + checks, about, number))
        << about;
  }
}

/// Loops that a window's text is: for operands without lines, results without
/// finish, of dimensions in the operand's order. NaN of a maximum stays.
static std::string reference(const WindowText &text,
                             const std::string &combined) {
  std::string open, inside, at = "0", to = "0", loops;
  for (char dim : text.dims) {
    auto axis = text.axes.find(dim);
    std::string name(1, dim);
    if (axis == text.axes.end()) {
      std::string extent = std::to_string(text.extents.at(dim));
      open += "for (long " + name + " = 0; " + name + " < " + extent + "; ++" +
              name + ") ";
      at = "(" + at + ") * " + extent + " + " + name;
      to = "(" + to + ") * " + extent + " + " + name;
      continue;
    }
    const WindowText::Axis &a = axis->second;
    std::string in = std::to_string(a.in), out = std::to_string(a.out());
    open += "for (long " + name + " = 0; " + name + " < " + out + "; ++" +
            name + ") ";
    loops += "for (long k" + name + " = 0; k" + name + " < " +
             std::to_string(a.window) + "; ++k" + name + ") ";
    std::string place = "(" + name + " * " + std::to_string(a.stride) + " + k" +
                        name + " * " + std::to_string(a.dilation) + " - " +
                        std::to_string(a.low) + ")";
    inside += " && " + place + " >= 0 && " + place + " < " + in;
    at = "(" + at + ") * " + in + " + " + place;
    to = "(" + to + ") * " + out + " + " + name;
  }
  return "  " + open + "{\n    double sum = START;\n    " + loops +
         "{\n      const double v = 1" + inside + " ? read_(a0[" + at +
         "]) : PADDING;\n      sum = " + combined +
         ";\n    }\n    const double got = read_(out[" + to +
         "]);\n    if (!isNear(got, sum, OUT_BITS >= 32 ? 1e-5 : 2e-2)) return "
         "bad(\"window\", " +
         to + ", 0, 0, 0, got, sum);\n  }\n";
}
static const char *kMaximum =
    "\n#define START (-INFINITY)\n#define PADDING (-INFINITY)\n";
static const char *kLargest = "sum != sum || v != v ? NAN : v > sum ? v : sum";

static std::string headerOf(const WindowText &text) {
  MatchedWindow matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  return describeInC("window", *matched.form, 32, 2).header;
}

TEST(HostWindowTest, InstancesOfRandomWindowsAreRight) {
  for (uint64_t number = 0; number < kSamples; ++number) {
    WindowSample sample = sampleWindow(7, number);
    MatchedWindow matched(sample.text);
    ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why;
    EXPECT_TRUE(checkOnHost("window-rows", "window", *matched.form,
                            std::string(kWhole) + kEach, sample.about, number))
        << sample.about;
  }
}

TEST(HostWindowTest, MaximaAmongPads) {
  WindowText text;
  text.axes = {{'y', {13, 3, 2, 1, 1, 1}}, {'x', {45, 3, 2, 1, 1, 1}}};
  std::string header = headerOf(text);
  for (const char *line :
       {"#define INSIDE_BEGIN_X 1\n", "#define INSIDE_END_X 46\n",
        "#define INSIDE_BEGIN_Y 1\n", "#define ALONG_X 1\n",
        "#define HAS_LANES 1\n", "#define STRIDE_X 2\n"})
    EXPECT_THAT(header, HasSubstr(line));
  // A NaN stays in all windows that have it.
  check(text.str(), kMaximum + reference(text, kLargest), "maxima",
        "  x0[40] = NAN;\n  x0[700] = NAN;\n");
}

TEST(HostWindowTest, StridesAndDilation) {
  for (int64_t stride : {1, 2, 3, 4})
    for (int64_t dilation : {1, 2}) {
      WindowText text;
      text.axes = {{'y', {12, 3, stride, dilation, 1, 0}},
                   {'x', {57, 3, stride, dilation, 0, 1}}};
      check(text.str(), kMaximum + reference(text, kLargest),
            "stride " + std::to_string(stride) + " apart " +
                std::to_string(dilation));
    }
}

TEST(HostWindowTest, OneAndThreeAxes) {
  WindowText text;
  text.dims = text.out = text.operands[0].dims = "ncx";
  text.axes = {{'x', {301, 4, 2, 1, 1, 1}}};
  check(text.str(), kMaximum + reference(text, kLargest), "one axis");
  text.dims = text.out = text.operands[0].dims = "nczyx";
  text.axes = {{'z', {5, 2, 1, 1, 1, 0}},
               {'y', {6, 3, 1, 1, 1, 1}},
               {'x', {23, 3, 1, 1, 1, 1}}};
  check(text.str(), kMaximum + reference(text, kLargest), "three axes");
}

TEST(HostWindowTest, ChannelsMayBeLast) {
  for (int64_t channels : {3, 20, 64}) {
    WindowText text;
    text.extents['c'] = channels;
    text.dims = text.out = text.operands[0].dims = "nyxc";
    text.axes = {{'y', {9, 3, 1, 1, 1, 1}}, {'x', {11, 3, 2, 1, 1, 1}}};
    EXPECT_THAT(headerOf(text), HasSubstr("#define ALONG_X 0\n"));
    check(text.str(), kMaximum + reference(text, kLargest), "channels last");
  }
}

TEST(HostWindowTest, SumsOfPadsOfAnyValue) {
  WindowText text;
  text.combiner = "arith.addf";
  text.neutral = "0.0";
  text.padding = "1.5";
  text.axes = {{'y', {10, 2, 2, 1, 1, 1}}, {'x', {30, 5, 1, 1, 2, 2}}};
  std::string macros = "\n#define START 0.0\n#define PADDING 1.5\n";
  check(text.str(), macros + reference(text, "sum + v"), "sums");
  text.operands[0].type = "bf16";
  check(text.str(),
        macros + reference(text, "sum + v")
                     .replace(reference(text, "sum + v").find("read_(a0["), 9,
                              "fk_widens_bf16(a0["),
        "sums of bf16");
}

TEST(HostWindowTest, LanesMayBeElementsOfAWideWindow) {
  WindowText text;
  text.combiner = "arith.addf";
  text.neutral = text.padding = "0.0";
  text.axes = {{'y', {8, 4, 4}}, {'x', {96, 19, 19}}};
  check(text.str(),
        "\n#define START 0.0\n#define PADDING 0.0\n" +
            reference(text, "sum + v"),
        "wide windows");
}

TEST(HostWindowTest, RowsShorterThanAVector) {
  WindowText text;
  text.axes = {{'y', {7, 3, 1, 1, 1, 1}}, {'x', {7, 3, 1, 1, 1, 1}}};
  check(text.str(), kMaximum + reference(text, kLargest), "short rows");
  // No window is without a pad.
  text.axes = {{'y', {3, 3, 1, 1, 1, 1}}, {'x', {3, 5, 1, 1, 2, 2}}};
  check(text.str(), kMaximum + reference(text, kLargest), "all at borders");
}

TEST(HostWindowTest, Integers) {
  for (const char *type : {"i32", "i64"})
    for (const char *op : {"arith.maxsi", "arith.addi"}) {
      bool isSum = llvm::StringRef(op) == "arith.addi";
      std::string t = type;
      std::string start = isSum ? "0" : "-1000";
      WindowText like;
      like.dims = "ncyx";
      like.axes = {{'y', {11, 3, 2}}, {'x', {41, 3, 1}}};
      check(R"(
func.func @f(%x: tensor<2x3x11x41x)" +
                t + ">) -> tensor<2x3x5x39x" + t +
                "> {\n  %z = arith.constant " + start + " : " + t +
                "\n  %e = tensor.empty() : tensor<2x3x5x39x" + t +
                ">\n  %w = tensor.empty() : tensor<3x3x" + t +
                ">\n  %i = linalg.fill ins(%z : " + t +
                ") outs(%e : tensor<2x3x5x39x" + t + ">) -> tensor<2x3x5x39x" +
                t +
                R"(>
  %y = linalg.generic {indexing_maps = [affine_map<(n, c, y, x, j, i) -> (n, c, y * 2 + j, x + i)>, affine_map<(n, c, y, x, j, i) -> (j, i)>, affine_map<(n, c, y, x, j, i) -> (n, c, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<2x3x11x41x)" +
                t + ">, tensor<3x3x" + t + ">) outs(%i : tensor<2x3x5x39x" + t +
                ">) {\n  ^bb0(%a: " + t + ", %k: " + t + ", %o: " + t +
                "):\n    %v = " + op + " %o, %a : " + t +
                "\n    linalg.yield %v : " + t + "\n  } -> tensor<2x3x5x39x" +
                t + ">\n  return %y : tensor<2x3x5x39x" + t + ">\n}\n",
            "\n#define START " + start + "\n#define PADDING 0\n" +
                reference(like, isSum ? "sum + v" : "v > sum ? v : sum"),
            t + " " + op);
    }
}
