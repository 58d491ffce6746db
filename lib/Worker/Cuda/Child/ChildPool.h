//===- ChildPool.h - Processes of GPU programs, kept ready ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process with a context of its own takes a third of a second to start, more
// than judging a kernel takes, and the driver makes one at a time, whichever of
// the machine's GPUs they are for. So some are started ahead, and those of
// trusted programs (oracle, baseline, the empty kernel) serve one job after
// another: with the program that they have loaded, or with the next one. A
// candidate's process never runs anything else; it ends with the job, when
// nothing is timed, since ending it takes the driver a while as well.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CHILD_CHILDPOOL_H
#define FASTK_LIB_WORKER_CUDA_CHILD_CHILDPOOL_H

#include "fastk/Cuda/Driver.h"
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastk::worker {

/// A child and the socket to it. Killed at the end.
class ChildProcess {
public:
  ~ChildProcess();
  ChildProcess(const ChildProcess &) = delete;
  ChildProcess &operator=(const ChildProcess &) = delete;

  const pid_t pid;
  const int socket;
  /// Waits until its context is there. False where it does not come to be.
  bool awaitReady();

  /// Opens memory of the child in the current context, once for each handle.
  /// The child never has memory of ours open.
  std::string open(const std::string &handle, cuda::CUdeviceptr &address);
  /// Closes all of it and has the child free what it keeps. False where the
  /// child does not answer.
  bool makeRoom();

private:
  friend class ChildPool;
  ChildProcess(pid_t pid, int socket) : pid(pid), socket(socket) {}

  void close();

  bool isReady = false;
  /// It is for trusted programs.
  bool isTrusted = false;
  std::map<std::string, cuda::CUdeviceptr> opened;
};

class ChildPool {
public:
  static ChildPool &get();

  /// A process that has not run anything. Null, with errno, when none starts.
  std::unique_ptr<ChildProcess> take();
  /// An idle process that has the program of \p key loaded; null if none.
  std::unique_ptr<ChildProcess> takeLoaded(const std::string &key);
  /// A process for another trusted program: one that has run such programs
  /// alone, and keeps no buffers, where there are as many as may be; else as
  /// take().
  std::unique_ptr<ChildProcess> takeTrusted();
  /// Keeps one of takeTrusted() for the next job. It has no buffers mapped.
  void keep(const std::string &key, std::unique_ptr<ChildProcess> process);

  /// Takes one that has served; it ends when the next job begins.
  void retire(std::unique_ptr<ChildProcess> process);
  void endRetired();
  /// Ends those kept as well, and waits until they are gone.
  void dropLoaded();
  /// Has those kept free the memory that they keep. False where none is kept.
  bool makeRoom();

  /// Starts processes ahead of their use, without waiting.
  void replenish();
  /// Waits until those are ready and those killed are gone: neither must
  /// disturb what is timed.
  void settle();

private:
  friend class ChildProcess;
  std::unique_ptr<ChildProcess> spawn();
  /// Of processes that were killed; waits for them where told to.
  void reap(bool wait);

  std::vector<std::unique_ptr<ChildProcess>> spares;
  std::vector<std::pair<std::string, std::unique_ptr<ChildProcess>>> loaded;
  std::vector<std::unique_ptr<ChildProcess>> retired;
  std::vector<pid_t> dying;
  /// Processes of takeTrusted(): those in `loaded` and those at work.
  size_t trusted = 0;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CHILD_CHILDPOOL_H
