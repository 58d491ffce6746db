//===- RaiseVariances.td - Compute variances that a front --*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkRaiseVariancesPass
    : Pass<"fastk-raise-variances", "::mlir::func::FuncOp"> {
  let summary = "Compute variances that a front end widened in the operand's type";
  let description = [{
    A variance that a front end computes in f64 beside the mean of the same
    elements in f32 becomes one in f32. torch-mlir's own decompositions of norms
    are of this form: the whole tensor is widened, which a GPU computes at a
    sixty-fourth of its speed. PyTorch's kernels of norms do not widen. After it
    such a norm has the key of one that fastk's importer made, and its winners.

    A variance alone stays as it is, for PyTorch computes that in f64, too; so
    does one whose mean nobody computes in f32, as it may be meant to be wide;
    and one that is divided by what is no number of f32. In exact arithmetic
    nothing changes: the oracle is the same. It is a part of
    fastk-form-workloads.

    ```mlir
    // fastk-opt --fastk-raise-variances
    func.func @mean_and_variance(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %zero = arith.constant 0.0 : f32
      %zero64 = arith.constant 0.0 : f64
      %n = arith.constant 8.0 : f32
      %n64 = arith.constant 8.0 : f64
      %e = tensor.empty() : tensor<4xf32>
      %e64 = tensor.empty() : tensor<4xf64>
      %x64 = tensor.empty() : tensor<4x8xf64>
      %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<4x8xf32>) outs(%x64 : tensor<4x8xf64>) {
      ^bb0(%a: f32, %o: f64):
        %b = arith.extf %a : f32 to f64
        linalg.yield %b : f64
      } -> tensor<4x8xf64>
      %start64 = linalg.fill ins(%zero64 : f64) outs(%e64 : tensor<4xf64>) -> tensor<4xf64>
      %sum64 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%wide : tensor<4x8xf64>) outs(%start64 : tensor<4xf64>) {
      ^bb0(%a: f64, %o: f64):
        %b = arith.addf %a, %o : f64
        linalg.yield %b : f64
      } -> tensor<4xf64>
      %mean64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%sum64 : tensor<4xf64>) outs(%e64 : tensor<4xf64>) {
      ^bb0(%a: f64, %o: f64):
        %b = arith.divf %a, %n64 : f64
        linalg.yield %b : f64
      } -> tensor<4xf64>
      %centred = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%wide, %mean64 : tensor<4x8xf64>, tensor<4xf64>) outs(%x64 : tensor<4x8xf64>) {
      ^bb0(%a: f64, %m: f64, %o: f64):
        %b = arith.subf %a, %m : f64
        linalg.yield %b : f64
      } -> tensor<4x8xf64>
      %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%centred, %centred : tensor<4x8xf64>, tensor<4x8xf64>) outs(%x64 : tensor<4x8xf64>) {
      ^bb0(%a: f64, %c: f64, %o: f64):
        %b = arith.mulf %a, %c : f64
        linalg.yield %b : f64
      } -> tensor<4x8xf64>
      %sum_of_squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%squares : tensor<4x8xf64>) outs(%start64 : tensor<4xf64>) {
      ^bb0(%a: f64, %o: f64):
        %b = arith.addf %a, %o : f64
        linalg.yield %b : f64
      } -> tensor<4xf64>
      %variance64 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%sum_of_squares : tensor<4xf64>) outs(%e64 : tensor<4xf64>) {
      ^bb0(%a: f64, %o: f64):
        %b = arith.divf %a, %n64 : f64
        linalg.yield %b : f64
      } -> tensor<4xf64>
      %variance = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%variance64 : tensor<4xf64>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f64, %o: f32):
        %b = arith.truncf %a : f64 to f32
        linalg.yield %b : f32
      } -> tensor<4xf32>
      %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %b = arith.addf %a, %o : f32
        linalg.yield %b : f32
      } -> tensor<4xf32>
      %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%sum : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %b = arith.divf %a, %n : f32
        linalg.yield %b : f32
      } -> tensor<4xf32>
      return %mean, %variance : tensor<4xf32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @mean_and_variance(%arg0: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %cst = arith.constant 0.000000e+00 : f32
      %cst_0 = arith.constant 8.000000e+00 : f32
      %0 = tensor.empty() : tensor<4xf32>
      %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
      %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4x8xf32>) outs(%1 : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %9 = arith.addf %in, %out : f32
        linalg.yield %9 : f32
      } -> tensor<4xf32>
      %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%2 : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %9 = arith.divf %in, %cst_0 : f32
        linalg.yield %9 : f32
      } -> tensor<4xf32>
      %4 = tensor.empty() : tensor<4x8xf32>
      %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %3 : tensor<4x8xf32>, tensor<4xf32>) outs(%4 : tensor<4x8xf32>) {
      ^bb0(%in: f32, %in_1: f32, %out: f32):
        %9 = arith.subf %in, %in_1 : f32
        linalg.yield %9 : f32
      } -> tensor<4x8xf32>
      %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %5 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) {
      ^bb0(%in: f32, %in_1: f32, %out: f32):
        %9 = arith.mulf %in, %in_1 : f32
        linalg.yield %9 : f32
      } -> tensor<4x8xf32>
      %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%6 : tensor<4x8xf32>) outs(%1 : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %9 = arith.addf %in, %out : f32
        linalg.yield %9 : f32
      } -> tensor<4xf32>
      %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%7 : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %9 = arith.divf %in, %cst_0 : f32
        linalg.yield %9 : f32
      } -> tensor<4xf32>
      return %3, %8 : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
}
