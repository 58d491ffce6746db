//===- SearchModel.h - Search the workloads of a model ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_SEARCHMODEL_H
#define FASTK_DRIVER_SEARCHMODEL_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Evaluate/Evaluator.h"
#include "fastk/Propose/LLM/Cassette.h"
#include "fastk/Propose/Registry.h"
#include "fastk/Search/SearchOptions.h"
#include "fastk/Target/TargetDescription.h"
#include "fastk/Transforms/WorkloadMatcher.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

struct SearchModelOptions {
  /// Search workloads that have a winner, too; the winner is then a seed.
  bool searchHits = false;
  /// As the user names them, see Registry.h.
  std::vector<std::string> proposers;
  ProposerOptions proposerOptions;
  /// The budget is for the whole model: each workload gets a part of what those
  /// before it left, see ModelShares and BudgetShares.
  SearchOptions search;
  /// Folder of journals, one subfolder a workload.
  std::string journal;
  /// File for the report; empty for none.
  std::string report;
  /// Cassette to be written, from the journals and whatever the end; empty for
  /// none.
  std::string record;
  /// What the evaluator answers from, where it replays: what the recorded
  /// searches knew of their device is then what these know.
  std::shared_ptr<const Cassette> replay = nullptr;
  unsigned threads = 0;
  /// What part of the user's budget that of `search` is.
  double partOfBudget = 1;
  /// The user's command with so many minutes for its budget, for a message.
  /// Null: nobody knows it.
  std::function<std::string(double minutes)> commandWithMinutes = nullptr;
  /// The GPU that is searched for; nothing: this machine's processors.
  std::optional<TargetDescription> device;
  std::function<bool()> stopRequested;
};

/// Pending: some evaluations or prompts are not answered yet. All workloads
/// have asked for what they could; the same call goes on when there are
/// answers.
enum class SearchModelEnd { Done, Pending, Interrupted };

/// Searches each distinct workload of `module` that `matcher` has no winner
/// for, the one with the most to gain first, and writes what is found to the
/// first of `banks`, those of the matcher. A winner that was measured on
/// another machine is a miss, and what its search begins with. Progress and
/// trajectories go to standard error. An error means that the search could not
/// go on; what was measured and stored until then is kept.
llvm::Expected<SearchModelEnd>
searchModel(mlir::ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
            Evaluator &evaluator, const SearchModelOptions &options);

} // namespace fastk

#endif // FASTK_DRIVER_SEARCHMODEL_H
