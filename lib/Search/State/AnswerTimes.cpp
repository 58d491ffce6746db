//===- AnswerTimes.cpp - When the answers of a search came ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AnswerTimes.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
using namespace fastk;

AnswerTimes::AnswerTimes(const RecordedSearch *recording)
    : recording(recording) {
  if (!recording)
    return;
  for (const RecordedExchange &each : recording->exchanges)
    times[each.name()] = each.elapsed;
  for (const RecordedVerdict &each : recording->verdicts)
    times[each.name] = each.elapsed;
}

double AnswerTimes::arrived(StringRef name, double now) {
  auto recorded = times.find(name);
  found(name, recorded == times.end() ? now : recorded->second);
  return recorded == times.end() ? now : recorded->second;
}

void AnswerTimes::found(StringRef name, double elapsed) {
  given.insert(name);
  latest = std::max(latest, elapsed);
}

/// "evaluate", "promote"; empty for exchanges, whose names begin with a digest.
static StringRef kindOf(StringRef name) {
  return name.starts_with("evaluate/")  ? "evaluate"
         : name.starts_with("promote/") ? "promote"
                                        : "";
}

bool AnswerTimes::endsBefore(StringRef name) const {
  return recording && recording->isComplete && !isRecorded(name) &&
         all_of(times, [&](const auto &each) {
           return kindOf(each.getKey()) != kindOf(name) ||
                  given.contains(each.getKey());
         });
}
