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
    * `fusion=whole`: each function body as few workloads as dependences allow;
      `tm_tensor.scan` is part of them in this mode alone, but where it has a
      winner.

    Cheap producers (constants, fills, masks and positions, broadcasts, casts to
    wider types, slices, pads, transposes that feed contractions) are copied into
    every workload that reads them; views come in between members and stay
    outside at the border. No workload comes to depend on itself, and ops with
    side effects keep their order.

    Arithmetic on whole tensors (`arith`, `math`) becomes linalg first.

    With `bank`, the largest region with a winner wins: regions larger than
    `fusion` forms are looked up first, then those that it forms, and one without
    a winner is split where smaller regions in it have one. A scan is looked up
    with what is elementwise before and after it, then with the one, the other
    and neither. What remains is formed as `fusion` says.

    Ops that cannot be part of a workload (dynamic shapes, side effects, control
    flow) stay where they are, each with a remark that says why. The regions of
    control flow are formed on their own. One analysis remark a function counts
    workloads, compute ops and ops left outside.

    ```mlir
    // fastk-opt --fastk-form-workloads
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
    Option<"fusion", "fusion", "::fastk::Fusion", "::fastk::Fusion::Greedy",
           "How workloads are formed: op, greedy or whole">,
    ListOption<"bank", "bank", "std::string",
               "Bank folders that are asked for winners, first wins">,
    Option<"target", "target", "std::string", "\"host\"",
           "What the winners are for">,
    Option<"precision", "precision", "::fastk::Precision",
           "::fastk::Precision::ieee",
           "Loosest error class accepted: ieee, tf32 or half">,
    Option<"winnersFrom", "winners-from", "::fastk::WinnersFrom",
           "::fastk::WinnersFrom::Here",
           "Where winners for the host were measured: here or any">,
    Option<"requireDeterministic", "require-deterministic", "bool", "false",
           "Only winners that are known to give the same bits each time">
  ];
  // Those of workloads, and of the canonical forms that a bank is asked with.
  let dependentDialects = [
    "::fastk::FastkDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}
