//===- RooflineCasesTest.cpp - What is read, live, masked or avoidable ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsedModule.h"
#include "fastk/Analysis/Roofline.h"

using namespace fastk;

namespace {

Roofline analyze(llvm::StringRef text) {
  ParsedModule module(text);
  return computeRoofline(module.body());
}

constexpr const char *kMaps = R"(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
)";

Roofline withMaps(llvm::StringRef text) {
  return analyze((kMaps + text).str());
}

TEST(RooflineBytes, UnusedOperandsAreNotRead) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<8x4xf32>, %b: tensor<100xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.exp ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(r.readBytes, 8 * 4 * 4);
  EXPECT_EQ(r.writtenBytes, 8 * 4 * 4);
}

TEST(RooflineBytes, InitsThatAreOverwrittenAreNotRead) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<8x4xf32>, %out: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = linalg.exp ins(%a : tensor<8x4xf32>) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(r.readBytes, 8 * 4 * 4);
}

TEST(RooflineBytes, SlicesReadTheirPartAlone) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<8x40xf32>) -> tensor<4x10xf32> {
  %s = tensor.extract_slice %a[1, 5] [4, 10] [2, 3] : tensor<8x40xf32> to tensor<4x10xf32>
  %e = tensor.empty() : tensor<4x10xf32>
  %r = linalg.exp ins(%s : tensor<4x10xf32>) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
  return %r : tensor<4x10xf32>
})");
  EXPECT_EQ(r.readBytes, 4 * 10 * 4);
}

TEST(RooflineBytes, TwoSlicesReadTheirUnion) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<8x40xf32>) -> tensor<4x40xf32> {
  %s = tensor.extract_slice %a[0, 0] [4, 40] [1, 1] : tensor<8x40xf32> to tensor<4x40xf32>
  %t = tensor.extract_slice %a[2, 0] [4, 40] [1, 1] : tensor<8x40xf32> to tensor<4x40xf32>
  %e = tensor.empty() : tensor<4x40xf32>
  %r = linalg.add ins(%s, %t : tensor<4x40xf32>, tensor<4x40xf32>) outs(%e : tensor<4x40xf32>) -> tensor<4x40xf32>
  return %r : tensor<4x40xf32>
})");
  EXPECT_EQ(r.readBytes, 6 * 40 * 4);
}

// Stride 3 over a window of 2: every third row and column is skipped.
TEST(RooflineBytes, StridedWindowsSkipWhatTheyDoNotTouch) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<1x1x12x12xf32>) -> tensor<1x1x4x4xf32> {
  %c = arith.constant 0.0 : f32
  %w = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x1x4x4xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %r = linalg.pooling_nchw_sum {strides = dense<3> : vector<2xi64>} ins(%a, %w : tensor<1x1x12x12xf32>, tensor<2x2xf32>) outs(%z : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %r : tensor<1x1x4x4xf32>
})");
  EXPECT_EQ(r.readBytes, 8 * 8 * 4);
  EXPECT_EQ(r.ops.addSub, 16 * 3);
}

TEST(RooflineBytes, DiagonalsReadTheDiagonal) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<16x16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<16x16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
})");
  EXPECT_EQ(r.readBytes, 16 * 4);
}

TEST(RooflineBytes, HalfOfAConcatenation) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<4x8xf32>, %b: tensor<6x8xf32>) -> tensor<5x8xf32> {
  %c = tensor.concat dim(0) %a, %b : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<10x8xf32>
  %s = tensor.extract_slice %c[2, 0] [5, 8] [1, 1] : tensor<10x8xf32> to tensor<5x8xf32>
  return %s : tensor<5x8xf32>
})");
  EXPECT_EQ(r.readBytes, (2 + 3) * 8 * 4);
}

TEST(RooflineBytes, NarrowTypes) {
  Roofline r = withMaps(R"(
func.func @f(%m: tensor<8x4xi1>, %a: tensor<8x4xf16>) -> tensor<8x4xf16> {
  %e = tensor.empty() : tensor<8x4xf16>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %a : tensor<8x4xi1>, tensor<8x4xf16>) outs(%e : tensor<8x4xf16>) {
  ^bb0(%p: i1, %x: f16, %o: f16):
    %n = arith.negf %x : f16
    %y = arith.select %p, %x, %n : f16
    linalg.yield %y : f16
  } -> tensor<8x4xf16>
  return %r : tensor<8x4xf16>
})");
  EXPECT_EQ(r.readBytes, 32 + 64);
}

// The index of the maximum is not returned: neither it nor its comparison
// counts.
TEST(RooflineOps, DeadResultsCostNothing) {
  auto module = ParsedModule::golden("softmax_small");
  Roofline r = computeRoofline(module->body());
  EXPECT_EQ(r.ops.integer, 0);
  EXPECT_LE(r.ops.compare, r.ops.transcendental);
}

TEST(RooflineOps, DuplicatesCountOnce) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %x = linalg.exp ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.exp ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.add ins(%x, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(r.ops.transcendental, 32);
}

// exp of a broadcast row is computed once a row, in one op or across two.
TEST(RooflineOps, BroadcastsAreComputedOnce) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<8xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %b = linalg.broadcast ins(%a : tensor<8xf32>) outs(%e : tensor<8x4xf32>) dimensions = [1]
  %r = linalg.exp ins(%b : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(r.ops.transcendental, 8);
  EXPECT_EQ(r.readBytes, 32);
}

TEST(RooflineOps, ConstantFactorsFold) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c = arith.constant 3.14 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(r.ops.multiply, 0);
  EXPECT_EQ(r.ops.foldable, 32);
  EXPECT_EQ(r.elementwise32, 0);
}

TEST(RooflineOps, SlicedProductsAreComputedInPart) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<64x32xf32>, %b: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x16xf32>) outs(%z : tensor<64x16xf32>) -> tensor<64x16xf32>
  %s = tensor.extract_slice %p[8, 0] [8, 16] [1, 1] : tensor<64x16xf32> to tensor<8x16xf32>
  return %s : tensor<8x16xf32>
})");
  EXPECT_EQ(r.ops.multiplyAdd, 8 * 16 * 32);
  EXPECT_EQ(r.readBytes, 4 * (8 * 32 + 32 * 16));
}

/// A product of which `mask` leaves a part: it makes %m of %i and %j.
Roofline maskedProduct(const std::string &mask) {
  return withMaps(R"(
func.func @f(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
)" + mask + R"(
    %y = arith.select %m, %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
})");
}

// The lower triangle of a product: half of it need not be computed.
TEST(RooflineOps, TriangularResults) {
  Roofline r = maskedProduct("%m = arith.cmpi sge, %i, %j : index");
  EXPECT_EQ(r.ops.multiplyAdd, 64 * 65 / 2 * 32);
  EXPECT_EQ(r.readBytes, 4 * 2 * 64 * 32);
}

// The same with one more diagonal, by a constant below zero.
TEST(RooflineOps, TriangularResultsWithADiagonalMore) {
  Roofline r = maskedProduct(R"(
    %before = arith.constant -1 : index
    %k = arith.addi %j, %before : index
    %m = arith.cmpi sge, %i, %k : index)");
  EXPECT_EQ(r.ops.multiplyAdd, (64 * 65 / 2 + 63) * 32);
}

// A triangular operand: its zero half takes no part, nor is it read.
TEST(RooflineOps, TriangularOperands) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<64x64xf32>, %b: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %c = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<64x64xf32>
  %l = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x64xf32>) outs(%t : tensor<64x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %m = arith.cmpi slt, %i, %j : index
    %y = arith.select %m, %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<64x64xf32>
  %e = tensor.empty() : tensor<64x16xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %r = linalg.matmul ins(%l, %b : tensor<64x64xf32>, tensor<64x16xf32>) outs(%z : tensor<64x16xf32>) -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
})");
  EXPECT_EQ(r.ops.multiplyAdd, 64 * 65 / 2 * 16);
  EXPECT_EQ(r.readBytes, 4 * (64 * 65 / 2 + 64 * 16));
}

// A mask that the analysis cannot follow may mask everything.
TEST(RooflineOps, UnknownMasksChargeNothing) {
  Roofline r = withMaps(R"(
func.func @f(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %n = arith.constant 100 : index
    %m = arith.cmpi sge, %k, %n : index
    %y = arith.select %m, %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
})");
  EXPECT_EQ(r.ops.multiplyAdd, 0);
  EXPECT_EQ(r.writtenBytes, 64 * 64 * 4);
}

// (A·B)·C may be computed as A·(B·C): neither product is charged, both count.
TEST(RooflineFloor, ReassociableProductsAreNotCharged) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %k = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%k : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %q = linalg.matmul ins(%p, %c : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %q : tensor<64x64xf32>
})");
  EXPECT_EQ(r.ops.multiplyAdd, 2 * 64 * 64 * 64);
  EXPECT_EQ(r.contraction32, 0);
}

// With an activation between them both are needed as they stand.
TEST(RooflineFloor, ActivationsKeepProductsApart) {
  auto module = ParsedModule::golden("mlp");
  Roofline r = computeRoofline(module->body());
  EXPECT_EQ(r.ops.multiplyAdd, 2.0 * 512 * 768 * 3072);
  EXPECT_EQ(r.contraction32, r.ops.multiplyAdd);
}

// Winograd's F(4,3) does a 3x3 window of stride 1 with a quarter of the
// products; a stride of 4 leaves nothing to save.
TEST(RooflineFloor, FastConvolutionsAreAllowedFor) {
  auto small = ParsedModule::golden("conv3x3");
  Roofline winograd = computeRoofline(small->body());
  EXPECT_EQ(winograd.contraction32, winograd.ops.multiplyAdd / 4);
  auto seed = ParsedModule::golden("conv2d");
  Roofline strided = computeRoofline(seed->body());
  EXPECT_EQ(strided.contraction32, strided.ops.multiplyAdd);
}

TargetDescription device() {
  TargetDescription target;
  target.memoryBytesPerSecond = 1e9;
  target.f32OpsPerSecond = 1e9;
  target.f64OpsPerSecond = 5e8;
  target.f16OpsPerSecond = target.bf16OpsPerSecond = 1e9;
  return target;
}

TEST(RooflineFloor, WhatFitsInTheCacheNeedNotComeFromMemory) {
  Roofline r;
  r.readBytes = 6'000'000;
  r.writtenBytes = 4'000'000;
  TargetDescription target = device();
  EXPECT_DOUBLE_EQ(r.floorSeconds(target), 0.010);
  target.l3Bytes = 3'000'000;
  EXPECT_DOUBLE_EQ(r.floorSeconds(target), 0.007);
  // Flushed operands come from memory, results may stay.
  EXPECT_DOUBLE_EQ(r.floorSeconds(target, CacheState::Cold), 0.007);
  target.l3Bytes = 20'000'000;
  EXPECT_DOUBLE_EQ(r.floorSeconds(target), 0);
  EXPECT_DOUBLE_EQ(r.floorSeconds(target, CacheState::Cold), 0.006);
  target.cacheBytesPerSecond = 1e10;
  EXPECT_DOUBLE_EQ(r.floorSeconds(target), 0.001);
}

TEST(RooflineFloor, IsThatOfWhatIsTimed) {
  Roofline r;
  TargetDescription host = device(), gpu = device();
  gpu.target = "cuda:sm_90a";
  r.footprintBytes = 256 << 20;
  EXPECT_EQ(r.timedCaches(host), CacheState::Cold);
  EXPECT_EQ(r.timedCaches(gpu), CacheState::Cold);
  // The worker may leave it to the calls to evict so much.
  r.footprintBytes += 1;
  EXPECT_EQ(r.timedCaches(host), CacheState::Warm);
  EXPECT_EQ(r.timedCaches(gpu), CacheState::Cold);
  // Operands count whole, read or not.
  ParsedModule module(R"(
    func.func @f(%x: tensor<100xf32>) -> tensor<10xf32> {
      %s = tensor.extract_slice %x[5] [10] [1] : tensor<100xf32> to tensor<10xf32>
      return %s : tensor<10xf32>
    })");
  Roofline slice = computeRoofline(module.body());
  EXPECT_EQ(slice.readBytes, 40);
  EXPECT_EQ(slice.footprintBytes, 440);
}

TEST(RooflineFloor, ReducedPrecisionHasFasterUnits) {
  Roofline r;
  r.contraction32 = 5e8;
  TargetDescription target = device();
  EXPECT_DOUBLE_EQ(r.floorSeconds(target), 1.0);
  target.bf16OpsPerSecond = 16e9;
  // Three bf16 products for one of f32; one where half precision will do.
  EXPECT_DOUBLE_EQ(r.computeSeconds(target), 3.0 / 16);
  EXPECT_DOUBLE_EQ(r.computeSeconds(target, RooflinePrecision::Half), 1.0 / 16);
  EXPECT_EQ(r.bound(target), Bound::Compute);
}

TEST(RooflineFloor, UnknownRatesGiveNoFloor) {
  Roofline r;
  r.readBytes = 1000;
  r.contraction32 = 1000;
  EXPECT_EQ(r.floorSeconds(TargetDescription()), 0);
}

TEST(RooflineUnmodelled, UnknownOpsAreNamedAndFree) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %i = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %r = tensor.insert %x into %a[%i] : tensor<8xf32>
  return %r : tensor<8xf32>
})");
  ASSERT_EQ(r.unmodelled.size(), 1u);
  EXPECT_EQ(r.unmodelled.front(), "tensor.insert");
  EXPECT_EQ(r.writtenBytes, 32);
}

TEST(RooflineUnmodelled, TheBodyIsLeftAlone) {
  auto module = ParsedModule::golden("attention_causal_f16_small");
  std::string before, after;
  llvm::raw_string_ostream(before) << *module->body().getParentOp();
  computeRoofline(module->body());
  llvm::raw_string_ostream(after) << *module->body().getParentOp();
  EXPECT_EQ(before, after);
}

TEST(RooflineShapes, EmptyTensors) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<0x16xf32>, %b: tensor<16x8xf32>) -> tensor<0x8xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<0x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<0x8xf32>) -> tensor<0x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<0x16xf32>, tensor<16x8xf32>) outs(%z : tensor<0x8xf32>) -> tensor<0x8xf32>
  return %r : tensor<0x8xf32>
})");
  EXPECT_EQ(r.ops.multiplyAdd, 0);
  EXPECT_EQ(r.writtenBytes, 0);
}

// Whole dimensions of any length are exact; parts of very long ones are never
// counted too high, nor do they take memory in proportion.
TEST(RooflineShapes, HugeTensors) {
  Roofline whole = analyze(R"(
func.func @f(%a: tensor<1000000000000xf32>) -> tensor<1000000000000xf32> {
  %e = tensor.empty() : tensor<1000000000000xf32>
  %r = linalg.exp ins(%a : tensor<1000000000000xf32>) outs(%e : tensor<1000000000000xf32>) -> tensor<1000000000000xf32>
  return %r : tensor<1000000000000xf32>
})");
  EXPECT_EQ(whole.ops.transcendental, 1e12);
  Roofline part = analyze(R"(
func.func @f(%a: tensor<1000000000000xf32>) -> tensor<100xf32> {
  %s = tensor.extract_slice %a[50] [100] [1] : tensor<1000000000000xf32> to tensor<100xf32>
  return %s : tensor<100xf32>
})");
  EXPECT_EQ(part.readBytes, 400);
}

TEST(RooflineOps, NamedSoftmaxIsDecomposed) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
})");
  EXPECT_EQ(r.ops.transcendental, 128);
  EXPECT_TRUE(r.unmodelled.empty());
}

} // namespace
