//===- Claim.h - The right to answer a job ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A claim is a file in the job's folder, claim-1, which one worker alone can
// create, whatever machine it is on. As long as its worker lives it is renewed:
// its time of modification moves on. Where it stands still, or its process is
// seen to be gone, the job is free: the next worker creates claim-2. So nobody
// ever removes what may be another's, and the number tells how many workers
// died at the job. docs/formats/spool.md describes the files.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SPOOL_CLAIM_H
#define FASTK_LIB_WORKER_SPOOL_CLAIM_H

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace fastk::worker {

/// How often a claim is renewed, and after how long without that it is void for
/// workers that cannot see its process. A file server's clock counts, not the
/// machines'. Renewals are lost to a server that stands still, so there are
/// many in a lease.
struct ClaimTimes {
  std::chrono::milliseconds renewal{10'000};
  std::chrono::milliseconds lease{90'000};
  /// For so long, by its own clock, whoever would take the job over must see
  /// that nobody renews: a server that stood still stops all of its workers,
  /// and they renew when it is back.
  std::chrono::milliseconds look{30'000};
};

/// When this process first saw claims of others that were not renewed, by their
/// files. One map for a worker's whole time.
struct UnrenewedClaim {
  std::chrono::nanoseconds renewed;
  std::chrono::steady_clock::time_point seen;
};
using UnrenewedClaims = std::map<std::string, UnrenewedClaim>;

/// The right of this process to answer a job, given back with the object: the
/// next worker finds the job as if this one had never been there.
class Claim {
public:
  ~Claim();
  Claim(const Claim &) = delete;
  Claim &operator=(const Claim &) = delete;

  /// Claims the job in \p folder, whose spool is the folder around it. Null
  /// where a worker that lives has it, where it is answered, and where its
  /// folder cannot be written to: then \p problem says why.
  static std::unique_ptr<Claim> take(const std::filesystem::path &folder,
                                     UnrenewedClaims &unrenewed,
                                     std::string &problem,
                                     const ClaimTimes &times = {});

  /// How many workers ended while they were at the job, without an answer.
  int earlierDeaths() const { return number - 1; }
  /// The job is answered: what is left of this claim and of those before is
  /// removed.
  void settle();

private:
  Claim(std::filesystem::path folder, int number, const ClaimTimes &times);
  std::filesystem::path file() const;

  class Renewal;
  std::filesystem::path folder;
  int number;
  std::unique_ptr<Renewal> renewal;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SPOOL_CLAIM_H
