//===- UnrollLoops.td - Loops of known length in full ------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkUnrollLoopsPass : Pass<"fastk-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Unroll loops around tensors whose length is known";
  let description = [{
    Writes each `scf.for` of constant bounds that carries tensors, such as the
    recurrences that the importer makes, in full: a plan of a GPU is a list. A
    model without such loops is left as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}
