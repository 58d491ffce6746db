//===- LocalPool.h - Evaluations on this machine ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_LOCALPOOL_H
#define FASTK_EVALUATE_LOCALPOOL_H

#include "fastk/Evaluate/JobMaker.h"
#include <memory>
#include <string>

namespace fastk {

struct LocalPoolOptions {
  JobMakerOptions jobs;
  /// `fastk-worker`, which judges and times.
  std::string worker;
};

/// Compiles variants by child processes of `compiler` and hands them to a fresh
/// `worker` process each. Programs are timed one at a time: the machine is the
/// instrument.
llvm::Expected<std::unique_ptr<Evaluator>>
createLocalPool(LocalPoolOptions options);

} // namespace fastk

#endif // FASTK_EVALUATE_LOCALPOOL_H
