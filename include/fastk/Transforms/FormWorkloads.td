//===- FormWorkloads.td - The pass that finds workloads *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkFormWorkloadsPass
    : Pass<"fastk-form-workloads", "::mlir::ModuleOp"> {
  let summary = "Group linalg ops into workloads";
  let description = [{
    Puts every linalg op of static shape into a `fastk.workload`, so that each
    group can be optimised and stored as one.

    * `fusion=op`: each linalg op alone (with its `tensor.empty`, `linalg.fill`
      and constants).
    * `fusion=greedy`: a contraction or convolution takes along the elementwise
      ops around it (bias, activation, residual); a decomposed softmax, norm or
      attention is one workload; other elementwise chains are one each.
    * `fusion=whole`: each function body as few workloads as dependences allow.

    Cheap producers (constants, fills, masks and positions, broadcasts, casts to
    wider types, slices, pads, transposes that feed contractions) are copied into
    every workload that reads them; views come in between members and stay
    outside at the border. No workload comes to depend on itself, and ops with
    side effects keep their order.

    Arithmetic on whole tensors (`arith`, `math`) becomes linalg first.

    Ops that cannot be part of a workload (dynamic shapes, side effects, control
    flow) stay where they are, each with a remark that says why. The regions of
    control flow are formed on their own. One analysis remark a function counts
    workloads, compute ops and ops left outside.
  }];
  let options = [
    Option<"fusion", "fusion", "std::string", "\"greedy\"",
           "How workloads are formed: op, greedy or whole">
  ];
  let dependentDialects = [
    "::fastk::FastkDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}
