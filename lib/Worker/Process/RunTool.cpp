//===- RunTool.cpp - A tool of the toolkit, under a time limit ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunTool.h"
#include "ChildRegistry.h"
#include "Clock.h"
#include "fastk/System/SpawnProcess.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::worker;

/// As runTool() says. Returns -1 with errno set where it cannot be started.
static pid_t startTool(const std::vector<std::string> &command,
                       const std::string &folder, const std::string &output,
                       const std::vector<std::string> &variables) {
  SpawnOptions options = {command[0], command,
                          environmentFor(folder, variables)};
  options.folder = folder;
  if (!output.empty()) {
    options.output =
        open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (options.output < 0)
      return -1;
    options.error = options.output;
  }
  pid_t pid = spawnProcess(options);
  int code = errno;
  if (options.output >= 0)
    close(options.output);
  errno = code;
  return pid;
}

void ToolControl::pause() {
  wanted = Wanted::Pause;
  while (!isStill)
    usleep(200);
}

namespace fastk::worker {
/// Does to one tool what its control wants.
class ToolWatch {
public:
  explicit ToolWatch(ToolControl *control) : control(control) {}

  /// Waits until a tool may begin. False: none may.
  bool mayBegin() {
    while (control && control->wanted == ToolControl::Wanted::Pause) {
      hold();
      usleep(500);
    }
    release();
    return !control || control->wanted != ToolControl::Wanted::End;
  }

  /// Looks at the tool in the group \p pid; false: it has to end.
  bool look(pid_t pid) {
    if (!control)
      return true;
    ToolControl::Wanted wanted = control->wanted;
    bool shouldPause = wanted == ToolControl::Wanted::Pause;
    if (shouldPause && heldSince == 0) {
      kill(-pid, SIGSTOP);
      hold();
    } else if (!shouldPause && heldSince != 0) {
      release();
      kill(-pid, SIGCONT);
    }
    return wanted != ToolControl::Wanted::End;
  }

  /// Since it began, without what it was held back.
  uint64_t heldNs() const {
    return held + (heldSince ? clockNs() - heldSince : 0);
  }

private:
  void hold() {
    if (heldSince == 0)
      heldSince = clockNs();
    control->isStill = true;
  }
  void release() {
    if (heldSince == 0)
      return;
    uint64_t now = clockNs() - heldSince;
    heldSince = 0;
    held += now;
    control->paused += now;
    control->isStill = false;
  }

  ToolControl *control;
  uint64_t heldSince = 0, held = 0;
};
} // namespace fastk::worker

ToolEnd fastk::worker::runTool(const std::vector<std::string> &command,
                               const std::string &folder, double seconds,
                               const std::string &output, uint64_t addressSpace,
                               ToolControl *control,
                               const std::vector<std::string> &variables) {
  ToolEnd end;
  ToolWatch watch(control);
  if (!watch.mayBegin()) {
    end.timedOut = true;
    return end;
  }
  uint64_t heldBefore = watch.heldNs();
  pid_t pid = startTool(command, folder, output, variables);
  if (pid < 0) {
    end.error = command[0] + " cannot be started: " + strerror(errno);
    return end;
  }
  rememberChild(pid);
  if (addressSpace) {
    struct rlimit limit = {addressSpace, addressSpace};
    prlimit(pid, RLIMIT_AS, &limit, nullptr);
  }
  uint64_t start = clockNs();
  int status = 0;
  pid_t got = 0;
  while ((got = waitpid(pid, &status, WNOHANG)) == 0 ||
         (got < 0 && errno == EINTR)) {
    bool mayRun = watch.look(pid);
    uint64_t spent = clockNs() - start - (watch.heldNs() - heldBefore);
    if (!end.timedOut && (!mayRun || double(spent) * 1e-9 > seconds)) {
      end.timedOut = true;
      kill(-pid, SIGKILL);
    }
    usleep(2000);
  }
  // What it started and left behind.
  kill(-pid, SIGKILL);
  forgetChild(pid);
  end.exitCode = got < 0               ? -1
                 : WIFEXITED(status)   ? WEXITSTATUS(status)
                 : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                       : -1;
  return end;
}

ScratchFolder::ScratchFolder(uint64_t bytes) {
  std::vector<std::string> places;
  // As much again is left for others.
  struct statvfs info = {};
  if (statvfs("/dev/shm", &info) == 0 &&
      uint64_t(info.f_bavail) * info.f_frsize > 2 * bytes)
    places.push_back("/dev/shm");
  const char *set = std::getenv("TMPDIR");
  places.push_back(set && *set ? set : "/tmp");
  for (const std::string &place : places) {
    std::error_code code = folder.create("fastk-worker", place);
    if (!code)
      return;
    problem = place + ": cannot make a folder: " + code.message();
  }
}
