//===- ChildEnd.cpp - Stopping a process, and why it died -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Child.h"
#include "Process/ChildRegistry.h"
#include "ThreadStacks.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/wait.h>

using namespace fastk::worker;

void Child::resume() {
  if (!stopped || reaped)
    return;
  kill(pid, SIGCONT);
  stopped = false;
}

bool Child::stop(Failure &failure) {
  if (kill(pid, SIGSTOP) != 0) {
    explainDeath("after a call", failure);
    return false;
  }
  siginfo_t info = {};
  int code;
  do
    code = waitid(P_PID, id_t(pid), &info, WSTOPPED | WEXITED | WNOWAIT);
  while (code != 0 && errno == EINTR);
  if (code != 0 || info.si_code != CLD_STOPPED) {
    explainDeath("after a call", failure);
    return false;
  }
  // Collect the stop; the exit, if it ever comes, is collected elsewhere.
  waitid(P_PID, id_t(pid), &info, WSTOPPED | WNOHANG);
  stopped = true;
  return true;
}

void Child::killAndReap() {
  if (pid <= 0 || reaped)
    return;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  struct rusage usage = {};
  pid_t got;
  do
    got = wait4(pid, &waitStatus, 0, &usage);
  while ((got < 0 && errno == EINTR) || (got == pid && WIFSTOPPED(waitStatus)));
  reaped = true;
  forgetChild(pid);
  used.peakMemoryBytes = int64_t(usage.ru_maxrss) * 1024;
  auto seconds = [](const struct timeval &time) {
    return double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  };
  used.cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

bool Child::hasEnded() {
  if (reaped)
    return true;
  siginfo_t info = {};
  return waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

void Child::explainDeath(const char *doing, Failure &failure) {
  // Give a process that is on its way out the time to get there: what it died
  // of is in its exit status.
  for (int i = 0; i < 200 && !hasEnded(); ++i) {
    struct timespec wait = {0, 1'000'000};
    nanosleep(&wait, nullptr);
  }
  bool ended = hasEnded();
  killAndReap();
  char text[400];
  if (!ended) {
    failure = {Status::Crash, "the " + name + " stopped answering " + doing};
    return;
  }
  uint32_t denied = control->denied.call.load();
  bool wasDenied =
      denied != 0 && WIFEXITED(waitStatus) && WEXITSTATUS(waitStatus) == 159;
  if (wasDenied) {
    char *call =
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, int(denied - 1));
    uint64_t argument = control->denied.argument.load();
    bool tooLarge =
        call && !std::strcmp(call, "mmap") &&
        argument > uint64_t(options.memoryBytes + options.bufferBytes);
    if (tooLarge) {
      snprintf(text, sizeof(text),
               "the %s asked for %.4g GB at once %s; limits.memory_bytes "
               "allows %.4g GB",
               name.c_str(), double(argument) * 1e-9, doing,
               double(options.memoryBytes) * 1e-9);
      failure = {Status::Memory, text};
    } else {
      snprintf(text, sizeof(text),
               "the %s made the system call '%s' %s; a kernel computes, it "
               "opens no files, sockets or processes",
               name.c_str(), call ? call : "unknown", doing);
      failure = {Status::Refused, text};
    }
    free(call);
    return;
  }
  if (WIFSIGNALED(waitStatus)) {
    int signal = WTERMSIG(waitStatus);
    if (signal == SIGSYS) {
      failure = {Status::Refused,
                 "the " + name + " made a forbidden system call " + doing};
      return;
    }
    // Allocations that failed are the usual end of a program that takes too
    // much: libraries and the stack take a little themselves.
    if (signal != SIGKILL &&
        used.peakMemoryBytes > options.memoryBytes / 10 * 8) {
      snprintf(text, sizeof(text),
               "the %s died of signal %d %s after taking %.3g GB; "
               "limits.memory_bytes allows %.3g GB",
               name.c_str(), signal, doing, double(used.peakMemoryBytes) * 1e-9,
               double(options.memoryBytes) * 1e-9);
      failure = {Status::Memory, text};
      return;
    }
    const std::string hint =
        signal == SIGSEGV || signal == SIGBUS
            ? " (it touched memory outside its buffers, wrote to an input, or "
              "needed more stack than a thread has: " +
                  std::to_string(kernelStackBytes >> 20) + " MiB, " +
                  std::to_string(openMPStackBytes >> 20) + " of OpenMP's)"
        : signal == SIGXCPU ? " (limit of processor time)"
                            : "";
    snprintf(text, sizeof(text), "the %s died of signal %d, %s, %s%s",
             name.c_str(), signal, strsignal(signal), doing, hint.c_str());
    failure = {Status::Crash, text};
    return;
  }
  snprintf(text, sizeof(text),
           "the %s ended its process with code %d %s; a kernel must return",
           name.c_str(), WEXITSTATUS(waitStatus), doing);
  failure = {Status::Crash, text};
}
