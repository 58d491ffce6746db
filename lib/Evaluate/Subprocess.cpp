//===- Subprocess.cpp - Run a program under limits ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Subprocess.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/System/SpawnProcess.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using llvm::StringRef;

/// Writes a file of the folder for one run.
static llvm::Error writeFile(StringRef path, StringRef text) {
  std::error_code ec;
  llvm::raw_fd_ostream os(path, ec);
  if (!ec) {
    os << text;
    os.close();
    ec = os.error();
    os.clear_error();
  }
  if (ec)
    return llvm::createStringError(ec, explainTemporaryFileError(ec));
  return llvm::Error::success();
}

/// The text of a file, its first `limit` bytes; empty when it cannot be read.
static std::string readFile(StringRef path, uint64_t limit) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return "";
  return (*buffer)->getBuffer().take_front(limit).str();
}

/// Waits at most `milliseconds` for the end of `child`, or for a signal. It is
/// left to be reaped: until then its process group cannot become another's.
static bool hasEnded(pid_t child, int handle, int milliseconds) {
  if (handle >= 0) {
    pollfd poll = {handle, POLLIN, 0};
    ::poll(&poll, 1, milliseconds);
  } else {
    // A kernel without process handles.
    ::usleep(std::min(milliseconds, 10) * 1000);
  }
  siginfo_t info = {};
  return ::waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

llvm::Expected<ProcessResult>
fastk::runProcess(StringRef program, llvm::ArrayRef<std::string> arguments,
                  StringRef input, const ProcessLimits &limits,
                  StringRef scratch) {
  auto cancelled = [] {
    return llvm::createStringError(std::make_error_code(std::errc::interrupted),
                                   "interrupted");
  };
  if (limits.cancelled && limits.cancelled())
    return cancelled();
  ProcessFolder directory;
  if (std::error_code ec = directory.create("run", scratch.str()))
    return llvm::createStringError(ec, explainTemporaryFileError(ec));
  std::string in = directory.file("in"), out = directory.file("out"),
              err = directory.file("err");
  if (llvm::Error error = writeFile(in, input))
    return error;

  // A process that is killed cannot remove its temporary files: they are made
  // where they are removed with everything else.
  SpawnOptions options = {program.str(), {program.str()}};
  options.arguments.insert(options.arguments.end(), arguments.begin(),
                           arguments.end());
  options.environment = environmentFor(directory.path());
  options.dataBytes = uint64_t(limits.memoryMegabytes) << 20;
  options.parentDeathSignal = limits.parentDeathSignal;
  constexpr int created = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  options.input = ::open(in.c_str(), O_RDONLY | O_CLOEXEC);
  options.output = ::open(out.c_str(), created, 0600);
  options.error = ::open(err.c_str(), created, 0600);
  pid_t child = -1;
  if (options.input >= 0 && options.output >= 0 && options.error >= 0)
    child = spawnProcess(options);
  int code = errno;
  for (int descriptor : {options.input, options.output, options.error})
    if (descriptor >= 0)
      ::close(descriptor);
  if (child < 0)
    return llvm::createStringError(
        std::error_code(code, std::generic_category()),
        "cannot start " + program + ": " + std::strerror(code));

  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline =
      Clock::now() + std::chrono::seconds(limits.seconds);
  int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  ProcessResult result;
  bool isCancelled = false;
  while (!hasEnded(child, handle, /*milliseconds=*/200)) {
    isCancelled = limits.cancelled && limits.cancelled();
    result.timedOut = !isCancelled && Clock::now() >= deadline;
    if (isCancelled || result.timedOut)
      break;
  }
  // What it may have left in its group goes with it.
  ::kill(-child, SIGKILL);
  int status = waitForProcess(child);
  if (handle >= 0)
    ::close(handle);
  result.output = readFile(out, uint64_t(64) << 20);
  result.diagnostics = readFile(err, 64 << 10);
  if (isCancelled)
    return cancelled();
  result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -2;
  if (result.exitCode < 0 && result.diagnostics.empty())
    result.diagnostics = ::strsignal(WTERMSIG(status));
  return result;
}

void fastk::endWithParent() {
  if (::getpgrp() != ::getpid())
    return;
  struct sigaction action = {};
  action.sa_handler = [](int) { ::kill(0, SIGKILL); };
  sigaction(SIGTERM, &action, nullptr);
}
