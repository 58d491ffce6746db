//===- SearchVerdicts.cpp - What evaluations find, kept -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An evaluator that answers later is asked for a whole round at once, and the
// search ends as pending until all of it is answered. Run again it asks the
// same, for every answer that it acts on is in the journal by then.
//
//===----------------------------------------------------------------------===//

#include "SearchVerdicts.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace fastk;

EvaluationRequest SearchVerdicts::request(const Variant &variant,
                                          const Variant *incumbent,
                                          bool promote) const {
  const ProposalContext &workload = search.input.workload;
  EvaluationRequest request{workload.workload, variant, incumbent,
                            workload.acceptedPrecision, promote};
  request.counters = search.asksModels();
  return request;
}

bool SearchVerdicts::isKnown(const std::string &name) const {
  return answers.contains(name) ||
         (search.input.journal && search.input.journal->findVerdict(name));
}

std::optional<worker::Status>
SearchVerdicts::statusOf(const std::string &name) const {
  if (auto asked = answers.find(name); asked != answers.end())
    return asked->second.status;
  if (search.input.journal)
    if (auto recorded = search.input.journal->findVerdict(name))
      return recorded->value.status;
  return std::nullopt;
}

SearchVerdicts::Verdict SearchVerdicts::ask(const Variant &variant,
                                            const Variant *incumbent,
                                            bool promote, int repeat) {
  SearchCounts &counts = search.result.counts;
  // The count is the same on every run, so it decides first and alone for what
  // is recorded.
  if (!limits.hasEvaluationsLeft(promote))
    return std::nullopt;
  std::string name = verdictName(variant, promote, repeat);
  if (auto asked = answers.find(name); asked != answers.end()) {
    ++counts.evaluations;
    return std::move(asked->second);
  }
  if (search.input.journal)
    if (auto recorded = search.input.journal->findVerdict(name)) {
      search.times.found(name, recorded->elapsed);
      verdictAt = recorded->elapsed;
      double seconds = recorded->value.resources.wallSeconds;
      bool isOfThisRun = search.input.journal->isOfThisRun(
          Journal::EventType::Evaluation, name);
      if (promote || seconds > 0)
        limits.took(promote, seconds, isOfThisRun);
      if (promote && recorded->value.status == worker::Status::Error)
        failed.push_back(name);
      ++counts.evaluations;
      counts.replayed += !isOfThisRun;
      return std::move(recorded->value);
    }
  if (!promote && beforeNew)
    if (Error error = beforeNew())
      return std::move(error);
  if (search.course.isSearchOver() || !limits.mayEvaluate(name))
    return std::nullopt;
  EvaluationRequest wanted = request(variant, incumbent, promote);
  wanted.repeat = repeat;
  Verdict verdict = obtain(name, wanted);
  if (!verdict || *verdict) {
    if (verdict)
      ++counts.evaluations;
    return verdict;
  }
  if (!search.course.isSearchOver()) {
    ++counts.pending;
    search.clock.asks(name);
    search.course.stop(SearchEnd::Pending);
  }
  return std::nullopt;
}

Error SearchVerdicts::promoteAhead(const Variant &variant) {
  std::string name = verdictName(variant, /*promote=*/true);
  Verdict verdict =
      obtain(name, request(variant, /*incumbent=*/nullptr, /*promote=*/true));
  if (!verdict)
    return verdict.takeError();
  // It counts when its turn comes.
  if (*verdict)
    answers.try_emplace(name, std::move(**verdict));
  return Error::success();
}

Error SearchVerdicts::askTogether(ArrayRef<Variant> variants,
                                  const SeenPrograms &seen) {
  if (!search.answersLater())
    return Error::success();
  SearchCounts &counts = search.result.counts;
  const Variant *incumbent = search.trials.bestVariant();
  StringSet<> asked;
  std::optional<int64_t> left = limits.evaluationsLeft(/*promote=*/false);
  for (const Variant &variant : variants) {
    if (!variant.problem.empty())
      continue;
    if (left && static_cast<int64_t>(asked.size()) >= *left)
      break;
    if (seen.contains(variant) || !asked.insert(noveltyOf(variant)).second)
      continue;
    std::string name = verdictName(variant, /*promote=*/false);
    if (answers.contains(name))
      continue;
    if (search.input.journal)
      if (auto recorded = search.input.journal->findVerdict(name)) {
        search.times.found(name, recorded->elapsed);
        continue;
      }
    if (!limits.mayEvaluate(name))
      break;
    EvaluationRequest wanted = request(variant, incumbent, /*promote=*/false);
    wanted.firstOfBatch = counts.pending == 0;
    Verdict verdict = obtain(name, wanted);
    if (!verdict)
      return verdict.takeError();
    if (*verdict)
      answers.try_emplace(name, std::move(**verdict));
    else if (search.course.isSearchOver())
      return Error::success();
    else {
      ++counts.pending;
      search.clock.asks(name);
    }
  }
  if (counts.pending == 0)
    return Error::success();
  // The others were answered; it is not their turn yet.
  counts.evaluations += static_cast<int>(asked.size()) - counts.pending;
  search.course.stop(SearchEnd::Pending);
  return Error::success();
}

SearchVerdicts::Verdict SearchVerdicts::obtain(const std::string &name,
                                               EvaluationRequest request) {
  Journal *journal = search.input.journal;
  SearchCounts &counts = search.result.counts;
  double start = search.clock.elapsed();
  if (journal)
    request.failures = journal->failedEvaluations(name);
  Verdict verdict =
      search.input.evaluator.evaluate(request, search.input.context());
  // A terminal sends its interrupt to children too: what failed while the user
  // asked to stop says nothing of the variant. What passed is kept.
  if (search.stopRequested() &&
      (!verdict || !*verdict || (*verdict)->status != worker::Status::OK)) {
    consumeError(verdict.takeError());
    search.course.stop(SearchEnd::Interrupted);
    return std::nullopt;
  }
  if (!verdict || !*verdict)
    return verdict;
  double end = search.times.arrived(name, search.clock.elapsed());
  verdictAt = end;
  bool hasFailed = (*verdict)->status == worker::Status::Error;
  ++(hasFailed ? counts.failed : counts.judged);
  if (hasFailed && request.promote)
    failed.push_back(name);
  // Who answers later was at work elsewhere; a replay of it counts the same.
  limits.took(request.promote, search.answersLater()
                                   ? (*verdict)->resources.wallSeconds
                                   : end - start);
  (*verdict)->reason = json::fixUTF8((*verdict)->reason);
  // What is decided on is what a resumed search will read.
  std::string problem;
  std::optional<worker::Verdict> reread =
      worker::parseVerdict(worker::toJSON(**verdict), problem);
  if (!reread)
    return createStringError(inconvertibleErrorCode(),
                             "the evaluator returned a verdict that cannot be "
                             "read back: " +
                                 problem);
  if (journal)
    if (Error error = journal->recordVerdict(name, *reread, end))
      return std::move(error);
  return std::move(*reread);
}
