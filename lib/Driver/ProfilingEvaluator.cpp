//===- ProfilingEvaluator.cpp - Until a time is known ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfilingEvaluator.h"
#include "ModelJournals.h"

using namespace mlir;
using namespace fastk;

llvm::Expected<Provenance>
ProfilingEvaluator::provenance(LoweringOp workload,
                               const RequestContext &context) {
  return evaluator.provenance(workload, context);
}

llvm::Expected<std::optional<worker::Verdict>>
ProfilingEvaluator::evaluate(const EvaluationRequest &request,
                             const RequestContext &context) {
  auto verdict = evaluator.evaluate(request, context);
  ++evaluations;
  isAnswering = true;
  pending = verdict && !*verdict;
  if (verdict && *verdict)
    isKnown |= (*verdict)->timing.baseline.has_value();
  return verdict;
}

bool ProfilingEvaluator::endsSearch() {
  if (isAnswering) {
    isAnswering = false;
    return false;
  }
  return isKnown || pending || evaluations >= kEvaluations;
}

double fastk::readProfile(SearchTarget &target) {
  RecordedBaseline baseline =
      recordedBaseline(target.journal, ProfilingEvaluator::kEvaluations);
  target.profile.evaluations = baseline.evaluations;
  target.profile.evaluationSeconds = baseline.longestSeconds;
  return baseline.seconds;
}

llvm::Expected<double>
fastk::searchUntilProfiled(SearchTarget &target, PreparedSearch &prepared,
                           ProfilingEvaluator &evaluator) {
  const SearchRun &run = prepared.run;
  const SearchOptions &options = run.options.search;
  std::string holder;
  llvm::Expected<bool> isOpen =
      prepared.openJournal(bindingOf(*prepared.input, options), holder);
  if (!isOpen)
    return isOpen.takeError();
  if (!*isOpen)
    return 0;
  if (!target.profile.earlier)
    target.profile.earlier = SearchInput::Earlier{
        prepared.journal->resumedEvents(), prepared.journal->elapsedSeconds()};
  prepared.input->stopRequested = [&] {
    return evaluator.endsSearch() || run.isStopRequested();
  };
  llvm::Expected<SearchResult> result = runSearch(*prepared.input, options);
  // Files are not kept open: there may be many.
  prepared.journal.reset();
  if (!result)
    return result.takeError();
  return result->runSeconds;
}
