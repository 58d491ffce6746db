//===- UnrollLoops.td - Loops of known length in full ------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkUnrollLoopsPass : Pass<"fastk-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Write out loops around tensors that no plan can repeat";
  let description = [{
    A plan of a GPU repeats steps, so an `scf.for` of constant bounds that
    carries tensors stays a loop, as do the recurrences that the importer makes.
    Written out, one iteration behind the other, are loops of constant bounds
    that a plan cannot have, up to 65536 ops together:

    * of up to four iterations, so that what lies between two of them can become
      one kernel;
    * that carry numbers beside tensors;
    * with a slice whose size is not known, or whose place is not a constant
      plus multiples of the counters of the loops around it;
    * around state, around other control flow, and around tensors without
      elements.

    Loops whose bounds are the counters of such a loop are constant then. A model
    without such loops is left as it is.

    ```mlir
    // fastk-opt --fastk-unroll-loops
    func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %x) -> tensor<8xf32> {
        %empty = tensor.empty() : tensor<8xf32>
        %0 = linalg.exp ins(%t : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
        scf.yield %0 : tensor<8xf32>
      }
      return %r : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @twice(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.exp ins(%arg0 : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %2 = tensor.empty() : tensor<8xf32>
      %3 = linalg.exp ins(%1 : tensor<8xf32>) outs(%2 : tensor<8xf32>) -> tensor<8xf32>
      return %3 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"every", "every", "bool", "false",
           "Write out the loops, too, that a plan can repeat">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}
