//===- RequestContext.h - Who waits for an answer ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Language models and evaluators take their time, and outlive those who ask. So
// what they need of whoever waits comes with each request, and nothing of it is
// kept.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_REQUESTCONTEXT_H
#define FASTK_SUPPORT_REQUESTCONTEXT_H

#include <functional>
#include <string>

namespace fastk {

/// Any of it may be left out.
struct RequestContext {
  /// True ends the waiting.
  std::function<bool()> stopRequested = nullptr;
  /// Called several times a second while an answer is waited for: for whoever
  /// shows progress.
  std::function<void()> whileWaiting = nullptr;
  /// Told what people should know that ends nothing: why an answer takes
  /// longer, what this machine lacks.
  std::function<void(const std::string &text)> note = nullptr;

  bool isStopRequested() const { return stopRequested && stopRequested(); }
  void tick() const {
    if (whileWaiting)
      whileWaiting();
  }
  void say(const std::string &text) const {
    if (note)
      note(text);
  }
};

} // namespace fastk

#endif // FASTK_SUPPORT_REQUESTCONTEXT_H
