//===- CoreFiles.cpp - No core files while a key is held ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Secrets/CoreFiles.h"
#include <algorithm>
#include <mutex>
#include <sys/resource.h>

using namespace fastk;

static std::mutex mutex;
static int held = 0;
static rlimit before;

static bool isUsable = false;

NoCoreFiles::NoCoreFiles() {
  std::lock_guard<std::mutex> lock(mutex);
  if (held++ > 0)
    return;
  isUsable = ::getrlimit(RLIMIT_CORE, &before) == 0;
  if (!isUsable)
    return;
  rlimit limit = before;
  limit.rlim_cur = std::min<rlim_t>(1, before.rlim_max);
  ::setrlimit(RLIMIT_CORE, &limit);
}

NoCoreFiles::~NoCoreFiles() {
  std::lock_guard<std::mutex> lock(mutex);
  if (--held == 0 && isUsable)
    ::setrlimit(RLIMIT_CORE, &before);
}
