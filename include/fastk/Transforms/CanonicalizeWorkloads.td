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
  }];
  let dependentDialects = ["::fastk::FastkDialect", "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}
