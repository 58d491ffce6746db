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
  }];
}
