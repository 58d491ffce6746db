//===- DefaultSchedule.td - The compiler's own schedule *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkDefaultSchedulePass
    : Pass<"fastk-default-schedule", "::mlir::func::FuncOp"> {
  let summary = "Schedule the linalg ops of a function for the host";
  let description = [{
    The default lowering of a workload: fuses elementwise ops, turns contractions
    and convolutions into packed, register-tiled loop nests with their epilogue
    inside, and chains of reductions (softmax, norms) into one parallel loop over
    their common rows, vectorised. What fits no rule stays a linalg op, and
    becomes plain parallel loops later. A remark on each op says which way it
    went. A convolution of a tensor with zeros between its elements, as a
    transposed one is written, becomes several of the tensor itself.

    ```mlir
    // fastk-opt --fastk-default-schedule
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %e = tensor.empty() : tensor<8xf32>
      %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      %1 = linalg.add ins(%0, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]}
          ins(%arg0, %arg1 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %2 = math.exp %in : f32
        %3 = arith.addf %2, %in_0 : f32
        linalg.yield %3 : f32
      } -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "64",
           "Width of a SIMD register in bytes">,
    Option<"skipZeros", "skip-zeros", "bool", "true",
           "Leave out products with the zeros between the elements of a tensor. "
           "The oracle computes them: 0 times infinity is no number">
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::vector::VectorDialect"];
}
