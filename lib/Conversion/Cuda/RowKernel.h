//===- RowKernel.h - A group of rows to kernels -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_ROWKERNEL_H
#define FASTK_LIB_CONVERSION_CUDA_ROWKERNEL_H

#include "DeviceKernels.h"

namespace fastk {

/// The kernels of a group that outlineRowGroups has cut out. Their operands are
/// those of the group's function, then its results.
///
/// One kernel where a block, or a part of one, takes a row: values that later
/// passes need stay in registers when they fit, otherwise each pass computes
/// them again. A few long rows are split among blocks: then every pass is a
/// kernel, and `scratchBytes` of workspace hold what the blocks of a row found.
struct RowKernels {
  llvm::SmallVector<DeviceKernel> kernels;
  int64_t scratchBytes = 0;
  /// Where in it each sum lies: parameters behind operands and results.
  llvm::SmallVector<int64_t> scratch;
};

/// `firstNumber` is that of the first kernel: they are named k0, k1 and so on.
RowKernels buildRowKernels(mlir::gpu::GPUModuleOp module,
                           mlir::func::FuncOp group, unsigned firstNumber);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_ROWKERNEL_H
