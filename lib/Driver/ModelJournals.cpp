//===- ModelJournals.cpp - The journals of a model's searches -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelJournals.h"
#include "fastk/Search/Journal.h"

using namespace llvm;
using namespace fastk;

std::string fastk::journalFolder(StringRef journals, StringRef key,
                                 const WinnerFilter &accepted) {
  return (journals + "/" + key.take_front(16) + "-" +
          stringifyPrecision(accepted.loosest) +
          (accepted.requireDeterministic ? "-deterministic" : ""))
      .str();
}

RecordedBaseline fastk::recordedBaseline(StringRef folder, size_t atMost) {
  RecordedBaseline baseline;
  Expected<std::optional<RecordedSearch>> recorded =
      Journal::recordedIn(folder);
  if (!recorded) {
    consumeError(recorded.takeError());
    return baseline;
  }
  if (!*recorded)
    return baseline;
  for (const RecordedVerdict &each : (*recorded)->verdicts) {
    if (baseline.evaluations == atMost)
      break;
    ++baseline.evaluations;
    baseline.longestSeconds =
        std::max(baseline.longestSeconds, each.verdict.resources.wallSeconds);
    if (each.verdict.timing.baseline) {
      baseline.seconds = each.verdict.timing.baseline->medianNs * 1e-9;
      break;
    }
  }
  return baseline;
}
