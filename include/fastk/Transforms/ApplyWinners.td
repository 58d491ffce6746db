//===- ApplyWinners.td - The pass that applies the bank *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkApplyWinnersPass
    : Pass<"fastk-apply-winners", "::mlir::ModuleOp"> {
  let summary = "Replace workloads by the winners of a bank";
  let description = [{
    Looks up the key of each `fastk.workload` in the banks, first bank first,
    confirms that the winner's pattern is the same region, imports the
    `fastk.lowering` and replaces the workload by a `fastk.call`. Each decision
    is a remark: hit, miss with the reason, or stale. A winner for the host that
    was measured on another machine, or with another number of threads, is a miss
    unless `winners-from=any`; with `require-deterministic` so is one that is not
    known to give the same bits each time.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-apply-winners
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = fastk.workload "neg"(%arg0) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%arg1: tensor<8xf32>):
        %1 = tensor.empty() : tensor<8xf32>
        %2 = linalg.negf ins(%arg1 : tensor<8xf32>) outs(%1 : tensor<8xf32>) -> tensor<8xf32>
        fastk.yield %2 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    ListOption<"bank", "bank", "std::string", "Bank folders, first wins">,
    Option<"target", "target", "std::string", "\"host\"", "What to compile for">,
    Option<"precision", "precision", "::fastk::Precision",
           "::fastk::Precision::ieee",
           "Loosest error class accepted: ieee, tf32 or half">,
    Option<"winnersFrom", "winners-from", "::fastk::WinnersFrom",
           "::fastk::WinnersFrom::Here",
           "Where winners for the host were measured: here or any">,
    Option<"requireDeterministic", "require-deterministic", "bool", "false",
           "Only winners that are known to give the same bits each time">
  ];
  // Canonical forms are made of the upstream ones, and so are the patterns that
  // are read from a bank.
  let dependentDialects = [
    "::fastk::FastkDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}
