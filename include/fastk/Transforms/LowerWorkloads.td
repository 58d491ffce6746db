//===- LowerWorkloads.td - The default lowering *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkLowerWorkloadsPass
    : Pass<"fastk-lower-workloads", "::mlir::ModuleOp"> {
  let summary = "Replace workloads without a winner by calls of their default lowering";
  let description = [{
    Turns each remaining `fastk.workload` into a `fastk.call` of a
    `fastk.lowering` in language `default`, one for each distinct key. From here
    on hits and misses look alike. Operands and results take the canonical order
    of the key. A workload that has a scalar or a dynamic shape at its border has
    no key: it is dissolved, with a remark.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-lower-workloads
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = fastk.call @w_f452958bc9c19074(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    fastk.lowering @w_f452958bc9c19074 attributes {format_version = 1 : i64, key = "f452958bc9c1907443c03d85b8739aa5bbc4f90b764d949c3ca40817f6f2526b", language = #fastk.language<default>, target = "host"} pattern {
    ^bb0(%arg0: tensor<8xf32>):
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]}
          ins(%arg0 : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %2 = arith.negf %in : f32
        linalg.yield %2 : f32
      } -> tensor<8xf32>
      fastk.yield %1 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"", "What to lower for">
  ];
  let dependentDialects = ["::fastk::FastkDialect", "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}
