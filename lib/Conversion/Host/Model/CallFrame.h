//===- CallFrame.h - What one call of a model owns --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function of a compiled model returns 0, or the number of the error that
// ended it: a cf.assert that did not hold, or memory that was not there. Either
// way it gives back what it allocated. So buffers that no plan can place, of
// dynamic size or leaving their block through control flow, are kept in a list
// that belongs to the call.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_MODEL_CALLFRAME_H
#define FASTK_LIB_CONVERSION_HOST_MODEL_CALLFRAME_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
} // namespace llvm

namespace fastk {

/// The texts of a model's errors; that of number n, from 1 on, is texts[n - 1].
/// 1 is always that memory was not there.
struct ErrorTexts {
  ErrorTexts();
  std::vector<std::string> texts;

  /// The number of `text`, a new one where it is new.
  int32_t numberOf(llvm::StringRef text);

  /// Between passes they are the module's `fastk.errors`.
  void attachTo(mlir::ModuleOp module) const;
  static ErrorTexts takeFrom(mlir::ModuleOp module);
};

/// On a memref.alloc: a result that is handed to the caller, who frees it.
inline constexpr llvm::StringLiteral kResultAttr = "fastk.result";
/// On a memref.alloc: it is freed by other means than the plan's.
inline constexpr llvm::StringLiteral kKeptAttr = "fastk.kept";

/// Adds what fastk-plan-model-buffers calls to a module.
mlir::LogicalResult linkCallFrame(llvm::Module &module);

/// `const char *fastk_error_<name>(int)`: the text of an error of function
/// `name`, "" for a number that is none.
void addErrorEntry(llvm::Module &module, llvm::StringRef name,
                   const ErrorTexts &errors);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_MODEL_CALLFRAME_H
