//===- EndingThread.h - What is said before a signal ends us ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_PROCESS_ENDINGTHREAD_H
#define FASTK_LIB_WORKER_PROCESS_ENDINGTHREAD_H

#include <functional>

namespace fastk::worker {

/// Has \p tell called, on a thread of its own, when a signal is about to end
/// this process, for as long as the object lives. Only one may live at a time.
/// The process ends a second later though \p tell has not returned, and at once
/// by a second signal.
class EndingThread {
public:
  explicit EndingThread(std::function<void(int signal)> tell);
  ~EndingThread();
  EndingThread(const EndingThread &) = delete;
  EndingThread &operator=(const EndingThread &) = delete;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_PROCESS_ENDINGTHREAD_H
