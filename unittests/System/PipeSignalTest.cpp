//===- PipeSignalTest.cpp - Readers that go while we write ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/PipeSignal.h"
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fastk;

namespace {

/// errno of a write that nobody reads.
int writeIntoNothing() {
  int pair[2];
  EXPECT_EQ(::pipe2(pair, O_CLOEXEC), 0);
  ::close(pair[0]);
  int code = ::write(pair[1], "x", 1) < 0 ? errno : 0;
  ::close(pair[1]);
  return code;
}

volatile sig_atomic_t caught = 0;

TEST(PipeSignal, IsNotRaisedWithinAndIsAsBeforeAfterwards) {
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) { caught = caught + 1; };
  ::sigaction(SIGPIPE, &action, &before);
  {
    NoPipeSignal outer;
    {
      NoPipeSignal inner;
      EXPECT_EQ(writeIntoNothing(), EPIPE);
    }
    EXPECT_EQ(writeIntoNothing(), EPIPE);
  }
  EXPECT_EQ(caught, 0);
  EXPECT_EQ(writeIntoNothing(), EPIPE);
  EXPECT_EQ(caught, 1);
  ::sigaction(SIGPIPE, &before, nullptr);
}

} // namespace
