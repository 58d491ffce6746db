//===- HostLLVMPasses.td - Loops to the LLVM dialect -------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_HOSTLLVMPASSES_TD
#define FASTK_CONVERSION_HOSTLLVMPASSES_TD

include "mlir/Pass/PassBase.td"

def FastkAppendWorkspacePass
    : Pass<"fastk-append-workspace", "::mlir::func::FuncOp"> {
  let summary = "Give a kernel the ABI of kernels: its workspace comes last";
  let description = [{
    Every kernel takes its inputs, its results and a workspace, all as pointers
    that do not overlap. With `planned`, the kernel's temporaries are to lie in
    the workspace: the function is marked `fastk.workspace_bytes`, which
    fastk-plan-buffers fills in. Without, the kernel allocates them.

    ```mlir
    // fastk-opt --fastk-append-workspace=planned
    func.func @negate(%x: memref<8xf32>, %y: memref<8xf32>) {
      linalg.negf ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @negate(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias},
                      %workspace: !llvm.ptr {llvm.noalias})
        attributes {fastk.workspace_bytes = 0 : i64} {
      linalg.negf ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    }
    ```
  }];
  let options = [
    Option<"planned", "planned", "bool", "false",
           "Temporaries lie in the workspace">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def FastkLowerCallsPass : Pass<"fastk-lower-calls", "::mlir::ModuleOp"> {
  let summary = "Turn calls of lowerings on memrefs into calls of kernels";
  let description = [{
    A `fastk.call` on memrefs becomes a call of the kernel that is named like the
    lowering: its inputs, its inits and a workspace of as many bytes as the
    lowering's mark `fastk.workspace_bytes` says, null without. The lowerings
    themselves are removed: their kernels are compiled on their own and linked.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-lower-workloads --fastk-bufferize-functions --fastk-lower-calls
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @negate(%x: memref<8xf32>, %out: memref<8xf32>) {
      %null = llvm.mlir.zero : !llvm.ptr
      call @w_f452958bc9c19074(%x, %out, %null) : (memref<8xf32>, memref<8xf32>, !llvm.ptr) -> ()
      return
    }
    func.func private @w_f452958bc9c19074(memref<8xf32>, memref<8xf32>, !llvm.ptr)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FastkPlanModelBuffersPass
    : Pass<"fastk-plan-model-buffers", "::mlir::ModuleOp"> {
  let summary = "Plan a model's buffers so that it may return anywhere";
  let description = [{
    As fastk-plan-buffers, for functions that may fail: each allocation that
    cannot be placed in the arena (a dynamic size, a result, one in control flow)
    is on a list that the call owns, `cf.assert` checks that the memory is there,
    and the function's end frees what is on the list.

    ```mlir
    // fastk-opt --fastk-plan-model-buffers
    func.func @f(%x: memref<?xf32>, %n: index, %y: memref<?xf32>) {
      %0 = memref.alloc(%n) : memref<?xf32>
      linalg.exp ins(%x : memref<?xf32>) outs(%0 : memref<?xf32>)
      linalg.negf ins(%0 : memref<?xf32>) outs(%y : memref<?xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FastkGuardDivisionsPass
    : Pass<"fastk-guard-divisions", "::mlir::ModuleOp"> {
  let summary = "Give integer divisions that trap a value";
  let description = [{
    An integer division by zero, and that of the smallest number by -1, would end
    the process. In both cases it is as if the divisor were 1. (Torch raises for
    the first on a CPU and gives some value on a GPU.)

    ```mlir
    // fastk-opt --fastk-guard-divisions
    func.func @divide(%a: i32, %b: i32) -> i32 {
      %0 = arith.divui %a, %b : i32
      return %0 : i32
    }
    ```
    becomes
    ```mlir
    func.func @divide(%a: i32, %b: i32) -> i32 {
      %c0 = arith.constant 0 : i32
      %is_zero = arith.cmpi eq, %b, %c0 : i32
      %c1 = arith.constant 1 : i32
      %divisor = arith.select %is_zero, %c1, %b : i32
      %0 = arith.divui %a, %divisor : i32
      return %0 : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FastkLowerVectorsPass
    : Pass<"fastk-lower-vectors", "::mlir::func::FuncOp"> {
  let summary = "Lower vector ops to those that have an LLVM counterpart";
  let description = [{
    Multi-dimensional reductions, contractions, outer products, transposes,
    broadcasts, masks and shape casts of vectors, by upstream's patterns with the
    choices that suit a CPU: contractions as outer products, reductions along the
    innermost dimension, transposes by shuffles.

    ```mlir
    // fastk-opt --fastk-lower-vectors
    func.func @sum(%x: vector<2x4xf32>, %acc: vector<2xf32>) -> vector<2xf32> {
      %0 = vector.multi_reduction <add>, %x, %acc [1] : vector<2x4xf32> to vector<2xf32>
      return %0 : vector<2xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

def FastkApproximateMathPass
    : Pass<"fastk-approximate-math", "::mlir::func::FuncOp"> {
  let summary = "Compute functions of f32 by polynomials of a few ulp";
  let description = [{
    `math` ops on f32 (and on f16 and bf16, which are widened) become arithmetic
    that vectorises, where the result is within a few ulp; docs/ops.md lists
    them. Others, and all of f64, are left to C's library.

    ```mlir
    // fastk-opt --fastk-approximate-math
    func.func @tanh(%x: vector<8xf32>) -> vector<8xf32> {
      %0 = math.tanh %x : vector<8xf32>
      return %0 : vector<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def FastkCallExactFunctionsPass
    : Pass<"fastk-call-exact-functions", "::mlir::ModuleOp"> {
  let summary = "Call C's library for functions that expand inexactly";
  let description = [{
    `math.expm1` and `math.log1p` become calls of C's library. Upstream would
    expand them into exp(x) - 1 and log(1 + x), which lose all digits near zero.

    ```mlir
    // fastk-opt --fastk-call-exact-functions
    func.func @f(%x: f64) -> f64 {
      %0 = math.expm1 %x : f64
      return %0 : f64
    }
    ```
    becomes
    ```mlir
    func.func private @expm1(f64) -> f64 attributes {llvm.readnone}
    func.func @f(%x: f64) -> f64 {
      %0 = call @expm1(%x) : (f64) -> f64
      return %0 : f64
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::vector::VectorDialect"];
}

def FastkPlaceThreadBuffersPass
    : Pass<"fastk-place-thread-buffers", "::mlir::ModuleOp"> {
  let summary = "Give each thread of a parallel region its own temporaries";
  let description = [{
    Allocations inside of an `omp.parallel` move to its start: on the thread's
    stack up to 256 KiB, on the heap above. Each iteration uses them again.

    ```mlir
    // fastk-opt --convert-scf-to-openmp --fastk-place-thread-buffers
    func.func @f(%x: memref<64x16xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
        %row = memref.alloc() : memref<16xf32>
        %0 = memref.load %x[%i, %c0] : memref<64x16xf32>
        memref.store %0, %row[%c0] : memref<16xf32>
        %1 = memref.load %row[%c0] : memref<16xf32>
        memref.store %1, %x[%i, %c1] : memref<64x16xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def FastkLowerAssertsPass : Pass<"fastk-lower-asserts", "::mlir::ModuleOp"> {
  let summary = "Turn cf.assert into an error number that the function returns";
  let description = [{
    Every function returns an i32: 0, or the number of the check that failed, 1
    for the first text of the module's `fastk.errors`. Where a check fails, the
    function frees what it holds and returns; in a parallel loop the iteration
    ends, and the function returns after the loop.

    ```mlir
    // fastk-opt --fastk-lower-asserts
    func.func @check(%good: i1) {
      cf.assert %good, "sizes differ"
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::omp::OpenMPDialect"];
}

#endif // FASTK_CONVERSION_HOSTLLVMPASSES_TD
