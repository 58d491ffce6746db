//===- Searcher.h - The procedure of a search -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deterministic but for its effects, and every effect goes through one of the
// asking methods, which look into the journal first. All decisions are made
// from what they return.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_SEARCHER_H
#define FASTK_LIB_SEARCH_SEARCHER_H

#include "AnswerTimes.h"
#include "SearchExchanges.h"
#include "Strategy/SearchStrategy.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Search/Search.h"
#include "llvm/ADT/StringSet.h"
#include <random>
#include <set>

namespace fastk {

/// "101.5 %".
std::string percent(double ratio);

class Searcher : private SearchMoves {
public:
  Searcher(const SearchInput &input, const SearchOptions &options);
  llvm::Expected<SearchResult> run();

private:
  /// A step of the sweep, or a new best without a duel, must gain more than the
  /// noise between two measurements of one program.
  static constexpr double kNoise = 1.005;
  /// So many evaluations in a row that fail through no fault of the candidate
  /// end a search: something else is broken.
  static constexpr size_t kErrorsInARow = 3;

  /// The parts of a search, which leave one another a share of the budget.
  enum class Phase { Rounds, Sweep, Promotion };
  enum class TryOutcome { Evaluated, Duplicate, Stopped };

  // What strategies do: Rounds.cpp.
  llvm::ArrayRef<Proposer *> proposers() const override {
    return input.proposers;
  }
  llvm::ArrayRef<Trial> tried() const override { return trials; }
  std::optional<size_t> bestOfAll() const override { return best; }
  std::optional<size_t> bestOfRound() const override {
    return bestSince(firstOfRound);
  }
  bool areRoundsOver() const override { return phaseOver; }
  bool isSearchOver() const override { return searchOver; }
  void beginRound(int number) override;
  bool mayPayForIdeas() override;
  void chooseParents(int count) override;
  llvm::Expected<std::vector<int>> shareIdeas() override;
  bool mayAskMore() const override {
    return !phaseOver && exchanges.unanswered.empty();
  }
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

  /// Why the search ends where proposers have nothing: what they had not, and
  /// what a language model said.
  std::string exhausted(llvm::StringRef what) const;
  /// In the order of `asked`; nothing for those whose answer is not there.
  Answers<std::vector<Variant>> realise(llvm::ArrayRef<AskedIdea> asked,
                                        int count);
  /// All of a round at once, after the winners to begin with if they go with
  /// it. False: the answers are not there, and the search is over.
  llvm::Expected<bool> tryBatch(llvm::ArrayRef<AskedIdea> ideas, int count);
  llvm::Error trySeeds();
  llvm::Error repair(const Idea &idea, Proposer *owner, size_t failed);
  /// What their proposers make of failed trials; empty where they know no
  /// remedy, nothing where the answer is not there.
  Answers<std::vector<Variant>> askRepairs(llvm::ArrayRef<size_t> failed);
  /// Writes the line of what was tried since a trial.
  void closeRound(size_t firstTrial);
  /// Ends the rounds where they stopped paying.
  void countGain();
  /// The fastest of the trials since this one.
  std::optional<size_t> bestSince(size_t firstTrial) const;

  // Batches.cpp: for evaluators that answer later, and proposers that are slow.
  /// A variant that is to be tried.
  struct Planned {
    Idea idea;
    Proposer *owner = nullptr;
    Variant variant;
    int attempt = 0;
  };
  bool answersLater() const {
    return input.recording ? input.recording->answersLater
                           : !input.evaluator.pendingHint().empty();
  }
  /// True when all of a round is realised before any of it is tried.
  bool worksInBatches() const { return answersLater() || asksModels(); }
  /// True when some proposer takes long, or money, to answer.
  bool asksModels() const {
    return llvm::any_of(input.proposers,
                        [](Proposer *each) { return each->prefersBatching(); });
  }
  /// Tries variants together, then what their proposers mend of them.
  llvm::Error tryTogether(std::vector<Planned> planned);
  /// Asks for verdicts before any of them decides what comes next. The search
  /// is over when one is pending.
  llvm::Error askTogether(llvm::ArrayRef<Variant> variants);
  /// Of a batch whose first failures ended the search: what failed of the rest.
  void noteFailuresOf(llvm::ArrayRef<Planned> untried);

  // AskAgain.cpp: what failed in rounds that the search had left.
  /// Ideas that a model was asked for in vain (`ideas` is empty then), or whose
  /// programs it was, or the one that it was to mend, and what was known then.
  struct Missed {
    Proposer *owner = nullptr;
    std::vector<Idea> ideas;
    int count = 0;
    std::optional<FailedVariant> failed = std::nullopt;
    /// How many trials the history had.
    size_t triedBefore = 0;
    std::vector<TriedVariant> parents = {};
    int round = 0;
    double baselineSeconds = 0;
  };
  /// Of a round that an earlier run left, or that is replayed. Fills in what is
  /// known.
  void noteMissed(Missed what);
  llvm::Error tryMissed();
  /// The programs for the ideas of `missed`, which are asked for before where
  /// it has none.
  llvm::Expected<std::vector<Planned>>
  realiseMissed(Missed &missed, const ProposalContext &then);
  /// The mended program of `missed`.
  llvm::Expected<std::vector<Planned>>
  repairMissed(const Missed &missed, const ProposalContext &then);
  llvm::Expected<std::vector<Planned>> askMissedAgain();
  llvm::Error recordMissed(llvm::ArrayRef<Planned> planned);

  // Sweep.cpp, Promotion.cpp, Trial.cpp.
  llvm::Error finalSweep();
  llvm::Error promote();
  /// Takes the trial to measure next out of `order`. What is wrong with one
  /// realisation is often wrong with its relatives: the other ideas come first
  /// then, and before them those that do without what a tool could not follow.
  size_t takeNext(std::vector<size_t> &order,
                  const llvm::StringSet<> &failedIdeas,
                  bool avoidsBarriers) const;
  /// Why its second measurement makes the trial no winner; empty: it is one.
  std::string problemOf(const Trial &trial,
                        const worker::Verdict &second) const;
  /// The winner, at this attempt.
  void crown(const Trial &trial, const worker::Verdict &second, int attempts);
  /// The second measurement of a trial, made again where an earlier run's was
  /// spoiled by noise, or where it contradicts the bank or itself. Nothing:
  /// none could be made.
  llvm::Expected<std::optional<worker::Verdict>>
  measureAgain(const Trial &trial);
  /// Where an earlier run left a would-be winner without its second
  /// measurement, that is made before more is tried.
  llvm::Error secureBest();
  /// Whether it is worth a second measurement.
  bool isCandidate(const Trial &trial) const {
    return trial.speedup > options.promotionGain;
  }
  /// Says that a second measurement of the trial is missing.
  void noteUnproven(const Trial &trial, std::string why);
  llvm::Expected<TryOutcome> tryVariant(const Idea &idea, Proposer *owner,
                                        const Variant &variant,
                                        int attempt = 0);
  /// There is no program to evaluate.
  TryOutcome recordUnreadable(Trial trial);

  // Effects, recorded: Effects.cpp.
  /// What is recorded under `name`, else what the proposer has.
  Answer<std::vector<Idea>> obtainIdeas(Proposer &proposer,
                                        const std::string &name, int count);
  /// For each of `names` what is recorded under it, else what `ask` answers
  /// for the positions that it is given: of which nothing is recorded or, of a
  /// proposer that asks a model, fewer than `wanted`.
  Answers<std::vector<Variant>> askVariants(
      llvm::ArrayRef<std::string> names, size_t wanted,
      llvm::function_ref<Proposer *(size_t)> ownerOf,
      llvm::function_ref<Answers<std::vector<Variant>>(llvm::ArrayRef<size_t>)>
          ask);
  /// Whether what failed may be asked again: the search has not gone on from
  /// there.
  bool mayAskAgain(const Proposer &owner) const {
    return owner.prefersBatching() &&
           !input.journal->hasRoundAfter(roundNumber);
  }
  /// Asks each proposer once for its own of `indices`; the answers come in
  /// their order.
  Answers<std::vector<Variant>> askEachOwner(
      llvm::ArrayRef<size_t> indices,
      llvm::function_ref<Proposer *(size_t)> ownerOf,
      llvm::function_ref<Answers<std::vector<Variant>>(Proposer &,
                                                       llvm::ArrayRef<size_t>)>
          ask);
  /// The winners to begin with, as they were when the search began.
  llvm::Error recallSeeds();
  /// The same for what similar workloads teach.
  llvm::Error recallKnownIdeas();
  llvm::Expected<std::optional<worker::Verdict>>
  askVerdict(const Variant &variant, const Variant *incumbent, bool promote,
             int repeat = 0);
  /// Asks the evaluator and records what it says. Nothing: the user ended the
  /// search, or the answer is pending.
  llvm::Expected<std::optional<worker::Verdict>>
  obtainVerdict(const std::string &name, const EvaluationRequest &request);

  // Limits.cpp. False stops the search, or its phase.
  bool hasEvaluationsLeft(bool promote);
  /// Evaluations that the budget leaves; nothing where it has no limit.
  std::optional<int64_t> evaluationsLeft(bool promote) const;
  bool mayEvaluate(llvm::StringRef name);
  /// What the next evaluation takes, by those before; 0 before the first.
  double expectedSeconds() const;
  /// What is kept of the minutes for the second measurement.
  double secondsKept() const;
  double clockNow() const;
  /// Seconds of searching, those of earlier runs included, and of this run.
  double elapsedNow() const;
  double runNow() const;
  double earlierSeconds() const {
    return times.isReplay() ? 0
           : input.earlier  ? input.earlier->seconds
                            : journalStart;
  }
  /// Evaluations that a second measurement takes.
  double promotionCost() const;

  // Parents.cpp. Trials that passed, best first.
  std::vector<size_t> survivors() const;

  /// A budget may end a search before it can tell that the evaluator fails.
  void noteUnjudged();
  /// Says in the journal which evaluations the next run makes again.
  llvm::Error recordUnjudged();

  // State of affairs.
  ProposalContext context();
  bool hasBest() const { return best.has_value(); }
  Trial &bestTrial() { return trials[*best]; }
  void stop(SearchEnd end, std::string detail = "");
  SearchStanding standing(llvm::StringRef title) const;
  TrajectoryRow rowOf(llvm::StringRef round, const Trial &trial) const;

  const SearchInput &input;
  const SearchOptions &options;
  std::unique_ptr<SearchStrategy> strategy;
  AnswerTimes times;
  SearchExchanges exchanges;
  SearchResult result;
  std::vector<Trial> trials;
  std::optional<size_t> best;
  /// What proposers see.
  std::vector<TriedVariant> history, parents;
  std::vector<Missed> missed;
  std::vector<Idea> known;
  std::vector<SearchSeed> seeds;
  /// Digests and novelties of what was tried; digests of what was swept.
  llvm::StringSet<> seen, novel, swept;
  /// Verdicts that were asked for in this run, ahead of their turn, and the
  /// trial that was their incumbent.
  llvm::StringMap<worker::Verdict> answers;
  /// Seconds of searching when the last verdict came that was asked for.
  double verdictAt = 0;
  std::optional<size_t> batchIncumbent;
  llvm::StringMap<int> neighbourAsks;
  std::mt19937_64 random;
  Phase phase = Phase::Rounds;
  std::string round;
  int roundNumber = 0;
  /// Of the strategy's round: its first trial, and the variants before it.
  size_t firstOfRound = 0;
  int variantsBefore = 0;
  /// Set when the current phase, or the whole search, is over.
  bool phaseOver = false, searchOver = false;
  /// Names of evaluations that failed through no fault of their variants: of
  /// trials since the last one that did not, and of second measurements.
  std::vector<std::string> failedInARow, failedSeconds;
  double bestAtLastGain = 0;
  int roundsWithoutGain = 0;
  double clockStart = 0, journalStart = 0;
  /// Of evaluations, promotions apart, seconds; and of the longest promotion.
  std::vector<double> durations;
  double longestPromotion = 0;
  bool isSecured = false;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_SEARCHER_H
