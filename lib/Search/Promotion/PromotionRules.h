//===- PromotionRules.h - When a second measurement counts ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_PROMOTION_PROMOTIONRULES_H
#define FASTK_LIB_SEARCH_PROMOTION_PROMOTIONRULES_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/Verdict.h"
#include <optional>
#include <string>

namespace fastk {

/// The bank's word for a measured class; nothing for none.
std::optional<Precision> precisionOf(worker::Precision precision);

/// True when the variant is right, and its times are an accident of the minute:
/// worker::noiseProblem() says why. What is surely not `gain` times as fast is
/// not, however noisy.
bool isTooNoisy(const worker::Verdict &verdict, double gain);
/// True when that says nothing of other variants: the machine was quiet enough.
bool isNoiseOfVariant(const worker::Verdict &verdict);

/// Why a promotion makes no winner where the same operands have to give the
/// same bits; empty when it does.
std::string bitsProblem(const worker::Verdict &verdict);

/// Why a promotion makes no winner: it failed, is looser than `accepted`, or is
/// not surely `gain` times as fast as the default lowering. Empty when it does.
std::string promotionProblem(const worker::Verdict &verdict, Precision accepted,
                             double gain);

} // namespace fastk

#endif // FASTK_LIB_SEARCH_PROMOTION_PROMOTIONRULES_H
