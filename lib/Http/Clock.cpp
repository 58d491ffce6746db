//===- Clock.cpp - Time, or what a test puts in its place -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/Clock.h"
#include <chrono>
#include <thread>

using namespace fastk;

Clock fastk::systemClock() {
  Clock clock;
  clock.now = [] {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  };
  clock.sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  clock.date = [] { return std::time(nullptr); };
  return clock;
}
