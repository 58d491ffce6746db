//===- Search.h - Finding a faster variant of a workload --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search over the variants of one workload, in rounds: proposers give ideas,
// each idea is realised several times, every variant is evaluated, the best
// become parents of the next round; numeric parameters are swept by plain
// hill-climbing; the would-be winner is measured a second time, and only that
// measurement counts. docs/search.md tells it in full.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_SEARCH_H
#define FASTK_SEARCH_SEARCH_H

#include "fastk/Evaluate/Evaluator.h"
#include "fastk/Propose/LLM/RecordedSearch.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Protocol/Verdict.h"
#include "fastk/Search/Journal.h"
#include "fastk/Search/Progress.h"
#include "fastk/Search/SearchOptions.h"
#include "fastk/Support/RequestContext.h"
#include "llvm/ADT/StringSet.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// The gain of a variant by its record.
struct RecordedGain {
  /// digestOf() the variant.
  std::string digest;
  worker::Ratio speedup;
};

/// What is searched, and with what. All references outlive the search.
struct SearchInput {
  /// history, parents and baselineSeconds are filled in by the search.
  ProposalContext workload;
  llvm::ArrayRef<Proposer *> proposers;
  Evaluator &evaluator;
  /// Null: nothing is recorded, and nothing can be resumed.
  Journal *journal = nullptr;
  /// Null: silent.
  SearchProgress *progress = nullptr;
  /// Recorded when the search begins, as `known` is.
  llvm::ArrayRef<SearchSeed> seeds;
  /// Seconds on a clock that never goes back; null: the system's.
  std::function<double()> clock;
  /// Asked before every evaluation; true ends the search as interrupted.
  std::function<bool()> stopRequested;
  /// The evaluator's, for this workload: the journal is bound to it.
  Provenance provenance = {};
  /// What the bank knows of similar workloads; see knownIdeas(). Recorded when
  /// the search begins: a bank that grows meanwhile changes nothing.
  llvm::ArrayRef<Idea> known = {};
  /// The recorded search that the evaluator answers from: its times count, not
  /// the clock, and its seeds and known ideas. Null: answers are new.
  const RecordedSearch *recording = nullptr;
  /// What the bank says of a variant on this machine. A promotion that
  /// contradicts it is made again.
  std::optional<RecordedGain> recordedGain = std::nullopt;
  /// The bank has a winner, which stays where this search finds none.
  bool bankHasWinner = false;
  /// How many times as long as another evaluation a second measurement takes,
  /// by those that were seen. Nothing: as the evaluator says.
  std::optional<double> promotionCost = std::nullopt;
  /// What an evaluation takes until one of this search tells, by those of
  /// others, in seconds. 0: not known.
  double evaluationSeconds = 0;
  /// What of the journal an earlier run wrote: events, and seconds of
  /// searching. Nothing: all that was there when it was opened.
  struct Earlier {
    size_t events = 0;
    double seconds = 0;
  };
  std::optional<Earlier> earlier = std::nullopt;

  /// Where answers are waited for, a run asks again and again: when it asked
  /// first, and what the journal's searching time was then. What is waited
  /// counts. Nothing: this is the first time.
  struct Begun {
    double atSeconds = 0, journalSeconds = 0;
    /// Names of evaluations that it has asked for.
    llvm::StringSet<> asked = {};
  };
  std::optional<Begun> begun = std::nullopt;
  /// Where several searches share workers, how many these are: the minutes are
  /// then the time of each worker that this search may use. 0: the clock's.
  unsigned workers = 0;

  /// For whoever is asked by this search; people are told of `who` before what
  /// that says, unless it is empty.
  RequestContext context(llvm::StringRef who = "") const;
};

/// One line of the trajectory: the best variant of a round.
struct TrajectoryRow {
  /// "0" is the default lowering, then the rounds, "sweep" and "promoted".
  std::string round;
  double seconds = 0;
  /// Of the default lowering in the same evaluation: what the percentage is of.
  double baselineSeconds = 0;
  worker::Precision precision = worker::Precision::None;
  /// Empty for row 0 and for rounds in which nothing passed.
  std::string ideaId, title, category;
  std::map<std::string, int64_t> parameters;
  int evaluations = 0;
};

/// Why a search ended.
enum class SearchEnd {
  Rounds,     ///< All rounds were made.
  Budget,     ///< Evaluations, minutes, tokens or money ran out.
  Floor,      ///< 95 % of the floor was reached.
  Stagnation, ///< Rounds stopped paying.
  Exhausted,  ///< The proposers had no more to say.
  Unanswered, ///< A language model answers no prompt; `detail` says why.
  Unfit,      ///< The workload cannot be judged; `detail` says why.
  Unjudged,   ///< The evaluator fails, whatever the variant.
  /// The compiler lowers the workload wrongly for the device or for the host;
  /// `detail` says where it shows.
  Disagreement,
  Pending,    ///< Evaluations or prompts are unanswered; run again to go on.
  Interrupted ///< The user asked for it; the journal is intact.
};
llvm::StringRef stringify(SearchEnd end);

struct FoundWinner {
  Idea idea;
  Variant variant;
  /// Of the promotion.
  worker::Verdict verdict;
  Precision precision = Precision::ieee;
};

/// What language models cost. Zero where none was asked.
struct ModelCosts {
  int exchanges = 0;
  int64_t inputTokens = 0, cachedTokens = 0;
  int64_t outputTokens = 0, reasoningTokens = 0;
  double seconds = 0, usd = 0;
  /// Exchanges whose price is unknown: `usd` is without them.
  int unpriced = 0;
  /// Some tokens were counted from the texts.
  bool isEstimated = false;
};

struct SearchCounts {
  /// Every evaluation, promotions included, and how many of them came from the
  /// journal.
  int evaluations = 0, replayed = 0;
  /// Evaluations that were asked for and are not answered yet.
  int pending = 0;
  /// Prompts that were written and are not answered yet.
  int pendingPrompts = 0;
  /// Evaluations of this run: those that failed through no fault of the
  /// variant, and the others.
  int failed = 0, judged = 0;
  int promotions = 0, repairs = 0, duplicates = 0;
  int ideas = 0, variants = 0;
  /// By status: "ok", "wrong", ...
  std::map<std::string, int> statuses;
};

/// The best variant that was measured as faster, though no second measurement
/// has proved it.
struct UnprovenVariant {
  std::string title;
  /// Of its first measurement.
  double speedup = 0;
  /// Why there is no second one that counts.
  std::string why;
};

struct SearchResult {
  SearchEnd end = SearchEnd::Rounds;
  std::string detail;
  std::vector<TrajectoryRow> trajectory;
  std::optional<FoundWinner> winner;
  /// Why there is none; empty when there is.
  std::string noWinnerReason;
  /// As the input's.
  bool bankHasWinner = false;
  /// Set where there is none because a second measurement is missing: it says
  /// nothing against the variant, and the search can go on with it.
  std::optional<UnprovenVariant> unproven;
  /// Everything evaluated, in order, promotions apart.
  std::vector<TriedVariant> history;
  SearchCounts counts;
  ModelCosts models;
  /// The exchanges with them of which nothing came.
  std::vector<FailedExchange> modelFailures;
  /// Of the default lowering as first measured; the workload's floor.
  double baselineSeconds = 0, floorSeconds = 0;
  /// Searching time, what the journal holds included; and of this call alone,
  /// which is what minutes limit.
  double elapsedSeconds = 0, runSeconds = 0;
  /// What its evaluations took, by the workers' clocks.
  double workerSeconds = 0;
  /// For the next time that this run asks.
  SearchInput::Begun begun;
  /// What of it earlier runs took.
  double earlierSeconds = 0;
  /// What an evaluation takes, the median; and the most that a second
  /// measurement took, in evaluations. 0: none was made.
  double evaluationSeconds = 0, promotionCost = 0;
  /// The minutes ended it.
  bool isOutOfTime = false;
  /// All answers came from a record: run again it ends as it did.
  bool isReplay = false;
  /// The same until the last answer was there: equal whenever the search is
  /// resumed or replayed.
  double answeredSeconds = 0;
};

/// Searches. An error means that it could not go on (no worker, disk full,
/// journal damaged); what was measured until then is in the journal.
llvm::Expected<SearchResult> runSearch(const SearchInput &input,
                                       const SearchOptions &options);

/// What a journal of this search must be bound to. Budgets are left out: a
/// search may be resumed with more.
JournalBinding bindingOf(const SearchInput &input,
                         const SearchOptions &options);
/// What of it the user chose, whatever the workload: all but its key.
JournalBinding::Values choicesOf(llvm::StringRef target, Precision precision,
                                 bool requireDeterministic,
                                 const TargetDescription &device, int threads,
                                 llvm::ArrayRef<Proposer *> proposers,
                                 const SearchOptions &options);

} // namespace fastk

#endif // FASTK_SEARCH_SEARCH_H
