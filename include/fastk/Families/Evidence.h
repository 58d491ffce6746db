//===- Evidence.h - What shows that a family is right -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// evidence.json beside a family's program: the instances that the judge found
// right, and digests of all that this rests on. docs/families.md tells it.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_EVIDENCE_H
#define FASTK_FAMILIES_EVIDENCE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

/// Workloads that evidence is of, at least.
inline constexpr size_t kMinSamples = 60;

struct Evidence {
  /// Digests of the family and of the headers of all samples, in order.
  std::string family, emitter;
  /// The version of what compiled the instances, NVRTC or clang: "13.0".
  std::string compiler;
  /// SHA-256 of the prelude that they were compiled with. Empty for the host,
  /// and in evidence of earlier versions.
  std::string prelude;
  /// The CUDA version that the GPU's driver supports: "13.0". Nothing rests on
  /// it.
  std::string driver;
  /// The error class that instances were asked for: what ACCEPTS_TF32 and
  /// ACCEPTS_HALF of their headers said.
  std::string accepts = "ieee";
  /// "cuda:sm_90a", "host"; "NVIDIA H200", or the processor's model.
  std::string target, device;
  /// Of the host: of its vectors, for which headers were written.
  unsigned vectorBytes = 0;
  /// What the samples were drawn with.
  uint64_t seed = 0;
  /// Of a first measurement beside the default lowering: medians, and that of
  /// the ratio of calls in pairs, above 1 where the instance is faster.
  struct Times {
    double instanceNs = 0, defaultNs = 0, ratio = 0;
    /// The default lowering takes so little that the ratio is biased towards 1.
    bool belowResolution = false;
  };
  struct Instance {
    uint64_t sample = 0;
    /// Key of the workload, and what it is for people.
    std::string workload, about;
    /// SHA-256 of program and plan.
    std::string program;
    /// The class in which it is right: "ieee".
    std::string precision;
    /// Of a sample's first instance, where it could be measured.
    std::optional<Times> times = std::nullopt;
  };
  /// In the order of the samples.
  std::vector<Instance> instances;

  /// "NVRTC 13.0", "clang 22.1.8": what compiled the instances.
  std::string compilerName() const;
  /// Numbers of the samples, each once.
  std::vector<uint64_t> samples() const;
  /// Instances that were measured, and the geometric mean of their ratios; 0
  /// where there are none.
  size_t timed() const;
  double meanRatio() const;
};

/// evidence.json, and for a looser class evidence.tf32.json. For the host, by
/// the bytes of its vectors, evidence.32.json: headers of each width are
/// others.
std::string evidencePath(llvm::StringRef folder,
                         llvm::StringRef accepts = "ieee",
                         unsigned vectorBytes = 0);

/// That of the family in `folder` for a class and, for the host, for vectors of
/// so many bytes. An error names the file and what is wrong with it, also where
/// it is of too few workloads.
llvm::Expected<Evidence> readEvidence(llvm::StringRef folder,
                                      llvm::StringRef accepts = "ieee",
                                      unsigned vectorBytes = 0);

/// Writes it all, or nothing.
llvm::Error writeEvidence(llvm::StringRef folder, const Evidence &evidence);

} // namespace fastk::families

#endif // FASTK_FAMILIES_EVIDENCE_H
