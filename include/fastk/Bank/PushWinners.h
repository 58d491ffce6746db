//===- PushWinners.h - Winners into a bank behind HTTP ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Objects first, then the shards that name them, then the root that names
// those: a reader sees a whole bank at any moment, and a push that was cut off
// leaves objects that nobody asks for. Several may push at once: the root is
// replaced only where it is as it was when it was read, as far as the server
// looks (If-Match), and read again in any case.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_PUSHWINNERS_H
#define FASTK_BANK_PUSHWINNERS_H

#include "fastk/Bank/SyncOutcome.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace fastk {

/// Sends the winners in `folders`, which hold, to the bank at `text`
/// (docs/remote-bank.md), by what their records say. The outcomes, in their
/// order; an error says why the bank could not be changed. What was sent before
/// stays.
llvm::Expected<std::vector<SyncOutcome>>
pushWinners(llvm::StringRef text, llvm::ArrayRef<std::string> folders);

} // namespace fastk

#endif // FASTK_BANK_PUSHWINNERS_H
