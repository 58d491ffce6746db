//===- Effects.cpp - What is asked of the outside, by way of the journal --===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"

using namespace llvm;
using namespace fastk;

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

/// What a proposer may be able to mend.
static bool isRepairable(worker::Status status) {
  switch (status) {
  case worker::Status::Wrong:
  case worker::Status::Crash:
  case worker::Status::Timeout:
  case worker::Status::Memory:
  case worker::Status::Refused:
  case worker::Status::CompileTimeout:
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

Expected<std::vector<Variant>> Searcher::askRepair(size_t failed) {
  Proposer *owner = trials[failed].owner;
  if (!owner || !isRepairable(trials[failed].verdict.status))
    return std::vector<Variant>();
  Idea idea = trials[failed].idea;
  TriedVariant tried = trials[failed].tried;
  return askVariants("repair/" + digestOf(tried.variant),
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
}

Expected<std::optional<worker::Verdict>>
Searcher::askVerdict(const Variant &variant, const Variant *incumbent,
                     bool promote) {
  // The count is the same on every run, so it decides first and alone for what
  // is recorded.
  if (!hasEvaluationsLeft(promote))
    return std::nullopt;
  std::string name = (promote ? "promote/" : "evaluate/") + digestOf(variant);
  if (auto asked = answers.find(name); asked != answers.end()) {
    ++result.counts.evaluations;
    return std::move(asked->second);
  }
  if (input.journal)
    if (auto recorded = input.journal->findVerdict(name)) {
      ++result.counts.evaluations;
      ++result.counts.replayed;
      return std::move(recorded->value);
    }
  if (!mayEvaluate())
    return std::nullopt;
  Expected<std::optional<worker::Verdict>> verdict =
      obtainVerdict(name, {input.workload.workload, variant, incumbent,
                           input.workload.acceptedPrecision, promote,
                           /*firstOfBatch=*/false});
  if (!verdict || *verdict) {
    if (verdict)
      ++result.counts.evaluations;
    return verdict;
  }
  if (!searchOver) {
    ++result.counts.pending;
    stop(SearchEnd::Pending);
  }
  return std::nullopt;
}

Expected<std::optional<worker::Verdict>>
Searcher::obtainVerdict(const std::string &name,
                        const EvaluationRequest &request) {
  double start = elapsedNow();
  Expected<std::optional<worker::Verdict>> verdict =
      input.evaluator.evaluate(request);
  // A terminal sends its interrupt to children too: what failed while the user
  // asked to stop says nothing of the variant. What passed is kept.
  if (input.stopRequested && input.stopRequested() &&
      (!verdict || !*verdict || (*verdict)->status != worker::Status::OK)) {
    consumeError(verdict.takeError());
    stop(SearchEnd::Interrupted);
    return std::nullopt;
  }
  if (!verdict || !*verdict)
    return verdict;
  double end = elapsedNow();
  durations.push_back(end - start);
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
  if (input.journal)
    if (Error error = input.journal->recordVerdict(name, *reread, end))
      return std::move(error);
  return std::move(*reread);
}
