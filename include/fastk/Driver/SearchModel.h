//===- SearchModel.h - Search the workloads of a model ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_SEARCHMODEL_H
#define FASTK_DRIVER_SEARCHMODEL_H

#include "fastk/Driver/SearchSettings.h"
#include "fastk/Evaluate/Evaluator.h"
#include "fastk/Propose/LLM/Cassette.h"
#include "fastk/System/EventLog.h"
#include "fastk/System/Metrics.h"
#include "fastk/Transforms/WorkloadMatcher.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <memory>
#include <string>

namespace fastk {

/// What whoever starts a search gives it beside the settings.
struct SearchRequest {
  /// True ends the search; what it has is in the journal. May be null.
  std::function<bool()> stopRequested;
  /// The user's command with so many minutes for its budget, for a message.
  /// Null: nobody knows it.
  std::function<std::string(double minutes)> commandWithMinutes;
  /// Where progress and what was found are written.
  llvm::raw_ostream *said = &llvm::errs();
  /// Where verdicts are counted; null: nowhere.
  Metrics *metrics = nullptr;
  /// Told for programs what happens; null: nobody is.
  const EventLog *log = nullptr;

  void tell(const char *event, const std::string &text,
            const EventLog::Fields &fields = {}, bool isError = false) const {
    if (log)
      log->say(event, text, fields, isError);
  }
};

/// A search that begins. Of the settings the journal is a folder, with one of
/// its own for each workload, and `jobs` is whole: its target is the GPU that
/// is searched for, or nothing for this machine's processors. The budget is for
/// the whole model: each workload gets a part of what those before it left, see
/// ModelShares and BudgetShares.
struct SearchModelOptions : SearchSettings, SearchRequest {
  /// What the evaluator answers from, where it replays: what the recorded
  /// searches knew of their device is then what these know.
  std::shared_ptr<const Cassette> replay = nullptr;
  /// What part of the user's budget that of `search` is.
  double partOfBudget = 1;

  /// Whether workloads that have a winner are searched, too; it is then a seed.
  bool searchesHits() const { return scope == SearchScope::All; }
};

/// Pending: some evaluations or prompts are not answered yet. All workloads
/// have asked for what they could; the same call goes on when there are
/// answers.
enum class SearchModelEnd { Done, Pending, Interrupted };

/// Searches each distinct workload of `module` that `matcher` has no winner
/// for, the one with the most to gain first, and writes what is found to the
/// first of `banks`, those of the matcher. A winner that was measured on
/// another machine is a miss, and what its search begins with. An error means
/// that the search could not go on; what was measured and stored until then is
/// kept.
llvm::Expected<SearchModelEnd>
searchModel(mlir::ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
            Evaluator &evaluator, const SearchModelOptions &options);

} // namespace fastk

#endif // FASTK_DRIVER_SEARCHMODEL_H
