//===- SearchTarget.cpp - A workload that may be searched -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchTarget.h"
#include "ModelJournals.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;

std::vector<SearchTarget>
fastk::chooseTargets(const SearchRun &run,
                     ArrayRef<DistinctWorkload> workloads) {
  std::vector<SearchTarget> targets;
  MLIRContext *context = run.loc.getContext();
  for (DistinctWorkload each : workloads) {
    const std::string &key = each.form->key;
    const BankLookup &found = run.matcher.lookup(key, context);
    SearchTarget &target = targets.emplace_back();
    target.name = each.workload.getName().str();
    target.form = each.form;
    target.calls = each.calls;
    target.journal =
        journalFolder(run.options.journal, key, run.filterFor(key));
    target.isWanted = !found.winner || run.options.searchesHits();
    target.hasShare = target.isWanted || llvm::sys::fs::exists(target.journal);
    target.known = found.winner.get();
    target.isOfStranger = found.isOfStranger;
    if (target.isWanted &&
        (found.otherMachine || found.otherBits || found.isUnjudged)) {
      WinnerFilter any = run.filterFor(key);
      any.anyMachine = true;
      any.requireDeterministic = false;
      any.takesUnjudged = true;
      BankLookup other = run.banks.lookup(key, any, context);
      target.foreign = std::move(other.winner);
      target.known = target.foreign.get();
      target.isOfStranger = other.isOfStranger;
      target.isUnjudged = found.isUnjudged;
    }
  }
  return targets;
}
