//===- RunTool.h - A tool of the toolkit, under a time limit ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_PROCESS_RUNTOOL_H
#define FASTK_LIB_WORKER_PROCESS_RUNTOOL_H

#include "fastk/System/ProcessFolder.h"
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace fastk::worker {

struct ToolEnd {
  /// Why it was not started; empty when it was.
  std::string error;
  bool timedOut = false;
  /// 128 + the signal that ended it.
  int exitCode = -1;
};

/// By this one thread holds back, or ends, the tools that others run. To be
/// held back they are one thread; any may end the tools of all.
class ToolControl {
public:
  /// Returns when no tool runs.
  void pause();
  void resume() { wanted = Wanted::Run; }
  void end() { wanted = Wanted::End; }
  /// So long tools were held back, or waited to begin.
  uint64_t pausedNs() const { return paused; }
  /// Of the thread that runs tools: it will run no more.
  void isOver() { isStill = true; }

private:
  friend class ToolWatch;
  enum class Wanted { Run, Pause, End };
  std::atomic<Wanted> wanted = Wanted::Run;
  std::atomic<bool> isStill = false;
  std::atomic<uint64_t> paused = 0;
};

/// Runs \p command, the program's path first, with no input and no output, and
/// waits. It leads a group of its own, of which nothing outlives it. \p folder
/// is its working folder and the one for its temporary files. What it prints
/// goes into the file \p output, where one is named; it has \p addressSpace
/// bytes, 0 for any, and \p variables beside those of this process, which have
/// the last word. What \p control holds back is not counted as time; what it
/// ends has taken too long.
ToolEnd runTool(const std::vector<std::string> &command,
                const std::string &folder, double seconds,
                const std::string &output = {}, uint64_t addressSpace = 0,
                ToolControl *control = nullptr,
                const std::vector<std::string> &variables = {});

/// A folder of our own for files of \p bytes, in memory where there is room.
/// Removed with all that is in it.
class ScratchFolder {
public:
  explicit ScratchFolder(uint64_t bytes);

  /// Empty where none could be made; error() then says why.
  const std::string &path() const { return folder.path(); }
  const std::string &error() const { return problem; }

private:
  ProcessFolder folder;
  std::string problem;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_PROCESS_RUNTOOL_H
