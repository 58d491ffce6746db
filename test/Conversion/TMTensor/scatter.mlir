// Updates in order, of elements and of slices; indices count from the end where they are negative.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-run %s --bank=%t/bank --entry=forward --outputs=%t
// RUN: python3 %S/../../Inputs/print_npy.py %t/out0.npy %t/out1.npy %t/out2.npy | FileCheck %s

// A place that is not there is an error that the caller gets.
// RUN: not fastk-run %s --bank=%t/bank --entry=outside 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not fastk-run %s --bank=%t/bank --entry=beyond 2>&1 | FileCheck %s --check-prefix=BEYOND
// OUTSIDE: fastk-run: error: outside: scatter: an index is out of bounds of dimension 0
// BEYOND: fastk-run: error: beyond: scatter: an index is out of bounds of dimension 1

func.func @forward() -> (tensor<4xf32>, tensor<3x2xf32>, tensor<2x4xf32>) {
  // CHECK: (4,) [0.0, 5.0, 0.0, 2.0]
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %u = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %i = arith.constant dense<[[1], [-1], [1]]> : tensor<3x1xi64>
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<3xf32>, tensor<3x1xi64>) outs(%zero : tensor<4xf32>) {
  ^bb0(%new: f32, %old: f32):
    %s = arith.addf %old, %new : f32
    tm_tensor.yield %s : f32
  } -> tensor<4xf32>
  // The last of two updates stays.
  // CHECK: (3, 2) [5.0, 6.0, 0.0, 0.0, 3.0, 4.0]
  %table = arith.constant dense<0.0> : tensor<3x2xf32>
  %rows = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %at = arith.constant dense<[[0], [2], [0]]> : tensor<3x1xi32>
  %t = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%rows, %at : tensor<3x2xf32>, tensor<3x1xi32>) outs(%table : tensor<3x2xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<3x2xf32>
  // Indices and slice speak of the same dimension: they add up. The map swaps the dimensions.
  // CHECK: (2, 4) [0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 8.0, 0.0]
  %wide = arith.constant dense<0.0> : tensor<2x4xf32>
  %piece = arith.constant dense<[[7.0, 8.0]]> : tensor<1x2xf32>
  %from = arith.constant dense<[[1, 1]]> : tensor<1x2xi64>
  %w = tm_tensor.scatter {dimension_map = array<i64: 1, 0>} unique_indices(true) ins(%piece, %from : tensor<1x2xf32>, tensor<1x2xi64>) outs(%wide : tensor<2x4xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<2x4xf32>
  return %r, %t, %w : tensor<4xf32>, tensor<3x2xf32>, tensor<2x4xf32>
}

func.func @outside() -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %u = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = arith.constant dense<[[1], [-5]]> : tensor<2x1xi64>
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<2xf32>, tensor<2x1xi64>) outs(%zero : tensor<4xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

func.func @beyond() -> tensor<2x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  %u = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %i = arith.constant dense<[[0, 3]]> : tensor<1x2xi64>
  %r = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(false) ins(%u, %i : tensor<1x2xf32>, tensor<1x2xi64>) outs(%zero : tensor<2x4xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
