//===- Searcher.cpp - The procedure of a search ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>

using namespace llvm;
using namespace fastk;

/// A step of the sweep, or a new best without a duel, must gain more than the
/// noise between two measurements of one program.
static constexpr double kNoise = 1.005;

/// So many evaluations that fail through no fault of the candidate end a
/// search: something else is broken.
static constexpr int kErrorsInARow = 3;

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

Searcher::Searcher(const SearchInput &input, const SearchOptions &options)
    : input(input), options(options), random(options.seed) {
  result.baselineSeconds = input.workload.baselineSeconds;
  result.floorSeconds = input.workload.floorSeconds;
}

Expected<SearchResult> Searcher::run() {
  clockStart = clockNow();
  if (input.journal) {
    journalStart = input.journal->elapsedSeconds();
    if (input.progress && input.journal->resumedEvents() > 0)
      input.progress->note(
          "resuming: " + std::to_string(input.journal->resumedEvents()) +
          " events of an earlier run are kept");
  }
  // Row 0, filled in when the first evaluation has measured it.
  result.trajectory.emplace_back();
  result.trajectory.front().round = "0";
  result.trajectory.front().title = "default lowering";

  if (Error error = trySeeds())
    return std::move(error);
  if (Error error = options.strategy == SearchStrategy::Branching
                        ? runBranching()
                        : runSequential())
    return std::move(error);
  if (!searchOver)
    if (Error error = finalSweep())
      return std::move(error);
  if (!searchOver)
    if (Error error = promote())
      return std::move(error);
  if (input.progress)
    input.progress->ended();

  if (!result.winner && result.noWinnerReason.empty())
    result.noWinnerReason = result.end == SearchEnd::Interrupted
                                ? "the search was interrupted; run it again to "
                                  "go on where it was"
                                : result.detail;
  result.trajectory.front().seconds = result.baselineSeconds;
  result.trajectory.front().baselineSeconds = result.baselineSeconds;
  result.trajectory.front().precision = worker::Precision::IEEE;
  result.history = history;
  result.elapsedSeconds = elapsedNow();
  return std::move(result);
}

void Searcher::stop(SearchEnd end, std::string detail) {
  phaseOver = true;
  if (end == SearchEnd::Interrupted || end == SearchEnd::Unfit)
    searchOver = true;
  // The first cause stands: what a later phase runs into is its consequence.
  if (phase == Phase::Rounds || searchOver) {
    result.end = end;
    result.detail = std::move(detail);
  }
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

Error Searcher::trySeeds() {
  round = "1";
  roundNumber = 1;
  for (const SearchSeed &seed : input.seeds) {
    if (phaseOver)
      break;
    Expected<TryOutcome> outcome =
        tryVariant(seed.idea, /*owner=*/nullptr, seed.variant);
    if (!outcome)
      return outcome.takeError();
  }
  return Error::success();
}

Error Searcher::runBranching() {
  for (roundNumber = 1; roundNumber <= options.rounds && !phaseOver;
       ++roundNumber) {
    round = std::to_string(roundNumber);
    int firstTrial = roundNumber == 1 ? 0 : trials.size();
    int firstOfProposers = trials.size();
    chooseParents();
    // All ideas of a round are asked for before the first is tried, so that
    // every proposer sees the same history.
    struct Asked {
      Idea idea;
      Proposer *owner;
      std::string name;
    };
    std::vector<Asked> asked;
    for (auto [index, proposer] : enumerate(input.proposers)) {
      if (phaseOver)
        break;
      std::string name = round + "/" + std::to_string(index);
      bool all = roundNumber == 1 && proposer->wantsAllTried();
      Expected<std::vector<Idea>> ideas =
          askIdeas(*proposer, name, all ? 1 << 20 : options.ideas);
      if (!ideas)
        return ideas.takeError();
      for (auto [number, idea] : enumerate(*ideas))
        asked.push_back({idea, proposer, name + "/" + std::to_string(number)});
    }
    if (asked.empty() && !phaseOver) {
      stop(SearchEnd::Exhausted, "the proposers had no further idea");
      --roundNumber;
      break;
    }
    for (const Asked &each : asked) {
      if (phaseOver)
        break;
      if (Error error = tryIdea(each.idea, *each.owner, each.name,
                                options.implementations))
        return error;
    }
    bool triedAny = static_cast<int>(trials.size()) > firstOfProposers;
    // The sweep starts at the round's best, if it is in reach of the best.
    std::optional<size_t> promising;
    for (size_t i = firstTrial; i < trials.size(); ++i)
      if (trials[i].speedup > 0 &&
          (!promising || trials[i].speedup > trials[*promising].speedup))
        promising = i;
    if (promising && !phaseOver &&
        trials[*promising].speedup * 1.3 > bestTrial().speedup)
      if (Error error = sweep(*promising, options.roundSweep))
        return error;
    endRound(firstTrial, /*countsForPatience=*/true);
    if (!triedAny && !phaseOver)
      stop(SearchEnd::Exhausted, "the proposers only repeated what was tried");
  }
  return Error::success();
}

Error Searcher::runSequential() {
  // As many realisations as the branching search would make.
  int steps = options.rounds * options.ideas * options.implementations;
  size_t turn = 0;
  for (roundNumber = 1; roundNumber <= steps && !phaseOver; ++roundNumber) {
    round = std::to_string(roundNumber);
    int firstTrial = roundNumber == 1 ? 0 : trials.size();
    parents.clear();
    if (hasBest())
      parents.push_back(bestTrial().tried);
    bool asked = false;
    for (size_t i = 0; i < input.proposers.size() && !asked; ++i) {
      size_t index = turn++ % input.proposers.size();
      Proposer &proposer = *input.proposers[index];
      std::string name = round + "/" + std::to_string(index);
      Expected<std::vector<Idea>> ideas = askIdeas(proposer, name, 1);
      if (!ideas)
        return ideas.takeError();
      if (ideas->empty())
        continue;
      asked = true;
      if (Error error = tryIdea(ideas->front(), proposer, name, 1))
        return error;
    }
    if (!asked) {
      stop(SearchEnd::Exhausted, "the proposers had no further idea");
      --roundNumber;
      break;
    }
    endRound(firstTrial, /*countsForPatience=*/true);
  }
  return Error::success();
}

Error Searcher::tryIdea(const Idea &idea, Proposer &owner,
                        const std::string &name, int count) {
  ++result.counts.ideas;
  Expected<std::vector<Variant>> variants = askVariants(
      "realise/" + name, [&] { return owner.realise(context(), idea, count); });
  if (!variants)
    return variants.takeError();
  if (static_cast<int>(variants->size()) > count)
    variants->resize(count);
  for (const Variant &variant : *variants) {
    Expected<TryOutcome> outcome = tryVariant(idea, &owner, variant);
    if (!outcome)
      return outcome.takeError();
    if (*outcome == TryOutcome::Evaluated && !phaseOver)
      if (Error error = repair(idea, &owner, trials.size() - 1))
        return error;
    if (phaseOver)
      break;
  }
  return Error::success();
}

/// What a proposer may be able to mend.
static bool isRepairable(worker::Status status) {
  switch (status) {
  case worker::Status::Wrong:
  case worker::Status::Crash:
  case worker::Status::Timeout:
  case worker::Status::Memory:
  case worker::Status::Refused:
    return true;
  case worker::Status::OK:
  case worker::Status::Slow:
  case worker::Status::Impossible:
  case worker::Status::Unfit:
  case worker::Status::Error:
    return false;
  }
  llvm_unreachable("all statuses are named above");
}

static std::string digestOf(const Variant &variant) {
  return sha256(stringifyLanguage(variant.language).str() + " " +
                std::to_string(variant.workspaceBytes) + "\n" +
                variant.program);
}

Error Searcher::repair(const Idea &idea, Proposer *owner, size_t failed) {
  for (int attempt = 0; attempt < options.repairs && !phaseOver; ++attempt) {
    if (!owner || !isRepairable(trials[failed].verdict.status))
      return Error::success();
    TriedVariant tried = trials[failed].tried;
    Expected<std::vector<Variant>> mended =
        askVariants("repair/" + digestOf(tried.variant),
                    [&]() -> Expected<std::vector<Variant>> {
                      Expected<std::optional<Variant>> variant =
                          owner->repair(context(), idea, tried);
                      if (!variant)
                        return variant.takeError();
                      std::vector<Variant> list;
                      if (*variant)
                        list.push_back(std::move(**variant));
                      return list;
                    });
    if (!mended)
      return mended.takeError();
    if (mended->empty())
      return Error::success();
    ++result.counts.repairs;
    Expected<TryOutcome> outcome = tryVariant(idea, owner, mended->front());
    if (!outcome)
      return outcome.takeError();
    if (*outcome != TryOutcome::Evaluated)
      return Error::success();
    failed = trials.size() - 1;
  }
  return Error::success();
}

Error Searcher::sweep(size_t from, int limit) {
  size_t current = from;
  int used = 0;
  while (used < limit && !phaseOver) {
    Proposer *owner = trials[current].owner;
    std::string digest = digestOf(trials[current].tried.variant);
    // Where a full sweep found nothing better, another would ask the same.
    if (!owner || swept.contains(digest))
      return Error::success();
    Variant around = trials[current].tried.variant;
    int count = limit - used;
    // Asked again later, the untried neighbours are others.
    std::string name =
        "neighbours/" + digest + "/" + std::to_string(neighbourAsks[digest]++);
    Expected<std::vector<Variant>> variants = askVariants(
        name, [&] { return owner->neighbours(context(), around, count); });
    if (!variants)
      return variants.takeError();
    if (variants->empty())
      swept.insert(digest);
    Idea idea = trials[current].idea;
    bool improved = false;
    for (const Variant &variant : *variants) {
      if (used >= limit)
        break;
      Expected<TryOutcome> outcome = tryVariant(idea, owner, variant);
      if (!outcome)
        return outcome.takeError();
      if (*outcome == TryOutcome::Stopped)
        return Error::success();
      if (*outcome == TryOutcome::Duplicate)
        continue;
      ++used;
      if (trials.back().speedup > trials[current].speedup * kNoise) {
        current = trials.size() - 1;
        improved = true;
        break;
      }
    }
    if (!improved)
      return Error::success();
  }
  return Error::success();
}

Error Searcher::finalSweep() {
  phase = Phase::Sweep;
  phaseOver = false;
  round = "sweep";
  // The best of each idea: two variants of one idea would climb one hill.
  std::vector<size_t> starts;
  StringSet<> ideas;
  for (size_t index : survivors())
    if (static_cast<int>(starts.size()) < options.parents &&
        ideas.insert(trials[index].idea.id).second)
      starts.push_back(index);
  size_t first = trials.size();
  for (size_t index : starts)
    if (!phaseOver)
      if (Error error = sweep(index, options.finalSweep))
        return error;
  if (trials.size() > first)
    endRound(first, /*countsForPatience=*/false);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Promotion
//===----------------------------------------------------------------------===//

static std::optional<Precision> precisionOf(worker::Precision precision) {
  switch (precision) {
  case worker::Precision::IEEE:
    return Precision::ieee;
  case worker::Precision::TF32:
    return Precision::tf32;
  case worker::Precision::Half:
    return Precision::half;
  case worker::Precision::None:
    return std::nullopt;
  }
  llvm_unreachable("all precisions are named above");
}

static std::string percent(double ratio) {
  std::string text;
  raw_string_ostream(text) << format("%.1f %%", 100 * ratio);
  return text;
}

Error Searcher::promote() {
  phase = Phase::Promotion;
  phaseOver = false;
  round = "promote";
  std::vector<size_t> order = survivors();
  if (order.empty()) {
    std::string counts;
    for (auto &[status, count] : result.counts.statuses)
      counts +=
          (counts.empty() ? "" : ", ") + std::to_string(count) + " " + status;
    result.noWinnerReason = counts.empty() ? "nothing was evaluated"
                                           : "no variant passed: " + counts;
    return Error::success();
  }
  // The one that won its duels goes first, whatever noise says of the others.
  auto at = find(order, *best);
  std::rotate(order.begin(), at, std::next(at));
  int attempts = 0;
  for (size_t index : order) {
    const Trial &trial = trials[index];
    if (trial.speedup <= options.promotionGain)
      continue;
    if (attempts++ == options.promotions)
      break;
    Expected<std::optional<worker::Verdict>> verdict =
        askVerdict(trial.tried.variant, /*incumbent=*/nullptr,
                   /*promote=*/true);
    if (!verdict)
      return verdict.takeError();
    if (!*verdict) {
      if (result.noWinnerReason.empty() && result.end != SearchEnd::Interrupted)
        result.noWinnerReason = "the budget ran out before '" +
                                trial.idea.title +
                                "' could be measured a second time";
      return Error::success();
    }
    ++result.counts.promotions;
    const worker::Verdict &second = **verdict;
    std::optional<Precision> precision = precisionOf(second.precision);
    const auto &ratio = second.timing.speedupOverBaseline;
    std::string problem;
    if (second.status != worker::Status::OK)
      problem =
          std::string(worker::toString(second.status)) + ": " + second.reason;
    else if (!precision || *precision > input.workload.acceptedPrecision)
      problem = "its precision did not hold on fresh data";
    else if (!ratio || !second.timing.candidate)
      problem = "it came back without times";
    else if (const auto &control = second.timing.aaRatio;
             control && (control->low > 1.02 || control->high < 0.98))
      problem = "the baseline timed against itself gave " +
                percent(control->median) +
                ": the machine was too noisy for this measurement to count";
    else if (ratio->low <= options.promotionGain)
      problem = "at least " + percent(ratio->low) +
                " of the default lowering's speed is sure, and " +
                percent(options.promotionGain) + " is needed";
    if (problem.empty()) {
      result.winner =
          FoundWinner{trial.idea, trial.tried.variant, second, *precision};
      result.noWinnerReason.clear();
      TrajectoryRow row = rowOf("promoted", trial);
      row.seconds = second.timing.candidate->medianNs * 1e-9;
      row.precision = second.precision;
      row.baselineSeconds = second.timing.baseline
                                ? second.timing.baseline->medianNs * 1e-9
                                : row.seconds * ratio->median;
      row.evaluations = attempts;
      result.trajectory.push_back(std::move(row));
      return Error::success();
    }
    result.noWinnerReason += (result.noWinnerReason.empty() ? "" : "; ") +
                             ("'" + trial.idea.title) +
                             "' failed its second measurement: " + problem;
  }
  if (attempts == 0)
    result.noWinnerReason =
        "no variant is faster than the default lowering: the best reached " +
        percent(bestTrial().speedup) + " of its speed";
  return Error::success();
}

//===----------------------------------------------------------------------===//
// One variant
//===----------------------------------------------------------------------===//

Expected<Searcher::TryOutcome> Searcher::tryVariant(const Idea &idea,
                                                    Proposer *owner,
                                                    const Variant &variant) {
  ++result.counts.variants;
  if (!seen.insert(digestOf(variant)).second) {
    ++result.counts.duplicates;
    return TryOutcome::Duplicate;
  }
  if (input.progress)
    input.progress->evaluating(standing(idea.title));
  Expected<std::optional<worker::Verdict>> verdict =
      askVerdict(variant, hasBest() ? &bestTrial().tried.variant : nullptr,
                 /*promote=*/false);
  if (!verdict)
    return verdict.takeError();
  if (!*verdict)
    return TryOutcome::Stopped;

  Trial trial;
  trial.idea = idea;
  trial.owner = owner;
  trial.verdict = std::move(**verdict);
  const worker::TimingReport &timing = trial.verdict.timing;
  trial.tried.variant = variant;
  trial.tried.variant.ideaId = idea.id;
  trial.tried.status = std::string(worker::toString(trial.verdict.status));
  trial.tried.reason = trial.verdict.reason;
  trial.tried.round = roundNumber;
  if (timing.candidate)
    trial.tried.seconds = timing.candidate->medianNs * 1e-9;
  if (timing.baseline)
    trial.tried.baselineSeconds = timing.baseline->medianNs * 1e-9;
  if (result.baselineSeconds == 0)
    result.baselineSeconds = trial.tried.baselineSeconds;
  if (trial.verdict.status == worker::Status::OK && trial.tried.seconds > 0) {
    // Side by side cancels drift; the quotient of medians is second best.
    if (timing.speedupOverBaseline)
      trial.speedup = timing.speedupOverBaseline->median;
    else
      trial.speedup = trial.tried.baselineSeconds / trial.tried.seconds;
  }
  ++result.counts.statuses[trial.tried.status];
  history.push_back(trial.tried);
  trials.push_back(std::move(trial));
  const Trial &done = trials.back();

  if (done.speedup > 0) {
    bool better = !hasBest();
    if (!better && timing.speedupOverIncumbent)
      better = timing.speedupOverIncumbent->low > kNoise;
    else if (!better)
      better = done.speedup > bestTrial().speedup * kNoise;
    if (better)
      best = trials.size() - 1;
  }
  if (input.progress)
    input.progress->evaluated(standing(idea.title), done.tried.status,
                              done.tried.reason);

  if (done.verdict.status == worker::Status::Unfit) {
    stop(SearchEnd::Unfit, done.tried.reason);
  } else if (done.verdict.status == worker::Status::Error) {
    if (++errorsInARow == kErrorsInARow)
      stop(SearchEnd::Unfit, std::to_string(kErrorsInARow) +
                                 " evaluations in a row failed through no "
                                 "fault of their variants: " +
                                 done.tried.reason);
  } else {
    errorsInARow = 0;
  }
  if (hasBest() && result.floorSeconds > 0 &&
      result.floorSeconds >= options.floorShare * bestTrial().tried.seconds)
    stop(SearchEnd::Floor,
         "the best variant reached " +
             percent(result.floorSeconds / bestTrial().tried.seconds) +
             " of the floor");
  return TryOutcome::Evaluated;
}

void Searcher::endRound(int firstTrial, bool countsForPatience) {
  TrajectoryRow row;
  std::optional<size_t> roundBest;
  for (size_t i = firstTrial; i < trials.size(); ++i)
    if (trials[i].speedup > 0 &&
        (!roundBest || trials[i].speedup > trials[*roundBest].speedup))
      roundBest = i;
  if (roundBest)
    row = rowOf(round, trials[*roundBest]);
  row.round = round;
  row.evaluations = trials.size() - firstTrial;
  // A round that a limit cut off before its first evaluation has no line.
  if (row.evaluations > 0)
    result.trajectory.push_back(std::move(row));
  if (input.progress)
    input.progress->roundEnded(standing(""));
  if (!countsForPatience || phaseOver)
    return;
  if (hasBest() &&
      bestTrial().speedup > bestAtLastGain * (1 + options.patienceGain)) {
    bestAtLastGain = bestTrial().speedup;
    roundsWithoutGain = 0;
    return;
  }
  // Until something passes there is nothing that could stagnate.
  if (!hasBest())
    return;
  int patience = options.strategy == SearchStrategy::Branching
                     ? options.patience
                     : options.patience * options.ideas;
  if (++roundsWithoutGain >= patience)
    stop(SearchEnd::Stagnation, std::to_string(patience) +
                                    " rounds gained less than " +
                                    percent(options.patienceGain));
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

Expected<std::vector<Idea>>
Searcher::askIdeas(Proposer &proposer, const std::string &name, int count) {
  if (input.journal)
    if (auto recorded = input.journal->findIdeas(name))
      return std::move(recorded->value);
  Expected<std::vector<Idea>> ideas = proposer.proposeIdeas(context(), count);
  if (!ideas)
    return ideas;
  if (static_cast<int>(ideas->size()) > count)
    ideas->resize(count);
  if (input.journal)
    if (Error error = input.journal->recordIdeas(name, *ideas, elapsedNow()))
      return std::move(error);
  return ideas;
}

Expected<std::vector<Variant>>
Searcher::askVariants(const std::string &name,
                      function_ref<Expected<std::vector<Variant>>()> ask) {
  if (input.journal) {
    auto recorded = input.journal->findVariants(name);
    if (!recorded)
      return recorded.takeError();
    if (*recorded)
      return std::move((*recorded)->value);
  }
  Expected<std::vector<Variant>> variants = ask();
  if (!variants)
    return variants;
  if (input.journal)
    if (Error error =
            input.journal->recordVariants(name, *variants, elapsedNow()))
      return std::move(error);
  return variants;
}

Expected<std::optional<worker::Verdict>>
Searcher::askVerdict(const Variant &variant, const Variant *incumbent,
                     bool promote) {
  // The count is the same on every run, so it decides first and alone for what
  // is recorded.
  if (options.budget.evaluations > 0) {
    int64_t limit = options.budget.evaluations;
    // Without its second measurement nothing can win.
    if (!promote && limit >= 2)
      limit -= std::clamp<int64_t>(limit / 10, 1, options.promotions);
    if (result.counts.evaluations >= limit) {
      stop(SearchEnd::Budget, "the budget of " +
                                  std::to_string(options.budget.evaluations) +
                                  " evaluations is spent");
      return std::nullopt;
    }
  }
  std::string name = (promote ? "promote/" : "evaluate/") + digestOf(variant);
  if (input.journal)
    if (auto recorded = input.journal->findVerdict(name)) {
      ++result.counts.evaluations;
      ++result.counts.replayed;
      return std::move(recorded->value);
    }
  if (!mayEvaluate())
    return std::nullopt;

  double start = elapsedNow();
  Expected<worker::Verdict> verdict =
      input.evaluator.evaluate({input.workload.workload, variant, incumbent,
                                input.workload.acceptedPrecision, promote});
  // A terminal sends its interrupt to children too: what failed while the user
  // asked to stop says nothing of the variant. What passed is kept.
  if (input.stopRequested && input.stopRequested() &&
      (!verdict || verdict->status != worker::Status::OK)) {
    consumeError(verdict.takeError());
    stop(SearchEnd::Interrupted);
    return std::nullopt;
  }
  if (!verdict)
    return verdict.takeError();
  double end = elapsedNow();
  durations.push_back(end - start);
  ++result.counts.evaluations;
  verdict->reason = json::fixUTF8(verdict->reason);
  // What is decided on is what a resumed search will read.
  std::string problem;
  std::optional<worker::Verdict> reread =
      worker::parseVerdict(worker::toJSON(*verdict), problem);
  if (!reread)
    return createStringError(inconvertibleErrorCode(),
                             "the evaluator returned a verdict that cannot be "
                             "read back: " +
                                 problem);
  if (input.journal)
    if (Error error = input.journal->recordVerdict(name, *reread, end))
      return std::move(error);
  return std::move(*reread);
}

bool Searcher::mayEvaluate() {
  if (input.stopRequested && input.stopRequested()) {
    stop(SearchEnd::Interrupted);
    return false;
  }
  if (options.budget.minutes > 0) {
    double limit = options.budget.minutes * 60;
    if (phase != Phase::Promotion)
      limit *= 0.9;
    double expected = 0;
    if (!durations.empty()) {
      std::vector<double> sorted = durations;
      std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2,
                       sorted.end());
      expected = sorted[sorted.size() / 2];
    }
    if (elapsedNow() + expected > limit) {
      std::string text;
      raw_string_ostream(text) << format("the budget of %g minutes is spent",
                                         options.budget.minutes);
      stop(SearchEnd::Budget, text);
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// State of affairs
//===----------------------------------------------------------------------===//

double Searcher::clockNow() const {
  if (input.clock)
    return input.clock();
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Searcher::elapsedNow() const {
  return journalStart + clockNow() - clockStart;
}

ProposalContext Searcher::context() {
  ProposalContext context = input.workload;
  context.baselineSeconds = result.baselineSeconds;
  context.history = history;
  context.parents = parents;
  return context;
}

std::vector<size_t> Searcher::survivors() const {
  std::vector<size_t> order;
  for (size_t i = 0; i < trials.size(); ++i)
    if (trials[i].speedup > 0)
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(-trials[a].speedup, a) <
           std::make_pair(-trials[b].speedup, b);
  });
  return order;
}

void Searcher::chooseParents() {
  parents.clear();
  std::vector<size_t> order = survivors();
  std::vector<size_t> chosen;
  if (!order.empty()) {
    auto wanted = static_cast<size_t>(std::max(options.parents, 1));
    chosen.push_back(*best);
    // By diversity: the fastest of each other idea, of new categories first.
    std::set<std::string> ideas = {bestTrial().idea.id};
    std::set<IdeaCategory> categories = {bestTrial().idea.category};
    for (bool newCategory : {true, false})
      for (size_t index : order) {
        const Idea &idea = trials[index].idea;
        // The last place, of three or more, is drawn from all that is left.
        if (chosen.size() + (wanted >= 3 ? 1 : 0) >= wanted)
          break;
        if (ideas.count(idea.id) ||
            (newCategory && categories.count(idea.category)))
          continue;
        ideas.insert(idea.id);
        categories.insert(idea.category);
        chosen.push_back(index);
      }
    std::vector<size_t> rest;
    for (size_t index : order)
      if (!is_contained(chosen, index))
        rest.push_back(index);
    while (chosen.size() < wanted && !rest.empty()) {
      // Not std::uniform_int_distribution: its results differ between
      // libraries.
      size_t pick = random() % rest.size();
      chosen.push_back(rest[pick]);
      rest.erase(rest.begin() + pick);
    }
  }
  // Best first.
  llvm::sort(chosen, [&](size_t a, size_t b) {
    return std::make_tuple(a != *best, -trials[a].speedup, a) <
           std::make_tuple(b != *best, -trials[b].speedup, b);
  });
  for (size_t index : chosen)
    parents.push_back(trials[index].tried);
}

SearchStanding Searcher::standing(StringRef title) const {
  SearchStanding standing;
  standing.round = round;
  standing.rounds =
      options.strategy == SearchStrategy::Branching
          ? options.rounds
          : options.rounds * options.ideas * options.implementations;
  standing.evaluations = result.counts.evaluations;
  standing.evaluationBudget = options.budget.evaluations;
  standing.elapsedSeconds = elapsedNow();
  standing.baselineSeconds = result.baselineSeconds;
  standing.floorSeconds = result.floorSeconds;
  standing.title = title;
  if (best) {
    standing.bestSeconds = trials[*best].tried.seconds;
    standing.bestSpeedup = trials[*best].speedup;
    standing.bestTitle = trials[*best].idea.title;
  }
  return standing;
}

TrajectoryRow Searcher::rowOf(StringRef name, const Trial &trial) const {
  TrajectoryRow row;
  row.round = name.str();
  row.seconds = trial.tried.seconds;
  row.baselineSeconds = trial.tried.seconds * trial.speedup;
  row.precision = trial.verdict.precision;
  row.ideaId = trial.idea.id;
  row.title = trial.idea.title;
  row.category = stringify(trial.idea.category).str();
  row.parameters = trial.tried.variant.parameters;
  return row;
}
