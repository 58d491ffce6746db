//===- CheckSearch.cpp - What a search needs, looked at first -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckSearch.h"
#include "fastk/Search/Remeasure.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace fastk;

/// Room for the journal of a search, and for the programs that are compiled.
static constexpr uint64_t kJournalBytes = 16 << 20, kScratchBytes = 64 << 20;

static llvm::Error checkPlaces(const SearchRun &run) {
  if (llvm::Error error = run.banks.checkWrites())
    return error;
  const std::string &journal = run.options.journal;
  if (llvm::Error error = createDirectories(journal))
    return error;
  if (llvm::Error error =
          checkFolder(journal, "write the journal", kJournalBytes))
    return error;
  for (const std::string &path : {run.options.report, run.options.record})
    if (!path.empty())
      if (llvm::Error error = checkWritable(path))
        return error;
  // A replay compiles nothing.
  if (run.options.replay)
    return llvm::Error::success();
  llvm::SmallString<128> scratch;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, scratch);
  return checkFreeSpace(scratch, kScratchBytes);
}

/// The languages in which variants may come: of the proposers, and of what
/// searches begin with.
static Languages languagesOf(const SearchRun &run,
                             llvm::ArrayRef<SearchTarget> targets) {
  Languages all;
  for (Proposer *proposer : run.proposers)
    all.merge(proposer->languages(run.device));
  for (const SearchTarget &target : targets)
    if (target.isWanted && target.known)
      all.insert(variantOf(*target.known).language);
  return all;
}

llvm::Error fastk::checkSearch(const SearchRun &run,
                               llvm::ArrayRef<SearchTarget> targets) {
  if (llvm::none_of(targets,
                    [](const SearchTarget &each) { return each.isWanted; }))
    return llvm::Error::success();
  llvm::Error error = checkPlaces(run);
  if (!error) {
    RequestContext context;
    context.stopRequested = run.options.stopRequested;
    context.note = [&](const std::string &text) {
      run.said() << text << "\n";
      run.options.tell("note", text);
    };
    error = run.evaluator.check(languagesOf(run, targets), context);
  }
  if (!error)
    return error;
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::toString(std::move(error)) +
                                     "\nthe search has not begun: the same "
                                     "command begins it, or goes on with it");
}
