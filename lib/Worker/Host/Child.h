//===- Child.h - A program in a process of its own --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The worker's side of a child: start it, hand it buffers, call its kernel,
// stop it between calls, and find out what went wrong.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_CHILD_H
#define FASTK_LIB_WORKER_HOST_CHILD_H

#include "../Device.h"
#include "OperandTripwires.h"
#include "ProgramImage.h"
#include "Protocol.h"
#include "ResultWatch.h"
#include "SharedBuffer.h"
#include "fastk/Protocol/Verdict.h"
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastk::worker {

struct ChildOptions {
  /// Of OpenMP; and the most that setThreads() may ask for.
  int64_t threads = 1;
  int64_t mostThreads = 1;
  int64_t threadLimit = 16;
  /// For the program's own use.
  int64_t memoryBytes = 0;
  /// Of all buffers it may have mapped at once.
  int64_t bufferBytes = 0;
  int64_t fileBytes = 0;
  double cpuSeconds = 3600;
};

class Child {
public:
  /// Starts a process with the program loaded and waits until it is idle.
  /// Without an image the kernel is empty. \p name is used in messages.
  static std::unique_ptr<Child> start(std::string name,
                                      const ProgramImage *image,
                                      const ChildOptions &options,
                                      Failure &failure);
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// Maps the buffers, operands first, at fresh addresses. A process is stopped
  /// whenever it is not doing something asked for.
  bool map(uint32_t slot, const std::vector<const SharedBuffer *> &buffers,
           Failure &failure);
  bool unmap(uint32_t slot, Failure &failure);

  /// Calls the kernel on a mapped slot. The process is stopped again, all its
  /// threads, when this returns. \p spin: the worker polls instead of sleeping
  /// for the first 200 us; only sensible with a processor to spare. \p decoys,
  /// which are set, are revealed when the clock begins.
  bool call(uint32_t slot, double timeoutSeconds, CallTime &time,
            Failure &failure, bool spin = false, ResultWatch *watch = nullptr,
            OperandTripwires *decoys = nullptr);

  /// How many threads OpenMP takes in the calls that follow.
  void setThreads(int64_t count) { threads = count; }

  /// Lets the process run for a moment, with nothing to do.
  bool linger(double seconds, Failure &failure);

  uint32_t protections() const;
  /// The smallest number of a signal that the process handles though a kernel
  /// has no use for it; 0: none.
  int handledSignal() const;
  /// Ends the process and collects what it used.
  Resources finish();

private:
  Child() = default;
  bool send(Message &message, const std::vector<int> &fds, Failure &failure);
  bool waitFor(std::atomic<uint32_t> &word, uint32_t value, double seconds,
               bool spin, const char *doing, Failure &failure);
  /// Describes the end of the process; kills it if it is still there.
  void explainDeath(const char *doing, Failure &failure);
  /// Whether a word that the program left is the one it found. \p harmed: who
  /// would suffer.
  bool keepsControlWord(uint64_t word, const char *whose, const char *harmed,
                        Failure &failure);
  void resume();
  bool stop(Failure &failure);
  void killAndReap();
  /// Whether the process has ended, without reaping it.
  bool hasEnded();

  std::string name;
  ChildOptions options;
  pid_t pid = -1;
  int socket = -1;
  ControlPage *control = nullptr;
  uint32_t sequence = 0;
  /// 0: as the options say.
  int64_t threads = 0;
  bool stopped = false;
  bool reaped = false;
  int waitStatus = 0;
  Resources used;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_CHILD_H
