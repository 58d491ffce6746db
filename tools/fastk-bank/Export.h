//===- Export.h - What is exported, and how ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_EXPORT_H
#define FASTK_TOOLS_FASTK_BANK_EXPORT_H

#include "Tool.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"

namespace fastk::bank {

enum class ExportFormat { Bank, Cu, Torch, KernelBench, FlashInfer };

struct ExportOptions {
  ExportFormat format = ExportFormat::Bank;
  std::string to;
  /// The model that a winner replaces: a problem of KernelBench, a Definition
  /// of FlashInfer-Bench with the sizes of its open axes, "M=4096".
  std::string reference, definition;
  std::vector<std::string> axes;
  /// A folder with its import, made before; empty: it is imported now.
  std::string imported;
  /// What winners for a model may be.
  Precision precision = Precision::ieee;
  std::string keyPrefix, target;
  std::vector<std::string> banks;
  /// This program: the compiler is beside it.
  std::string executable;
};

/// What is wrong with the options of an export together; empty where nothing
/// is.
std::string checkExport(const ExportOptions &options);

/// Writes the winners of `rows` that hold in the format that was asked for.
/// What is written, left out and stale is named on stdout.
int exportWinners(const ExportOptions &options, std::vector<Row> &rows);

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_EXPORT_H
