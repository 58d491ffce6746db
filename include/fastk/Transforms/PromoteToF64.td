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
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::complex::ComplexDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}
