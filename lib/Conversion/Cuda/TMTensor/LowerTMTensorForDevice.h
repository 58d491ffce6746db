//===- LowerTMTensorForDevice.h - tm_tensor to parallel loops ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_TMTENSOR_LOWERTMTENSORFORDEVICE_H
#define FASTK_LIB_CONVERSION_CUDA_TMTENSOR_LOWERTMTENSORFORDEVICE_H

#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fastk {

/// Replaces the tm_tensor ops of a function on memrefs of static shape by
/// parallel loops of constant bounds, each of which becomes a kernel; scans
/// that a kernel of their own computes stay.
mlir::LogicalResult lowerTMTensorForDevice(mlir::func::FuncOp func);

/// A parallel loop over `shape`, of one point where that is empty. `body` emits
/// what is done for a point.
void emitParallel(mlir::OpBuilder &builder, mlir::Location loc,
                  llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(mlir::ValueRange)> body);

void emitDeviceScatter(mlir::OpBuilder &builder, tm_tensor::ScatterOp op);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_TMTENSOR_LOWERTMTENSORFORDEVICE_H
