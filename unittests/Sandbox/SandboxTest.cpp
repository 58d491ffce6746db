//===- SandboxTest.cpp - A sandbox without memory says so -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Sandbox/Sandbox.h"
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk::sandbox;

/// The filter in a process of its own; \p hasMemory: as much as it likes. Its
/// exit code is the filter's error, 77 where the filter is in force.
static int filterErrorOf(bool hasMemory) {
  pid_t pid = fork();
  if (pid == 0) {
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Limits limits = {};
    limits.stackBytes = 6 << 20;
    limits.addressSpaceBytes = uint64_t(1) << 40;
    limits.cpuSeconds = 100;
    limits.fileBytes = 1 << 20;
    if (!hasMemory) {
      limits.addressSpaceBytes = 1 << 20;
      struct rlimit limit = {1 << 20, RLIM_INFINITY};
      setrlimit(RLIMIT_AS, &limit);
      // As the compiler's process does, for what C++ asks for.
      std::set_new_handler([] { _exit(ENOMEM); });
      // Whatever the heap still has.
      for (size_t size = 1 << 20; size >= 16; size /= 2)
        while (void *block = malloc(size))
          *static_cast<void *volatile *>(block) = block;
    }
    uint32_t active = enterSandbox(limits, static_cast<DeniedCall *>(page));
    _exit(active & ProtectSeccomp ? 77 : filterError());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Sandbox, NamesMemoryWhereItRunsOut) {
  if (filterErrorOf(true) != 77) {
    std::printf("needs seccomp\n");
    return;
  }
#if !defined(__has_feature) || !__has_feature(address_sanitizer)
  EXPECT_EQ(filterErrorOf(false), ENOMEM);
#endif
}
