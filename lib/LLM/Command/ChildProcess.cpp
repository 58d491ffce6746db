//===- ChildProcess.cpp - A program that runs beside us -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildProcess.h"
#include "fastk/System/SpawnProcess.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

static constexpr size_t kErrorLimit = 8 << 10;

Expected<std::unique_ptr<ChildProcess>>
ChildProcess::start(const ChildCommand &command) {
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  SpawnOptions options = {command.program, command.arguments};
  options.folder = command.folder;
  options.parentDeathSignal = SIGKILL;
  options.input = ::open(command.input.c_str(), O_RDONLY | O_CLOEXEC);
  pid_t pid = -1;
  if (options.input >= 0 && ::pipe2(out, O_CLOEXEC) == 0 &&
      ::pipe2(err, O_CLOEXEC) == 0) {
    options.output = out[1];
    options.error = err[1];
    pid = spawnProcess(options);
  }
  int code = errno;
  for (int descriptor : {options.input, out[1], err[1]})
    if (descriptor >= 0)
      ::close(descriptor);
  if (pid > 0) {
    for (int descriptor : {out[0], err[0]})
      ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
    std::unique_ptr<ChildProcess> child(new ChildProcess());
    child->pid = pid;
    child->out = out[0];
    child->err = err[0];
    child->outputLimit = command.outputLimit;
    return child;
  }
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
    waitForProcess(pid);
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
  int status = waitForProcess(pid);
  pid = -1;
  exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return true;
}
