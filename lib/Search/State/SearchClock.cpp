//===- SearchClock.cpp - The time that a search has taken -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchClock.h"
#include <chrono>

using namespace fastk;

double SearchClock::now() const {
  if (input.clock)
    return input.clock();
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void SearchClock::start() {
  if (input.begun) {
    begun = *input.begun;
    return;
  }
  begun.atSeconds = now();
  if (input.journal)
    begun.journalSeconds = input.journal->elapsedSeconds();
}

double SearchClock::elapsed() const {
  return times.isReplay() ? times.last()
                          : begun.journalSeconds + now() - begun.atSeconds;
}

double SearchClock::run() const {
  return times.isReplay() ? times.last() : now() - begun.atSeconds;
}

double SearchClock::earlier() const {
  if (times.isReplay())
    return 0;
  return input.earlier ? input.earlier->seconds : begun.journalSeconds;
}
