//===- SpawnProcess.cpp - How every child process begins ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// vfork and not posix_spawn, which knows neither a signal for the parent's
// death nor limits; and not fork, which copies the page tables of a process
// that may have a GPU's memory mapped.
//
//===----------------------------------------------------------------------===//

#include "fastk/System/SpawnProcess.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk;

/// Pointers to the texts, and the null behind them that a process wants.
static std::vector<char *> pointersTo(const std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (const std::string &text : texts)
    pointers.push_back(const_cast<char *>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

namespace {
/// What the child needs, made before it begins: it shares this process's memory
/// until it runs its program, so it calls the kernel and nothing else.
struct Launch {
  const char *program;
  char *const *arguments;
  char *const *environment;
  /// What become descriptors 0, 1, 2 and on; each above all of those.
  const int *descriptors;
  int count;
  const char *folder;
  int deathSignal;
  rlim_t dataBytes;
  pid_t parent;
  /// Of the child, when it could not run the program.
  volatile int code;
};
} // namespace

static bool prepare(const Launch &launch) {
  // The parent's handlers are no code of the child.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    sigaction(number, &standard, nullptr); // Not for SIGKILL and SIGSTOP.
  if (launch.deathSignal) {
    prctl(PR_SET_PDEATHSIG, launch.deathSignal, 0, 0, 0);
    // If the parent died before this, nobody will say so.
    if (getppid() != launch.parent) {
      errno = ESRCH;
      return false;
    }
  }
  setpgid(0, 0);
  for (int i = 0; i < launch.count; ++i)
    if (dup2(launch.descriptors[i], i) != i)
      return false;
  closefrom(launch.count);
  if (launch.folder && chdir(launch.folder) != 0)
    return false;
  // The address sanitizer reserves terabytes.
#if !__has_feature(address_sanitizer)
  if (launch.dataBytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0)
      return false;
    limit.rlim_cur =
        launch.dataBytes < limit.rlim_max ? launch.dataBytes : limit.rlim_max;
    if (setrlimit(RLIMIT_DATA, &limit) != 0)
      return false;
  }
#endif
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

/// On its own, so that nothing of the caller's frame lives across vfork.
[[gnu::noinline]] static pid_t launchChild(Launch &launch) {
  pid_t pid = vfork();
  if (pid != 0)
    return pid;
  if (prepare(launch))
    execve(launch.program, launch.arguments, launch.environment);
  launch.code = errno;
  _exit(127);
}

pid_t fastk::spawnProcess(const SpawnOptions &options) {
  std::vector<int> wanted = {options.input, options.output, options.error};
  wanted.insert(wanted.end(), options.descriptors.begin(),
                options.descriptors.end());
  // Copies above all places: taking one must not overwrite the next.
  std::vector<int> copies;
  int null = -1, code = 0;
  for (size_t i = 0; i < wanted.size() && code == 0; ++i) {
    int from = wanted[i];
    if (from < 0 && i < firstChildDescriptor) {
      if (null < 0)
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
      from = null;
    }
    int copy = fcntl(from, F_DUPFD_CLOEXEC, int(wanted.size()));
    if (copy < 0)
      code = errno;
    else
      copies.push_back(copy);
  }

  pid_t pid = -1;
  if (code == 0) {
    std::vector<char *> arguments = pointersTo(options.arguments);
    std::vector<char *> own;
    if (options.environment)
      own = pointersTo(*options.environment);
    Launch launch = {options.program.empty() ? "/proc/self/exe"
                                             : options.program.c_str(),
                     arguments.data(),
                     options.environment ? own.data() : environ,
                     copies.data(),
                     int(copies.size()),
                     options.folder.empty() ? nullptr : options.folder.c_str(),
                     options.parentDeathSignal,
                     rlim_t(options.dataBytes),
                     getpid(),
                     0};
    // A handler of this process must not run in the child, whose memory is the
    // parent's.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid = launchChild(launch);
    code = pid < 0 ? errno : launch.code;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid > 0 && code != 0) {
      waitForProcess(pid);
      pid = -1;
    }
  }
  for (int copy : copies)
    close(copy);
  if (null >= 0)
    close(null);
  if (code != 0)
    errno = code;
  return pid;
}

int fastk::waitForProcess(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

bool fastk::hasChildEnded(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

int fastk::endProcess(pid_t pid, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{10};
  kill(pid, SIGTERM);
  auto last = std::chrono::steady_clock::now() + patience;
  while (!hasChildEnded(pid)) {
    if (std::chrono::steady_clock::now() >= last) {
      kill(-pid, SIGKILL);
      break;
    }
    std::this_thread::sleep_for(kPause);
  }
  return waitForProcess(pid);
}

std::vector<std::string>
fastk::environmentWith(const std::vector<std::string> &variables) {
  std::vector<std::string> environment;
  for (char **entry = environ; *entry; ++entry)
    environment.emplace_back(*entry);
  for (const std::string &variable : variables)
    if (!std::getenv(variable.substr(0, variable.find('=')).c_str()))
      environment.push_back(variable);
  return environment;
}

std::vector<std::string>
fastk::environmentFor(const std::string &folder,
                      const std::vector<std::string> &variables) {
  std::vector<std::string> environment = environmentWith(variables);
  environment.erase(std::remove_if(environment.begin(), environment.end(),
                                   [](const std::string &entry) {
                                     return entry.rfind("TMPDIR=", 0) == 0;
                                   }),
                    environment.end());
  environment.push_back("TMPDIR=" + folder);
  return environment;
}
