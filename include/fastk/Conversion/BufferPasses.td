//===- BufferPasses.td - Bufferization and its memory ------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_BUFFERPASSES_TD
#define FASTK_CONVERSION_BUFFERPASSES_TD

include "mlir/Pass/PassBase.td"

def FastkBufferizePass : Pass<"fastk-bufferize", "::mlir::ModuleOp"> {
  let summary = "Turn functions on tensors into functions on memrefs";
  let description = [{
    Upstream's one-shot bufferization with fastk's conventions: memrefs at a
    function's border have identity layout, inputs belong to the caller and are
    never written, a loop may carry a buffer that its body makes, and patterns of
    `fastk.lowering` stay as they are. A `fastk.call` passes its results as
    inits.

    ```mlir
    // fastk-opt --fastk-bufferize
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%x: memref<8xf32>) -> memref<8xf32> {
      %alloc = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
      linalg.negf ins(%x : memref<8xf32>) outs(%alloc : memref<8xf32>)
      return %alloc : memref<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FastkResultsToArgumentsPass
    : Pass<"fastk-results-to-arguments", "::mlir::ModuleOp"> {
  let summary = "Give each result of a bufferized function as a trailing argument";
  let description = [{
    The caller gives the memory of results. A result that the function allocates
    itself is computed in place; any other is copied. Arguments without elements
    become pointers that nobody follows, and arguments of dynamic shape a pointer
    and their sizes.

    ```mlir
    // fastk-opt --fastk-results-to-arguments
    func.func @negate(%x: memref<8xf32>) -> memref<8xf32> {
      %alloc = memref.alloc() : memref<8xf32>
      linalg.negf ins(%x : memref<8xf32>) outs(%alloc : memref<8xf32>)
      return %alloc : memref<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%x: memref<8xf32>, %out: memref<8xf32>) {
      linalg.negf ins(%x : memref<8xf32>) outs(%out : memref<8xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FastkFillSplatsPass : Pass<"fastk-fill-splats", "::mlir::ModuleOp"> {
  let summary = "Fill buffers that copy a constant of one value";
  let description = [{
    A copy of a constant global whose elements are all equal becomes a
    `linalg.fill`, which writes the same and reads nothing. Private globals that
    nobody reads any more are removed.

    ```mlir
    // fastk-opt --fastk-fill-splats
    memref.global "private" constant @ones : memref<4096xf32> = dense<1.0>
    func.func @one(%out: memref<4096xf32>) {
      %0 = memref.get_global @ones : memref<4096xf32>
      memref.copy %0, %out : memref<4096xf32> to memref<4096xf32>
      return
    }
    ```
    becomes
    ```mlir
    func.func @one(%out: memref<4096xf32>) {
      %0 = arith.constant 1.0 : f32
      linalg.fill ins(%0 : f32) outs(%out : memref<4096xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::complex::ComplexDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def FastkPlanBuffersPass : Pass<"fastk-plan-buffers", "::mlir::func::FuncOp"> {
  let summary = "Overlay a function's temporaries in one allocation";
  let description = [{
    Every allocation of static size gets a place in one arena; those whose lives
    do not meet share theirs. The arena is one allocation, or the function's last
    argument where the function is marked `fastk.workspace_bytes`
    (fastk-append-workspace): the mark then says how many bytes are used. An
    allocation in a loop is freed after its last use; one in a parallel loop is
    left to fastk-place-thread-buffers, and one that is marked `fastk.kept` to
    whoever marked it.

    ```mlir
    // fastk-opt --fastk-plan-buffers
    func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
      %0 = memref.alloc() : memref<64xf32>
      linalg.exp ins(%x : memref<64xf32>) outs(%0 : memref<64xf32>)
      linalg.negf ins(%0 : memref<64xf32>) outs(%y : memref<64xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
      %arena = memref.alloc() {alignment = 64 : i64} : memref<256xi8>
      %c0 = arith.constant 0 : index
      %0 = memref.view %arena[%c0][] : memref<256xi8> to memref<64xf32>
      linalg.exp ins(%x : memref<64xf32>) outs(%0 : memref<64xf32>)
      linalg.negf ins(%0 : memref<64xf32>) outs(%y : memref<64xf32>)
      memref.dealloc %arena : memref<256xi8>
      return
    }
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "64",
           "Each temporary begins at a multiple of as many bytes">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // FASTK_CONVERSION_BUFFERPASSES_TD
