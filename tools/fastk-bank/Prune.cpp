//===- Prune.cpp - Removes what no compile uses ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "fastk/Bank/PruneBank.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace fastk;
using namespace fastk::bank;

static llvm::json::Array toJson(const std::vector<PrunedWinner> &winners) {
  llvm::json::Array list;
  for (const PrunedWinner &each : winners)
    list.push_back(
        llvm::json::Object{{"folder", each.folder}, {"reason", each.reason}});
  return list;
}

int fastk::bank::prune(llvm::ArrayRef<std::string> banks, bool remove,
                       bool asJson, mlir::MLIRContext &context) {
  PruneResult all;
  for (const std::string &directory : banks) {
    llvm::Expected<PruneResult> result = pruneBank(directory, remove, &context);
    if (!result)
      return reportError(llvm::toString(result.takeError()));
    llvm::append_range(all.removed, result->removed);
    llvm::append_range(all.kept, result->kept);
    all.usable += result->usable;
  }
  if (asJson) {
    llvm::outs() << llvm::formatv(
        "{0:2}\n", llvm::json::Value(llvm::json::Object{
                       {"format", 1},
                       {"removed", remove},
                       {"prunable", toJson(all.removed)},
                       {"kept", toJson(all.kept)},
                       {"usable", static_cast<int64_t>(all.usable)}}));
    return kExitDone;
  }
  for (const PrunedWinner &each : all.removed)
    llvm::outs() << (remove ? "removed: " : "would remove: ") << each.folder
                 << ": " << each.reason << "\n";
  for (const PrunedWinner &each : all.kept)
    llvm::outs() << "kept: " << each.folder << ": " << each.reason << "\n";
  llvm::outs() << all.removed.size()
               << (remove ? " removed, " : " would be removed, ") << all.usable
               << (all.usable == 1 ? " usable winner and "
                                   : " usable winners and ")
               << all.kept.size()
               << (all.kept.size() == 1 ? " other" : " others")
               << (all.usable + all.kept.size() == 1 ? " stays" : " stay")
               << (remove || all.removed.empty()
                       ? ""
                       : "; run again with --remove to do it")
               << "\n";
  return kExitDone;
}
