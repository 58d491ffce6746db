//===- RowKernel.h - A group of rows to kernels -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_ROWS_ROWKERNEL_H
#define FASTK_LIB_CONVERSION_CUDA_ROWS_ROWKERNEL_H

#include "Cuda/Kernels/DeviceKernels.h"
#include "Cuda/Kernels/KernelChoices.h"

namespace fastk {

/// The kernels of a group that outlineRowGroups has cut out. Their operands are
/// those of the group's function, then its results; the caller fills them in.
///
/// One kernel where a block, or a part of one, takes a row: values that later
/// passes need stay in registers when they fit, otherwise each pass computes
/// them again. A few long rows are split among blocks: then every pass is a
/// kernel. `firstNumber` is that of the first: they are named k0, k1 and so on.
/// None when the choices are refused.
SplitKernels buildRowKernels(mlir::gpu::GPUModuleOp module,
                             mlir::func::FuncOp group, unsigned firstNumber,
                             KernelChoices &choices);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_ROWS_ROWKERNEL_H
