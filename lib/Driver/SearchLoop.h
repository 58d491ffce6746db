//===- SearchLoop.h - The searches of a model's workloads -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_SEARCHLOOP_H
#define FASTK_LIB_DRIVER_SEARCHLOOP_H

#include "PreparedSearch.h"
#include "RecordSearches.h"
#include "SearchLog.h"
#include "SearchTarget.h"
#include "TargetBudgets.h"
#include "fastk/Search/ModelShares.h"
#include <chrono>
#include <map>
#include <memory>

namespace fastk {

/// A search that has begun.
struct BegunSearch {
  BegunSearch(const SearchRun &run, const SearchTarget &target)
      : prepared(run, target) {}

  PreparedSearch prepared;
  SearchOptions options;
  JournalBinding binding;
  std::string title;
  /// Seconds before its first question.
  double preparation = 0;
  /// What it had come to when it was last asked, where it waits for answers.
  std::optional<SearchResult> soFar;
  /// What of the budget was set aside for it then.
  SearchBudget kept;
};

/// The searches of a model. Each asks what it can ask; where answers come later
/// and are waited for, all of them wait side by side, and each goes on when its
/// own are there.
class SearchLoop {
public:
  SearchLoop(const SearchRun &run, llvm::ArrayRef<SearchTarget> targets,
             std::vector<ModelPart> parts, RunRecord &record)
      : run(run), targets(targets), parts(std::move(parts)), record(record),
        dealt(shareByGain(this->parts)),
        budgets(run.options.search.budget, targets, dealt.weights),
        startedAt(std::chrono::steady_clock::now() - profilingTime(targets)),
        promotionCost(run.evaluator.promotionCost()), waits(run) {}

  llvm::Expected<SearchModelEnd> searchAll();

private:
  /// Searches the target at `index`, in its turn, and stores what is found. One
  /// that another process searches at this moment comes after the others; with
  /// `waits` that process is waited for.
  llvm::Error search(size_t index, const std::optional<SearchBudget> &share,
                     bool waits);
  /// Begins with the targets at the first places of `order`, as far as the
  /// evaluator needs to know of them.
  void lookAhead(llvm::ArrayRef<size_t> order);
  /// Asks what can be asked by now, and concludes, or has it wait.
  llvm::Error ask(size_t index, std::unique_ptr<BegunSearch> search,
                  const SearchBudget &share);
  /// The searches that wait go on, as long as the workers are busy with them or
  /// until none waits or no answer comes.
  llvm::Error goOnWithAnswers(bool whileBusy);
  /// What the searches that wait have asked for.
  int pendingEvaluations() const;
  int promptsAwaited() const;
  /// Whether another search would only wait for the same workers.
  bool areWorkersBusy() const;
  /// Whether models have answered anything since this was asked last.
  bool takeNews() const;
  /// Between two that begin: what waits for replies goes on where some came, so
  /// that a model need not wait until all have begun.
  llvm::Error goOnWithReplies();
  /// Asks once more in each search that waits for replies. Where the user ends
  /// the run it keeps those that came and that nobody has taken.
  llvm::Error askForPrompts();
  /// What waits still has to wait for another run.
  llvm::Error concludePending();
  /// Waits for answers of evaluations and of models; the targets whose searches
  /// can go on, in their order. None: nothing comes any more.
  llvm::Expected<std::vector<size_t>>
  waitForReady(const RequestContext &context);
  /// Says what is waited for.
  void showWaiting(SearchProgress &progress) const;
  void tellWaiting();
  /// What of the minutes finding out where the time goes has taken.
  static std::chrono::steady_clock::duration
  profilingTime(llvm::ArrayRef<SearchTarget> targets);
  /// What an evaluation of `target` takes, by its own or else by those of
  /// others, in seconds; 0: nobody knows.
  double evaluationSecondsOf(const SearchTarget &target) const;
  /// Of the minutes what `target` cannot win with less than: an evaluation and
  /// a second measurement by one of the workers, in seconds; 0: nobody knows.
  double leastSecondsOf(const SearchTarget &target) const;
  /// Whether so many times the minutes are over.
  bool areMinutesOver(double times) const;
  /// Opens the journal. False: the search has another turn, or none.
  llvm::Expected<bool> openJournal(size_t index, PreparedSearch &prepared,
                                   const JournalBinding &binding,
                                   const SearchBudget &share, bool waits);
  /// True when another process has stored a winner since this one began.
  llvm::Expected<bool> isFoundMeanwhile(const SearchTarget &target);
  /// What follows from the end of its search.
  llvm::Error conclude(size_t index, const BegunSearch &search,
                       const SearchResult &result);
  llvm::Error storeWinner(size_t index, const PreparedSearch &prepared,
                          const SearchOptions &options,
                          const SearchResult &result);
  void notePending(const SearchResult &result, SearchProgress &progress);

  /// Whether the replay, which holds no search of a workload, may be of this
  /// model all the same: the recorded run may have had nothing left for it.
  bool mayBeUnrecorded() const;
  RunRecord::Search &recordOf(const SearchTarget &target);

  void sayNotSearched(llvm::StringRef title, const llvm::Twine &why) const;
  /// For programs: the search of a workload begins, and ends.
  void tellBegin(const BegunSearch &search, const SearchTarget &target) const;
  void tellEnd(const BegunSearch &search, const SearchTarget &target,
               const SearchResult &result) const;
  void reportSkipped() const;
  void reportUnproved() const;
  /// What people have written since the journal was.
  void reportUntried(const BegunSearch &search,
                     const SearchResult &result) const;
  /// The minutes ended a search, or left it none.
  void noteOutOfTime(size_t index, double evaluationSeconds);
  /// Whose searches these are, and what more minutes could gain.
  void reportWorthOfTime() const;
  void reportPending() const;

  const SearchRun &run;
  llvm::ArrayRef<SearchTarget> targets;
  std::vector<ModelPart> parts;
  RunRecord &record;
  ModelShares dealt;
  TargetBudgets budgets;

  llvm::json::Array report;
  SearchModelEnd end = SearchModelEnd::Done;
  /// Searches that had their turn, by index; of so many.
  std::map<size_t, size_t> turns;
  size_t allTurns = 0;
  /// Those whose turn comes soon.
  std::map<size_t, std::unique_ptr<BegunSearch>> ahead;
  /// Those that wait for answers.
  std::map<size_t, std::unique_ptr<BegunSearch>> open;
  /// When the minutes began.
  std::chrono::steady_clock::time_point startedAt;
  /// Those that wait for another process, and their shares.
  std::vector<std::pair<size_t, SearchBudget>> waiting;
  int pending = 0, pendingPrompts = 0;
  /// Targets whose searches the minutes ended, or left none.
  std::vector<size_t> outOfTime;
  /// What a round and a second measurement take of those of these, so many, of
  /// which an evaluation was timed.
  double wantedSeconds = 0;
  int timed = 0;
  /// What an evaluation takes on the mean, as far as it is known, in seconds.
  double usualSeconds = 0;
  /// What a second measurement took at most, in evaluations.
  double promotionCost = 0;
  /// Variants whose second measurement is missing, and their workloads.
  std::vector<std::pair<std::string, UnprovenVariant>> unproven;
  /// What is to be said of workloads that the compiler lowers wrongly.
  std::string disagreements;
  /// Why evaluations failed through no fault of their variants, for the first
  /// search that ended so; and evaluations of this run that did not.
  std::string unjudged;
  int judged = 0;
  /// What a language model says that answers nothing; empty: there is none.
  std::string unanswered;
  WaitLog waits;
};

/// Searches the wanted ones of `targets`, those first that can gain the most,
/// and stores what is found; `parts` is what is known of the time of each of
/// `targets`. Says what it does. Notes in `record` which searches are over.
llvm::Expected<SearchModelEnd>
searchTargets(const SearchRun &run, llvm::ArrayRef<SearchTarget> targets,
              std::vector<ModelPart> parts, RunRecord &record);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHLOOP_H
