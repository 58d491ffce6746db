//===- SearchExchanges.h - What language models say, kept -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_SEARCHEXCHANGES_H
#define FASTK_LIB_SEARCH_SEARCHEXCHANGES_H

#include "AnswerTimes.h"
#include "fastk/Propose/LLM/Exchanges.h"
#include "fastk/Search/Journal.h"
#include "fastk/Search/Search.h"
#include "fastk/Search/SearchOptions.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace fastk {

/// Looks into the journal before it asks, records each reply when it arrives,
/// and keeps to the budget.
class SearchExchanges : public Exchanges {
public:
  SearchExchanges(const SearchInput &input, const SearchBudget &budget,
                  AnswerTimes &times, std::function<double()> elapsed);

  llvm::Expected<std::vector<std::optional<Reply>>>
  ask(LanguageModel &model, llvm::ArrayRef<Prompt> prompts) override;

  /// Why replies are missing.
  int pending = 0;
  bool interrupted = false, budgetSpent = false;
  /// Of everything this search was told, by earlier runs, too.
  ModelCosts costs;
  /// The part of one model.
  ModelCosts costsOf(llvm::StringRef model) const;

private:
  void account(llvm::StringRef name, const Usage &usage);
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
  /// What each exchange cost. Summed up in the order of names, so that the sum
  /// of a resumed search is the same to the last bit.
  std::map<std::string, Usage, std::less<>> spent;
  /// What was said in this run.
  llvm::StringMap<Reply> replies;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_SEARCHEXCHANGES_H
