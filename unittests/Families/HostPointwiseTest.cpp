//===- HostPointwiseTest.cpp - Pointwise work in C ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances of pointwise work, random ones and those with edges, are compiled
// and run: against loops that a test says, and random ones against the same of
// one lane.
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "MatchedPointwise.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

using Operand = PointwiseText::Operand;

static constexpr uint64_t kSamples = 16;

/// The whole is computed, and nothing behind it.
static const char *kWhole = R"(
  char *workspace = aligned_alloc(64, WORKSPACE / 64 * 64 + 128);
  memset(out, 0x7f, elements * sizeof(OUT_TYPE));
  fastk_kernel(OPERANDS, out, workspace);
  for (long i = 0; i < 64; ++i)
    if (read_(out[elements + i]) != 0) return bad("what is behind the result", i, 0, 0, 0, read_(out[elements + i]), 0);
)";

/// Every element against that of one lane.
static const char *kLanes = R"(
  OUT_TYPE *other = calloc(elements + 64, sizeof(OUT_TYPE));
  for (long row = 0; row < ALL_ROWS; ++row)
    for (int s = 0; s < SEGMENTS; ++s)
      for (long c = segmentBegin(s); c < segmentBegin(s + 1); ++c) {
        const long i = row * COLUMNS + c;
        if (i > 300 && draw() % 8 != 0) continue;
        computeColumns(s, 0, other, OPERANDS, row, c, 0, 1);
        if (!isNear(read_(out[i]), read_(other[i]), OUT_BITS >= 32 ? 1e-5 : 2e-2)) return bad("result", row, c, s, 0, read_(out[i]), read_(other[i]));
      }
)";

static void check(const std::string &text, const std::string &checks,
                  const std::string &about) {
  for (uint64_t number = 0; number < 4; ++number) {
    MatchedPointwise matched(text);
    ASSERT_TRUE(matched.core) << about << ": " << matched.why;
    EXPECT_TRUE(checkOnHost("pointwise-rows", "pointwise", *matched.form,
                            kWhole + checks, about, number))
        << about;
  }
}

/// Loops over r and c of the result, whose element is to be `wanted`.
static std::string elements(long rows, long columns,
                            const std::string &wanted) {
  return "  for (long r = 0; r < " + std::to_string(rows) +
         "; ++r)\n    for (long c = 0; c < " + std::to_string(columns) +
         "; ++c) {\n      const double wanted = " + wanted +
         ", got = read_(out[r * " + std::to_string(columns) +
         " + c]);\n      if (!isNear(got, wanted, OUT_BITS >= 32 ? 1e-6 : "
         "1e-2)) return bad(\"element\", r, c, 0, 0, got, wanted);\n    }\n";
}

static PointwiseText twice(const char *dims, long rows, long columns) {
  PointwiseText text;
  text.extents = {{'r', rows}, {'c', columns}};
  text.operands[0].dims = dims;
  text.lines = "    %n = arith.addf %x, %x : f32\n";
  text.value = "%n";
  return text;
}

static std::string headerOf(const std::string &text) {
  MatchedPointwise matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  return describeInC("pointwise", *matched.form, 32, 2).header;
}

TEST(HostPointwiseTest, InstancesOfRandomWorkloadsAreRight) {
  for (uint64_t number = 0; number < kSamples; ++number) {
    PointwiseSample sample = samplePointwise(11, number);
    MatchedPointwise matched(sample.text);
    ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why;
    EXPECT_TRUE(checkOnHost("pointwise-rows", "pointwise", *matched.form,
                            std::string(kWhole) + kLanes, sample.about, number))
        << sample.about;
  }
}

TEST(HostPointwiseTest, RowsThatFillNoVector) {
  check(twice("rc", 7, 37).str(), elements(7, 37, "2 * a0[r * 37 + c]"),
        "rows");
  PointwiseText text = twice("rc", 1031, 3);
  text.operands.push_back({"y", "c"});
  text.lines = "    %n = arith.addf %x, %y : f32\n";
  check(text.str(), elements(1031, 3, "a0[r * 3 + c] + a1[c]"),
        "three columns");
}

TEST(HostPointwiseTest, WhatIsTransposedIsTurned) {
  for (auto [rows, columns] : {std::pair(33l, 29l), {64l, 96l}, {5l, 300l}}) {
    PointwiseText text = twice("cr", rows, columns);
    std::string wanted = "2 * a0[c * " + std::to_string(rows) + " + r]";
    check(text.str(), elements(rows, columns, wanted), "transposed");
    text.operands[0].type = text.result = "f16";
    check(text.str(), elements(rows, columns, wanted), "transposed halves");
  }
  EXPECT_THAT(headerOf(twice("cr", 33, 29).str()),
              HasSubstr("#define TRANSPOSED 1\n"));
}

TEST(HostPointwiseTest, PadsCutColumnsIntoSegments) {
  PointwiseText text = twice("rc", 9, 41);
  text.operands[0].made = Operand::Padded;
  text.operands[0].along = 'c';
  text.operands[0].before = 3;
  text.operands[0].behind = 5;
  std::string header = headerOf(text.str());
  EXPECT_THAT(header, HasSubstr("#define SEGMENTS 3\n"));
  EXPECT_THAT(header, HasSubstr("#define HAS_LANES 1\n"));
  check(text.str(),
        elements(9, 41, "2 * (c < 3 || c >= 36 ? 1.5 : a0[r * 33 + c - 3])"),
        "padded columns");
  text.operands[0].along = 'r';
  header = headerOf(text.str());
  EXPECT_THAT(header, HasSubstr("#define SEGMENTS 1\n"));
  EXPECT_THAT(header, HasSubstr("return 1 && v0 >= 3 && v0 < 4;\n"));
  check(text.str(),
        elements(9, 41, "2 * (r < 3 || r >= 4 ? 1.5 : a0[(r - 3) * 41 + c])"),
        "padded rows");
}

TEST(HostPointwiseTest, ConcatenationsAndReversals) {
  PointwiseText text = twice("rc", 9, 41);
  Operand &operand = text.operands[0];
  operand.made = Operand::Joined;
  operand.along = 'c';
  operand.before = 15;
  check(text.str(),
        elements(9, 41, "2 * (c < 15 ? a0[r * 15 + c] : a1[r * 26 + c - 15])"),
        "joined columns");
  operand.along = 'r';
  operand.before = 4;
  check(text.str(),
        elements(9, 41, "2 * (r < 4 ? a0[r * 41 + c] : a1[(r - 4) * 41 + c])"),
        "joined rows");
  operand.made = Operand::Reversed;
  operand.along = 'c';
  check(text.str(), elements(9, 41, "2 * a0[r * 41 + 40 - c]"), "reversed");
}

TEST(HostPointwiseTest, GathersOfRowsAndOfElements) {
  PointwiseText text = twice("rc", 13, 40);
  Operand &operand = text.operands[0];
  text.extents['V'] = 20;
  operand.made = Operand::Gathered;
  operand.table = "Vc";
  operand.indexDims = "r";
  // What is out of range counts as 0: indices are drawn from -8 on.
  std::string index = "(a1[r] >= 0 && a1[r] < 20 ? a1[r] : 0)";
  EXPECT_THAT(headerOf(text.str()), HasSubstr("#define HAS_LANES 1\n"));
  check(text.str(), elements(13, 40, "2 * a0[" + index + " * 40 + c]"), "rows");
  operand.table = "rV";
  operand.indexDims = "c";
  index = "(a1[c] >= 0 && a1[c] < 20 ? a1[c] : 0)";
  EXPECT_THAT(headerOf(text.str()), HasSubstr("#define HAS_LANES 1\n"));
  check(text.str(), elements(13, 40, "2 * a0[r * 20 + " + index + "]"),
        "elements");
  // Indices of indices, and halves.
  operand.type = "f16";
  operand.wraps = true;
  index = "(a1[c] >= -20 && a1[c] < 20 ? (a1[c] < 0 ? a1[c] + 20 : a1[c]) : "
          "0)";
  check(text.str(), elements(13, 40, "2 * a0[r * 20 + " + index + "]"),
        "halves from the end");
}

/// A function of one operand by one op, with maps of the operand's dimensions.
static std::string unary(const std::string &from, const std::string &to,
                         const std::string &shape, const std::string &operand,
                         const std::string &dims, const std::string &map,
                         const std::string &lines) {
  std::string loops;
  for (size_t i = 0, n = llvm::StringRef(shape).count('x'); i < n; ++i)
    loops += i ? ", \"parallel\"" : "\"parallel\"";
  std::string in = "tensor<" + operand + from + ">",
              out = "tensor<" + shape + to + ">";
  return "func.func @f(%x: " + in + ") -> " + out +
         " {\n  %e = tensor.empty() : " + out +
         "\n  %y = linalg.generic {indexing_maps = [affine_map<(" + dims +
         ") -> (" + map + ")>, affine_map<(" + dims + ") -> (" + dims +
         ")>], iterator_types = [" + loops + "]} ins(%x : " + in +
         ") outs(%e : " + out + ") {\n  ^bb0(%a: " + from + ", %o: " + to +
         "):\n" + lines + "    linalg.yield %v : " + to + "\n  } -> " + out +
         "\n  return %y : " + out + "\n}\n";
}

TEST(HostPointwiseTest, ScalarsAndDimensionsOfOneElement) {
  std::string negate = "    %v = arith.negf %a : f32\n";
  check(unary("f32", "f32", "", "", "", "", negate), elements(1, 1, "-a0[0]"),
        "rank 0");
  check(unary("f32", "f32", "1x1x1x", "1x1x1x", "a, b, c", "a, b, c", negate),
        elements(1, 1, "-a0[0]"), "one element");
  check(unary("f32", "f32", "1x5x1x", "5x1x1x", "a, b, c", "b, a, c", negate),
        elements(1, 5, "-a0[c]"), "ones around");
}

TEST(HostPointwiseTest, AllElementTypes) {
  for (const char *type : {"i8", "i16", "i32", "i64"}) {
    std::string lines =
        "    %v = arith.muli %a, %a : " + std::string(type) + "\n";
    check(
        unary(type, type, "6x43x", "6x43x", "a, b", "a, b", lines),
        elements(6, 43, "(double)(OUT_TYPE)(a0[r * 43 + c] * a0[r * 43 + c])"),
        type);
    check(
        unary(type, type, "23x43x", "43x23x", "a, b", "b, a", lines),
        elements(23, 43, "(double)(OUT_TYPE)(a0[c * 23 + r] * a0[c * 23 + r])"),
        std::string(type) + " turned");
  }
  std::string sum = "    %v = arith.addf %a, %a : f64\n";
  check(unary("f64", "f64", "23x43x", "43x23x", "a, b", "b, a", sum),
        elements(23, 43, "2 * a0[c * 23 + r]"), "f64 turned");
  check(unary("f32", "i1", "23x43x", "23x43x", "a, b", "a, b",
              "    %z = arith.constant 0.25 : f32\n"
              "    %v = arith.cmpf ogt, %a, %z : f32\n"),
        elements(23, 43, "a0[r * 43 + c] > 0.25f"), "truth");
  check(unary("i1", "f16", "23x43x", "43x23x", "a, b", "b, a",
              "    %v = arith.uitofp %a : i1 to f16\n"),
        elements(23, 43, "a0[c * 23 + r]"), "truth turned to halves");
  check(unary("bf16", "f32", "23x43x", "23x43x", "a, b", "a, b",
              "    %v = arith.extf %a : bf16 to f32\n"),
        elements(23, 43, "fk_widens_bf16(a0[r * 43 + c])"), "bf16");
}

static std::string padOf(const std::string &value) {
  return R"(
func.func @f(%x: tensor<5x19xf32>) -> tensor<8x24xf32> {
  %p = arith.constant )" +
         value + R"( : f32
  %y = tensor.pad %x low[1, 2] high[2, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %p : f32
  } : tensor<5x19xf32> to tensor<8x24xf32>
  return %y : tensor<8x24xf32>
})";
}

TEST(HostPointwiseTest, PadsOfAnyValue) {
  for (auto [value, inC] : {std::pair("0.0", "0"),
                            {"-3.25", "-3.25"},
                            {"0x7FC00000", "NAN"},
                            {"0xFF800000", "-INFINITY"}})
    check(padOf(value),
          elements(8, 24,
                   "r < 1 || r >= 6 || c < 2 || c >= 21 ? " + std::string(inC) +
                       " : a0[(r - 1) * 19 + c - 2]"),
          value);
}

TEST(HostPointwiseTest, InsertedSlices) {
  check(R"(
func.func @f(%x: tensor<5x19xf32>, %y: tensor<9x31xf32>) -> tensor<9x31xf32> {
  %r = tensor.insert_slice %x into %y[2, 4] [5, 19] [1, 1] : tensor<5x19xf32> into tensor<9x31xf32>
  return %r : tensor<9x31xf32>
})",
        elements(9, 31,
                 "r >= 2 && r < 7 && c >= 4 && c < 23 ? a0[(r - 2) * 19 + c - "
                 "4] : a1[r * 31 + c]"),
        "inserted");
}

TEST(HostPointwiseTest, EverySecondElement) {
  check(R"(
func.func @f(%x: tensor<9x63xf32>) -> tensor<9x32xf32> {
  %s = tensor.extract_slice %x[0, 0] [9, 32] [1, 2] : tensor<9x63xf32> to tensor<9x32xf32>
  %e = tensor.empty() : tensor<9x32xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<9x32xf32>) outs(%e : tensor<9x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<9x32xf32>
  return %y : tensor<9x32xf32>
})",
        elements(9, 32, "-a0[r * 63 + 2 * c]"), "every second");
}
