//===- ConcurrencyLimit.cpp - How much a provider takes at once -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/ConcurrencyLimit.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

using namespace fastk;

bool ConcurrencyLimit::tryStart(double now) {
  std::lock_guard<std::mutex> lock(mutex);
  if (now < until || inFlight + 1 > static_cast<int>(limit))
    return false;
  ++inFlight;
  return true;
}

void ConcurrencyLimit::drop() {
  std::lock_guard<std::mutex> lock(mutex);
  --inFlight;
}

void ConcurrencyLimit::succeeded() {
  std::lock_guard<std::mutex> lock(mutex);
  --inFlight;
  limit = std::min(most, limit + 1 / limit);
}

void ConcurrencyLimit::refused(double startedAt, double now, double pause) {
  std::lock_guard<std::mutex> lock(mutex);
  --inFlight;
  if (startedAt >= lastCut) {
    limit =
        std::max(1.0, std::min(limit, static_cast<double>(inFlight + 1)) / 2);
    lastCut = now;
  }
  until = std::max(until, now + pause);
}

double ConcurrencyLimit::pausedUntil() const {
  std::lock_guard<std::mutex> lock(mutex);
  return until;
}

int ConcurrencyLimit::current() const {
  std::lock_guard<std::mutex> lock(mutex);
  return static_cast<int>(limit);
}

void ConcurrencyLimit::setMost(int value) {
  std::lock_guard<std::mutex> lock(mutex);
  // What it learnt stays, unless it has learnt nothing.
  limit = lastCut < 0 ? value : std::min<double>(limit, value);
  most = value;
}

std::shared_ptr<ConcurrencyLimit> fastk::limitOf(llvm::StringRef place,
                                                 int most) {
  static std::mutex mutex;
  static llvm::StringMap<std::shared_ptr<ConcurrencyLimit>> limits;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<ConcurrencyLimit> &limit = limits[place];
  if (!limit)
    limit = std::make_shared<ConcurrencyLimit>(most);
  else
    limit->setMost(most);
  return limit;
}
