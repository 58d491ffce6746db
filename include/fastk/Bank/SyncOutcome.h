//===- SyncOutcome.h - What became of what was sent -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_SYNCOUTCOME_H
#define FASTK_BANK_SYNCOUTCOME_H

#include <string>

namespace fastk {

/// What became of a winner or of a family that was to go somewhere else.
struct SyncOutcome {
  enum Kind {
    Stored,   ///< There was none.
    Replaced, ///< The one there has gone: it was slower, or so it was asked.
    Kept,     ///< The one there stays: it is as fast or faster, or the same.
    LeftOut   ///< It cannot go there.
  };
  /// A winner's folder; of a family "sm_90a/contraction-wgmma".
  std::string place;
  Kind kind = Stored;
  /// Why it is left out; others may have written it.
  std::string why;
};

} // namespace fastk

#endif // FASTK_BANK_SYNCOUTCOME_H
