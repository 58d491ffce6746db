//===- Trace.h - Three clocks that must tell one story ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_INSPECT_TRACE_H
#define FASTK_LIB_WORKER_CUDA_INSPECT_TRACE_H

#include "Cuda/Child/SoloRun.h"

namespace fastk::worker {

/// From the start of the first activity of a call to the end of the last; 0
/// without any.
double spanNs(const TracedCall &call);
/// The part of it in which anything was at work. Under CUPTI launches are slow,
/// and a program of several pauses between them.
double busyNs(const TracedCall &call);

/// A program with its calls under CUPTI and the median of those that were timed
/// without it, which its reported time is.
struct TracedProgram {
  const LaunchPlan &plan;
  const std::vector<TracedCall> &calls;
  double timedNs = 0;
};

/// Why the times of a program are not believed, as the rest of a sentence that
/// begins with its name; empty when they are. What the clocks may differ by is
/// what they differ by for \p trusted.
std::string distrustTrace(const TracedProgram &program,
                          const TracedProgram &trusted, double handshakeNs);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_INSPECT_TRACE_H
