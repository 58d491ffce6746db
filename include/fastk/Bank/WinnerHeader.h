//===- WinnerHeader.h - A winner's head, read without MLIR ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_WINNERHEADER_H
#define FASTK_BANK_WINNERHEADER_H

#include "fastk/Bank/Machine.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace fastk {

/// What an index needs of a lowering.mlir. It is read from the op's attribute
/// dictionary alone and proves nothing: a hit is parsed and verified in full.
struct WinnerHeader {
  std::string key;
  int64_t formatVersion = 0;
  std::string target;
  Precision precision = Precision::ieee;
  Language language = Language::generic;
  std::string file, digest;
  std::string name, shapes, title, category, machine, cpu, mlirVersion;
  int64_t threads = 0;
  /// Ops of the pattern that reduce (contractions, convolutions, sums), as far
  /// as the text went.
  unsigned reductions = 0;
  double medianNs = 0, baselineNs = 0, floorNs = 0;
  double speedup = 0, speedupLow = 0, speedupHigh = 0;
  /// As WinnerRecord's.
  std::optional<bool> bitwiseDeterministic;

  /// False when no time was recorded that could rank it: nothing says that it
  /// is faster than the default lowering. Such a winner is stale.
  bool hasTime() const;
  std::string timeProblem() const;
  /// Where the times were taken.
  Machine getMachine() const { return {machine, cpu, threads}; }
};

/// Parses the attributes of the first `fastk.lowering` in `text`, which may be
/// cut after them. The error says what is missing, not where the text is from.
llvm::Expected<WinnerHeader> parseWinnerHeader(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_BANK_WINNERHEADER_H
