//===- Spool.h - Evaluations that another machine makes ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jobs are written to a folder and answered there by `fastk-worker --spool`, on
// whatever machine sees the folder or a copy of it, whenever that is. A job's
// name follows from its content, so a search that asks again finds its answer,
// whatever became of the processes in between. docs/formats/spool.md has the
// files.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_SPOOL_H
#define FASTK_EVALUATE_SPOOL_H

#include "fastk/Evaluate/JobMaker.h"
#include <memory>
#include <string>

namespace fastk {

struct SpoolOptions {
  JobMakerOptions jobs;
  /// Made when it is not there.
  std::string directory;
  /// Answers are waited for until none has come for so many seconds. 0: a run
  /// ends with what is pending.
  double waitSeconds = 0;
};

/// An evaluator that writes jobs, and answers from the verdicts that are there.
llvm::Expected<std::unique_ptr<Evaluator>> createSpool(SpoolOptions options);

} // namespace fastk

#endif // FASTK_EVALUATE_SPOOL_H
