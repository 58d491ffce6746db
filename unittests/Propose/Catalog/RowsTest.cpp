//===- RowsTest.cpp - The catalog's kernels of rows -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that families for the host write, with what ideas ask of them, and those
// that loops compute, against the interpreter.
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "Patterns.h"

#include "gtest/gtest.h"

using namespace fastk::test;

TEST(CatalogRows, SoftmaxAndLogSoftmax) {
  std::vector<KernelCase> cases;
  int64_t shapes[][3] = {
      {3, 5, 97}, {2, 7, 16}, {1, 1, 70000}, {2, 130, 33}, {4, 3, 5}};
  for (auto &s : shapes)
    for (bool middle : {false, true})
      for (bool logarithm : {false, true})
        cases.push_back({softmax(s[0], s[1], s[2], middle, logarithm),
                         {},
                         64,
                         2,
                         s[middle ? 1 : 2] == 1 ? "window" : "reduction",
                         20,
                         "softmax"});
  checkKernels(cases);
}

TEST(CatalogRows, Parameters) {
  std::vector<KernelCase> cases;
  for (int64_t keep : {0, 1, 2})
    for (int64_t stream : {0, 1})
      for (int64_t sums : {1, 8}) {
        cases.push_back({softmax(2, 9, 160, false, false),
                         {{"KEEP", keep},
                          {"STREAM", stream},
                          {"SUMS", sums},
                          {"INVERSE", sums == 8}},
                         64,
                         2,
                         "reduction",
                         5,
                         "softmax"});
        cases.push_back({softmax(2, 77, 51, true, false),
                         {{"KEEP", keep}, {"TILE", sums}, {"SERIAL", stream}},
                         32,
                         2,
                         "reduction",
                         5,
                         "softmax of the middle"});
      }
  for (int64_t keep : {0, 1, 2})
    cases.push_back({softmax(1, 3, 9001, false, false),
                     {{"KEEP", keep}, {"SPLIT", 1}, {"SERIAL", 0}},
                     32,
                     3,
                     "reduction",
                     5,
                     "split rows"});
  checkKernels(cases);
}

TEST(CatalogRows, NextRow) {
  std::vector<KernelCase> cases;
  for (int64_t ahead : {0, 1, 2})
    for (int64_t result : {0, 1})
      for (int64_t keep : {0, 1, 2})
        cases.push_back({softmax(3, 5, 4 * 64 + keep, false, false),
                         {{"AHEAD", ahead}, {"FETCH", result}, {"KEEP", keep}},
                         result ? 64u : 32u,
                         2,
                         "reduction",
                         5,
                         "next row"});
  for (int64_t ahead : {1, 2})
    cases.push_back({layerNorm(7, 3, 96),
                     {{"AHEAD", ahead}, {"FETCH", 1}},
                     64,
                     2,
                     "reduction",
                     1,
                     "next row"});
  checkKernels(cases);
}

TEST(CatalogRows, LayerNorm) {
  std::vector<KernelCase> cases;
  int64_t shapes[][3] = {{7, 1, 96}, {1, 64, 129}, {3, 5, 7}, {40, 2, 64}};
  for (auto &s : shapes)
    for (unsigned bytes : {16u, 64u})
      cases.push_back({layerNorm(s[0], s[1], s[2]),
                       {},
                       bytes,
                       2,
                       "reduction",
                       1,
                       "layer norm"});
  checkKernels(cases);
}

// Families for products add in f32.
TEST(CatalogRows, ProductsThatDoNotAddInF32AreRows) {
  std::string text = R"(
func.func @f(%a: tensor<19xKxi32>, %b: tensor<Kx37xi32>) -> tensor<19x37xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<19x37xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<19x37xi32>) -> tensor<19x37xi32>
  %p = linalg.matmul ins(%a, %b : tensor<19xKxi32>, tensor<Kx37xi32>) outs(%i : tensor<19x37xi32>) -> tensor<19x37xi32>
  return %p : tensor<19x37xi32>
}
)";
  std::vector<KernelCase> cases;
  for (const char *depth : {"2", "53"})
    for (unsigned bytes : {16u, 32u, 64u})
      cases.push_back(
          {replaceAll(replaceAll(text, "19xK", "19x" + std::string(depth)),
                      "<Kx", "<" + std::string(depth) + "x"),
           {},
           bytes,
           2,
           "reduction",
           100,
           "product"});
  cases.push_back(
      {replaceAll(replaceAll(replaceAll(replaceAll(text, "19xK", "19x53"),
                                        "<Kx", "<53x"),
                             "constant 0 : i32", "constant 0.0 : f64"),
                  "i32", "f64"),
       {},
       64,
       2,
       "reduction",
       1,
       "product of f64"});
  checkKernels(cases);
}

TEST(CatalogRows, IntegersAndTruthValues) {
  std::string text = R"(
func.func @f(%x: tensor<ROWSx77xi32>) -> tensor<ROWSxi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<ROWSxi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<ROWSxi32>) -> tensor<ROWSxi32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<ROWSx77xi32>) outs(%i : tensor<ROWSxi32>) {
  ^bb0(%v: i32, %o: i32):
    %t = arith.addi %v, %o : i32
    linalg.yield %t : i32
  } -> tensor<ROWSxi32>
  return %s : tensor<ROWSxi32>
}
)";
  std::vector<KernelCase> cases;
  for (const char *rows : {"23", "1"})
    for (const char *op : {"arith.addi", "arith.maxsi"})
      cases.push_back(
          {replaceAll(replaceAll(text, "ROWS", rows), "arith.addi", op),
           {},
           32,
           2,
           "reduction",
           100,
           op});
  // Whether a row has any, as of a mask.
  cases.push_back(
      {replaceAll(replaceAll(replaceAll(replaceAll(text, "ROWS", "23"),
                                        "constant 0 : i32", "constant false"),
                             "arith.addi", "arith.ori"),
                  "i32", "i1"),
       {},
       32,
       2,
       "reduction",
       100,
       "any"});
  checkKernels(cases);
}
