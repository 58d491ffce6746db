//===- SpreadBank.h - A bank of very many winners ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_SPREADBANK_H
#define FASTK_BANK_SPREADBANK_H

#include "fastk/Bank/Bank.h"

namespace fastk {

struct SpreadResult {
  size_t moved = 0;
  /// What stays where it is, and why: its head cannot be read, its name is not
  /// that of its key, or its place is taken.
  std::vector<StaleWinner> kept;
};

/// Moves the winners of a bank to where a bank of very many has them
/// (docs/formats/bank.md), under the lock, each in one step. A reader sees a
/// winner in its old place or in the new one.
llvm::Expected<SpreadResult> spreadBank(llvm::StringRef directory);

} // namespace fastk

#endif // FASTK_BANK_SPREADBANK_H
