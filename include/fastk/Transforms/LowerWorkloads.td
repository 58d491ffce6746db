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
