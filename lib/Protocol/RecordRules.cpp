//===- RecordRules.cpp - When times make a record -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/RecordRules.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace fastk::worker;

int64_t fastk::worker::samplesForRecord(const TimingReport &timing) {
  double blockNs = 0;
  if (timing.candidate)
    blockNs += timing.candidate->medianNs;
  // And the control.
  if (timing.baseline)
    blockNs += 2 * timing.baseline->medianNs;
  if (timing.incumbent)
    blockNs += timing.incumbent->medianNs;
  double room = kLongSeconds * 1e9 / std::max(blockNs, 1.0);
  return std::clamp(int64_t(std::min(room, double(kFewestSamples))),
                    kFewestLongSamples, kFewestSamples);
}

static std::string because(const TimingReport &timing, const char *text) {
  return std::string("the machine was too noisy for this measurement to "
                     "count: ") +
         text +
         (timing.disturbedBy.empty() ? "" : " (" + timing.disturbedBy + ")");
}

bool fastk::worker::mediansContradict(const TimingReport &timing) {
  const auto &ratio = timing.speedupOverBaseline;
  if (!ratio || !timing.candidate || !timing.baseline)
    return false;
  double mine = timing.candidate->medianNs, other = timing.baseline->medianNs;
  return (ratio->low > 1 && mine > other) || (ratio->high < 1 && mine < other);
}

std::string fastk::worker::noiseProblem(const TimingReport &timing) {
  if (timing.tooBusy)
    return "the machine is too busy: " + timing.disturbedBy;
  char text[200];
  // Whatever is not a number fails.
  if (const auto &control = timing.aaRatio;
      control && !(control->low >= 1 - kControlLimit &&
                   control->high <= 1 + kControlLimit &&
                   control->high >= 1 - kControlReach &&
                   control->low <= 1 + kControlReach)) {
    snprintf(text, sizeof(text),
             "the baseline timed against itself gave %.1f %% (%.1f to %.1f)",
             100 * control->median, 100 * control->low, 100 * control->high);
    return because(timing, text);
  }
  const auto &ratio = timing.speedupOverBaseline;
  if (!ratio || !timing.candidate || !timing.baseline)
    return "";
  double halfWidth = (ratio->high - ratio->low) / (2 * ratio->median);
  if (!(halfWidth <= kWidestRatio)) {
    snprintf(text, sizeof(text),
             "its gain is known to ±%.1f %% only (%.3g to %.3g), and ±%.0f %% "
             "is needed",
             100 * halfWidth, ratio->low, ratio->high, 100 * kWidestRatio);
    return because(timing, text);
  }
  int64_t needed = samplesForRecord(timing);
  if (timing.candidate->samples < needed) {
    snprintf(text, sizeof(text), "%lld undisturbed samples, of %lld needed",
             (long long)timing.candidate->samples, (long long)needed);
    return because(timing, text);
  }
  if (mediansContradict(timing)) {
    snprintf(text, sizeof(text),
             "its calls in pairs gained %.3g times (%.3g to %.3g), and the "
             "medians of all calls say %.3g times",
             ratio->median, ratio->low, ratio->high,
             timing.baseline->medianNs / timing.candidate->medianNs);
    return because(timing, text);
  }
  double tenths = timing.baseline->p10Ns / timing.candidate->p10Ns;
  double allowed = kTenthsApart + timing.handshakeNs /
                                      std::max(timing.candidate->medianNs, 1.0);
  if (!(std::abs(std::log(tenths / ratio->median)) <= allowed)) {
    snprintf(text, sizeof(text),
             "its fast calls gained %.3g times, half of all calls %.3g times",
             tenths, ratio->median);
    return because(timing, text);
  }
  return "";
}

bool fastk::worker::contradicts(const Ratio &one, const Ratio &other) {
  if (!(one.low > 0) || !(other.low > 0))
    return false;
  double gap =
      std::log(std::max(one.low, other.low) / std::min(one.high, other.high));
  double width =
      std::max(std::log(one.high / one.low), std::log(other.high / other.low));
  return gap > std::max(width, kRunsApart);
}
