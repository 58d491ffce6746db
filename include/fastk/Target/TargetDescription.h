//===- TargetDescription.h - What is known of a device ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rates feed a floor, a time that no kernel can beat, so each errs high: the
// best of many short measurements, never their mean.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TARGET_TARGETDESCRIPTION_H
#define FASTK_TARGET_TARGETDESCRIPTION_H

#include <cstdint>
#include <optional>
#include <string>

namespace fastk {

/// A device as the floor and the proposers need it. Rates are of the whole
/// device with all `threads` at work.
struct TargetDescription {
  /// "host", or "cuda:<arch>" for one made by DeviceDescription::target().
  std::string target = "host";
  /// CPU model, as the system names it.
  std::string model;
  /// Threads this process may run on (its affinity mask), and the physical
  /// cores under them.
  unsigned threads = 1, cores = 1;
  /// Highest clock the system reports, 0 where it reports none. For display:
  /// no floor rests on it.
  double clockHz = 0;
  /// Width of a SIMD register in bytes: 16, 32 or 64.
  unsigned vectorBytes = 16;
  bool hasFma = false;
  bool hasF16Arithmetic = false;
  /// A host's vector extensions, as the system names them: "avx2 f16c fma".
  /// Empty for a GPU, and in records from before it was kept.
  std::string instructionSets;
  /// Per core for L1 and L2. `l3Bytes` is the sum over the L3 caches that the
  /// threads reach. 0 where there is none.
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  /// Of a GPU, the memory that it has. 0: a host, or not known.
  int64_t memoryBytes = 0;
  /// Main-memory bandwidth in bytes a second, measured: the better of reading
  /// alone and of copying (read and written bytes counted).
  double memoryBytesPerSecond = 0;
  /// The same with buffers that stay in the first-level cache.
  double cacheBytesPerSecond = 0;
  /// Peak of fused multiply-adds, counted as two operations, per second.
  double f32OpsPerSecond = 0, f64OpsPerSecond = 0;
  /// The same for products of f16 or bf16 operands. Not measured: the f32 peak
  /// times what the instruction set promises (1, 2 with 16-bit vector
  /// arithmetic, 16 with matrix tiles).
  double f16OpsPerSecond = 0, bf16OpsPerSecond = 0;
  /// Products of f32 operands rounded to TF32. 0 where there is no such
  /// instruction, as on every host.
  double tf32OpsPerSecond = 0;
  /// False when other programs were busy while the rates were measured. Such a
  /// description is measured again by the next processes, keeping the maxima,
  /// until a quiet moment or eight attempts.
  bool measuredIdle = true;
  unsigned attempts = 1;

  /// All last-level cache that may hold a workload's operands, in bytes.
  int64_t cacheBytes() const;
};

/// The machine this process runs on. Measured on first use (less than a second)
/// and kept in the user's cache folder ($FASTK_CACHE_DIR, $XDG_CACHE_HOME/fastk
/// or ~/.cache/fastk) per CPU model, CPU features and thread count. A cache
/// file that does not read is measured again; one that cannot be written is no
/// error.
TargetDescription hostDescription();

/// The same with the cache file named, and without keeping the result for the
/// rest of the process.
TargetDescription hostDescription(const std::string &cachePath);

/// The text of a cache file, and back. Parsing gives nothing unless the text is
/// whole, of this version, and plausible.
std::string toJSON(const TargetDescription &description);
std::optional<TargetDescription>
parseTargetDescription(const std::string &text);

/// What the system says of this machine: everything but the rates, which stay
/// 0. Takes a millisecond.
TargetDescription identifyHost();

/// Why times with so many threads mean nothing on this machine, and the remedy;
/// empty where they do. 0 stands for as many as there are processors.
std::string explainTooManyThreads(unsigned threads);

/// Where hostDescription() keeps its file; empty when no folder is known.
std::string hostCachePath();

/// Measures, without reading or writing the cache.
TargetDescription measureHost();

} // namespace fastk

#endif // FASTK_TARGET_TARGETDESCRIPTION_H
