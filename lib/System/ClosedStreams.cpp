//===- ClosedStreams.cpp - Streams that a tool began without --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/ClosedStreams.h"
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

void fastk::occupyClosedStreams() {
  // Lowest first: a new descriptor has the lowest number that is free. Opened
  // for the other direction, so that what a closed stream fails at still fails.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0)
      (void)!open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
}
