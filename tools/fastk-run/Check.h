//===- Check.h - Results beside the oracle's --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_RUN_CHECK_H
#define FASTK_TOOLS_FASTK_RUN_CHECK_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Runtime/CompiledLibrary.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <vector>

namespace fastk {

/// Compares the results of a model's function with those of its oracle, in f64,
/// and prints a line for each; \p where the oracle ran, for the message. What a
/// result may be off by follows from the types that it is computed in. Returns
/// the exit code: 2 where one is wrong.
int checkOutputs(mlir::func::FuncOp function,
                 const std::vector<HostTensor> &outputs,
                 const std::vector<HostTensor> &expected, llvm::StringRef where,
                 Precision precision);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_RUN_CHECK_H
