//===- AssembleInChild.cpp - PTX of others, assembled ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bytes.h"
#include "ChildProtocol.h"
#include "PtxasLog.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Cuda/CompileCache.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/System/SpawnProcess.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::cuda;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

namespace {
/// A file in memory that goes with the object.
class MemoryFile {
public:
  MemoryFile() : fd(memfd_create("fastk-ptxas", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() {
    if (fd >= 0)
      close(fd);
  }
  bool write(std::string_view bytes) const {
    for (uint64_t at = 0; at < bytes.size();) {
      ssize_t put = pwrite(fd, bytes.data() + at, bytes.size() - at, off_t(at));
      if (put < 0 && errno != EINTR)
        return false;
      at += put > 0 ? uint64_t(put) : 0;
    }
    return fd >= 0;
  }
  std::string read(uint64_t most) const {
    struct stat info = {};
    std::string bytes;
    if (fstat(fd, &info) != 0)
      return bytes;
    bytes.resize(size_t(std::min(uint64_t(info.st_size), most)));
    uint64_t at = 0;
    while (at < bytes.size()) {
      ssize_t got = pread(fd, bytes.data() + at, bytes.size() - at, off_t(at));
      if (got == 0 || (got < 0 && errno != EINTR))
        break;
      at += got > 0 ? uint64_t(got) : 0;
    }
    bytes.resize(at);
    return bytes;
  }
  const int fd;
};

/// How a process ended.
struct End {
  int status = 0;
  bool timedOut = false;
};
} // namespace

static End waitFor(pid_t pid, double seconds) {
  End end;
  auto deadline =
      Clock::now() + std::chrono::microseconds(int64_t(seconds * 1e6));
  pid_t got = 0;
  while ((got = waitpid(pid, &end.status, WNOHANG)) == 0 ||
         (got < 0 && errno == EINTR)) {
    if (!end.timedOut && Clock::now() > deadline) {
      end.timedOut = true;
      kill(-pid, SIGKILL);
    }
    usleep(1000);
  }
  kill(-pid, SIGKILL); // Whatever it may have left.
  return end;
}

/// Why there is no cubin.
static std::string describeEnd(const End &end, const CompileLimits &limits,
                               const std::string &log) {
  char seconds[32];
  snprintf(seconds, sizeof(seconds), "%g s",
           end.timedOut ? limits.wallSeconds : limits.cpuSeconds);
  if (end.timedOut)
    return std::string("assembling took longer than ") + seconds +
           " and was stopped: write less code, unroll less";
  int signal = WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0;
  if (signal == SIGXCPU)
    return std::string("assembling took longer than ") + seconds +
           " of processor time and was stopped: write less code, unroll less";
  if (signal == SIGSYS)
    return "ptxas made a system call that its sandbox forbids";
  std::string memory =
      std::to_string(limits.addressSpaceBytes >> 20) + " MiB of memory";
  if (signal != 0)
    return std::string("ptxas crashed (") + strsignal(signal) +
           ") or ran out of its " + memory;
  int code = WEXITSTATUS(end.status);
  if (code == noSandboxExit)
    return "the sandbox of ptxas could not be set up: this kernel or container "
           "forbids seccomp; allow it";
  if (code == notStartedExit)
    return "ptxas could not be started";
  return log.empty() ? "ptxas ended with exit code " + std::to_string(code)
                     : log;
}

/// Says in \p result whose fault it is that there is no cubin.
static void blame(const End &end, const AssembleRequest &request,
                  CompileResult &result) {
  // What was stopped or crashed may have said anything.
  if (!WIFEXITED(end.status) || end.timedOut)
    return;
  int code = WEXITSTATUS(end.status);
  result.toolFailed = code == noSandboxExit || code == notStartedExit;
  result.isTooNew = saysTooNew(result.log);
  result.missingTool =
      result.isTooNew || saysUnknownGpu(result.log, request.arch);
}

/// Nothing of the user's environment but where libraries are, and ptxas.
static std::vector<std::string> environment(const std::string &ptxas) {
  const char *libraries = std::getenv("LD_LIBRARY_PATH");
  return {"PATH=", "LANG=C",
          "LD_LIBRARY_PATH=" +
              (libraries && *libraries ? std::string(libraries) + ":" : "") +
              fs::path(ptxas).parent_path().string()};
}

CompileResult fastk::cuda::assembleInChild(const AssembleRequest &request,
                                           const CompileLimits &limits) {
  CompileResult result;
  auto fail = [&](const std::string &error) {
    result.error = error;
    return result;
  };
  if (std::vector<Refusal> refusals = checkDeviceCode(request.ptx);
      !refusals.empty())
    return fail("refused: " + describe(refusals));
  CompileRequest arch;
  arch.arch = request.arch;
  if (std::string error = checkRequest(arch); !error.empty())
    return fail(error);
  std::error_code ec;
  std::string ptxas = fs::canonical(findPtxas(), ec).string();
  if (ec || ptxas.empty()) {
    result.missingTool = true;
    return fail("there is no ptxas: run scripts/install-deps.sh --cuda (beside "
                "the wheel: pip install 'fastk[cuda]'), or name a CUDA toolkit "
                "in FASTK_CUDA_PATH");
  }
  ByteWriter message;
  message.text(ptxas);
  message.text(request.arch);
  message.number(uint64_t(limits.cpuSeconds * 1000));
  message.number(limits.addressSpaceBytes);
  message.number(limits.outputBytes);
  MemoryFile instructions, input, output, log;
  if (!instructions.write(message.bytes) || !input.write(request.ptx) ||
      output.fd < 0 || log.fd < 0) {
    result.toolFailed = true;
    return fail(std::string("cannot start ptxas: ") + std::strerror(errno));
  }
  // It reads from the place where writing ended otherwise.
  lseek(instructions.fd, 0, SEEK_SET);
  auto start = Clock::now();
  static_assert(ptxasRequest == firstChildDescriptor);
  pid_t pid = spawnProcess({limits.program,
                            {"fastk-ptxas", ptxasChildFlag},
                            environment(ptxas),
                            {instructions.fd, input.fd, output.fd, log.fd}});
  if (pid < 0) {
    result.toolFailed = true;
    return fail(std::string("cannot start the process of ptxas: ") +
                std::strerror(errno));
  }
  End end = waitFor(pid, limits.wallSeconds);
  result.milliseconds =
      std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  constexpr uint64_t longestLog = uint64_t(1) << 20;
  result.log = log.read(longestLog);
  result.ptx = request.ptx;
  parseCompilerLog(result.log, result.kernels, result.warnings);
  if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0)
    result.cubin = output.read(limits.outputBytes);
  if (result.cubin.empty()) {
    blame(end, request, result);
    return fail(describeEnd(end, limits, result.log));
  }
  if (std::vector<Refusal> refusals = checkCubin(result.cubin);
      !refusals.empty()) {
    result.cubin.clear();
    return fail("refused: " + describe(refusals));
  }
  return result;
}

CompileResult fastk::cuda::assembleCached(const AssembleRequest &request,
                                          const CompileLimits &limits) {
  std::string ptxas = findPtxas();
  std::error_code ec;
  auto bytes = fs::file_size(ptxas, ec);
  auto changed = fs::last_write_time(ptxas, ec);
  if (ec)
    return assembleInChild(request, limits);
  ByteWriter all;
  all.text(ptxas);
  all.number(bytes);
  all.number(uint64_t(changed.time_since_epoch().count()));
  all.text(request.arch);
  all.text(request.ptx);
  CompileCache cache;
  std::string key = CompileCache::key(all.bytes);
  if (std::optional<CompileResult> known = cache.find(key))
    return *known;
  CompileResult result = assembleInChild(request, limits);
  // As compileCached(): what was stopped or killed may go otherwise again.
  if (result.ok())
    cache.store(key, result);
  return result;
}
