//===- SearchExchanges.h - What language models say, kept -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_PROPOSALS_SEARCHEXCHANGES_H
#define FASTK_LIB_SEARCH_PROPOSALS_SEARCHEXCHANGES_H

#include "State/AnswerTimes.h"
#include "fastk/LLM/Exchanges.h"
#include "fastk/Search/Journal.h"
#include "fastk/Search/Search.h"
#include "fastk/Search/SearchOptions.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <set>

namespace fastk {

/// Looks into the journal before it asks, records each reply when it arrives,
/// and keeps to the budget.
class SearchExchanges : public Exchanges {
public:
  SearchExchanges(const SearchInput &input, const SearchBudget &budget,
                  AnswerTimes &times, std::function<double()> elapsed);

  llvm::Expected<std::vector<std::optional<Reply>>>
  ask(LanguageModel &model, llvm::ArrayRef<Prompt> prompts) override;
  llvm::Error reject(LanguageModel &model, llvm::ArrayRef<Prompt> prompts,
                     llvm::StringRef problem) override;

  /// Prompts that failed before are asked once more, as exchanges of their own:
  /// the failed ones stay, for rounds were made on them. In a replay those are
  /// asked that were.
  bool asksAgain = false;
  /// Why replies are missing.
  int pending = 0;
  bool interrupted = false, budgetSpent = false;
  /// What a model says that answers no prompt, or has not answered any yet:
  /// there is no use in going on with it. Empty: there is none.
  std::string unanswered;
  /// The exchanges of which nothing came, those of earlier runs included.
  std::vector<FailedExchange> failures() const;
  /// Why the last one of them in this run failed; empty: none did.
  std::string lastFailure;
  /// Of everything this search was told, by earlier runs, too.
  ModelCosts costs;
  /// The part of one model.
  ModelCosts costsOf(llvm::StringRef model) const;

private:
  /// A prompt of this call that has no reply.
  struct Failed {
    size_t index;
    Reply reply;
    double when;
  };
  /// Prompts that are asked together, and what came of them so far.
  struct Call {
    LanguageModel &model;
    RequestContext context;
    std::vector<Prompt> prompts = {};
    std::vector<std::string> names = {};
    std::vector<std::optional<Reply>> result = {};
    /// Those to ask. The same prompt twice is one exchange, the first.
    llvm::SmallVector<size_t> missing = {};
    llvm::StringMap<size_t> firstOf = {};
  };
  /// Fills in what this run or an earlier one was told.
  llvm::Error recall(Call &call);
  /// Asks as many of what is missing as the budget allows. False: that was all.
  llvm::Expected<bool> askMissing(Call &call);
  /// Shows what the failures of one call say. True when the search cannot go
  /// on: no other prompt would fare better.
  void note(LanguageModel &model, llvm::ArrayRef<Failed> failed,
            llvm::ArrayRef<Prompt> prompts, size_t asked);
  bool endsSearch(LanguageModel &model, llvm::ArrayRef<Failed> failed,
                  bool someAnswered) const;
  /// True when the model gave a reply that could be used, in any run.
  bool hasAnswered(llvm::StringRef model) const;
  /// Keeps what came to be, in memory and in the journal.
  llvm::Error keep(const std::string &name, const Prompt &prompt,
                   const Reply &reply, double when);
  void account(llvm::StringRef name, const Usage &usage);
  /// `prompt`, or the one that asks it again.
  Prompt asAsked(const LanguageModel &model, Prompt prompt) const;
  /// How many of `prompts` the budget lets be asked; limits their replies to
  /// what is left of it.
  size_t allowed(llvm::MutableArrayRef<Prompt> prompts);
  /// The same in a replay, where budgets ended what they ended: `count` of the
  /// prompts named by `names` were allowed.
  size_t recorded(llvm::ArrayRef<std::string> names, size_t count) const;

  const SearchInput &input;
  const SearchBudget &budget;
  AnswerTimes &times;
  std::function<double()> elapsed;
  /// What each exchange cost, each time it was asked. Summed up in the order of
  /// names, so that the sum of a resumed search is the same to the last bit.
  std::map<std::string, std::vector<Usage>, std::less<>> spent;
  /// By name, as `spent`.
  std::map<std::string, FailedExchange, std::less<>> failedByName;
  std::set<std::string, std::less<>> usable;
  /// What was said in this run.
  llvm::StringMap<Reply> replies;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_PROPOSALS_SEARCHEXCHANGES_H
