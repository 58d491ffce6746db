//===- SearchLog.h - What a model's searches say ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To people as they go on, and to programs event by event where a log was asked
// for: docs/operators.md lists the events.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_SEARCHLOG_H
#define FASTK_LIB_DRIVER_SEARCHLOG_H

#include "SearchRun.h"
#include "fastk/Search/Progress.h"
#include <chrono>
#include <memory>
#include <optional>

namespace fastk {

/// Which workload an event is of.
EventLog::Fields eventOf(llvm::StringRef workload, llvm::StringRef key);

/// What is shown of a search of this run, or of waiting; \p fields are those of
/// its events.
std::unique_ptr<SearchProgress> showProgress(const SearchRun &run,
                                             llvm::StringRef title,
                                             EventLog::Fields fields = {});

/// Says where a winner went.
void sayStored(const SearchRequest &request, llvm::StringRef key,
               const WriteResult &written);

/// Says what is waited for: at first, and every minute.
class WaitLog {
public:
  explicit WaitLog(const SearchRun &run) : run(run) {}
  bool isDue() const;
  void say(size_t workloads, size_t evaluations, size_t prompts);

private:
  const SearchRun &run;
  std::optional<std::chrono::steady_clock::time_point> said;
};

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHLOG_H
