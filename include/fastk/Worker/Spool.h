//===- Spool.h - Answer a folder of jobs ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_WORKER_SPOOL_H
#define FASTK_WORKER_SPOOL_H

#include <string>

namespace fastk::worker {

struct SpoolOptions {
  std::string folder;
  /// Stays, and answers jobs as they come.
  bool follows = false;
  /// Answers what stdin names instead: serveSpool().
  bool serves = false;
  /// Where it follows: ends after so long without a job that it could answer;
  /// 0: never.
  double idleSeconds = 0;
  /// Of `shares` workers this is number `share`: it takes its own share of the
  /// jobs first, so that workers do not meet, and those of the others when none
  /// of its own is left.
  unsigned share = 0, shares = 1;
  /// A spool whose verdicts are given as answers, each after as long as it
  /// took; empty: jobs are evaluated.
  std::string rehearsal;
  /// What the worker says is JSON, an object a line.
  bool logsJSON = false;
  /// Where this worker's numbers are written, for Prometheus; empty: nowhere.
  std::string metrics;
};

/// Answers the jobs of a spool that have no verdict yet: job-*/job.json by
/// verdict.json beside it, which appears whole or not at all. Paths in a job
/// are relative to its folder. Any number of workers may do so at the same
/// time, on any machines that see the folder. Progress goes to stderr. Returns
/// the exit code: 0 when all are answered, 1 when one could not be read or
/// answered; the others are answered all the same.
int answerSpool(const SpoolOptions &options);

/// Answers the jobs of a spool that stdin names, a line each, in their order,
/// for a program that deals them out: nothing is claimed. The candidates of
/// further jobs on a line are compiled meanwhile. A line on stdout tells of
/// each "answered", "left: REASON", where this machine cannot, or
/// "busy: REASON", where its GPU takes no job at this moment. Ends with stdin.
/// Returns the exit code.
int serveSpool(const SpoolOptions &options);

} // namespace fastk::worker

#endif // FASTK_WORKER_SPOOL_H
