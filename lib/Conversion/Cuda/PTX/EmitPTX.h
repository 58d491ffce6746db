//===- EmitPTX.h - A gpu.module to PTX --------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_PTX_EMITPTX_H
#define FASTK_LIB_CONVERSION_CUDA_PTX_EMITPTX_H

#include "fastk/Conversion/CudaCodegen.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fastk {

/// Lowers the kernels of `module` (on memrefs of static strides, which become
/// one pointer each) to the NVVM dialect, then to optimised PTX. Equal modules
/// give equal text.
mlir::FailureOr<std::string> emitPTX(mlir::gpu::GPUModuleOp module,
                                     const CudaTarget &target);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_PTX_EMITPTX_H
