//===- RooflineSeedTest.cpp - The seven operators against hand counts -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every number is derived by hand in a comment; the analysis has to agree
// within one per cent, in named and in generic form.
//
//===----------------------------------------------------------------------===//

#include "ParsedModule.h"
#include "fastk/Analysis/Roofline.h"
#include <cmath>

using namespace fastk;

namespace {

struct Expected {
  const char *name;
  double bytes;
  double multiplyAdd;
  double transcendental;
  /// Everything else that is floating point and not foldable.
  double rest;
};

void PrintTo(const Expected &e, std::ostream *os) { *os << e.name; }

constexpr double kRow = 65536, kRows = 4096;
constexpr double kSoftmax = kRows * kRow;       // 268,435,456 elements
constexpr double kNorm = 16.0 * 64 * 256 * 256; // 67,108,864 elements
constexpr double kSequence = 4096, kHeads = 4 * 32, kDim = 128;
constexpr double kScores = kHeads * kSequence * kSequence; // 2,147,483,648
constexpr double kCausal = kHeads * kSequence * (kSequence + 1) / 2;
// 55 output rows of 11 taps, of which the first loses two to the padding
// (starts at -2) and the last one (54*4-2+10 = 224, the image ends at 223).
constexpr double kTaps = (55 * 11 - 3.0) * (55 * 11 - 3.0);
constexpr double kConv = 100.0 * 96 * 3 * kTaps; // 10,437,235,200

const Expected kExpected[] = {
    // Two operands and one result of 4096^2 f32; M*N*K pairs.
    {"matmul_f32", 3 * 4096.0 * 4096 * 4, 4096.0 * 4096 * 4096, 0, 0},
    // Image 100*3*224*224, filter 96*3*11*11, bias 96, result 100*96*55*55.
    {"conv2d",
     4 * (100.0 * 3 * 224 * 224 + 96.0 * 363 + 96 + 100.0 * 96 * 55 * 55),
     kConv, 0, 0},
    // Result 27*27. Relu: one comparison for each of the 55*55 (27 windows of
    // 3, stride 2, cover all 55). Maximum: 27*27*9, one less for the first.
    {"conv2d_relu_maxpool",
     4 * (100.0 * 3 * 224 * 224 + 96.0 * 363 + 96 + 100.0 * 96 * 27 * 27),
     kConv, 0, 100.0 * 96 * (55 * 55 + 27 * 27 * 8)},
    // In and out. max, subtract, sum, multiply by the reciprocal; exp.
    {"softmax", 2 * 4 * kSoftmax, 0, kSoftmax, 4 * kSoftmax},
    // In, out, scale and bias of one sample each. Sum, centre, square, sum,
    // times 1/sigma, times scale, plus bias.
    {"layernorm", 4 * (2 * kNorm + 2 * kNorm / 16), 0, 0, 7 * kNorm},
    {"matmul_f16", 3 * 4096.0 * 4096 * 2, 4096.0 * 4096 * 4096, 0, 0},
    // Q, K, V and the result. QK^T and PV: 128 pairs a score each. max,
    // subtract, sum, multiply; the scale folds.
    {"attention_f16", 4 * kHeads * kSequence * kDim * 2, 2 * kScores * kDim,
     kScores, 4 * kScores},
    // Only the scores on and below the diagonal.
    {"attention_causal_f16", 4 * kHeads * kSequence * kDim * 2,
     2 * kCausal * kDim, kCausal, 4 * kCausal},
};

class RooflineSeed : public ::testing::TestWithParam<Expected> {};

void expectNear(double actual, double expected, const char *what) {
  EXPECT_NEAR(actual, expected, 0.01 * expected) << what;
}

void check(const Roofline &roofline, const Expected &expected) {
  expectNear(roofline.compulsoryBytes(), expected.bytes, "bytes");
  const OperationCounts &ops = roofline.ops;
  expectNear(ops.multiplyAdd, expected.multiplyAdd, "multiply-adds");
  expectNear(ops.transcendental, expected.transcendental, "transcendental");
  expectNear(ops.addSub + ops.multiply + ops.divide + ops.compare +
                 ops.squareRoot,
             expected.rest, "rest");
  EXPECT_TRUE(roofline.unmodelled.empty());
}

TEST_P(RooflineSeed, NamedForm) {
  auto module = ParsedModule::golden(GetParam().name);
  check(computeRoofline(module->body()), GetParam());
}

TEST_P(RooflineSeed, GenericForm) {
  auto module = ParsedModule::golden(GetParam().name);
  module->generalize();
  check(computeRoofline(module->body()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Operators, RooflineSeed,
                         ::testing::ValuesIn(kExpected), [](const auto &info) {
                           return std::string(info.param.name);
                         });

// The customary count of a convolution's operations, taps in the padding
// included: 2*100*96*55*55*363 = 21.08 G.
TEST(RooflineSeedFlops, ConvolutionAgainstTheCustomaryCount) {
  auto module = ParsedModule::golden("conv2d");
  expectNear(computeRoofline(module->body()).ops.flops(),
             2.0 * 100 * 96 * 55 * 55 * 363, "flops");
}

/// A GPU of 4.8 TB/s, 67 TFLOP/s in f32 and 989 in f16, without caches.
TargetDescription bigDevice() {
  TargetDescription target;
  target.memoryBytesPerSecond = 4.8e12;
  target.f32OpsPerSecond = target.f64OpsPerSecond = 67e12;
  target.f16OpsPerSecond = target.bf16OpsPerSecond = 989e12;
  return target;
}

double floorMicroseconds(const char *name) {
  auto module = ParsedModule::golden(name);
  return 1e6 * computeRoofline(module->body()).floorSeconds(bigDevice());
}

TEST(RooflineSeedFloors, MemoryBoundOperators) {
  expectNear(floorMicroseconds("softmax"), 2.147483648e9 / 4.8e6, "softmax");
  expectNear(floorMicroseconds("layernorm"), 570.4e6 / 4.8e6, "layernorm");
}

TEST(RooflineSeedFloors, ComputeBoundOperators) {
  // 137.44 GFLOP, f16 operands at the f16 rate.
  expectNear(floorMicroseconds("matmul_f16"), 137.44e9 / 989e6, "matmul_f16");
  // f32 operands: three f16 products each are faster than f32 itself.
  expectNear(floorMicroseconds("matmul_f32"), 137.44e9 / (989e6 / 3),
             "matmul_f32");
}

} // namespace
