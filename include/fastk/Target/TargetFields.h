//===- TargetFields.h - A description, field by field -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the formats that keep a description as it was: journals and cassettes.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TARGET_TARGETFIELDS_H
#define FASTK_TARGET_TARGETFIELDS_H

#include "fastk/Target/TargetDescription.h"

namespace fastk {

/// Calls `field(name, value)` for all that is known of a device but its target.
/// A value is a text, a number or a bool.
template <typename Description, typename Field>
void forEachTargetField(Description &device, Field field) {
  field("model", device.model);
  field("threads", device.threads);
  field("cores", device.cores);
  field("clock_hz", device.clockHz);
  field("vector_bytes", device.vectorBytes);
  field("fma", device.hasFma);
  field("f16_arithmetic", device.hasF16Arithmetic);
  field("instruction_sets", device.instructionSets);
  field("l1_bytes", device.l1Bytes);
  field("l2_bytes", device.l2Bytes);
  field("l3_bytes", device.l3Bytes);
  field("memory_bytes", device.memoryBytes);
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

} // namespace fastk

#endif // FASTK_TARGET_TARGETFIELDS_H
