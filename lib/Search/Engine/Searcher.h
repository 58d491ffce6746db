//===- Searcher.h - The procedure of a search -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy's rounds, the sweep at the end, what was missed, the second
// measurement. Deterministic but for its effects, and every effect is by way of
// SearchProposals or SearchVerdicts, which look into the journal first. All
// decisions are made from what they return.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_ENGINE_SEARCHER_H
#define FASTK_LIB_SEARCH_ENGINE_SEARCHER_H

#include "Budget/SearchLimits.h"
#include "Evaluation/SearchVerdicts.h"
#include "Promotion/Promotion.h"
#include "Proposals/SearchProposals.h"
#include "Report/ProgressReporter.h"
#include "State/Novelty.h"
#include "State/SearchState.h"
#include "Strategy/SearchStrategy.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <random>

namespace fastk {

class Searcher : private SearchMoves {
public:
  Searcher(const SearchInput &input, const SearchOptions &options);
  llvm::Expected<SearchResult> run();

private:
  /// So many evaluations in a row that fail through no fault of the candidate
  /// end a search: something else is broken.
  static constexpr size_t kErrorsInARow = 3;
  enum class TryOutcome { Evaluated, Duplicate, Stopped };

  // What strategies do: Rounds.cpp.
  llvm::ArrayRef<Proposer *> proposers() const override {
    return search.input.proposers;
  }
  llvm::ArrayRef<Trial> tried() const override { return search.trials.all(); }
  std::optional<size_t> bestOfAll() const override {
    return search.trials.best();
  }
  std::optional<size_t> bestOfRound() const override {
    return search.trials.bestSince(firstOfRound);
  }
  bool areRoundsOver() const override { return search.course.isPhaseOver(); }
  bool isSearchOver() const override { return search.course.isSearchOver(); }
  void beginRound(int number) override;
  bool mayPayForIdeas() override;
  void chooseParents(int count) override;
  llvm::Expected<std::vector<int>> shareIdeas() override;
  bool mayAskMore() const override;
  Answer<std::vector<AskedIdea>> askIdeas(size_t proposer, int count) override;
  Answer<AskedIdea> askIdea(size_t proposer) override;
  void endIfUnanswered() override;
  llvm::Expected<bool> tryIdeas(llvm::ArrayRef<AskedIdea> ideas,
                                int count) override;
  llvm::Error tryIdea(const AskedIdea &asked, int count) override;
  llvm::Error sweep(size_t trial, int limit) override;
  void endRound() override;
  void endWithoutIdeas() override;
  void endWithoutPrograms() override;

  llvm::Error trySeeds();
  /// All of a round at once, after the winners to begin with if they go with
  /// it. False: the answers are not there, and the search is over.
  llvm::Expected<bool> tryBatch(llvm::ArrayRef<AskedIdea> ideas, int count);
  llvm::Error repair(const Idea &idea, Proposer *owner, size_t failed);
  /// Writes the line of what was tried since a trial.
  void closeRound(size_t firstTrial);
  /// Ends the rounds where they stopped paying.
  void countGain();

  // Batches.cpp: for evaluators that answer later, and proposers that are slow.
  /// True when all of a round is realised before any of it is tried.
  bool worksInBatches() const {
    return search.answersLater() || search.asksModels();
  }
  /// Tries variants together, then what their proposers mend of them.
  llvm::Error tryTogether(std::vector<Planned> planned);
  /// Asks for verdicts before any of them decides what comes next.
  llvm::Error askTogether(llvm::ArrayRef<Variant> variants);
  /// Of a batch whose first failures ended the search: what failed of the rest.
  void noteFailuresOf(llvm::ArrayRef<Planned> untried);
  /// Asks again, and tries, what failed in rounds that are over.
  llvm::Error tryMissed();

  // Sweep.cpp, TryVariant.cpp.
  llvm::Error finalSweep();
  llvm::Expected<TryOutcome> tryVariant(const Idea &idea, Proposer *owner,
                                        const Variant &variant,
                                        int attempt = 0);
  /// There is no program to evaluate.
  TryOutcome recordUnreadable(Trial trial);
  /// Makes the last trial the best, if it is.
  void chooseBest();
  /// What the last trial says of all that may follow.
  void endByVerdict();

  // Searcher.cpp.
  llvm::Error recallStart();
  /// All parts behind one another, until the search is over.
  llvm::Error runPhases();
  void fillResult();
  /// A budget may end a search before it can tell that the evaluator fails.
  void noteUnjudged();
  /// Says in the journal which evaluations the next run makes again.
  llvm::Error recordUnjudged();

  SearchState search;
  std::unique_ptr<SearchStrategy> strategy;
  SearchLimits limits;
  SearchProposals proposals;
  SearchVerdicts verdicts;
  ProgressReporter progress;
  Promotion promotion;

  std::vector<SearchSeed> seeds;
  SeenPrograms seen;
  std::mt19937_64 random;
  /// Of the strategy's round: its first trial, and the variants before it.
  size_t firstOfRound = 0;
  int variantsBefore = 0;
  double bestAtLastGain = 0;
  int roundsWithoutGain = 0;
  /// The best when the last batch was asked for.
  std::optional<size_t> batchIncumbent;
  /// Digests of what was swept, and how often neighbours were asked for.
  llvm::StringSet<> swept;
  llvm::StringMap<int> neighbourAsks;
  /// Names of evaluations that failed through no fault of their variants,
  /// since the last one that did not.
  std::vector<std::string> failedInARow;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_ENGINE_SEARCHER_H
