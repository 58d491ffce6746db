//===- UsageFields.h - What a reply cost, field by field --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the writers and readers of journals and cassettes must agree on.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_USAGEFIELDS_H
#define FASTK_LLM_USAGEFIELDS_H

#include "fastk/LLM/LanguageModel.h"

namespace fastk {

/// Calls `field(name, value)` for all that a reply cost, but for its price,
/// which may be unknown.
template <typename Costs, typename Field>
void forEachUsageField(Costs &usage, Field field) {
  field("input_tokens", usage.inputTokens);
  field("cached_tokens", usage.cachedTokens);
  field("output_tokens", usage.outputTokens);
  field("reasoning_tokens", usage.reasoningTokens);
  field("attempts", usage.attempts);
  field("seconds", usage.seconds);
  field("estimated", usage.isEstimated);
}

} // namespace fastk

#endif // FASTK_LLM_USAGEFIELDS_H
