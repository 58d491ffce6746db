//===- ProgressReporter.cpp - Says where a search stands ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressReporter.h"

using namespace llvm;
using namespace fastk;

SearchStanding ProgressReporter::standing(StringRef title) const {
  SearchStanding standing;
  standing.round = search.course.label();
  standing.rounds = rounds;
  standing.evaluations = search.result.counts.evaluations;
  standing.evaluationBudget = search.options.budget.evaluations;
  standing.elapsedSeconds = search.clock.run();
  standing.earlierSeconds = search.clock.earlier();
  standing.baselineSeconds = search.result.baselineSeconds;
  standing.floorSeconds = search.result.floorSeconds;
  standing.title = title;
  standing.models = &costs;
  if (search.trials.hasBest()) {
    const Trial &best = search.trials.bestTrial();
    standing.bestSeconds = best.tried.seconds;
    standing.bestSpeedup = best.speedup;
    standing.bestTitle = best.idea.title;
  }
  return standing;
}

void ProgressReporter::note(StringRef text) const {
  if (search.input.progress)
    search.input.progress->note(text);
}

void ProgressReporter::evaluating(StringRef title) const {
  if (search.input.progress)
    search.input.progress->evaluating(standing(title));
}

void ProgressReporter::evaluated(const Trial &trial) const {
  if (search.input.progress)
    search.input.progress->evaluated(standing(trial.idea.title),
                                     trial.tried.status, trial.tried.reason);
}

void ProgressReporter::roundEnded() const {
  if (search.input.progress)
    search.input.progress->roundEnded(standing(""));
}

void ProgressReporter::ended() const {
  if (search.input.progress)
    search.input.progress->ended();
}
