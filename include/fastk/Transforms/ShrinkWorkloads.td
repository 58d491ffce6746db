//===- ShrinkWorkloads.td - The pass that makes sizes smaller *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkShrinkWorkloadsPass
    : Pass<"fastk-shrink-workloads", "::mlir::ModuleOp"> {
  let summary = "Make functions of the same workloads with smaller sizes";
  let description = [{
    Replaces the functions of the module by one for each `fastk.workload` in
    them: the same ops on smaller tensors, as small as it takes to stay within
    `iterations` (points of all loops) and `elements` (of operands and results).
    Dimensions that belong together keep belonging together; small windows, strides,
    paddings and constants stay. A workload within both stays what it is, one
    that cannot be made small enough gets a remark and no function.

    A search compares the oracles of a GPU and of the host on such a workload;
    the pass is for looking at it and for tests.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-shrink-workloads=iterations=64
    func.func @negate(%x: tensor<4096xf32>) -> tensor<4096xf32> {
      %empty = tensor.empty() : tensor<4096xf32>
      %0 = linalg.negf ins(%x : tensor<4096xf32>) outs(%empty : tensor<4096xf32>) -> tensor<4096xf32>
      return %0 : tensor<4096xf32>
    }
    ```
    becomes
    ```mlir
    func.func @small_0(%arg0: tensor<64xf32>) -> tensor<64xf32> {
      %0 = fastk.workload "small_0"(%arg0) : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%arg1: tensor<64xf32>):
        %1 = tensor.empty() : tensor<64xf32>
        %2 = linalg.negf ins(%arg1 : tensor<64xf32>) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
        fastk.yield %2 : tensor<64xf32>
      }
      return %0 : tensor<64xf32>
    }
    ```
  }];
  let options = [
    Option<"iterations", "iterations", "int64_t", "4194304",
           "Points of all loops together">,
    Option<"elements", "elements", "int64_t", "1048576",
           "Elements of all operands and results together">
  ];
  let dependentDialects = ["::fastk::FastkDialect", "::mlir::func::FuncDialect"];
}
