//===- RoundedProductsTest.cpp - Rows whose passes must agree -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of which one pass uses what another one has found: their kernels compute
// the same values in both, and each after the other.
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "Patterns.h"

#include "gtest/gtest.h"

using namespace fastk::test;

/// Softmax of what `body` computes of two operands, %a and %b.
static std::string softmaxOf(const std::string &body, bool middle) {
  std::string text = replaceAll(
      softmax(3, 17, 29, middle, false), "@f(%x: tensor<3x17x29xf32>",
      "@f(%y: tensor<3x17x29xf32>, %z0: tensor<3x17x29xf32>");
  return replaceAll(text, "  %er = ", R"(  %tiny = arith.constant 3.0e-7 : f32
  %x = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %z0 : tensor<3x17x29xf32>, tensor<3x17x29xf32>) outs(%e : tensor<3x17x29xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
)" + body + R"(
    linalg.yield %p0 : f32
  } -> tensor<3x17x29xf32>
  %er = )");
}

// The product of which a maximum is taken is not the one that is fused with the
// subtraction of it: where they are large, they differ by more than exp takes.
TEST(CatalogRows, ProductsWhoseMaximumIsSubtractedAreRounded) {
  std::vector<KernelCase> cases;
  for (bool middle : {false, true})
    for (int64_t keep : {0, 1})
      cases.push_back({softmaxOf("    %p0 = arith.mulf %a, %b : f32", middle),
                       {{"KEEP", keep}},
                       32,
                       2,
                       "reduction",
                       3e6,
                       "softmax of a product"});
  // A quotient, which is no product with an inverse in one pass alone.
  cases.push_back({softmaxOf("    %q0 = arith.divf %a, %tiny : f32\n"
                             "    %p0 = arith.addf %q0, %b : f32",
                             false),
                   {{"INVERSE", 1}, {"KEEP", 0}},
                   32,
                   1,
                   "reduction",
                   3e6,
                   "softmax of a quotient"});
  // Before a product the maximum is a stage, and what subtracts it another.
  std::string text =
      replaceAll(softmaxOf("    %p0 = arith.mulf %a, %b : f32", false),
                 "%z0: tensor<3x17x29xf32>) -> tensor<3x17x29xf32> {",
                 "%z0: tensor<3x17x29xf32>, %w: tensor<3x29x8xf32>) -> "
                 "tensor<3x17x8xf32> {");
  text = replaceAll(text, "  return %q : tensor<3x17x29xf32>", R"(
  %e3 = tensor.empty() : tensor<3x17x8xf32>
  %i3 = linalg.fill ins(%z : f32) outs(%e3 : tensor<3x17x8xf32>) -> tensor<3x17x8xf32>
  %r3 = linalg.batch_matmul ins(%q, %w : tensor<3x17x29xf32>, tensor<3x29x8xf32>) outs(%i3 : tensor<3x17x8xf32>) -> tensor<3x17x8xf32>
  return %r3 : tensor<3x17x8xf32>)");
  cases.push_back(
      {text, {}, 32, 2, "contraction", 3e6, "softmax of a product, times"});
  checkKernels(cases);
}

TEST(CatalogRows, ASumOfSumsIsTwoStages) {
  // A matrix times a vector, and the result divided by its length.
  std::string text = R"(
func.func @f(%w: tensor<48x96xf32>, %x: tensor<96xf32>) -> tensor<48xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<48xf32>) -> tensor<48xf32>
  %p = linalg.matvec ins(%w, %x : tensor<48x96xf32>, tensor<96xf32>) outs(%i : tensor<48xf32>) -> tensor<48xf32>
  %e0 = tensor.empty() : tensor<f32>
  %i0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> ()>], iterator_types = ["reduction"]} ins(%p : tensor<48xf32>) outs(%i0 : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %q = arith.mulf %v, %v : f32
    %t = arith.addf %acc, %q : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  %n = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> ()>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]} ins(%p, %s : tensor<48xf32>, tensor<f32>) outs(%e : tensor<48xf32>) {
  ^bb0(%v: f32, %y: f32, %o: f32):
    %r = math.rsqrt %y : f32
    %t = arith.mulf %v, %r : f32
    linalg.yield %t : f32
  } -> tensor<48xf32>
  return %n : tensor<48xf32>
}
)";
  checkKernels({{text, {}, 32, 2, "reduction", 1, "norm of a product"},
                {text, {}, 64, 1, "reduction", 1, "norm of a product"}});
}
