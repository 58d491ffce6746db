//===- SpoolJob.h - A job of a spool ----------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SPOOL_SPOOLJOB_H
#define FASTK_LIB_WORKER_SPOOL_SPOOLJOB_H

#include "fastk/Protocol/Job.h"
#include <filesystem>
#include <optional>
#include <string>

namespace fastk::worker {

std::string textOf(const std::filesystem::path &path, bool &isRead);

/// The job of a folder, with paths that hold from anywhere.
std::optional<Job> readJob(const std::filesystem::path &folder,
                           std::string &error);

bool isAnswered(const std::filesystem::path &folder);

/// Equal for jobs that share all but candidate and incumbent: what the worker
/// keeps of one serves the next. Empty for comparisons of oracles, which come
/// first: without their answers a search goes on with none of the others.
std::string workloadOf(const std::filesystem::path &folder);

/// Why this machine cannot answer a job; empty when it can. Such a job is left
/// for a machine that can: an answer would be taken for the candidate's.
std::string unableToRun(const Job &job);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SPOOL_SPOOLJOB_H
