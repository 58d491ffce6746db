//===- OptimizeLLVM.h - LLVM's own optimisations ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_LLVM_OPTIMIZELLVM_H
#define FASTK_LIB_CONVERSION_HOST_LLVM_OPTIMIZELLVM_H

#include "llvm/Passes/PassBuilder.h"

namespace fastk {

/// Runs LLVM's pipeline at O3 on `module` for `machine`.
void optimizeLLVM(
    llvm::Module &module, llvm::TargetMachine &machine,
    const llvm::PipelineTuningOptions &tuning = llvm::PipelineTuningOptions());

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_LLVM_OPTIMIZELLVM_H
