//===- ScanKernel.h - One block a row of a scan -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_SCANKERNEL_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_SCANKERNEL_H

#include "fastk/Dialect/TMTensor/TMTensorDialect.h"

namespace fastk {

/// Whether blocks can share the rows of the op: an inclusive scan along the
/// last dimension, combined by one associative op with a neutral element.
bool canScanByBlocks(tm_tensor::ScanOp op);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_SCANKERNEL_H
