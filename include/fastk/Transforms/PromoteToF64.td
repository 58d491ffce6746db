//===- PromoteToF64.td - The pass that makes the oracle *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkPromoteToF64Pass
    : Pass<"fastk-promote-to-f64", "::mlir::func::FuncOp"> {
  let summary = "Compute in f64 whatever the function computes in a smaller float";
  let description = [{
    Makes the oracle of a workload: every float inside becomes f64, arguments
    are extended on entry, constants whose bytes lie beside the module
    (`dense_resource`) where they stand, conversions between floats vanish, and
    results stay f64. Integers keep their type.

    ```mlir
    // fastk-opt --fastk-promote-to-f64
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%arg0: tensor<8xf32>) -> tensor<8xf64> {
      %0 = tensor.empty() : tensor<8xf64>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]}
          ins(%arg0 : tensor<8xf32>) outs(%0 : tensor<8xf64>) {
      ^bb0(%in: f32, %out: f64):
        %4 = arith.extf %in : f32 to f64
        linalg.yield %4 : f64
      } -> tensor<8xf64>
      %2 = tensor.empty() : tensor<8xf64>
      %3 = linalg.negf ins(%1 : tensor<8xf64>) outs(%2 : tensor<8xf64>) -> tensor<8xf64>
      return %3 : tensor<8xf64>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::complex::ComplexDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}
