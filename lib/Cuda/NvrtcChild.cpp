//===- NvrtcChild.cpp - The process that compiles -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bytes.h"
#include "ChildProtocol.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Sandbox/Sandbox.h"
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::cuda;

/// What the compilers need, as a program has it.
static constexpr uint64_t stackBytes = uint64_t(6) << 20;

bool fastk::cuda::isNvrtcChild(int argc, char **argv) {
  return argc == 2 && (std::string_view(argv[1]) == nvrtcChildFlag ||
                       std::string_view(argv[1]) == ptxasChildFlag);
}

static bool readAll(int fd, std::string &bytes) {
  char chunk[65536];
  for (;;) {
    ssize_t got = read(fd, chunk, sizeof(chunk));
    if (got == 0)
      return true;
    if (got < 0 && errno != EINTR)
      return false;
    if (got > 0)
      bytes.append(chunk, size_t(got));
  }
}

static bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR)
      return false;
    if (put > 0)
      bytes.remove_prefix(size_t(put));
  }
  return true;
}

/// From here on every file is "not found": the compiler reports an #include of
/// one as it reports a misspelt one, where a trap would look like a crash.
/// Returns an errno, 0 for success.
static int closeFileSystem() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter)
    return ENOMEM;
  int error = 0;
  for (const char *name :
       {"open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx",
        "access", "faccessat", "faccessat2", "readlink", "readlinkat"}) {
    int number = seccomp_syscall_resolve_name(name);
    if (number >= 0 && error == 0)
      error = -seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT), number, 0);
  }
  if (error == 0)
    error = -seccomp_load(filter);
  seccomp_release(filter);
  return error;
}

static sandbox::Limits limitsOf(const CompileLimits &given) {
  sandbox::Limits limits = {};
  limits.threadLimit = 64;
  limits.addressSpaceBytes = given.addressSpaceBytes;
  limits.cpuSeconds = uint64_t(std::ceil(given.cpuSeconds));
  limits.stackBytes = stackBytes;
  // A user of its own, so that its limit of threads is its own.
  limits.uid = geteuid() == 0 ? 1300000000u + uint32_t(getpid()) % 4194304u : 0;
  return limits;
}

/// Returns an errno, 0 for success.
static int enterCompileSandbox(const CompileLimits &limits) {
  using namespace sandbox;
  void *page = mmap(nullptr, sizeof(DeniedCall), PROT_READ | PROT_WRITE,
                    MAP_SHARED, nvrtcChildNotes, 0);
  if (page == MAP_FAILED)
    return errno;
  close(nvrtcChildNotes);
  uint32_t active =
      enterSandbox(limitsOf(limits), static_cast<DeniedCall *>(page));
  if (!(active & ProtectSeccomp))
    return filterError() ? filterError() : EPERM;
  return closeFileSystem();
}

/// Becomes ptxas. Returns an exit code where it cannot.
static int becomePtxas() {
  using namespace sandbox;
  std::string bytes;
  if (!readAll(ptxasRequest, bytes))
    return 2;
  ByteReader in(bytes);
  std::string ptxas = in.text(), arch = "-arch=" + in.text();
  CompileLimits limits;
  limits.cpuSeconds = double(in.number()) / 1000;
  limits.addressSpaceBytes = in.number();
  limits.outputBytes = in.number();
  if (!in.complete() || chdir("/") != 0)
    return 2;
  // Before the user changes: it may lie where only ours may look.
  int program = open(ptxas.c_str(), O_RDONLY | O_CLOEXEC);
  if (program < 0 || dup2(ptxasLog, STDOUT_FILENO) < 0 ||
      dup2(ptxasLog, STDERR_FILENO) < 0)
    return notStartedExit;
  static DeniedCall unused;
  Limits confined = limitsOf(limits);
  confined.fileBytes = limits.outputBytes;
  if (!(enterSandbox(confined, &unused, /*mayExecute=*/true) & ProtectSeccomp))
    return noSandboxExit;
  std::string input = "/proc/self/fd/" + std::to_string(ptxasInput);
  std::string output = "/proc/self/fd/" + std::to_string(ptxasOutput);
  const char *words[] = {"ptxas", arch.c_str(),   "-v",   input.c_str(),
                         "-o",    output.c_str(), nullptr};
  fexecve(program, const_cast<char *const *>(words), environ);
  return notStartedExit;
}

static void onNoMemory() { _exit(outOfMemoryExit); }

int fastk::cuda::nvrtcChildMain(int, char **argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (std::string_view(argv[1]) == ptxasChildFlag)
    return becomePtxas();
  std::set_new_handler(onNoMemory);
  std::string bytes;
  if (!readAll(nvrtcChildSocket, bytes))
    return 2;
  ByteReader in(bytes);
  Toolkit toolkit = {in.text(), in.text(), ""};
  CompileLimits limits;
  limits.cpuSeconds = double(in.number()) / 1000;
  limits.addressSpaceBytes = in.number();
  limits.outputBytes = in.number();
  CompileRequest request;
  if (!fromBytes(in.text(), request) || !in.complete() || chdir("/") != 0)
    return 2;

  CompileResult result;
  Nvrtc nvrtc;
  if (Nvrtc::load(toolkit, nvrtc, result.error)) {
    int problem = enterCompileSandbox(limits);
    // The limits are in force before the filter is: it is made within them.
    if (problem == ENOMEM)
      onNoMemory();
    if (problem == 0)
      // The toolkit's headers travelled with the request.
      result = nvrtc.compile(request, {});
    else
      result.error = "the sandbox of the compiler could not be set up: this "
                     "kernel or container forbids seccomp; allow it";
  }
  // A long log keeps its beginning.
  constexpr size_t kLongestLog = size_t(1) << 20;
  for (std::string *text : {&result.log, &result.error})
    if (text->size() > kLongestLog) {
      text->resize(kLongestLog);
      *text += "\n[cut: the compiler said more than 1 MiB]";
    }
  if (result.cubin.size() > limits.outputBytes ||
      result.ptx.size() > limits.outputBytes) {
    result.error = "the compiled code is larger than " +
                   std::to_string(limits.outputBytes >> 20) +
                   " MiB; unroll less";
    result.cubin.clear();
    result.ptx.clear();
  }
  if (!writeAll(nvrtcChildSocket, toBytes(result)))
    return 2;
  // NVRTC's own ending needs what the sandbox has closed.
  _exit(0);
}
