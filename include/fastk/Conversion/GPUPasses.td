//===- GPUPasses.td - Functions on tensors to kernels -------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_GPUPASSES_TD
#define FASTK_CONVERSION_GPUPASSES_TD

include "mlir/Pass/PassBase.td"

def FastkLowerToGPUPass : Pass<"fastk-lower-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Lower a function on tensors to GPU kernels and a plan";
  let description = [{
    The compiler's own lowering for a GPU of the module's one function: a
    `gpu.module` with the kernels, and in the function the plan that launches
    them. The function takes its operands and results as memrefs.

    Ops are grouped by their rows and fused, bufferized, and each becomes one or
    more kernels by the first strategy that takes it: reductions shared by
    blocks, tiles of contractions on tensor cores or by scalar arithmetic,
    squares in shared memory, vectors, one block or one thread a point. What a
    strategy has to decide comes from a model of the device, or from attributes
    of the function (`fastk.row_threads = 256`; docs/schedules.md has the list).
    What was decided is the kernels' attribute `fastk.kernels`.

    ```mlir
    // fastk-opt --fastk-lower-to-gpu
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
