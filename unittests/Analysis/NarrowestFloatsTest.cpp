//===- NarrowestFloatsTest.cpp - What results are rounded to --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/NarrowestFloats.h"
#include "ParsedModule.h"

using namespace mlir;
using namespace fastk;

/// The widths in bits, by result; 0 for one that is no float.
static std::vector<unsigned> widthsOf(const std::string &body) {
  ParsedModule module("#id = affine_map<(i) -> (i)>\n"
                      "#two = affine_map<(i, j) -> (i, j)>\n" +
                      body);
  auto function = cast<func::FuncOp>(module.body().getParentOp());
  std::vector<unsigned> widths;
  for (FloatType type : narrowestFloats(function))
    widths.push_back(type ? type.getWidth() : 0);
  return widths;
}

using Widths = std::vector<unsigned>;

TEST(NarrowestFloats, ResultsAreAskedOneByOne) {
  EXPECT_EQ(widthsOf(R"(
    func.func @f(%x: f32, %y: f64) -> (f32, f32, f64, f64) {
      %h = arith.truncf %x : f32 to f16
      %a = arith.extf %h : f16 to f32
      %b = arith.addf %x, %x : f32
      %c = arith.addf %y, %y : f64
      %d = arith.extf %b : f32 to f64
      return %a, %b, %c, %d : f32, f32, f64, f64
    })"),
            (Widths{16, 32, 64, 32}));
}

TEST(NarrowestFloats, ResultsOfOneStructuredOp) {
  EXPECT_EQ(widthsOf(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %e = tensor.empty() : tensor<4xf32>
      %r:2 = linalg.generic {indexing_maps = [#id, #id, #id],
                             iterator_types = ["parallel"]}
        ins(%x : tensor<4xf32>) outs(%e, %e : tensor<4xf32>, tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32, %p: f32):
        %h = arith.truncf %a : f32 to bf16
        %w = arith.extf %h : bf16 to f32
        %s = arith.mulf %a, %a : f32
        linalg.yield %w, %s : f32, f32
      } -> (tensor<4xf32>, tensor<4xf32>)
      return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
    })"),
            (Widths{16, 32}));
}

TEST(NarrowestFloats, WhatIsExactInHalfPrecision) {
  // An argument, a constant, what is moved, a shape, a buffer that is written.
  EXPECT_EQ(widthsOf(R"(
    func.func @f(%x: tensor<4x?xf16>) -> (tensor<?x4xf32>, tensor<?xf32>) {
      %c = arith.constant 1 : index
      %one = arith.constant 1.0 : f16
      %n = tensor.dim %x, %c : tensor<4x?xf16>
      %t = tensor.empty(%n) : tensor<?x4xf16>
      %turned = linalg.transpose ins(%x : tensor<4x?xf16>)
                outs(%t : tensor<?x4xf16>) permutation = [1, 0]
      %e = tensor.empty(%n) : tensor<?x4xf32>
      %r = linalg.generic {indexing_maps = [#two, #two],
                           iterator_types = ["parallel", "parallel"]}
        ins(%turned : tensor<?x4xf16>) outs(%e : tensor<?x4xf32>) {
      ^bb0(%a: f16, %o: f32):
        %w = arith.extf %a : f16 to f32
        %k = arith.extf %one : f16 to f32
        %s = arith.addf %w, %k : f32
        linalg.yield %s : f32
      } -> tensor<?x4xf32>
      %v = tensor.empty(%n) : tensor<?xf32>
      %i = arith.index_cast %n : index to i64
      %f = arith.sitofp %i : i64 to f32
      %q = linalg.fill ins(%f : f32) outs(%v : tensor<?xf32>) -> tensor<?xf32>
      return %r, %q : tensor<?x4xf32>, tensor<?xf32>
    })"),
            (Widths{32, 32}));
}

TEST(NarrowestFloats, ThroughIntegers) {
  EXPECT_EQ(widthsOf(R"(
    func.func @f(%x: f32) -> (f32, i32) {
      %h = arith.truncf %x : f32 to f16
      %i = arith.fptosi %h : f16 to i32
      %r = arith.sitofp %i : i32 to f32
      return %r, %i : f32, i32
    })"),
            (Widths{16, 0}));
}

TEST(NarrowestFloats, AccumulatorsAndNamedOps) {
  std::string text = R"(
    func.func @f(%a: tensor<4x4xf16>, %b: tensor<4x4xf16>) -> tensor<4x4xTYPE> {
      %z = arith.constant 0.0 : TYPE
      %e = tensor.empty() : tensor<4x4xTYPE>
      %i = linalg.fill ins(%z : TYPE) outs(%e : tensor<4x4xTYPE>) -> tensor<4x4xTYPE>
      %r = linalg.matmul ins(%a, %b : tensor<4x4xf16>, tensor<4x4xf16>)
           outs(%i : tensor<4x4xTYPE>) -> tensor<4x4xTYPE>
      return %r : tensor<4x4xTYPE>
    })";
  for (auto [type, width] : {std::pair("f32", 32u), std::pair("f16", 16u)}) {
    std::string typed = text;
    for (size_t at; (at = typed.find("TYPE")) != std::string::npos;)
      typed.replace(at, 4, type);
    EXPECT_EQ(widthsOf(typed), Widths{width}) << type;
  }
}

TEST(NarrowestFloats, WhatLiesInRegionsCountsWhole) {
  EXPECT_EQ(widthsOf(R"(
    func.func @f(%x: tensor<4xf32>, %p: f32) -> (tensor<6xf32>, tensor<4xf32>) {
      %h = arith.truncf %p : f32 to f16
      %w = arith.extf %h : f16 to f32
      %r = tensor.pad %x low[1] high[1] {
      ^bb0(%i: index):
        tensor.yield %w : f32
      } : tensor<4xf32> to tensor<6xf32>
      return %r, %x : tensor<6xf32>, tensor<4xf32>
    })"),
            (Widths{16, 32}));
}
