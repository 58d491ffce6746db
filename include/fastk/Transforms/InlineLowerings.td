//===- InlineLowerings.td - The pass that undoes winners *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkInlineLoweringsPass
    : Pass<"fastk-inline-lowerings", "::mlir::ModuleOp"> {
  let summary = "Put the pattern of each lowering back where it is called";
  let description = [{
    Each `fastk.call` becomes what it stands for, the pattern of its lowering,
    and the lowerings go. What is left computes the same and knows no winner:
    the model that an oracle is made of, and that winners are compared with.

    ```mlir
    %r = fastk.call @w_0e03df74c38e5906(%x) : (tensor<8xf32>) -> tensor<8xf32>
    ```

    becomes

    ```mlir
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic ... ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) ...
    ```

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-lower-workloads --fastk-inline-lowerings
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
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]}
          ins(%arg0 : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %2 = arith.negf %in : f32
        linalg.yield %2 : f32
      } -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
}
