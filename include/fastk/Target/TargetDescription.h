//===- TargetDescription.h - What is known of a device ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TARGET_TARGETDESCRIPTION_H
#define FASTK_TARGET_TARGETDESCRIPTION_H

#include <cstdint>
#include <string>

namespace fastk {

/// A device as the floor and the proposers need it. Rates are of the whole
/// device with all `threads` at work.
struct TargetDescription {
  /// "host" for now.
  std::string target = "host";
  /// CPU model, as the system names it.
  std::string model;
  unsigned threads = 1;
  double clockHz = 0;
  /// Width of a SIMD register in bytes: 16, 32 or 64.
  unsigned vectorBytes = 16;
  bool hasFma = false;
  bool hasF16Arithmetic = false;
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  /// Main-memory copy bandwidth, bytes a second, measured.
  double memoryBytesPerSecond = 0;
  /// Peak of fused multiply-adds, counted as two operations, per second.
  double f32OpsPerSecond = 0, f64OpsPerSecond = 0;
};

/// The machine this process runs on. Measured on first use (less than a second)
/// and kept in the user's cache folder per CPU model and thread count.
TargetDescription describeHost();

} // namespace fastk

#endif // FASTK_TARGET_TARGETDESCRIPTION_H
