//===- TensorPasses.td - Before bufferization --------------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_TENSORPASSES_TD
#define FASTK_CONVERSION_TENSORPASSES_TD

include "mlir/Pass/PassBase.td"

def FastkExtractKernelPass : Pass<"fastk-extract-kernel", "::mlir::ModuleOp"> {
  let summary = "Replace the module by the function of one of its lowerings";
  let description = [{
    The pattern of a `fastk.lowering` as a function on tensors, in a module of
    its own: what the other phases make a kernel of. The lowering's own program
    is left out; its language does not matter. fastk-promote-to-f64 makes the
    oracle of it, and fastk-derive-condition the conditions of its results.

    ```mlir
    // fastk-opt --fastk-form-workloads --fastk-lower-workloads --fastk-extract-kernel
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @w_f452958bc9c19074(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                           iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %2 = arith.negf %in : f32
        linalg.yield %2 : f32
      } -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"symbol", "symbol", "std::string", "\"\"",
           "The lowering; may be left out where there is one only">
  ];
  let dependentDialects = ["::fastk::FastkDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FastkFoldEmptyPass : Pass<"fastk-fold-empty", "::mlir::ModuleOp"> {
  let summary = "Remove loops that never run";
  let description = [{
    A linalg op whose reduction has length zero becomes its inits, and a tensor
    without elements becomes a `tensor.empty`. Upstream bufferization and the
    tiled loop nests expect at least one iteration.

    ```mlir
    // fastk-opt --fastk-fold-empty
    func.func @sum(%x: tensor<4x0xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
      %0 = linalg.reduce ins(%x : tensor<4x0xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
        (%a: f32, %b: f32) {
          %1 = arith.addf %a, %b : f32
          linalg.yield %1 : f32
        }
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @sum(%x: tensor<4x0xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4x0xf32>
      return %init : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FastkDecomposeAttentionPass
    : Pass<"fastk-decompose-attention", "::mlir::ModuleOp"> {
  let summary = "Lower tm_tensor.attention to linalg";
  let description = [{
    `tm_tensor.attention` that is part of no workload becomes its definition: a
    batch matmul of queries and keys, a softmax along the keys, and a batch
    matmul with the values.

    ```mlir
    // fastk-opt --fastk-decompose-attention
    func.func @attend(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>,
                      %init: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
      %0 = tm_tensor.attention
          ins(%q, %k, %v : tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>)
          outs(%init : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
      return %0 : tensor<2x4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FastkDecomposeTensorOpsPass
    : Pass<"fastk-decompose-tensor-ops", "::mlir::func::FuncOp"> {
  let summary = "Rewrite tensor ops that have no bufferization";
  let description = [{
    `tensor.concat`, `tensor.bitcast`, `linalg.pack` and `linalg.unpack` become
    ops that bufferize. A concatenation of more than 64 parts is written in
    groups first, for bufferization compares each write with each reader. What
    has no such form is refused by name.

    ```mlir
    // fastk-opt --fastk-decompose-tensor-ops
    func.func @concat(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<5xf32> {
      %0 = tensor.concat dim(0) %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
    ```
    becomes
    ```mlir
    func.func @concat(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<5xf32> {
      %0 = tensor.empty() : tensor<5xf32>
      %1 = tensor.insert_slice %a into %0[0] [2] [1] : tensor<2xf32> into tensor<5xf32>
      %2 = tensor.insert_slice %b into %1[2] [3] [1] : tensor<3xf32> into tensor<5xf32>
      return %2 : tensor<5xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FastkBoxScalarsPass : Pass<"fastk-box-scalars", "::mlir::ModuleOp"> {
  let summary = "Pass numbers of a model's interface as tensors";
  let description = [{
    A compiled model takes and gives pointers. An argument or a result that is a
    number becomes a tensor of rank 0, marked `fastk.scalar`.

    ```mlir
    // fastk-opt --fastk-box-scalars
    func.func @twice(%x: f32) -> f32 {
      %0 = arith.addf %x, %x : f32
      return %0 : f32
    }
    ```
    becomes
    ```mlir
    func.func @twice(%x: tensor<f32> {fastk.scalar}) -> (tensor<f32> {fastk.scalar}) {
      %0 = tensor.extract %x[] : tensor<f32>
      %1 = arith.addf %0, %0 : f32
      %2 = tensor.from_elements %1 : tensor<f32>
      return %2 : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FastkCopyStatePass : Pass<"fastk-copy-state", "::mlir::ModuleOp"> {
  let summary = "Copy what a model reads of its state";
  let description = [{
    What `ml_program.global_load` gives is a tensor of its own: a later store to
    the global does not change it. Bufferization would give the global's memory.

    ```mlir
    // fastk-opt --fastk-copy-state
    ml_program.global private mutable @state(dense<0.0> : tensor<4xf32>) : tensor<4xf32>
    func.func @read() -> tensor<4xf32> {
      %0 = ml_program.global_load @state : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    ml_program.global private mutable @state(dense<0.0> : tensor<4xf32>) : tensor<4xf32>
    func.func @read() -> tensor<4xf32> {
      %0 = ml_program.global_load @state : tensor<4xf32>
      %1 = bufferization.alloc_tensor() copy(%0) : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

#endif // FASTK_CONVERSION_TENSORPASSES_TD
