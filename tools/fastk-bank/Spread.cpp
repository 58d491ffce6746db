//===- Spread.cpp - Makes a bank one of very many winners -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "fastk/Bank/SpreadBank.h"

using namespace fastk;
using namespace fastk::bank;

int fastk::bank::spread(llvm::ArrayRef<std::string> banks) {
  SpreadResult all;
  for (const std::string &directory : banks) {
    llvm::Expected<SpreadResult> result = spreadBank(directory);
    if (!result)
      return reportError(llvm::toString(result.takeError()));
    all.moved += result->moved;
    llvm::append_range(all.kept, result->kept);
  }
  for (const StaleWinner &each : all.kept)
    llvm::outs() << "kept: " << each.folder << ": " << each.reason << "\n";
  llvm::outs() << all.moved << " moved, " << all.kept.size()
               << (all.kept.size() == 1 ? " stays" : " stay") << " in place\n";
  return kExitDone;
}
