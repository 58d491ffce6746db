//===- FakeTime.h - A clock that tests move ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_LLM_FAKETIME_H
#define FASTK_UNITTESTS_LLM_FAKETIME_H

#include "fastk/Http/Clock.h"

namespace fastk::test {

/// Time passes only while somebody sleeps, and takes none.
struct FakeTime {
  double now = 1000;
  time_t date = 1790000000;
  Clock clock() {
    return {[this] { return now; }, [this](double seconds) { now += seconds; },
            [this] { return date; }};
  }
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_LLM_FAKETIME_H
