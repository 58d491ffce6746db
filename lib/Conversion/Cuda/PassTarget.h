//===- PassTarget.h - The GPU that a pass is for ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_PASSTARGET_H
#define FASTK_LIB_CONVERSION_CUDA_PASSTARGET_H

#include "fastk/Conversion/CudaCodegen.h"

namespace fastk {

/// What the option `target` of a pass names, or an error at `module` that ends
/// in the name of the pass.
mlir::FailureOr<CudaTarget> targetOfPass(mlir::ModuleOp module,
                                         llvm::StringRef target,
                                         llvm::StringRef pass);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_PASSTARGET_H
