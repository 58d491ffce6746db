//===- PromotionRules.cpp - When a second measurement counts --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PromotionRules.h"
#include "Searcher.h"

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

bool fastk::isTooNoisy(const worker::Verdict &verdict) {
  const auto &control = verdict.timing.aaRatio;
  return control && (control->low > 1.02 || control->high < 0.98);
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
  if (!ratio || !verdict.timing.candidate)
    return "it came back without times";
  if (isTooNoisy(verdict))
    return "the baseline timed against itself gave " +
           percent(verdict.timing.aaRatio->median) +
           ": the machine was too noisy for this measurement to count";
  if (ratio->low <= gain)
    return "at least " + percent(ratio->low) +
           " of the default lowering's speed is sure, and " + percent(gain) +
           " is needed";
  return "";
}
