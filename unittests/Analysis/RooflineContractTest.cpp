//===- RooflineContractTest.cpp - The floor asks for no more than the op --===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/validation.md leaves to a kernel - masked and structurally zero
// terms, rows that no index names, products of values that the workload itself
// has rounded - costs nothing in the floor. A floor that charged it would call
// a fast honest kernel impossible.
//
//===----------------------------------------------------------------------===//

#include "ParsedModule.h"
#include "fastk/Analysis/Roofline.h"

using namespace fastk;

namespace {

Roofline analyze(const std::string &text) {
  ParsedModule module(R"(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#qi = affine_map<(i, j, d) -> (i, d)>
#kj = affine_map<(i, j, d) -> (j, d)>
#ij = affine_map<(i, j, d) -> (i, j)>
)" + text);
  return computeRoofline(module.body());
}

/// Attention of 16 queries and keys of 4 elements. `mask` makes the masked
/// logit %y of the logit %x at %i, %j; `arguments` are more operands, which the
/// masking reads as %more, `type` and `map` are theirs.
Roofline attention(const std::string &mask, const std::string &element = "f32",
                   const std::string &constants = "",
                   const std::string &operand = "",
                   const std::string &operandType = "") {
  std::string argument =
      operand.empty() || !constants.empty() ? "" : ", %mask: " + operandType;
  std::string maps = operand.empty() ? "#id, #id" : "#id, #id, #id";
  std::string ins = operand.empty()
                        ? "%s : tensor<16x16xf32>"
                        : "%s, %mask : tensor<16x16xf32>, " + operandType;
  std::string block =
      operand.empty() ? "%x: f32" : "%x: f32, %more: " + operand;
  std::string t16 = "tensor<16x16x" + element + ">",
              t4 = "tensor<16x4x" + element + ">";
  // Products are of f32 values that were extended, as torch-mlir writes them.
  std::string extend =
      element == "f32" ? ""
                       : "%a = arith.extf %pp : " + element + " to f32\n" +
                             "%b = arith.extf %vv : " + element + " to f32\n";
  std::string round = element == "f32"
                          ? "linalg.yield %ex : f32"
                          : "%hh = arith.truncf %ex : f32 to " + element +
                                "\nlinalg.yield %hh : " + element;
  std::string a = element == "f32" ? "%pp" : "%a",
              b = element == "f32" ? "%vv" : "%b";
  return analyze(constants + R"(
func.func @f(%q: tensor<16x4xf32>, %k: tensor<16x4xf32>, %v: )" +
                 t4 + argument +
                 R"() -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
)" + (constants.empty() ? "" : "  %mask = " + operand + "\n") +
                 R"(
  %s = linalg.generic {indexing_maps = [#qi, #kj, #ij], iterator_types = ["parallel", "parallel", "reduction"]} ins(%q, %k : tensor<16x4xf32>, tensor<16x4xf32>) outs(%z : tensor<16x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %r = arith.addf %o, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %w = linalg.generic {indexing_maps = [)" +
                 maps +
                 R"(], iterator_types = ["parallel", "parallel"]} ins()" + ins +
                 R"() outs(%e : tensor<16x16xf32>) {
  ^bb0()" + block +
                 R"(, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
)" + mask + R"(
    linalg.yield %y : f32
  } -> tensor<16x16xf32>
  %h = tensor.empty() : )" +
                 t16 + R"(
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<16x16xf32>) outs(%h : )" +
                 t16 + R"() {
  ^bb0(%x: f32, %o: )" +
                 element + R"():
    %ex = math.exp %x : f32
    )" + round + R"(
  } -> )" + t16 + R"(
  %f = tensor.empty() : tensor<16x4xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<16x4xf32>) -> tensor<16x4xf32>
  %out = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (j, d)>, affine_map<(i, d, j) -> (i, d)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %v : )" +
                 t16 + ", " + t4 + R"() outs(%g : tensor<16x4xf32>) {
  ^bb0(%pp: )" + element +
                 ", %vv: " + element + R"(, %o: f32):
    )" + extend + "%m = arith.mulf " +
                 a + ", " + b + R"( : f32
    %r = arith.addf %o, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x4xf32>
  return %out : tensor<16x4xf32>
})");
}

constexpr double kAll = 16 * 16 * 4, kTriangle = 16 * 17 / 2 * 4;

TEST(RooflineContract, AttentionWithoutAMask) {
  Roofline r = attention("%y = arith.addf %x, %zero : f32");
  EXPECT_EQ(r.ops.multiplyAdd, 2 * kAll);
  EXPECT_EQ(r.contraction32, 2 * kAll);
  EXPECT_EQ(r.ops.transcendental, 16 * 16);
}

// Both products, and the exponentials, of the triangle alone.
TEST(RooflineContract, CausalMasks) {
  for (const char *mask : {"%c = arith.cmpi sge, %i, %j : index\n"
                           "%y = arith.select %c, %x, %none : f32",
                           // Added, as torch's own attention writes it.
                           "%c = arith.cmpi sge, %i, %j : index\n"
                           "%m = arith.select %c, %zero, %none : f32\n"
                           "%y = arith.addf %x, %m : f32"}) {
    Roofline r = attention(mask);
    EXPECT_EQ(r.ops.multiplyAdd, 2 * kTriangle) << mask;
    EXPECT_EQ(r.contraction32, 2 * kTriangle) << mask;
    EXPECT_EQ(r.ops.transcendental, 16 * 17 / 2) << mask;
    EXPECT_EQ(r.readBytes, 3 * 16 * 4 * 4) << mask;
  }
}

// A window of four keys beside the diagonal: 10 + 12 * 4 + ... by rows.
TEST(RooflineContract, SlidingWindows) {
  Roofline r = attention("%four = arith.constant 4 : index\n"
                         "%l = arith.addi %j, %four : index\n"
                         "%c = arith.cmpi sge, %i, %j : index\n"
                         "%win = arith.cmpi slt, %i, %l : index\n"
                         "%both = arith.andi %c, %win : i1\n"
                         "%y = arith.select %both, %x, %none : f32");
  double pairs = 1 + 2 + 3 + 13 * 4;
  EXPECT_EQ(r.contraction32, 2 * pairs * 4);
}

// What a mask of the caller leaves out nobody knows: all operations are live,
// and the floor counts on none of them, in either product.
TEST(RooflineContract, MasksOfTheCaller) {
  Roofline r = attention("%y = arith.select %more, %x, %none : f32", "f32", "",
                         "i1", "tensor<16x16xi1>");
  EXPECT_EQ(r.ops.multiplyAdd, 2 * kAll);
  EXPECT_EQ(r.contraction32, 0);
  EXPECT_EQ(r.readBytes, 3 * 16 * 4 * 4 + 16 * 16);
  // A float that is compared is a mask as well.
  r = attention("%m = arith.cmpf oeq, %more, %zero : f32\n"
                "%y = arith.select %m, %none, %x : f32",
                "f32", "", "f32", "tensor<16x16xf32>");
  EXPECT_EQ(r.contraction32, 0);
  // One that is added may be a bias.
  r = attention("%y = arith.addf %x, %more : f32", "f32", "", "f32",
                "tensor<16x16xf32>");
  EXPECT_EQ(r.contraction32, 2 * kAll);
}

// What selects by its own sign needs the value.
TEST(RooflineContract, SelectsOfTheValueItself) {
  Roofline r = attention("%c = arith.cmpf ogt, %x, %zero : f32\n"
                         "%y = arith.select %c, %x, %zero : f32");
  EXPECT_EQ(r.contraction32, 2 * kAll);
}

// Nor is anything saved where another result needs it unmasked.
TEST(RooflineContract, WhatIsNeededElsewhereIsCharged) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<8x32xf32>, %b: tensor<32x8xf32>, %mask: tensor<8x8xi1>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %mask : tensor<8x8xf32>, tensor<8x8xi1>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %m: i1, %o: f32):
    %y = arith.select %m, %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<8x8xf32>
  return %p, %r : tensor<8x8xf32>, tensor<8x8xf32>
})");
  EXPECT_EQ(r.contraction32, 8 * 8 * 32);
}

// A mask that the module holds as a constant is known to a kernel.
TEST(RooflineContract, MasksThatAreConstants) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<4x32xf32>, %b: tensor<32x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant 0.0 : f32
  %mask = arith.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = linalg.matmul ins(%a, %b : tensor<4x32xf32>, tensor<32x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %mask : tensor<4x4xf32>, tensor<4x4xi1>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%x: f32, %m: i1, %o: f32):
    %y = arith.select %m, %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
})");
  EXPECT_EQ(r.contraction32, 0);
}

// Attention's weights, rounded by the workload: one 16-bit product a pair.
TEST(RooflineContract, WhatTheWorkloadRoundsIsMultipliedAsThat) {
  const char *causal = "%c = arith.cmpi sge, %i, %j : index\n"
                       "%y = arith.select %c, %x, %none : f32";
  Roofline half = attention(causal, "f16");
  EXPECT_EQ(half.contraction32, kTriangle);
  EXPECT_EQ(half.contraction16, kTriangle);
  Roofline brain = attention(causal, "bf16");
  EXPECT_EQ(brain.contraction32, kTriangle);
  EXPECT_EQ(brain.contractionB16, kTriangle);
}

// Rounded and extended again within one body: an f32 tensor of f16 values.
TEST(RooflineContract, RoundedInPlace) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.truncf %x : f32 to f16
    %y = arith.extf %t : f16 to f32
    linalg.yield %y : f32
  } -> tensor<8x8xf32>
  %p = linalg.matmul ins(%h, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %p : tensor<8x8xf32>
})");
  EXPECT_EQ(r.contraction16, 8 * 8 * 8);
  EXPECT_EQ(r.contraction32, 0);
}

// An embedding: the indices, and of the table what they name, one row at least.
TEST(RooflineContract, GathersReadRows) {
  Roofline r = analyze(R"(
func.func @f(%table: tensor<5000x64xf32>, %rows: tensor<16xi64>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %r = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<16xi64>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%n: i64, %o: f32):
    %i = arith.index_cast %n : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%i, %j] : tensor<5000x64xf32>
    linalg.yield %x : f32
  } -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
})");
  EXPECT_EQ(r.readBytes, 16 * 8 + 64 * 4);
  EXPECT_EQ(r.writtenBytes, 16 * 64 * 4);
}

// Rows of a product: those that no index names need not be computed, and all
// may be the same.
TEST(RooflineContract, GathersOfAProduct) {
  Roofline r = analyze(R"(
func.func @f(%a: tensor<64x32xf32>, %b: tensor<32x16xf32>, %rows: tensor<8xi64>) -> tensor<8x16xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x16xf32>) outs(%z : tensor<64x16xf32>) -> tensor<64x16xf32>
  %g = tensor.empty() : tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<8xi64>) outs(%g : tensor<8x16xf32>) {
  ^bb0(%n: i64, %o: f32):
    %i = arith.index_cast %n : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %p[%i, %j] : tensor<64x16xf32>
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
})");
  EXPECT_EQ(r.contraction32, 16 * 32);
  EXPECT_EQ(r.readBytes, 4 * (32 + 32 * 16) + 8 * 8);
}

// Multiplied by a triangle of ones, as a running sum is written: zeros are no
// terms.
TEST(RooflineContract, ProductsWithATriangleOfOnes) {
  Roofline r = analyze(R"(
func.func @f(%b: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %t = tensor.empty() : tensor<16x16xf32>
  %l = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%t : tensor<16x16xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %m = arith.cmpi sge, %i, %j : index
    %y = arith.select %m, %one, %zero : f32
    linalg.yield %y : f32
  } -> tensor<16x16xf32>
  %e = tensor.empty() : tensor<16x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x4xf32>) -> tensor<16x4xf32>
  %r = linalg.matmul ins(%l, %b : tensor<16x16xf32>, tensor<16x4xf32>) outs(%z : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
})");
  EXPECT_LE(r.contraction32, 16 * 17 / 2 * 4);
  EXPECT_EQ(r.readBytes, 16 * 4 * 4);
}

} // namespace
