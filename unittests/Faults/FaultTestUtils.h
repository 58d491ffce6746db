//===- FaultTestUtils.h - Processes that a fault befalls --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAULTS_FAULTTESTUTILS_H
#define FASTK_UNITTESTS_FAULTS_FAULTTESTUTILS_H

#include "FileFaults.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastk::test {

inline const Fault kAllFaults[] = {
    Fault::KillBefore, Fault::KillAfter,   Fault::KillTorn, Fault::Short,
    Fault::NoSpace,    Fault::NoSpaceOnce, Fault::Io,       Fault::IoOnce};

inline bool kills(Fault fault) {
  return fault == Fault::KillBefore || fault == Fault::KillAfter ||
         fault == Fault::KillTorn;
}

inline const char *nameOf(Fault fault) {
  switch (fault) {
  case Fault::None:
    return "none";
  case Fault::KillBefore:
    return "killed before";
  case Fault::KillAfter:
    return "killed after";
  case Fault::KillTorn:
    return "killed half-way";
  case Fault::Short:
    return "short write";
  case Fault::NoSpace:
    return "disk full from";
  case Fault::NoSpaceOnce:
    return "disk full at";
  case Fault::Io:
    return "EIO from";
  case Fault::IoOnce:
    return "EIO at";
  case Fault::NoExchange:
    return "no exchange";
  }
  return "";
}

/// What a child leaves for its parent, whatever befalls it.
struct Shared {
  int calls = 0;
  /// Evaluations that were begun, and that were recorded.
  int begun = 0, recorded = 0;
  char message[4096] = "";

  void say(const std::string &text) {
    std::snprintf(message, sizeof(message), "%s", text.c_str());
  }
};

class SharedMemory {
public:
  SharedMemory()
      : shared(static_cast<Shared *>(
            ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (shared) Shared();
  }
  ~SharedMemory() { ::munmap(shared, sizeof(Shared)); }
  Shared *operator->() { return shared; }
  Shared &operator*() { return *shared; }

private:
  Shared *shared;
};

/// Runs `body` in a child whose `at`-th change below `folder` meets the fault.
/// Its exit code, or 128 and the signal that ended it.
inline int withFault(Fault fault, int at, const std::string &folder,
                     Shared &shared, llvm::function_ref<int()> body) {
  pid_t child = ::fork();
  if (child == 0) {
    armFault(fault, at, folder);
    int code = body();
    shared.calls = faultCalls();
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Removes the folder's content and puts a copy of another's there.
inline void copyFolder(const std::string &from, const std::string &to) {
  std::string command =
      "rm -rf '" + to + "' && cp -a '" + from + "' '" + to + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAULTS_FAULTTESTUTILS_H
