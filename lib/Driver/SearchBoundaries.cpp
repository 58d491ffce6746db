//===- SearchBoundaries.cpp - One workload, or two? -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/SearchBoundaries.h"
#include "CutWorkload.h"
#include "DistinctWorkloads.h"
#include "ModelJournals.h"
#include "SearchLog.h"
#include "SearchWorkloads.h"
#include "fastk/Search/BoundaryChoice.h"
#include "fastk/Search/Progress.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>

using namespace mlir;
using namespace fastk;

namespace {
/// A workload of the model, and what it can be cut into.
struct Cut {
  BoundaryChoice choice;
  /// How often the model has the workload.
  int64_t calls = 0;
  /// Its parts.
  OwningOpRef<ModuleOp> parts;
  /// Keys of the parts that are its heaviest op.
  llvm::StringSet<> heaviest;
};

/// What is known of workloads after their searches.
struct FoundPrograms {
  WorkloadMatcher &winners;
  MLIRContext *context;
  StringRef journals;

  bool hasWinner(StringRef key) {
    return winners.lookup(key, context).winner != nullptr;
  }
  /// Of the fastest program, which may be the default lowering; 0 where nobody
  /// knows.
  double secondsOf(StringRef key);
};
} // namespace

double FoundPrograms::secondsOf(StringRef key) {
  std::string journal = journalFolder(journals, key, winners.filterFor(key));
  double baseline = recordedBaseline(journal).seconds;
  const BankLookup &found = winners.lookup(key, context);
  if (!found.winner)
    return baseline;
  WinnerRecord record = found.winner->getRecord();
  // As fast as the promotion showed it beside the default lowering, which is
  // what all times here are of.
  return baseline > 0 && record.speedup > 0 ? baseline / record.speedup
                                            : record.medianNs * 1e-9;
}

/// Adds to `cuts` those of `wholes` that have no winner in the banks of
/// `matcher`, and can be cut. `all` keeps the forms of the parts.
static llvm::Error collectCuts(ArrayRef<DistinctWorkload> wholes, Fusion fusion,
                               WorkloadMatcher &matcher, WorkloadMatcher &all,
                               std::vector<Cut> &cuts) {
  for (DistinctWorkload whole : wholes) {
    StringRef key = whole.form->key;
    if (matcher.lookup(key, whole.workload.getContext()).winner)
      continue;
    CutWorkload parts = cutWorkload(whole.workload, fusion);
    if (!parts.module)
      continue;
    Cut &cut = cuts.emplace_back();
    cut.choice.name =
        whole.workload.getName().str() + " " + key.take_front(8).str();
    cut.choice.key = key.str();
    cut.calls = whole.calls;
    cut.parts = std::move(parts.module);
    WalkResult walk = cut.parts->walk([&](WorkloadOp part) -> WalkResult {
      FailureOr<CanonicalForm *> form = all.form(part);
      if (failed(form))
        return WalkResult::interrupt();
      cut.choice.parts.push_back((*form)->key);
      if (llvm::is_contained(parts.heaviest, part))
        cut.heaviest.insert((*form)->key);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return llvm::createStringError("a workload has no canonical form");
  }
  return llvm::Error::success();
}

/// The distinct parts of all `cuts`, in order of first appearance. The model
/// has each as often as all that is cut into it.
static llvm::Expected<std::vector<DistinctWorkload>>
distinctParts(MutableArrayRef<Cut> cuts, WorkloadMatcher &all) {
  std::vector<DistinctWorkload> parts;
  llvm::StringMap<size_t> seen;
  for (Cut &cut : cuts) {
    auto own = distinctWorkloads(*cut.parts, all);
    if (!own)
      return own.takeError();
    for (const DistinctWorkload &part : *own) {
      auto [entry, isNew] = seen.try_emplace(part.form->key, parts.size());
      if (isNew)
        parts.push_back({part.workload, part.form});
      parts[entry->second].calls += cut.calls * part.calls;
    }
  }
  return parts;
}

/// A part of the budget.
static SearchBudget partOf(SearchBudget budget, double part) {
  auto count = [&](int64_t of) {
    return of > 0 ? std::max<int64_t>(static_cast<int64_t>(of * part), 1) : 0;
  };
  budget.evaluations = count(budget.evaluations);
  budget.tokens = count(budget.tokens);
  budget.minutes *= part;
  budget.usd *= part;
  return budget;
}

/// Copies the winner of `key` from the bank of all winners to that of the user.
static llvm::Error store(StringRef key, WorkloadMatcher &all, BankStack &banks,
                         WorkloadMatcher &matcher, MLIRContext *context,
                         const SearchRequest &request) {
  const BankLookup &found = all.lookup(key, context);
  if (!found.winner)
    return llvm::Error::success();
  SmallString<128> path(found.winner->folder + "/trajectory.json");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> trajectory =
      llvm::MemoryBuffer::getFile(path);
  if (!trajectory)
    return llvm::createStringError(
        trajectory.getError(), path + ": " + trajectory.getError().message());
  llvm::Expected<WriteResult> written =
      banks.write(*found.winner->module, (*trajectory)->getBuffer());
  if (!written)
    return written.takeError();
  matcher.searchedAgain(key);
  sayStored(request, key, *written);
  return llvm::Error::success();
}

/// Which of `cuts` are made, by the best program of each workload.
static std::vector<BoundaryChoice> choose(ArrayRef<Cut> cuts,
                                          FoundPrograms found) {
  std::vector<BoundaryChoice> choices;
  for (const Cut &cut : cuts) {
    BoundaryChoice &choice = choices.emplace_back(cut.choice);
    choice.wholeSeconds = found.secondsOf(choice.key);
    choice.wholeHasWinner = found.hasWinner(choice.key);
    bool isKnown = true;
    for (const std::string &part : choice.parts) {
      double seconds = found.secondsOf(part);
      isKnown &= seconds > 0;
      choice.partsSeconds += seconds;
    }
    if (!isKnown)
      choice.partsSeconds = 0;
    choice.heaviestHasWinner = llvm::all_of(cut.heaviest, [&](const auto &key) {
      return found.hasWinner(key.getKey());
    });
  }
  chooseBoundaries(choices);
  return choices;
}

static void sayChoice(const BoundaryChoice &choice, llvm::raw_ostream &said) {
  auto time = [](double seconds) {
    return seconds > 0 ? formatSeconds(seconds) : "unknown time";
  };
  said << llvm::formatv(
      "boundaries: {0}: {1} as one workload, {2} as {3}: {4}\n", choice.name,
      time(choice.wholeSeconds), time(choice.partsSeconds), choice.parts.size(),
      choice.isCut ? "cut" : "whole");
}

/// Keys of what is stored: the parts of what is cut, and of the other `wholes`
/// those that have no winner in the banks of `matcher`.
static std::set<std::string> keysToStore(ArrayRef<BoundaryChoice> choices,
                                         ArrayRef<DistinctWorkload> wholes,
                                         WorkloadMatcher &matcher,
                                         MLIRContext *context) {
  std::set<std::string> stored;
  llvm::StringSet<> cut;
  for (const BoundaryChoice &choice : choices) {
    if (!choice.isCut)
      continue;
    cut.insert(choice.key);
    stored.insert(choice.parts.begin(), choice.parts.end());
  }
  for (const DistinctWorkload &whole : wholes) {
    const std::string &key = whole.form->key;
    if (!cut.contains(key) && !matcher.lookup(key, context).winner)
      stored.insert(key);
  }
  return stored;
}

llvm::Expected<SearchModelEnd>
fastk::searchBoundaries(ModuleOp module, BankStack &banks,
                        WorkloadMatcher &matcher, Evaluator &evaluator,
                        const SearchModelOptions &options) {
  auto wholes = distinctWorkloads(module, matcher);
  if (!wholes)
    return wholes.takeError();
  // It would be late to find out when it is stored.
  if (llvm::any_of(*wholes, [&](const DistinctWorkload &whole) {
        return !matcher.lookup(whole.form->key, module.getContext()).winner;
      }))
    if (llvm::Error error = banks.checkWrites())
      return std::move(error);
  // Everything that is found goes to a bank of its own first.
  std::vector<std::string> folders = {options.journal + "/boundaries"};
  for (const Bank &bank : banks.getBanks())
    folders.push_back(bank.getDirectory().str());
  llvm::Expected<BankStack> stack = BankStack::open(folders);
  if (!stack)
    return stack.takeError();
  // Lives longer than `all`, which knows the parts.
  std::vector<Cut> cuts;
  WorkloadMatcher all(*stack, matcher.getFilter());
  if (llvm::Error error =
          collectCuts(*wholes, options.fusion, matcher, all, cuts))
    return std::move(error);
  auto parts = distinctParts(cuts, all);
  if (!parts)
    return parts.takeError();

  auto search = [&](ArrayRef<DistinctWorkload> workloads,
                    const SearchModelOptions &own) {
    return searchWorkloads(module.getLoc(), workloads, *stack, all, evaluator,
                           own);
  };
  SearchModelOptions own = options;
  own.partOfBudget = 2. / 3;
  own.search.budget = partOf(options.search.budget, own.partOfBudget);
  llvm::Expected<SearchModelEnd> end = search(*wholes, own);
  if (!end || *end != SearchModelEnd::Done)
    return end;
  *options.said << llvm::formatv(
      "boundaries: {0} of the model's workloads can be cut at their heaviest "
      "op\n",
      cuts.size());
  if (!cuts.empty()) {
    own.partOfBudget = 1. / 3;
    own.search.budget = partOf(options.search.budget, own.partOfBudget);
    // The report is that of the model's own workloads.
    own.report.clear();
    end = search(*parts, own);
    if (!end || *end != SearchModelEnd::Done)
      return end;
  }

  MLIRContext *context = module.getContext();
  std::vector<BoundaryChoice> choices =
      choose(cuts, {all, context, options.journal});
  for (const BoundaryChoice &choice : choices)
    sayChoice(choice, *options.said);
  for (const std::string &key : keysToStore(choices, *wholes, matcher, context))
    if (llvm::Error error = store(key, all, banks, matcher, context, options))
      return std::move(error);
  return end;
}
