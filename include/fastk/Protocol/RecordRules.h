//===- RecordRules.h - When times make a record -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A promotion's times are stored, published and compared for years, so they
// must not be an accident of the minute in which they were taken. The worker
// samples until they would do, and whoever stores them asks the same question.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_RECORDRULES_H
#define FASTK_PROTOCOL_RECORDRULES_H

#include "fastk/Protocol/Verdict.h"
#include <string>

namespace fastk::worker {

/// The A/A interval must lie within 1 ± kControlLimit and reach 1 ±
/// kControlReach. Two processes of one program that are placed differently in
/// memory differ by up to 1 % (seen on an H200).
inline constexpr double kControlLimit = 0.02, kControlReach = 0.015;
/// The largest half width of the speedup's interval, relative to its median.
inline constexpr double kWidestRatio = 0.05;
/// How far the ratio of the fast tenths may be from the median of the ratios:
/// contention slows the median calls of a program with barriers most, and the
/// fast ones least. Beside it the share of a call that is its handshake.
inline constexpr double kTenthsApart = 0.10;
/// Two runs of one pair of programs differ by so much, whatever their
/// intervals.
inline constexpr double kRunsApart = 0.05;
/// Samples that a record needs. Where so many would take longer than a minute,
/// as many as a minute holds, but never fewer than kFewestLongSamples.
inline constexpr int64_t kFewestSamples = 16, kFewestLongSamples = 8;
inline constexpr double kLongSeconds = 60;

/// Samples that a record of these times needs, by how long a block takes.
int64_t samplesForRecord(const TimingReport &timing);

/// Whether calls in pairs and the medians of all calls disagree on which
/// program is the faster one. Pairs hold where a machine is slow for a while;
/// who is nevertheless beaten by the medians has no gain that a user would
/// find.
bool mediansContradict(const TimingReport &timing);

/// Why these times of a promotion make no record though the program is right,
/// as a sentence: the machine was too busy or too noisy. Empty when they do.
std::string noiseProblem(const TimingReport &timing);

/// Whether two measurements of one gain cannot both hold: their intervals are
/// apart by more than either is wide, and by more than kRunsApart.
bool contradicts(const Ratio &one, const Ratio &other);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_RECORDRULES_H
