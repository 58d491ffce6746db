// Preloaded: no byte more fits into files below a folder named "small".
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t write(int fd, const void *bytes, size_t count) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length > 0) {
    path[length] = 0;
    if (strstr(path, "/small/")) {
      errno = ENOSPC;
      return -1;
    }
  }
  return syscall(SYS_write, fd, bytes, count);
}
