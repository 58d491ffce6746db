//===- InlineWorkloads.td - The pass that dissolves workloads *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkInlineWorkloadsPass
    : Pass<"fastk-inline-workloads", "::mlir::ModuleOp"> {
  let summary = "Dissolve workloads that have no winner";
  let description = [{
    Moves the body of each `fastk.workload` back to where it stands, so that
    what was not replaced by a winner leaves the compiler as it came.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-inline-workloads
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.negf ins(%arg0 : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
}
