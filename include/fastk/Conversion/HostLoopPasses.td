//===- HostLoopPasses.td - Linalg on memrefs to loops ------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_HOSTLOOPPASSES_TD
#define FASTK_CONVERSION_HOSTLOOPPASSES_TD

include "mlir/Pass/PassBase.td"

def FastkLowerTMTensorPass : Pass<"fastk-lower-tm-tensor", "::mlir::ModuleOp"> {
  let summary = "Lower tm_tensor ops on memrefs to loops";
  let description = [{
    `tm_tensor.scan`, `scatter`, `sort` and `topk` become loops for the host:
    rows in parallel, a sort within each row. A remark names each op.

    ```mlir
    // fastk-opt --fastk-lower-tm-tensor
    func.func @sums(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %last: memref<4xf32>) {
      tm_tensor.scan dimension(1) inclusive(true)
          ins(%x : memref<4x8xf32>) outs(%y, %last : memref<4x8xf32>, memref<4xf32>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        tm_tensor.yield %0 : f32
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def FastkCopiesToLinalgPass
    : Pass<"fastk-copies-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "Rewrite copies between layouts as linalg ops";
  let description = [{
    A `memref.copy` between buffers of which one is no whole buffer becomes a
    `linalg.generic`, and later a loop. Upstream lowers it to a call of
    `memrefCopy`, which compiled code does not link.

    ```mlir
    // fastk-opt --fastk-copies-to-linalg
    func.func @row(%x: memref<4xf32, strided<[1], offset: 4>>, %y: memref<4xf32>) {
      memref.copy %x, %y : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32>
      return
    }
    ```
    becomes
    ```mlir
    func.func @row(%x: memref<4xf32, strided<[1], offset: 4>>, %y: memref<4xf32>) {
      linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                      iterator_types = ["parallel"]}
          ins(%x : memref<4xf32, strided<[1], offset: 4>>) outs(%y : memref<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def FastkLinalgToLoopsPass
    : Pass<"fastk-linalg-to-loops", "::mlir::ModuleOp"> {
  let summary = "Lower linalg on memrefs to packed contractions and loops";
  let description = [{
    What no schedule has taken. A sum of products in f32 or f64 with rows and
    columns (a matmul with any operand transposed, a convolution) becomes a loop
    nest over packed panels with register tiles. Any other op becomes loops that
    LLVM can vectorise: parallel loops outside, the unit stride innermost,
    accumulators in registers, each part of the body in the outermost loop that
    it depends on. Where `relaxed` allows another order of sums, a long reduction
    with little beside it is cut into pieces, always the same, that threads
    reduce beside each other; and a product that one pass makes writes its result
    without the zeros that it would begin with. A remark on each op says which of
    the two it became. A module and not a function, for packed contractions ask how
    many threads there are, by a function that is declared beside.

    ```mlir
    // fastk-opt --fastk-linalg-to-loops
    func.func @negate(%x: memref<8xf32>, %y: memref<8xf32>) {
      linalg.negf ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    }
    ```
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "16",
           "Width of a SIMD register in bytes">,
    Option<"relaxed", "relaxed", "bool", "true",
           "Allow sums in another order and fused multiply-adds">,
    Option<"threads", "threads", "bool", "true",
           "There may be more than one thread">
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def FastkDecideParallelismPass
    : Pass<"fastk-decide-parallelism", "::mlir::func::FuncOp"> {
  let summary = "Keep parallel loops where threads pay";
  let description = [{
    One level of `scf.parallel` stays, and only where a loop does enough for the
    5 us that a team of threads costs; the others become `scf.for`. With
    `at-run-time`, a loop of unknown length is asked when the code runs: there is
    a parallel and a serial copy of it.

    ```mlir
    // fastk-opt --fastk-decide-parallelism
    func.func @few(%x: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %one = arith.constant 1.0 : f32
      scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
        memref.store %one, %x[%i] : memref<8xf32>
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @few(%x: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %one = arith.constant 1.0 : f32
      scf.for %i = %c0 to %c8 step %c1 {
        memref.store %one, %x[%i] : memref<8xf32>
      }
      return
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "bool", "true",
           "There may be more than one thread">,
    Option<"atRunTime", "at-run-time", "bool", "false",
           "Decide for loops of unknown length when the code runs">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // FASTK_CONVERSION_HOSTLOOPPASSES_TD
