//===- PruneBank.h - What no compile will use ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pruning changes no compile: what goes is what no lookup on any machine would
// take, now or by a newer fastk.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_PRUNEBANK_H
#define FASTK_BANK_PRUNEBANK_H

#include "fastk/Bank/Bank.h"

namespace fastk {

/// A folder of a bank and why it goes, or stays although it cannot be used.
struct PrunedWinner {
  std::string folder;
  std::string reason;
};

struct PruneResult {
  /// Stale, superseded, or left by a writer that died.
  std::vector<PrunedWinner> removed;
  /// Unusable here, and not ours to judge: made by a newer fastk, not readable
  /// by this user, a link.
  std::vector<PrunedWinner> kept;
  /// Winners that stay because they are usable.
  size_t usable = 0;
};

/// Finds what goes; with `remove` it is removed, under the bank's lock, each
/// folder in one step: a reader sees a whole winner or none. `context` has the
/// dialects of the patterns.
llvm::Expected<PruneResult> pruneBank(llvm::StringRef directory, bool remove,
                                      mlir::MLIRContext *context);

} // namespace fastk

#endif // FASTK_BANK_PRUNEBANK_H
