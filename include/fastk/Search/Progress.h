//===- Progress.h - What a search shows while it runs -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_PROGRESS_H
#define FASTK_SEARCH_PROGRESS_H

#include "fastk/System/FormatSeconds.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <memory>

namespace fastk {

struct ModelCosts;

/// Where a search stands.
struct SearchStanding {
  /// "1", "2", "sweep", "second measurement"; "" before the first.
  llvm::StringRef round;
  int rounds = 0;
  int evaluations = 0;
  /// 0: no limit.
  int64_t evaluationBudget = 0;
  /// Of this run, and of those before it.
  double elapsedSeconds = 0, earlierSeconds = 0;
  double bestSeconds = 0, baselineSeconds = 0, floorSeconds = 0;
  /// Baseline over best, measured side by side.
  double bestSpeedup = 0;
  llvm::StringRef bestTitle;
  /// Null where no language model is asked.
  const ModelCosts *models = nullptr;
  /// What is or was worked on.
  llvm::StringRef title;
};

class SearchProgress {
public:
  virtual ~SearchProgress();
  virtual void note(llvm::StringRef text) = 0;
  /// Something before the first evaluation takes its time: "compiling ...".
  virtual void preparing(llvm::StringRef what) = 0;
  /// To be called now and then while something is waited for: keeps the time
  /// that is shown going, so that nothing looks as if it hung.
  virtual void tick() = 0;
  /// `prompts` are sent to a language model; `costs` is what all before cost.
  virtual void asking(llvm::StringRef model, size_t prompts,
                      const ModelCosts &costs) = 0;
  /// An evaluation begins.
  virtual void evaluating(const SearchStanding &standing) = 0;
  /// It ended with this status; `reason` is empty when it passed.
  virtual void evaluated(const SearchStanding &standing, llvm::StringRef status,
                         llvm::StringRef reason) = 0;
  virtual void roundEnded(const SearchStanding &standing) = 0;
  /// The search is over; leaves the terminal clean.
  virtual void ended() = 0;
};

/// Writes to `os`, as a rule stderr. With a terminal a status line that is
/// rewritten by every evaluation and every second; without one a line per
/// round, and one when something has taken two seconds: once for a round, once
/// for each question to a model, each second measurement and each preparation.
/// `clock` gives seconds that never go back; null: the system's.
std::unique_ptr<SearchProgress>
createStreamProgress(llvm::raw_ostream &os, bool isTerminal,
                     llvm::StringRef workload,
                     std::function<double()> clock = nullptr);

/// "12 prompts, 81.2k tokens in, 20.4k out, 0.31 USD"; empty for none.
std::string formatCosts(const ModelCosts &costs);

} // namespace fastk

#endif // FASTK_SEARCH_PROGRESS_H
