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
    went.
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "64",
           "Width of a SIMD register in bytes">
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
