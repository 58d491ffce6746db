//===- Profile.h - Where a model's time goes --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_RUN_PROFILE_H
#define FASTK_TOOLS_FASTK_RUN_PROFILE_H

#include "fastk/Runtime/CompiledLibrary.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace fastk {

/// Runs `function` of a model whose workloads are calls of lowerings for about
/// so many seconds, 3 times at least, and prints how long its kernels took, the
/// longest first. The library that it makes lies in `folder`.
llvm::Error profileOnHost(mlir::ModuleOp lowered, llvm::StringRef folder,
                          llvm::StringRef function,
                          const std::vector<HostTensor> &inputs,
                          double seconds);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_RUN_PROFILE_H
