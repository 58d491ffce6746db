//===- SpoolAnswer.h - The verdict on a job of a spool -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SPOOL_SPOOLANSWER_H
#define FASTK_LIB_WORKER_SPOOL_SPOOLANSWER_H

#include "Canary.h"
#include "fastk/Protocol/Verdict.h"
#include <filesystem>
#include <optional>
#include <string>

namespace fastk::worker {

/// Judges the job in \p folder, or, where \p rehearsal names an answered spool,
/// takes its verdict from there, after as long as it took. Nothing, and why,
/// where this machine cannot. A job at which \p deaths workers ended may be
/// answered as `error` without a run.
std::optional<Verdict> verdictOnJob(const std::filesystem::path &folder,
                                    const std::string &rehearsal, int deaths,
                                    std::string &problem);

/// The canary at the spool \p root of this machine's GPU, the only one that
/// this process sees; nothing where there is none.
std::optional<Canary> canaryOfThisGpu(const std::filesystem::path &root);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SPOOL_SPOOLANSWER_H
