//===- LocalPool.h - Evaluations on this machine ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_LOCALPOOL_H
#define FASTK_EVALUATE_LOCALPOOL_H

#include "fastk/Evaluate/Evaluator.h"
#include <memory>
#include <string>

namespace fastk {

struct LocalPoolOptions {
  /// `fastk-opt`, which compiles each kernel in a child process.
  std::string compiler;
  /// `fastk-worker`, which judges and times.
  std::string worker;
  /// Where kernels are compiled to; removed with the pool. Empty: the system's
  /// temporary folder.
  std::string scratch;
  /// OpenMP threads of every program; 0: all processors.
  unsigned threads = 0;
  /// Longest a compilation may take.
  unsigned compileSeconds = 120;
  /// The worker may look at the caches as they are (Warm) or flush them first.
  worker::Cache cache = worker::Cache::Cold;
  /// Seconds of timing for each evaluation; the worker's default when 0.
  double timeSeconds = 0;
};

/// Compiles variants by child processes of `compiler` and hands them to a fresh
/// `worker` process each. Programs are timed one at a time: the machine is the
/// instrument.
llvm::Expected<std::unique_ptr<Evaluator>>
createLocalPool(LocalPoolOptions options);

} // namespace fastk

#endif // FASTK_EVALUATE_LOCALPOOL_H
