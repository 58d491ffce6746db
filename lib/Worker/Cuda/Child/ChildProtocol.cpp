//===- ChildProtocol.cpp - Frames on a socket -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildProtocol.h"
#include "Clock.h"
#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace fastk::worker;

bool fastk::worker::sendAll(int fd, const void *data, size_t bytes) {
  const char *at = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
    bytes -= size_t(sent);
  }
  return true;
}

Received fastk::worker::receiveAll(int fd, void *data, size_t bytes,
                                   double seconds) {
  char *at = static_cast<char *>(data);
  uint64_t begin = clockNs();
  while (bytes > 0) {
    int wait = -1;
    if (seconds >= 0) {
      double left = seconds * 1e3 - double(clockNs() - begin) * 1e-6;
      if (left <= 0)
        return Received::TimedOut;
      wait = int(std::min(left + 1, 1e9));
    }
    struct pollfd poller = {fd, POLLIN, 0};
    int ready = poll(&poller, 1, wait);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0)
      return Received::TimedOut;
    ssize_t got = recv(fd, at, bytes, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return Received::Closed;
    at += got;
    bytes -= size_t(got);
  }
  return Received::All;
}
