//===- GPUPasses.td - Functions on tensors to kernels -------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_GPUPASSES_TD
#define FASTK_CONVERSION_GPUPASSES_TD

include "mlir/Pass/PassBase.td"

def FastkPrepareKernelsPass
    : Pass<"fastk-prepare-kernels", "::mlir::ModuleOp"> {
  let summary = "Bring a function on tensors into the form that kernels are made of";
  let description = [{
    The first phase of `fastk-lower-to-gpu`. The module's one function takes its
    operands and results as memrefs; `fastk.inputs` says how many are operands.
    Its elementwise ops are fused, and its temporaries lie in one arena.

    Ops that share their rows, of which some reduce a row, are cut out: they are
    a function beside it, on tensors, with the attributes `fastk.rows` and
    `fastk.columns`, and a `fastk.call` stands for them.

    ```mlir
    // fastk-opt --fastk-prepare-kernels
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    func.func @negate(%x: memref<8xf32>, %y: memref<8xf32>) attributes {fastk.inputs = 1 : i64} {
      linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
          ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %0 = arith.negf %in : f32
        linalg.yield %0 : f32
      }
      return
    }
    ```
  }];
}

def FastkChooseKernelsPass
    : Pass<"fastk-choose-kernels", "::mlir::ModuleOp"> {
  let summary = "Choose how each op becomes kernels for a GPU";
  let description = [{
    The second phase of `fastk-lower-to-gpu`. Each op of the function that
    `fastk-prepare-kernels` made gets `fastk.kernel`: the first strategy that
    takes it, and its numbers: what attributes of the function say
    (`fastk.vector_threads = 256 : i64`; docs/schedules.md has the list), or
    else what a model of the device does. The strategy `fold` is for an op that
    the kernel of a contraction computes, too. The function's own `fastk.kernel`
    has what holds for all kernels.

    Nothing else is changed. What is written may be edited, or written anew: it
    is checked where it is followed, in `fastk-emit-kernels`.

    ```mlir
    // fastk-opt --fastk-choose-kernels
    #map = affine_map<(d0) -> (d0)>
    func.func @negate(%x: memref<8xf32>, %y: memref<8xf32>) attributes {fastk.inputs = 1 : i64} {
      linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
          ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %0 = arith.negf %in : f32
        linalg.yield %0 : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    func.func @negate(%x: memref<8xf32>, %y: memref<8xf32>) attributes {fastk.inputs = 1 : i64} {
      linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
          ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
          attrs = {fastk.kernel = {strategy = "vectors", vector_count = 1 : i64, vector_threads = 256 : i64, vector_width = 4 : i64}} {
      ^bb0(%in: f32, %out: f32):
        %0 = arith.negf %in : f32
        linalg.yield %0 : f32
      }
      return
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cuda:sm_90a\"",
           "The GPU, as cuda:sm_90a">
  ];
}

def FastkEmitKernelsPass : Pass<"fastk-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Make kernels for a GPU as chosen, and the plan that launches them";
  let description = [{
    The last phase of `fastk-lower-to-gpu`. Each op becomes the kernels that its
    `fastk.kernel` says, in a `gpu.module`, and the function the plan that
    launches them. `fastk.kernels` of the `gpu.module` keeps what they are.

    A number that is not what `fastk-choose-kernels` would write counts as given:
    one that the kernels or the device cannot do with is an error.

    ```mlir
    // fastk-opt --fastk-emit-kernels
    #map = affine_map<(d0) -> (d0)>
    func.func @negate(%x: memref<8xf32>, %y: memref<8xf32>) attributes {fastk.inputs = 1 : i64} {
      linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
          ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
          attrs = {fastk.kernel = {strategy = "points", point_threads = 32 : i64}} {
      ^bb0(%in: f32, %out: f32):
        %0 = arith.negf %in : f32
        linalg.yield %0 : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @negate(%x: memref<8xf32>, %y: memref<8xf32>) {
      fastk.launch "k0" grid [1, 1, 1] block [8, 1, 1](%x, %y) : memref<8xf32>, memref<8xf32>
      return
    }
    gpu.module @fastk attributes {fastk.kernels = [{kind = "points", point_threads = 32 : i64} ]} {
      gpu.func @k0(%x: memref<8xf32>, %y: memref<8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
        %block = gpu.block_id x
        %thread = gpu.thread_id x
        %c8 = arith.constant 8 : index
        %0 = arith.muli %block, %c8 : index
        %1 = arith.addi %0, %thread : index
        %zero = arith.constant 0.0 : f32
        %2 = memref.load %x[%1] : memref<8xf32>
        %3 = arith.negf %2 : f32
        memref.store %3, %y[%1] : memref<8xf32>
        gpu.return
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cuda:sm_90a\"",
           "The GPU, as cuda:sm_90a">
  ];
}

def FastkGPUToPTXPass : Pass<"fastk-gpu-to-ptx", "::mlir::ModuleOp"> {
  let summary = "Compile gpu.module ops to PTX";
  let description = [{
    Each `gpu.module` becomes a `gpu.binary` of the same name whose one object is
    PTX: kernels on memrefs of static strides take one pointer for each. CUDA's
    libdevice is linked in where a kernel has functions that the hardware has
    not.

    ```mlir
    // fastk-opt --fastk-lower-to-gpu --fastk-gpu-to-ptx
    func.func @negate(%x: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %0 = linalg.negf ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cuda:sm_90a\"",
           "The GPU, as cuda:sm_90a">
  ];
}

#endif // FASTK_CONVERSION_GPUPASSES_TD
