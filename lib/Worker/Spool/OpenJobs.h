//===- OpenJobs.h - The jobs that nobody has answered -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SPOOL_OPENJOBS_H
#define FASTK_LIB_WORKER_SPOOL_OPENJOBS_H

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fastk::worker {

/// The jobs of a spool that have no answer, in the order in which this worker
/// takes them.
class OpenJobs {
public:
  /// For worker number `share` of `shares`.
  OpenJobs(std::filesystem::path root, unsigned share, unsigned shares)
      : root(std::move(root)), share(share), shares(shares) {}

  /// Looks for new ones. What was seen is looked at again when it was gone, for
  /// a search writes a job once more that it misses, and once a minute:
  /// somebody may have removed an answer.
  std::error_code refresh();

  /// Comparisons of oracles first; then, since what is kept of one job serves
  /// the next of its workload, the workloads that are this worker's; then its
  /// share of the jobs of other workloads; then those of others.
  std::vector<std::filesystem::path> inOrder() const;

  /// Answered, or not for this worker.
  void remove(const std::filesystem::path &job) { open.erase(job); }
  /// Another worker has the job: it is looked at again after a while, and then
  /// after a longer one.
  void putOff(const std::filesystem::path &job);
  bool isPutOff(const std::filesystem::path &job) const;

  bool empty() const { return open.empty(); }
  size_t size() const { return open.size(); }
  /// How many were answered when they were first seen.
  size_t answeredBefore() const { return answered; }

private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    std::string workload;
    enum { OwnWorkload, OwnShare, OfOthers } whose = OfOthers;
    Clock::time_point notBefore = {};
    std::chrono::milliseconds wait{500};
  };

  std::filesystem::path root;
  unsigned share, shares;
  std::map<std::filesystem::path, Open> open;
  /// Names of those that are there, as far as they were seen.
  std::set<std::string> seen;
  size_t answered = 0;
  /// When all were looked at last.
  Clock::time_point lastWhole = {};
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SPOOL_OPENJOBS_H
