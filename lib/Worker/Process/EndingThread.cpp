//===- EndingThread.cpp - What is said before a signal ends us ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EndingThread.h"
#include "fastk/System/BlockedSignals.h"
#include "fastk/Worker/Worker.h"
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <future>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace fastk::worker;

/// Of a pipe to the thread; -1 where nobody is to be told.
static std::atomic<int> writeEnd{-1};
/// The first signal is told of, the next one ends the process at once.
static std::atomic<bool> wasHandedOver{false};

static std::mutex tellMutex;
static std::function<void(int)> tellIt;

/// Whoever reads what is said may have stopped: so long it is waited for.
static constexpr std::chrono::seconds kLongestTelling{1};

static void tellOf(int signal) {
  std::lock_guard<std::mutex> lock(tellMutex);
  if (tellIt)
    tellIt(signal);
}

/// Waits for the signal, and gives it to the process again when it was told.
static void waitForSignal(int readEnd) {
  // Who must not be interrupted blocks signals: they are for that thread.
  fastk::BlockedSignals always;
  int signal = 0;
  while (read(readEnd, &signal, sizeof(signal)) != ssize_t(sizeof(signal)))
    if (errno != EINTR)
      return;
  std::packaged_task<void(int)> telling(tellOf);
  std::future<void> isTold = telling.get_future();
  std::thread(std::move(telling), signal).detach();
  isTold.wait_for(kLongestTelling);
  kill(getpid(), signal);
}

bool fastk::worker::handsOverEnding(int signal) {
  int saved = errno, pipe = writeEnd;
  if (pipe < 0 || wasHandedOver.exchange(true))
    return false;
  bool isWritten =
      write(pipe, &signal, sizeof(signal)) == ssize_t(sizeof(signal));
  errno = saved;
  return isWritten;
}

EndingThread::EndingThread(std::function<void(int)> tell) {
  {
    std::lock_guard<std::mutex> lock(tellMutex);
    tellIt = std::move(tell);
  }
  int ends[2];
  // Without a pipe signals end the process as before.
  if (writeEnd >= 0 || pipe2(ends, O_CLOEXEC) != 0)
    return;
  // It waits until the process ends, whoever is told by then.
  std::thread(waitForSignal, ends[0]).detach();
  writeEnd = ends[1];
}

EndingThread::~EndingThread() {
  std::lock_guard<std::mutex> lock(tellMutex);
  tellIt = nullptr;
}
