//===- Spool.h - Answer a folder of jobs ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_WORKER_SPOOL_H
#define FASTK_TOOLS_FASTK_WORKER_SPOOL_H

#include <string>

namespace fastk::worker {

/// Answers every job of a spool that has no verdict yet: \p folder/job-*/
/// job.json by verdict.json beside it, which appears whole or not at all. Paths
/// in a job are relative to its folder. Progress goes to stderr. Returns the
/// exit code: 0 when all are answered, 1 when one could not be read or
/// answered; the others are answered all the same.
int answerSpool(const std::string &folder);

} // namespace fastk::worker

#endif // FASTK_TOOLS_FASTK_WORKER_SPOOL_H
