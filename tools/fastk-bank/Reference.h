//===- Reference.h - The model that a winner replaces -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_REFERENCE_H
#define FASTK_TOOLS_FASTK_BANK_REFERENCE_H

#include "Export.h"
#include "fastk/Export/ModelFit.h"
#include "fastk/System/ProcessFolder.h"

namespace fastk::bank {

/// Far above any definition.
constexpr size_t kDefinitionLimit = 4 << 20;

/// A model of PyTorch, imported.
struct ImportedReference {
  /// Where the import is, if this process made it.
  ProcessFolder scratch;
  /// Of model.mlir.
  std::string model;
  std::vector<ModelArgument> arguments;
  /// Of KernelBench: the class `Reference` in Python.
  std::string source;
};

/// The text of a regular file.
llvm::Expected<std::string> readText(const std::string &path, size_t limit);

/// Imports what `options` name by `python3 -m fastk.kernelbench.reference`, or
/// `fastk.flashinfer`, or takes the import that they name. Of KernelBench in
/// the type of the winner of \p rows, where that is one.
llvm::Expected<ImportedReference> importReference(const ExportOptions &options,
                                                  llvm::ArrayRef<Row> rows);

/// The row of the winner that the whole model is, and how it is called.
struct FittingWinner {
  const Row *row = nullptr;
  ModelFit fit;
};

/// Applies the banks' winners to the model by fastk-opt, as a compile does.
/// Fails, saying what does not fit, where the model is not one winner of
/// `rows`.
llvm::Expected<FittingWinner> findWinner(const ImportedReference &reference,
                                         const ExportOptions &options,
                                         llvm::ArrayRef<Row> rows);

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_REFERENCE_H
