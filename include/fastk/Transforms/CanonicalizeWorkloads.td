//===- CanonicalizeWorkloads.td - The pass that shows canonical forms *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkCanonicalizeWorkloadsPass
    : Pass<"fastk-canonicalize-workloads", "::mlir::ModuleOp"> {
  let summary = "Bring every workload into canonical form and show its key";
  let description = [{
    Replaces the body of each `fastk.workload` by its canonical form, permutes
    its operands and results to match, and records the key in the discardable
    attribute `fastk.key`. The compiler itself computes canonical forms on
    copies; this pass is for looking at them and for tests.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-canonicalize-workloads
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = fastk.workload "neg"(%arg0) {fastk.key = "f452958bc9c1907443c03d85b8739aa5bbc4f90b764d949c3ca40817f6f2526b"} : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%arg1: tensor<8xf32>):
        %1 = tensor.empty() : tensor<8xf32>
        %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
            iterator_types = ["parallel"]}
            ins(%arg1 : tensor<8xf32>) outs(%1 : tensor<8xf32>) {
        ^bb0(%in: f32, %out: f32):
          %3 = arith.negf %in : f32
          linalg.yield %3 : f32
        } -> tensor<8xf32>
        fastk.yield %2 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::fastk::FastkDialect", "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}
