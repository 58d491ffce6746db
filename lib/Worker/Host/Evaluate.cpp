//===- Evaluate.cpp - From a job to its verdict ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "fastk/Worker/Worker.h"
#include <cstring>

using namespace fastk::worker;

Verdict fastk::worker::evaluate(const Job &job) {
  Verdict verdict;
  verdict.id = job.id;
  uint64_t begin = clockNs();
  Failure failure;
  bool ok;
  {
    Session session(job, verdict);
    std::vector<Difficulty> difficulty;
    ok = session.open(failure) &&
         validateCandidate(session, difficulty, failure) &&
         (job.mode == Mode::Validate ||
          timeCandidate(session, difficulty, failure));
  }
  if (ok) {
    verdict.status = Status::OK;
    verdict.reason = "right in class " +
                     std::string(toString(verdict.precision)) + " on " +
                     std::to_string(verdict.audit.trials) + " trials";
    if (verdict.timing.speedupOverBaseline) {
      char text[120];
      snprintf(text, sizeof(text), "; %.4g us, %.3g times the baseline's speed",
               verdict.timing.candidate->medianNs * 1e-3,
               verdict.timing.speedupOverBaseline->median);
      verdict.reason += text;
    }
  } else {
    verdict.status = failure.status;
    verdict.reason = failure.reason;
    bool wasRight =
        failure.status == Status::Slow || failure.status == Status::Impossible;
    if (!wasRight)
      verdict.precision = Precision::None;
  }
  verdict.resources.wallSeconds = double(clockNs() - begin) * 1e-9;
  return verdict;
}

bool fastk::worker::childMain(int argc, char **argv, int &code) {
  if (argc != 2 || std::strcmp(argv[1], childFlag) != 0)
    return false;
  code = runChild();
  return true;
}

void fastk::worker::killAllPrograms() { killAllChildren(); }
