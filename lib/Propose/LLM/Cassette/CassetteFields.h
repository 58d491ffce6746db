//===- CassetteFields.h - The fields of a cassette's lines ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What reading and writing must agree on.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_CASSETTE_CASSETTEFIELDS_H
#define FASTK_LIB_PROPOSE_LLM_CASSETTE_CASSETTEFIELDS_H

#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/StringRef.h"

namespace fastk {

constexpr int64_t kCassetteFormat = 1;

/// Calls `field(name, value)` for all that is known of a device but its target.
template <typename Description, typename Field>
void forEachDeviceField(Description &device, Field field) {
  field("model", device.model);
  field("threads", device.threads);
  field("cores", device.cores);
  field("clock_hz", device.clockHz);
  field("vector_bytes", device.vectorBytes);
  field("fma", device.hasFma);
  field("f16_arithmetic", device.hasF16Arithmetic);
  field("l1_bytes", device.l1Bytes);
  field("l2_bytes", device.l2Bytes);
  field("l3_bytes", device.l3Bytes);
  field("memory_bytes_per_second", device.memoryBytesPerSecond);
  field("cache_bytes_per_second", device.cacheBytesPerSecond);
  field("f64_ops_per_second", device.f64OpsPerSecond);
  field("f32_ops_per_second", device.f32OpsPerSecond);
  field("tf32_ops_per_second", device.tf32OpsPerSecond);
  field("f16_ops_per_second", device.f16OpsPerSecond);
  field("bf16_ops_per_second", device.bf16OpsPerSecond);
  field("measured_idle", device.measuredIdle);
  field("attempts", device.attempts);
}

/// The same for what a reply cost, but for its price, which may be unknown.
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

#endif // FASTK_LIB_PROPOSE_LLM_CASSETTE_CASSETTEFIELDS_H
