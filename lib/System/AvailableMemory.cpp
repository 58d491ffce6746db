//===- AvailableMemory.cpp - How much memory there is ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/AvailableMemory.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace fastk;

/// A field of /proc/meminfo in bytes, or `pages` where there is none.
static int64_t readMemInfo(const char *field, int64_t pages) {
  std::ifstream info("/proc/meminfo");
  std::string word;
  int64_t kilobytes = 0;
  while (info >> word)
    if (word == field && info >> kilobytes)
      return kilobytes * 1024;
  return pages * sysconf(_SC_PAGESIZE);
}

/// `bytes`, or less where less is allowed.
static int64_t withinLimits(int64_t bytes) {
  // Version 2 and version 1 of control groups. "max", or a file that is not
  // there, is no limit; what a group has taken may be caches, and is not
  // counted.
  for (const char *path : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(path) >> limit)
      bytes = std::min(bytes, limit);
  }
  rlimit own;
  if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY)
    bytes = static_cast<int64_t>(std::min<uint64_t>(bytes, own.rlim_cur));
  return bytes;
}

int64_t fastk::availableMemory() {
  return withinLimits(readMemInfo("MemAvailable:", sysconf(_SC_AVPHYS_PAGES)));
}

int64_t fastk::totalMemory() {
  return withinLimits(readMemInfo("MemTotal:", sysconf(_SC_PHYS_PAGES)));
}

std::string fastk::showBytes(double bytes) {
  static constexpr const char *units[] = {"B", "KB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit)
    bytes /= 1000;
  char text[64];
  snprintf(text, sizeof(text), "%.*f %s", unit == 0 || bytes >= 100 ? 0 : 1,
           bytes, units[unit]);
  return text;
}
