//===- WorkerHarness.h - Runs the real worker in tests ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_WORKER_WORKERHARNESS_H
#define FASTK_UNITTESTS_WORKER_WORKERHARNESS_H

#include "fastk/Protocol/Job.h"
#include "fastk/Protocol/Verdict.h"
#include <string>

namespace fastk::worker::test {

/// Compiles a file of Inputs/ with \p flags into a shared object, once.
std::string compile(const std::string &file, const std::string &flags);

struct Output {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs fastk-worker with \p input on stdin.
Output runWorker(const std::string &input, const std::string &arguments = "");

/// Runs a job that must give a verdict, and reads it back.
Verdict judge(const Job &job);

/// The 64x96 . 96x48 product of matmul.c.
Job matmulJob(const std::string &candidate);
/// rowwise.c; \p op is SOFTMAX or NORM.
Job rowwiseJob(const std::string &op, const std::string &candidate);
/// attention.c.
Job attentionJob(const std::string &candidate);
/// The same, with what is added to the logits of all heads.
Job maskedAttentionJob(const std::string &candidate);
/// domain.c; \p op as there.
Job domainJob(const std::string &op, const std::string &candidate);
/// elementwise.c; \p op as there.
Job elementwiseJob(const std::string &op, const std::string &candidate);
/// large.c, of 4.7 million elements; \p flags are the candidate's.
Job largeJob(const std::string &flags);
Job reduceJob(const std::string &candidate);
/// relu_norm.c.
Job reluNormJob(const std::string &candidate);

/// The fields of a verdict that say why, for messages of assertions.
std::string explain(const Verdict &verdict);

} // namespace fastk::worker::test

#endif // FASTK_UNITTESTS_WORKER_WORKERHARNESS_H
