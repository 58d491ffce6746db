//===- Subprocess.cpp - Run a program under limits ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Subprocess.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using llvm::StringRef;

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
    return llvm::createStringError(ec, "cannot write " + path + ": " +
                                           ec.message());
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

namespace {
/// What the child needs, made before the fork: after it, only calls that are
/// safe in a signal handler are allowed.
struct Launch {
  const char *program;
  char *const *argv;
  char *const *environment;
  const char *in, *out, *err;
  rlim_t memoryBytes;
  int deathSignal;
};
} // namespace

/// Becomes the program, or writes errno to `failure`.
[[noreturn]] static void becomeProgram(const Launch &launch, pid_t parent,
                                       int failure) {
  // The parent's handlers would swallow what is meant to end this process.
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    ::signal(signal, SIG_DFL);
  // If the parent died before this, nobody will say so.
  ::prctl(PR_SET_PDEATHSIG, launch.deathSignal, 0, 0, 0);
  if (::getppid() != parent)
    ::_exit(127);
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int in = ::open(launch.in, O_RDONLY);
  int out = ::open(launch.out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  int err = ::open(launch.err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  bool ready = in >= 0 && out >= 0 && err >= 0 && ::dup2(in, 0) == 0 &&
               ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2;
  for (int descriptor : {in, out, err})
    if (descriptor > 2)
      ::close(descriptor);
  // The address sanitizer reserves terabytes.
#if !__has_feature(address_sanitizer)
  if (ready && launch.memoryBytes > 0) {
    rlimit limit;
    ready = ::getrlimit(RLIMIT_DATA, &limit) == 0;
    limit.rlim_cur = std::min(limit.rlim_max, launch.memoryBytes);
    ready = ready && ::setrlimit(RLIMIT_DATA, &limit) == 0;
  }
#endif
  if (ready)
    ::execve(launch.program, launch.argv, launch.environment);
  int code = errno;
  (void)!::write(failure, &code, sizeof(code));
  ::_exit(127);
}

/// Starts the program. On success its process id, else errno in `code`.
static pid_t start(const Launch &launch, int &code) {
  // Closed by a successful exec; carries errno otherwise.
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) {
    code = errno;
    return -1;
  }
  pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child == 0)
    becomeProgram(launch, parent, failure[1]);
  code = child < 0 ? errno : 0;
  ::close(failure[1]);
  if (child > 0) {
    int reported = 0;
    ssize_t n;
    do
      n = ::read(failure[0], &reported, sizeof(reported));
    while (n < 0 && errno == EINTR);
    if (n == sizeof(reported)) {
      code = reported;
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR)
        ;
      child = -1;
    }
  }
  ::close(failure[0]);
  return child;
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
  llvm::SmallString<128> directory(scratch);
  llvm::sys::path::append(directory, "run");
  if (std::error_code ec =
          llvm::sys::fs::createUniqueDirectory(directory, directory))
    return llvm::createStringError(ec, "cannot make a folder under " + scratch +
                                           ": " + ec.message());
  auto inside = [&](StringRef name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return std::string(path);
  };
  std::string in = inside("in"), out = inside("out"), err = inside("err");
  if (llvm::Error error = writeFile(in, input))
    return error;

  std::string path = program.str();
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  // A process that is killed cannot remove its temporary files: they are made
  // where they are removed with everything else.
  std::string temporary = "TMPDIR=" + std::string(directory);
  std::vector<char *> environment = {temporary.data()};
  for (char **each = environ; *each; ++each)
    if (!StringRef(*each).starts_with("TMPDIR="))
      environment.push_back(*each);
  environment.push_back(nullptr);
  int code = 0;
  pid_t child =
      start({path.c_str(), argv.data(), environment.data(), in.c_str(),
             out.c_str(), err.c_str(), rlim_t(limits.memoryMegabytes) << 20,
             limits.parentDeathSignal},
            code);
  if (child < 0) {
    llvm::sys::fs::remove_directories(directory);
    return llvm::createStringError(
        std::error_code(code, std::generic_category()),
        "cannot start " + program + ": " + std::strerror(code));
  }

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
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (handle >= 0)
    ::close(handle);
  result.output = readFile(out, uint64_t(64) << 20);
  result.diagnostics = readFile(err, 64 << 10);
  llvm::sys::fs::remove_directories(directory);
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
