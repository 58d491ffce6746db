//===- Sanitizer.h - compute-sanitizer at promotion -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tools of compute-sanitizer, each on one call of the candidate in a fresh
// process (SoloRun). A finding is the tool's exit code; its report, in which a
// candidate could have a word through the names of its kernels, is for a person
// to read.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_INSPECT_SANITIZER_H
#define FASTK_LIB_WORKER_CUDA_INSPECT_SANITIZER_H

#include "Cuda/Child/SoloRun.h"
#include "Process/RunTool.h"
#include "fastk/Protocol/Verdict.h"
#include <optional>

namespace fastk::worker {

/// In the order they are told: the quick ones first.
inline constexpr const char *sanitizerTools[] = {"memcheck", "initcheck",
                                                 "synccheck", "racecheck"};

/// compute-sanitizer exits with it when its tool has found something. The run's
/// process always exits with 0.
inline constexpr int findingExit = 97;

/// compute-sanitizer's command line for a run in \p file.
std::vector<std::string> sanitizerCommand(const std::string &sanitizer,
                                          const std::string &tool,
                                          const std::string &log,
                                          const std::string &worker,
                                          const std::string &file);

struct SanitizerResult {
  enum Kind {
    Clean,   ///< Ran to its end, found nothing.
    Finding, ///< Rejects.
    Stopped, ///< Out of time.
    Failed   ///< The tool cannot judge: the device, the driver, the memory.
  } kind = Failed;
  /// For the verdict: "ok", "found: ...", "not run: ...", and "not run to its
  /// end: stopped after 60 s".
  std::string text;
};

/// What a promotion has to say of a tool: its text, and a protection
/// `compute-sanitizer-TOOL`, which is missing unless the tool ran to its end
/// and found nothing.
void noteSanitizer(Verdict &verdict, const std::string &tool,
                   const SanitizerResult &result);

/// What the end of a tool means. \p log is its report.
SanitizerResult interpret(const ToolEnd &end,
                          const std::optional<SoloReply> &reply,
                          const std::string &log, double seconds);

/// The first lines of a report, without its decoration: printable, at most 300
/// characters.
std::string summaryOf(const std::string &log);

/// Runs one tool on the run in \p file. What \p control ends is Stopped.
SanitizerResult runSanitizer(const std::string &sanitizer,
                             const std::string &tool,
                             const ScratchFolder &folder,
                             const std::string &file, double seconds,
                             ToolControl *control = nullptr);

/// One of sanitizerTools.
struct SanitizerTask {
  const char *tool;
  double seconds;
  /// Whether its finding rejects on its own.
  bool decides;
};

/// What each tool says; none for one that another's finding has made needless.
/// Most of a tool's time is its start, so that they run side by side, \p atOnce
/// of them. What decides, and found no room or no time beside others, runs once
/// more, alone.
std::vector<std::optional<SanitizerResult>>
runSanitizers(const std::string &sanitizer, const ScratchFolder &folder,
              const std::string &file, const std::vector<SanitizerTask> &tasks,
              size_t atOnce);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_INSPECT_SANITIZER_H
