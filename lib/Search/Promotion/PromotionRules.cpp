//===- PromotionRules.cpp - When a second measurement counts --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PromotionRules.h"
#include "Report/Percent.h"
#include "fastk/Protocol/RecordRules.h"

using namespace llvm;
using namespace fastk;

std::optional<Precision> fastk::precisionOf(worker::Precision precision) {
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

bool fastk::isTooNoisy(const worker::Verdict &verdict, double gain) {
  const auto &ratio = verdict.timing.speedupOverBaseline;
  bool isLost = ratio && ratio->high <= gain;
  return verdict.status == worker::Status::OK && !isLost &&
         !worker::noiseProblem(verdict.timing).empty();
}

bool fastk::isNoiseOfVariant(const worker::Verdict &verdict) {
  // Without its own times, what is left is the baseline against itself.
  worker::TimingReport timing = verdict.timing;
  timing.candidate.reset();
  return worker::noiseProblem(timing).empty();
}

std::string fastk::bitsProblem(const worker::Verdict &verdict) {
  if (verdict.audit.bitwiseDeterministic == true)
    return "";
  return verdict.audit.bitwiseDeterministic
             ? "runs on the same operands gave other bits, and "
               "--require-deterministic asks for the same"
             : "nothing says that it gives the same bits each time, and "
               "--require-deterministic asks for it";
}

std::string fastk::promotionProblem(const worker::Verdict &verdict,
                                    Precision accepted, double gain) {
  std::optional<Precision> precision = precisionOf(verdict.precision);
  const auto &ratio = verdict.timing.speedupOverBaseline;
  if (verdict.status != worker::Status::OK)
    return std::string(worker::toString(verdict.status)) + ": " +
           verdict.reason;
  if (!precision || *precision > accepted)
    return "its precision did not hold on fresh data";
  if (isTooNoisy(verdict, gain))
    return worker::noiseProblem(verdict.timing);
  if (!ratio || !verdict.timing.candidate)
    return "it came back without times";
  if (ratio->low <= gain)
    return "at least " + percent(ratio->low) +
           " of the default lowering's speed is sure, and " + percent(gain) +
           " is needed";
  return "";
}
