//===- RayCluster.h - Evaluations on a Ray cluster --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_RAYCLUSTER_H
#define FASTK_EVALUATE_RAYCLUSTER_H

#include "fastk/Evaluate/JobMaker.h"
#include <memory>
#include <string>

namespace fastk {

struct RayClusterOptions {
  JobMakerOptions jobs;
  /// A spool that only this machine sees. Jobs that were answered and not asked
  /// for again when the process was killed are found there.
  std::string spool;
  /// The cluster, as Ray names it: "auto", "HOST:PORT", "ray://HOST:PORT",
  /// "local".
  std::string address;
  /// The most GPUs; 0: all that there are.
  unsigned workers = 0;
  /// An answered spool, on every node, whose verdicts are given as answers;
  /// empty: jobs are evaluated.
  std::string rehearsal;
  /// Answers are waited for until none has come for so many seconds.
  double waitSeconds = 0;
  /// `fastk-worker` for nodes that are this machine, where FASTK_WORKER names
  /// none.
  std::string worker;
};

/// An evaluator that writes jobs to a spool, which `python -m fastk.ray`
/// answers on the GPUs of a cluster as long as the evaluator lives. What that
/// process says is in the file ray.log of the spool's folder.
llvm::Expected<std::unique_ptr<Evaluator>>
createRayCluster(RayClusterOptions options);

} // namespace fastk

#endif // FASTK_EVALUATE_RAYCLUSTER_H
