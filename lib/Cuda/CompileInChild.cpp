//===- CompileInChild.cpp - Device code of others, compiled ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/CompileInChild.h"
#include "Bytes.h"
#include "ChildProtocol.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Sandbox/Sandbox.h"
#include "fastk/System/SpawnProcess.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::cuda;
using Clock = std::chrono::steady_clock;

/// Nothing of the user's environment but where libraries are.
static std::vector<std::string> environment() {
  const char *libraries = std::getenv("LD_LIBRARY_PATH");
  return {"PATH=", "LANG=C",
          std::string("LD_LIBRARY_PATH=") + (libraries ? libraries : ""),
          "ASAN_OPTIONS=handle_segv=0:handle_abort=0:use_sigaltstack=0:"
          "detect_leaks=0:allocator_may_return_null=1"};
}

enum class Talk { Done, TimedOut, TooMuch, Broken };

/// Sends \p request and receives \p reply, both at once: a child that does not
/// read must not block us.
static Talk converse(int socket, std::string_view request, std::string &reply,
                     Clock::time_point deadline, uint64_t largest) {
  char chunk[65536];
  bool sending = true;
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    deadline - Clock::now())
                    .count();
    if (left <= 0)
      return Talk::TimedOut;
    struct pollfd poller = {socket, short(POLLIN | (sending ? POLLOUT : 0)), 0};
    int ready = poll(&poller, 1, int(left));
    if (ready < 0 && errno != EINTR)
      return Talk::Broken;
    if (ready <= 0)
      continue;
    if (sending && (poller.revents & (POLLOUT | POLLERR | POLLHUP))) {
      ssize_t put = send(socket, request.data(), request.size(),
                         MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put > 0)
        request.remove_prefix(size_t(put));
      else if (put < 0 && errno != EAGAIN && errno != EINTR)
        sending = false; // It has gone; what it left is read below.
      if (request.empty()) {
        shutdown(socket, SHUT_WR);
        sending = false;
      }
    }
    if (poller.revents & (POLLIN | POLLERR | POLLHUP)) {
      ssize_t got = recv(socket, chunk, sizeof(chunk), MSG_DONTWAIT);
      // A child that ended without reading all resets the connection.
      if (got == 0 || (got < 0 && errno == ECONNRESET))
        return Talk::Done;
      if (got < 0 && errno != EAGAIN && errno != EINTR)
        return Talk::Broken;
      if (got > 0)
        reply.append(chunk, size_t(got));
      if (reply.size() > largest)
        return Talk::TooMuch;
    }
  }
}

/// The system call that the sandbox noted before it ended the child.
static std::string forbiddenCall(int notes) {
  std::atomic<uint32_t> call{0};
  if (pread(notes, &call, sizeof(call), offsetof(sandbox::DeniedCall, call)) !=
          ssize_t(sizeof(call)) ||
      call == 0)
    return "a system call";
  std::string text = "system call " + std::to_string(call - 1);
  if (char *name =
          seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, int(call - 1))) {
    text += std::string(" (") + name + ")";
    free(name);
  }
  return text;
}

/// How a child that gave no result ended.
static std::string describeEnd(int status, const CompileLimits &limits,
                               int notes) {
  std::string memory =
      std::to_string(limits.addressSpaceBytes >> 20) + " MiB of memory";
  if (WIFEXITED(status) && WEXITSTATUS(status) == outOfMemoryExit)
    return "the compiler ran out of its " + memory +
           ": instantiate and unroll less";
  if (WIFEXITED(status) && WEXITSTATUS(status) == forbiddenCallExit)
    return "the compiler made " + forbiddenCall(notes) +
           ", which its sandbox forbids";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return "the compiler's process could not be started";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return "the compiler was killed: it used up the machine's memory";
  if (WIFSIGNALED(status))
    return std::string("the compiler crashed (") + strsignal(WTERMSIG(status)) +
           ") or ran out of its " + memory + ": simplify the source";
  return "the compiler ended without a result (exit code " +
         std::to_string(WEXITSTATUS(status)) + ")";
}

/// The toolkit's headers, read once.
static const Headers &toolkitHeaders(const Nvrtc &nvrtc) {
  static const Headers headers = readToolkitHeaders(nvrtc.toolkit().include);
  return headers;
}

/// Adds the remedy where a header was not found.
static void explainMissingHeader(CompileResult &result, const Nvrtc &nvrtc) {
  // Both are said: one where there is no such name, one where it is a path.
  if (result.ok() ||
      (result.log.find("could not open source file") == std::string::npos &&
       result.log.find("cannot open source file") == std::string::npos))
    return;
  std::string allowed;
  for (const std::string &name : allowedHeaders)
    allowed += (allowed.empty() ? "" : ", ") + name;
  result.error += "\nDevice code may include " + allowed +
                  " and nothing else; the prelude (" + preludeName +
                  ") is there without an include.";
  if (nvrtc.toolkit().include.empty())
    result.error += " These headers are not installed beside " +
                    nvrtc.toolkit().nvrtc +
                    ": run scripts/install-deps.sh --cuda.";
}

CompileResult fastk::cuda::compileInChild(const CompileRequest &request,
                                          const CompileLimits &limits) {
  CompileResult result;
  result.error = checkRequest(request);
  if (!result.ok())
    return result;
  const Nvrtc *nvrtc = Nvrtc::get(result.error);
  if (!nvrtc)
    return result;
  result.nvrtcVersion = nvrtc->version();

  CompileRequest whole = request;
  for (const auto &[name, text] : toolkitHeaders(*nvrtc))
    whole.headers.insert({name, text});
  ByteWriter message;
  message.text(nvrtc->toolkit().nvrtc);
  message.text(nvrtc->toolkit().builtins);
  message.number(uint64_t(limits.cpuSeconds * 1000));
  message.number(limits.addressSpaceBytes);
  message.number(limits.outputBytes);
  message.text(toBytes(whole));

  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    result.error = std::string("cannot start the compiler: socketpair: ") +
                   std::strerror(errno);
    return result;
  }
  int notes = memfd_create("fastk-nvrtc", MFD_CLOEXEC);
  static_assert(nvrtcChildSocket == firstChildDescriptor &&
                nvrtcChildNotes == firstChildDescriptor + 1);
  pid_t pid = notes < 0 || ftruncate(notes, sizeof(sandbox::DeniedCall)) != 0
                  ? -1
                  : spawnProcess({limits.program,
                                  {"fastk-nvrtc", nvrtcChildFlag},
                                  environment(),
                                  {pair[1], notes}});
  int startError = errno;
  close(pair[1]);
  struct CloseNotes {
    int fd;
    ~CloseNotes() { close(fd); }
  } closeNotes = {notes};
  if (pid < 0) {
    close(pair[0]);
    result.error = std::string("cannot start the compiler's process: ") +
                   std::strerror(startError);
    return result;
  }
  std::string reply;
  auto deadline = Clock::now() +
                  std::chrono::microseconds(int64_t(limits.wallSeconds * 1e6));
  Talk talk =
      converse(pair[0], message.bytes, reply, deadline, 3 * limits.outputBytes);
  close(pair[0]);
  if (talk != Talk::Done)
    kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  kill(-pid, SIGKILL); // Whatever it may have left.

  auto tookTooLong = [&](double seconds, const char *time) {
    char text[200];
    snprintf(text, sizeof(text),
             "compiling took longer than %g s%s and was stopped: simplify "
             "templates and constant expressions, unroll less",
             seconds, time);
    result.error = text;
    return result;
  };
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    return tookTooLong(limits.cpuSeconds, " of processor time");

  switch (talk) {
  case Talk::TimedOut:
    return tookTooLong(limits.wallSeconds, "");
  case Talk::TooMuch:
    result.error = "the compiler's output is larger than " +
                   std::to_string(3 * limits.outputBytes >> 20) + " MiB";
    return result;
  case Talk::Broken:
    result.error = "the connection to the compiler's process broke";
    return result;
  case Talk::Done:
    break;
  }
  CompileResult answer;
  if (!fromBytes(reply, answer)) {
    result.error = describeEnd(status, limits, notes);
    return result;
  }
  explainMissingHeader(answer, *nvrtc);
  if (answer.ok()) {
    std::vector<Refusal> refusals = checkDeviceCode(answer.ptx);
    // "compute_90a" makes none.
    if (refusals.empty() && !answer.cubin.empty())
      refusals = checkCubin(answer.cubin);
    if (!refusals.empty()) {
      answer.error = "refused: " + describe(refusals);
      answer.cubin.clear();
    }
  }
  return answer;
}
