//===- SearchProposals.h - What proposers say, kept -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_PROPOSALS_SEARCHPROPOSALS_H
#define FASTK_LIB_SEARCH_PROPOSALS_SEARCHPROPOSALS_H

#include "IdeaShares.h"
#include "MissedAnswers.h"
#include "SearchExchanges.h"
#include "State/SearchState.h"
#include <string>
#include <vector>

namespace fastk {

/// Looks into the journal before it asks, and records each answer.
class SearchProposals {
public:
  explicit SearchProposals(SearchState &search)
      : search(search), journal(search.input.journal),
        exchanges(search.input, search.options.budget, search.times,
                  [&search] { return search.clock.elapsed(); }),
        missed(search, exchanges) {}

  /// What is recorded under `name`, else what the proposer has.
  Answer<std::vector<Idea>> ideas(Proposer &proposer, const std::string &name,
                                  int count);
  /// In the order of `asked`; nothing for those whose answer is not there.
  Answers<std::vector<Variant>> realise(llvm::ArrayRef<AskedIdea> asked,
                                        int count);
  /// What their proposers make of failed trials; empty where they know no
  /// remedy, nothing where the answer is not there.
  Answers<std::vector<Variant>> repairs(llvm::ArrayRef<size_t> failed);
  /// Recorded under `name`.
  llvm::Expected<std::vector<Variant>> neighbours(const std::string &name,
                                                  Proposer &owner,
                                                  const Variant &around,
                                                  int count);
  /// How many ideas each proposer is asked for in this round.
  llvm::Expected<std::vector<int>> ideasOfProposers();
  /// Ends the search or its phase when proposers left questions open: they are
  /// pending, the user ended it, or the budget is spent.
  void endIfUnanswered();
  /// Why the search ends where proposers have nothing: what they had not, and
  /// what a language model said.
  std::string exhausted(llvm::StringRef what) const;
  /// What is known in this round.
  ProposalContext context();

private:
  /// For each of `names` what is recorded under it, else what `ask` answers
  /// for the positions that it is given: of which nothing is recorded or, of a
  /// proposer that asks a model, fewer than `wanted`.
  Answers<std::vector<Variant>> variants(
      llvm::ArrayRef<std::string> names, size_t wanted,
      llvm::function_ref<Proposer *(size_t)> ownerOf,
      llvm::function_ref<Answers<std::vector<Variant>>(llvm::ArrayRef<size_t>)>
          ask);
  /// Asks each proposer once for its own of `indices`; the answers come in
  /// their order.
  Answers<std::vector<Variant>> askEachOwner(
      llvm::ArrayRef<size_t> indices,
      llvm::function_ref<Proposer *(size_t)> ownerOf,
      llvm::function_ref<Answers<std::vector<Variant>>(Proposer &,
                                                       llvm::ArrayRef<size_t>)>
          ask);
  /// Whether what failed may be asked again: the search has not gone on from
  /// there.
  bool mayAskAgain(const Proposer &owner) const;
  /// What the ideas of one proposer came to so far.
  ProposerYield yieldOf(const Proposer &proposer, bool arePriced) const;

  void noteMissed(MissedAnswer what) { missed.note(std::move(what), parents); }

  SearchState &search;
  Journal *journal;

public:
  SearchExchanges exchanges;
  MissedAnswers missed;
  /// What similar workloads teach, and what this round starts from.
  std::vector<Idea> known;
  std::vector<TriedVariant> parents;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_PROPOSALS_SEARCHPROPOSALS_H
