//===- ChildProcess.cpp - A program that runs beside us -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildProcess.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

static constexpr size_t kErrorLimit = 8 << 10;

namespace {
/// What the child needs, made before the fork: after it, only calls that are
/// safe in a signal handler are allowed.
struct Launch {
  const char *program, *folder, *input;
  char *const *argv;
  int out, err, failure;
};
} // namespace

/// Becomes the program, or writes errno to `failure`.
[[noreturn]] static void becomeProgram(const Launch &launch, pid_t parent) {
  // What this process handles or ignores would be ignored there, too.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);
  // If the parent died before this, nobody will say so.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent)
    ::_exit(127);
  int in = ::open(launch.input, O_RDONLY);
  bool isReady = in >= 0 && ::dup2(in, 0) == 0 && ::dup2(launch.out, 1) == 1 &&
                 ::dup2(launch.err, 2) == 2 && ::chdir(launch.folder) == 0;
  if (in > 2)
    ::close(in);
  if (isReady)
    ::execve(launch.program, launch.argv, environ);
  int code = errno;
  (void)!::write(launch.failure, &code, sizeof(code));
  ::_exit(127);
}

/// Waits for the exec: 0, or errno of what failed before it.
static int reportedFailure(int descriptor) {
  int code = 0;
  ssize_t size;
  do
    size = ::read(descriptor, &code, sizeof(code));
  while (size < 0 && errno == EINTR);
  return size == sizeof(code) ? code : 0;
}

static void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR)
    ;
}

Expected<std::unique_ptr<ChildProcess>>
ChildProcess::start(const ChildCommand &command) {
  std::vector<std::string> words = command.arguments;
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
  bool isGood = true;
  for (auto &pair : pipes)
    isGood = isGood && ::pipe2(pair, O_CLOEXEC) == 0;
  auto [out, err, failure] = pipes;
  pid_t parent = ::getpid();
  pid_t pid = isGood ? ::fork() : -1;
  int code = errno;
  if (pid == 0)
    becomeProgram({command.program.c_str(), command.folder.c_str(),
                   command.input.c_str(), argv.data(), out[1], err[1],
                   failure[1]},
                  parent);
  for (auto &pair : pipes)
    if (pair[1] >= 0)
      ::close(pair[1]);
  if (pid > 0)
    code = reportedFailure(failure[0]);
  if (failure[0] >= 0)
    ::close(failure[0]);
  if (pid > 0 && code == 0) {
    for (int descriptor : {out[0], err[0]})
      ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
    std::unique_ptr<ChildProcess> child(new ChildProcess());
    child->pid = pid;
    child->out = out[0];
    child->err = err[0];
    child->outputLimit = command.outputLimit;
    return child;
  }
  if (pid > 0)
    reap(pid);
  for (int descriptor : {out[0], err[0]})
    if (descriptor >= 0)
      ::close(descriptor);
  return createStringError(std::error_code(code, std::generic_category()),
                           "cannot start " + command.program + ": " +
                               std::strerror(code));
}

ChildProcess::~ChildProcess() {
  if (pid > 0) {
    kill();
    reap(pid);
  }
  ::close(out);
  ::close(err);
}

void ChildProcess::kill() {
  if (pid > 0)
    ::kill(-pid, SIGKILL);
}

/// The next bytes, or nothing.
static StringRef readSome(int descriptor, MutableArrayRef<char> buffer) {
  ssize_t size;
  do
    size = ::read(descriptor, buffer.data(), buffer.size());
  while (size < 0 && errno == EINTR);
  return {buffer.data(), size > 0 ? static_cast<size_t>(size) : 0};
}

void ChildProcess::drain() {
  std::vector<char> buffer(64 << 10);
  for (StringRef some;
       !hasTooMuchOutput && !(some = readSome(out, buffer)).empty();) {
    hasTooMuchOutput = output.size() + some.size() > outputLimit;
    if (!hasTooMuchOutput)
      output += some;
  }
  for (StringRef some; !(some = readSome(err, buffer)).empty();) {
    errorTail += some;
    if (errorTail.size() > kErrorLimit)
      errorTail.erase(0, errorTail.size() - kErrorLimit);
  }
}

bool ChildProcess::poll() {
  if (pid < 0)
    return true;
  siginfo_t info = {};
  bool hasEnded =
      ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == pid;
  // After it has ended once more: the last bytes came before the end.
  drain();
  if (!hasEnded)
    return false;
  // Not reaped yet, so its group cannot be another's.
  kill();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  pid = -1;
  exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return true;
}
