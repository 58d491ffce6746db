//===- LocalPool.h - Evaluations on this machine ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_LOCALPOOL_H
#define FASTK_EVALUATE_LOCALPOOL_H

#include "fastk/Evaluate/Evaluator.h"
#include <functional>
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
  /// Longest that compiling a variant may take. Below the C compiler's own
  /// limit of 60 s (lib/Conversion/CProgram.cpp), so that every time-out is
  /// seen here and told as one.
  unsigned compileSeconds = 55;
  /// The same for the baseline and the oracle, which are fastk's own.
  unsigned trustedCompileSeconds = 300;
  /// The worker may look at the caches as they are (Warm) or flush them first.
  worker::Cache cache = worker::Cache::Cold;
  /// Seconds of timing for each evaluation; the worker's default when 0.
  double timeSeconds = 0;
  /// True kills what runs at once; evaluate() then returns an error.
  std::function<bool()> cancelled;
};

/// Compiles variants by child processes of `compiler` and hands them to a fresh
/// `worker` process each. Programs are timed one at a time: the machine is the
/// instrument.
llvm::Expected<std::unique_ptr<Evaluator>>
createLocalPool(LocalPoolOptions options);

} // namespace fastk

#endif // FASTK_EVALUATE_LOCALPOOL_H
