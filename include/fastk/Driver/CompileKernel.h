//===- CompileKernel.h - One lowering to a shared library -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_COMPILEKERNEL_H
#define FASTK_DRIVER_COMPILEKERNEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace fastk {

/// `--compile-kernel=program|oracle|cubin`: compiles the one `fastk.lowering`
/// of `module` to a shared library that exports `fastk_kernel`, and returns the
/// SHA-256 of the code before it is linked. Or for a `target` "cuda:..." to a
/// folder with kernel.ptx (kernel.cu) and plan.json, and returns nothing;
/// `cubin` is the program with kernel.cubin beside its PTX, by ptxas.
/// Evaluations run it in a child process, so that a schedule that crashes or
/// never ends costs one verdict.
mlir::FailureOr<std::string> compileKernelLibrary(mlir::ModuleOp module,
                                                  llvm::StringRef role,
                                                  llvm::StringRef output,
                                                  llvm::StringRef target);

/// A diagnostic where this machine lacks what compiles the one lowering of
/// `module`: the compiler of C, or a linker.
mlir::LogicalResult checkKernelTools(mlir::ModuleOp module,
                                     llvm::StringRef role,
                                     llvm::StringRef target);

} // namespace fastk

#endif // FASTK_DRIVER_COMPILEKERNEL_H
