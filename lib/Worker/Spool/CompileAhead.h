//===- CompileAhead.h - Compile what comes next -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SPOOL_COMPILEAHEAD_H
#define FASTK_LIB_WORKER_SPOOL_COMPILEAHEAD_H

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace fastk::worker {

/// Compiles the candidates of jobs to come while others are judged: the results
/// are in the cache when their turn comes. Errors are found again then.
class CompileAhead {
public:
  CompileAhead() = default;
  ~CompileAhead();
  CompileAhead(const CompileAhead &) = delete;
  CompileAhead &operator=(const CompileAhead &) = delete;

  /// These come next, in this order; those of earlier calls do not.
  void expect(std::vector<std::filesystem::path> jobs);

private:
  void run();

  std::mutex lock;
  std::condition_variable changed;
  std::vector<std::filesystem::path> next;
  std::set<std::filesystem::path> begun;
  bool hasEnded = false;
  std::vector<std::thread> threads;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SPOOL_COMPILEAHEAD_H
