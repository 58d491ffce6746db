//===- ModelFit.h - Where a model's arguments go in a winner ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EXPORT_MODELFIT_H
#define FASTK_EXPORT_MODELFIT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// An argument of an imported model, as the importer's sidecar says
/// (docs/importer.md).
struct ModelArgument {
  enum class Role { Parameter, Buffer, Input };
  Role role = Role::Input;
  /// Of a parameter or a buffer its full name in the module: "conv.weight".
  std::string name;
  /// Of an input its number among the inputs.
  size_t input = 0;
  std::vector<int64_t> shape;
};

/// A model that is one winner and nothing else but reshapes: what its operands
/// and its results are.
struct ModelFit {
  struct Value {
    /// Of an operand the model's argument, of a result that of the winner.
    size_t index = 0;
    /// What it is viewed as; nothing where it is as it comes.
    std::optional<std::vector<int64_t>> view;
  };
  std::vector<ModelArgument> arguments;
  std::vector<Value> operands, results;
};

/// Reads the arguments out of the text of a sidecar. Fails for models that
/// update their buffers, and for results that are no tuple of tensors.
llvm::Expected<std::vector<ModelArgument>>
readModelArguments(llvm::StringRef sidecar);

/// How the one function of \p applied, a model to which winners were applied,
/// hands its arguments to the one winner \p key. Fails with what else there is:
/// work outside the winner, another winner, a result that is none of its.
llvm::Expected<ModelFit> fitModel(mlir::ModuleOp applied, llvm::StringRef key,
                                  std::vector<ModelArgument> arguments);

} // namespace fastk

#endif // FASTK_EXPORT_MODELFIT_H
