//===- ConcurrencyLimit.h - How much a provider takes at once ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_HTTP_CONCURRENCYLIMIT_H
#define FASTK_HTTP_CONCURRENCYLIMIT_H

#include "llvm/ADT/StringRef.h"
#include <memory>
#include <mutex>

namespace fastk {

/// Requests in flight at one provider: halved when it says that these were too
/// many, one more for each round that went well (additive increase,
/// multiplicative decrease). Times are a Clock's.
class ConcurrencyLimit {
public:
  explicit ConcurrencyLimit(int most) : most(most), limit(most) {}

  /// True: one more is in flight now.
  bool tryStart(double now);
  /// One is no longer in flight, and says nothing about the provider.
  void drop();
  /// One went well.
  void succeeded();
  /// One that was started at `startedAt` was one too many. The provider may
  /// have said how long to leave it alone; 0: it did not.
  void refused(double startedAt, double now, double pause);
  /// When the provider is to be left alone no longer.
  double pausedUntil() const;
  int current() const;
  /// A second user of the same provider may want more or less at once.
  void setMost(int value);

private:
  mutable std::mutex mutex;
  double most, limit;
  int inFlight = 0;
  /// Requests from before the last cut say nothing about what came after it.
  double lastCut = -1, until = 0;
};

/// The one limit of a provider in this process, made when it is first asked
/// for: what was learnt of it holds for the next model and the next prompts.
std::shared_ptr<ConcurrencyLimit> limitOf(llvm::StringRef place, int most);

} // namespace fastk

#endif // FASTK_HTTP_CONCURRENCYLIMIT_H
