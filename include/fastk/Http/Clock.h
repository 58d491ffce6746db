//===- Clock.h - Time, or what a test puts in its place ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_HTTP_CLOCK_H
#define FASTK_HTTP_CLOCK_H

#include <ctime>
#include <functional>

namespace fastk {

struct Clock {
  /// Seconds that never go back.
  std::function<double()> now;
  /// Sleeps that many seconds.
  std::function<void(double)> sleep;
  /// The date, for headers that name one.
  std::function<time_t()> date;
};

Clock systemClock();

} // namespace fastk

#endif // FASTK_HTTP_CLOCK_H
