//===- KernelHarness.h - Patterns in text to callable kernels ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_CONVERSION_KERNELHARNESS_H
#define FASTK_UNITTESTS_CONVERSION_KERNELHARNESS_H

#include "fastk/Conversion/HostCodegen.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

namespace fastk::test {

/// A module with one fastk.lowering whose pattern is the first function of
/// `module`.
mlir::OwningOpRef<mlir::ModuleOp> createLowering(mlir::ModuleOp module,
                                                 Language language,
                                                 llvm::StringRef source,
                                                 llvm::StringRef file);

} // namespace fastk::test

#endif // FASTK_UNITTESTS_CONVERSION_KERNELHARNESS_H
