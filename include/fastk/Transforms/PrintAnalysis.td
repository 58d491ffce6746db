//===- PrintAnalysis.td - The pass that shows what is known *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkPrintAnalysisPass : Pass<"fastk-print-analysis"> {
  let summary = "Print kind, bytes, operations and floor of every workload";
  let description = [{
    For each `fastk.workload`, `fastk.lowering` and `func.func` with a body, in
    the order they stand: the derived name and kind, the compulsory bytes, the
    operations by kind, and the floor on a made-up machine of round numbers
    (1 Top/s, 100 GB/s, no caches; `target=host` measures this one). The module
    stays as it is. docs/analysis.md explains each number.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-print-analysis
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"round\"",
           "The device of the floor: round or host">
  ];
}
