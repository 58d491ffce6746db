//===- Outcomes.h - What became of what was sent ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_OUTCOMES_H
#define FASTK_TOOLS_FASTK_BANK_OUTCOMES_H

#include "fastk/Bank/SyncOutcome.h"
#include "llvm/ADT/StringRef.h"

namespace fastk::bank {

/// Prints what becomes of winners or of families, a line each as it is known,
/// and in the end of how many.
class Outcomes {
public:
  static Outcomes ofWinners() {
    return {"winner", "winners", "replaced a slower one",
            "not faster than what is there"};
  }
  static Outcomes ofFamilies() {
    return {"family", "families", "replaced", "there already"};
  }

  void tell(const SyncOutcome &outcome);
  bool isEmpty() const;
  /// Prints how many; the exit code.
  int finish() const;

private:
  Outcomes(llvm::StringRef one, llvm::StringRef many, llvm::StringRef replaced,
           llvm::StringRef kept)
      : one(one), many(many), replaced(replaced), kept(kept) {}

  llvm::StringRef one, many, replaced, kept;
  size_t counts[SyncOutcome::LeftOut + 1] = {};
};

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_OUTCOMES_H
