//===- Profile.h - Hardware counters by Nsight Compute ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ncu on one call of the candidate in a fresh process (SoloRun). It calls each
// kernel several times, with the caches flushed and memory restored between.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_PROFILE_PROFILE_H
#define FASTK_LIB_WORKER_CUDA_PROFILE_PROFILE_H

#include "fastk/Protocol/Verdict.h"
#include <string>
#include <string_view>
#include <vector>

namespace fastk::worker {

/// ncu's command line for a run in \p file; its report, CSV, goes to \p log.
std::vector<std::string> profilerCommand(const std::string &ncu,
                                         const std::string &log,
                                         const std::string &worker,
                                         const std::string &file);

/// The counters of each launch in ncu's report, under the names of
/// docs/formats/verdict.md. What is not a number is left out, and so are
/// launches beyond the 16th.
std::vector<LaunchCounters> readCounters(std::string_view report);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_PROFILE_PROFILE_H
