//===- ChildStart.cpp - Starting the process of a program -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Clock.h"
#include "Child.h"
#include "Process/ChildRegistry.h"
#include "ThreadStacks.h"
#include "fastk/System/SpawnProcess.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::worker;

/// Nothing of the user's environment but where libraries are; OpenMP as every
/// program of a job must see it.
static std::vector<std::string> environment(const ChildOptions &options) {
  std::vector<std::string> variables = {
      "PATH=", "LANG=C", "MALLOC_ARENA_MAX=2",
      "OMP_NUM_THREADS=" + std::to_string(options.threads),
      "OMP_THREAD_LIMIT=" +
          std::to_string(std::max(options.threads, options.mostThreads)),
      "OMP_DYNAMIC=FALSE",
      (options.threads > 1 ? "OMP_PROC_BIND=TRUE" : "OMP_PROC_BIND=FALSE"),
      "OMP_PLACES=threads", "OMP_MAX_ACTIVE_LEVELS=1",
      // The runtime's own default, whatever the worker's limits are.
      "OMP_STACKSIZE=" + std::to_string(openMPStackBytes) + "B",
      // Stacks of threads that have ended are kept for the next as ever, though
      // each takes more addresses.
      "GLIBC_TUNABLES=glibc.pthread.stack_cache_size=" +
          std::to_string((size_t(40) << 20) +
                         size_t(options.threadLimit) * threadGuardBytes),
      // Workers of OpenMP spin between calls, as in a model that runs one
      // kernel after another: waking them would cost more than a small kernel
      // and land them on any processor. They burn nothing: a program that is
      // not being called is stopped.
      "KMP_BLOCKTIME=infinite", "KMP_WARNINGS=FALSE"};
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  // What the sanitizer's own handlers and checks do, the sandbox forbids.
  variables.push_back("ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:"
                      "handle_abort=0:handle_sigfpe=0:handle_sigill=0:"
                      "use_sigaltstack=0:detect_leaks=0:"
                      "allocator_may_return_null=1");
#endif
#endif
  if (const char *paths = getenv("LD_LIBRARY_PATH"))
    variables.push_back(std::string("LD_LIBRARY_PATH=") + paths);
  return variables;
}

/// A user that no other process runs as, so that limits per user bind to this
/// child alone. Only root can choose.
static uint32_t ownUser() {
  static uint32_t counter = 0;
  if (geteuid() != 0)
    return 0;
  return 1000000000u + uint32_t(getpid()) % 4194304u * 64 + counter++ % 64;
}

std::unique_ptr<Child> Child::start(std::string name, const ProgramImage *image,
                                    const ChildOptions &options,
                                    Failure &failure) {
  auto fail = [&](const char *doing) {
    failure = {Status::Error, std::string("cannot start a process for the ") +
                                  name + ": " + doing + ": " +
                                  std::strerror(errno)};
    return nullptr;
  };
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return fail("socketpair");
  std::unique_ptr<Child> child(new Child());
  child->name = name;
  child->options = options;
  child->socket = pair[0];
  int page = memfd_create("fastk-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (page < 0 || ftruncate(page, pageSize) != 0) {
    close(pair[1]);
    return fail("memfd_create");
  }
  fcntl(page, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void *mapped =
      mmap(nullptr, pageSize, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  if (mapped == MAP_FAILED) {
    close(pair[1]);
    close(page);
    return fail("mmap");
  }
  child->control = static_cast<ControlPage *>(mapped);

  static_assert(childSocket == firstChildDescriptor);
  child->pid = spawnProcess(
      {"", {"fastk-worker", childFlag}, environment(options), {pair[1]}});
  if (child->pid < 0) {
    int code = errno;
    close(pair[1]);
    close(page);
    errno = code;
    return fail("posix_spawn");
  }
  close(pair[1]);
  rememberChild(child->pid);

  Message message = {};
  message.command = Command::Start;
  message.hasProgram = image != nullptr;
  message.limits.threadLimit = uint32_t(options.threadLimit);
  // Beside the program's own memory: buffers, libraries, stacks of threads.
  message.limits.addressSpaceBytes =
      uint64_t(options.memoryBytes) + uint64_t(options.bufferBytes) +
      (uint64_t(512) << 20) +
      uint64_t(options.threadLimit) *
          (threadStackBytes + threadGuardBytes + (1u << 20));
  message.limits.largestMapping =
      uint64_t(options.memoryBytes) + uint64_t(options.bufferBytes);
  message.limits.fileBytes = uint64_t(options.fileBytes);
  message.limits.cpuSeconds = uint64_t(options.cpuSeconds) + 1;
  message.limits.stackBytes = kernelStackBytes;
  message.limits.uid = ownUser();
  std::vector<int> fds = {page};
  if (image)
    fds.push_back(image->descriptor());
  bool sent = child->send(message, fds, failure);
  close(page);
  if (!sent)
    return nullptr;

  // Loading runs constructors, so it is watched as a call is.
  uint64_t deadline = clockNs() + 20'000'000'000u;
  for (;;) {
    uint32_t stage = child->control->stage.load();
    if (stage == StageIdle) {
      // From now on it can install none.
      int handled = child->handledSignal();
      if (handled == 0)
        return child;
      failure = {Status::Refused,
                 "the " + name + " handles signal " + std::to_string(handled) +
                     ", " + strsignal(handled) +
                     "; a kernel computes when it is called, and at no other "
                     "time"};
      return nullptr;
    }
    if (stage == StageLoadFailed || stage == StageSetupFailed) {
      std::string why(
          child->control->text,
          strnlen(child->control->text, sizeof(child->control->text)));
      for (char &c : why)
        if (static_cast<unsigned char>(c) < 32 ||
            static_cast<unsigned char>(c) > 126)
          c = '?';
      failure = {Status::Refused, "the " + name + " cannot be loaded: " + why};
      return nullptr;
    }
    if (clockNs() > deadline) {
      failure = {Status::Timeout, "the " + name + " did not load within 20 s"};
      return nullptr;
    }
    if (child->hasEnded() && child->control->stage.load() != StageLoadFailed) {
      child->explainDeath("loading", failure);
      return nullptr;
    }
    struct timespec wait = {0, 5'000'000};
    syscall(SYS_futex, &child->control->stage, FUTEX_WAIT, stage, &wait,
            nullptr, 0);
  }
}
