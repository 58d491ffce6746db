//===- SearchLoopReport.cpp - What a model's searches say ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchEvaluator.h"
#include "SearchLoop.h"
#include "fastk/Search/SearchReport.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace fastk;

void SearchLoop::sayNotSearched(StringRef title, const Twine &why) const {
  std::string text = (title + ": not searched: " + why).str();
  run.said() << text << "\n";
  run.options.tell("skipped", text);
}

void SearchLoop::reportSkipped() const {
  for (size_t index : dealt.tooSmall)
    if (targets[index].isWanted)
      sayNotSearched(parts[index].name,
                     llvm::formatv("less than {0:f1} % of the model's time "
                                   "could be gained",
                                   100 * kMinGain)
                         .str());
}

void SearchLoop::tellBegin(const BegunSearch &search,
                           const SearchTarget &target) const {
  const SearchBudget &budget = search.options.budget;
  EventLog::Fields fields =
      eventOf(search.prepared.features.name, target.form->key);
  if (!search.prepared.device.model.empty())
    fields.emplace_back("machine", search.prepared.device.model);
  fields.emplace_back("journal", target.journal);
  // 0: no limit.
  fields.emplace_back("budget_evaluations", budget.evaluations);
  fields.emplace_back("budget_minutes", budget.minutes);
  run.options.tell("search begins", search.title + ": the search begins",
                   fields);
}

void SearchLoop::tellEnd(const BegunSearch &search, const SearchTarget &target,
                         const SearchResult &result) const {
  EventLog::Fields fields =
      eventOf(search.prepared.features.name, target.form->key);
  std::string end = stringify(result.end).str();
  fields.emplace_back("end", end);
  fields.emplace_back("evaluations", int64_t(result.counts.evaluations));
  fields.emplace_back("pending_evaluations", int64_t(result.counts.pending));
  fields.emplace_back("pending_prompts", int64_t(result.counts.pendingPrompts));
  fields.emplace_back("seconds", result.elapsedSeconds);
  std::string text = search.title + ": the search ends (" + end + "): ";
  if (result.winner) {
    const FoundWinner &winner = *result.winner;
    fields.emplace_back("winner", winner.idea.title);
    fields.emplace_back("idea", winner.idea.id);
    if (const auto &speedup = winner.verdict.timing.speedupOverBaseline)
      fields.emplace_back("speedup", speedup->median);
    if (winner.verdict.gpu)
      fields.emplace_back("machine", winner.verdict.gpu->name);
    text += winner.idea.title;
  } else {
    // As people read it: what is pending has no reason yet.
    std::string reason =
        result.noWinnerReason.empty() ? result.detail : result.noWinnerReason;
    fields.emplace_back("reason", reason);
    text += reason;
  }
  run.options.tell("search ends", text, fields);
}

void SearchLoop::reportUnproved() const {
  for (const auto &[name, variant] : unproven)
    run.said() << name
               << llvm::formatv(": {0:f2}x in its first measurement, not "
                                "promoted: {1}\n",
                                variant.speedup, variant.why);
  if (!unproven.empty() && outOfTime.empty() && !run.options.replay)
    run.said() << "the same command goes on where it was\n";
}

void SearchLoop::reportUntried(const BegunSearch &search,
                               const SearchResult &result) const {
  // Where a search ended early there may be any number.
  bool isWhole = !result.isReplay && (result.end == SearchEnd::Rounds ||
                                      result.end == SearchEnd::Stagnation ||
                                      result.end == SearchEnd::Exhausted);
  ProposalContext context = search.prepared.input->workload;
  context.history = result.history;
  for (Proposer *proposer : run.proposers)
    if (std::string names = proposer->untried(context);
        isWhole && !names.empty())
      run.said() << "  " << proposer->name() << ": not tried: " << names
                 << ": the journal has this search as it was before; another "
                    "one, with --journal=DIR, tries what is there now\n";
}

void SearchLoop::noteOutOfTime(size_t index, double evaluationSeconds) {
  if (run.options.replay)
    return;
  outOfTime.push_back(index);
  timed += evaluationSeconds > 0;
  const SearchOptions &search = run.options.search;
  wantedSeconds += evaluationSeconds *
                   (search.ideas * search.implementations + promotionCost);
}

void SearchLoop::reportWorthOfTime() const {
  if (outOfTime.empty())
    return;
  double gain = 0, all = 0;
  bool isKnown = true;
  for (const auto &[index, part] : llvm::enumerate(parts)) {
    all += part.timeAfter();
    isKnown &= part.seconds > 0;
    if (!llvm::is_contained(outOfTime, index))
      continue;
    isKnown &= part.floorSeconds > 0;
    gain += std::max(0.0, part.timeAfter() - part.calls * part.floorSeconds);
  }
  run.said() << llvm::formatv("the budget of minutes ended {0} of {1} {2}",
                              outOfTime.size(), allTurns,
                              allTurns == 1 ? "search" : "searches");
  if (isKnown && all > 0)
    run.said() << llvm::formatv(
        "; at most {0} of {1} ({2:f0} %) could still be gained",
        formatSeconds(gain), formatSeconds(all), 100 * gain / all);
  // As many as there were, and no fewer than each needs for a round of ideas,
  // in tenths.
  double wanted = wantedSeconds * static_cast<double>(outOfTime.size()) /
                  std::max(timed, 1);
  double minutes =
      std::max(run.options.search.budget.minutes / run.options.partOfBudget,
               std::ceil(wanted / 6) / 10);
  run.said() << llvm::format("\nthey go on where they were, for %.4g %s more",
                             minutes, minutes == 1 ? "minute" : "minutes");
  if (run.options.commandWithMinutes)
    run.said() << ": " << run.options.commandWithMinutes(minutes);
  run.said() << "\n";
}

void SearchLoop::reportPending() const {
  if (pendingPrompts > 0 || pending > 0)
    run.options.tell(
        "pending",
        llvm::formatv("{0} evaluations and {1} prompts are pending", pending,
                      pendingPrompts)
            .str(),
        {{"evaluations", int64_t(pending)},
         {"prompts", int64_t(pendingPrompts)},
         {"for", run.evaluator.pendingHint()}});
  if (pendingPrompts > 0) {
    llvm::StringSet<> said;
    for (Proposer *proposer : run.proposers)
      if (std::string how = proposer->pendingHint();
          !how.empty() && said.insert(how).second)
        run.said() << pendingPrompts
                   << (pendingPrompts == 1 ? " prompt is" : " prompts are")
                   << " pending: answer " << how
                   << ", then run the same command again\n";
  }
  if (pending > 0)
    run.said() << explainPending(pending, run.evaluator, run.filter().target);
}

void SearchLoop::notePending(const SearchResult &result,
                             SearchProgress &progress) {
  const SearchCounts &counts = result.counts;
  pending += counts.pending;
  pendingPrompts += counts.pendingPrompts;
  if (counts.pendingPrompts > 0)
    progress.note(
        llvm::formatv("{0} {1} pending, {2} answered", counts.pendingPrompts,
                      counts.pendingPrompts == 1 ? "prompt" : "prompts",
                      result.models.exchanges)
            .str());
  else
    progress.note(llvm::formatv("{0} pending, {1} answered", counts.pending,
                                counts.evaluations)
                      .str());
  end = SearchModelEnd::Pending;
}
