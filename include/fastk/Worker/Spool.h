//===- Spool.h - Answers the jobs of a folder -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A spool is a folder of jobs, `job-NAME/job.json` with the programs beside it;
// the answer to one is `job-NAME/verdict.json`, which appears whole or not at
// all. A job is open as long as it has none, so whatever interrupts a worker,
// the next one goes on.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_WORKER_SPOOL_H
#define FASTK_WORKER_SPOOL_H

#include <cstdio>
#include <string>

namespace fastk::worker {

/// Answers every open job of \p folder, those of one workload after another.
/// Paths in a job are relative to its folder. A job that cannot be read gets a
/// verdict `error` under the name of its folder. Several workers may share a
/// spool: none takes a job that another has begun. A line a job and the rate
/// go to \p progress. Returns whether all jobs are answered; otherwise \p error
/// is one sentence. As evaluate(), needs childMain() in main().
bool answerSpool(const std::string &folder, std::FILE *progress,
                 std::string &error);

} // namespace fastk::worker

#endif // FASTK_WORKER_SPOOL_H
