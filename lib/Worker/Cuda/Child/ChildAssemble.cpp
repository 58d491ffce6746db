//===- ChildAssemble.cpp - PTX assembled by the driver --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildAssemble.h"
#include "ChildProtocol.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include <algorithm>
#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::worker;

/// As the compiler's (CompileLimits), beside what this process has used.
static constexpr rlim_t assembleSeconds = 10;
static constexpr rlim_t assembleBytes = rlim_t(4) << 30;

static const char tookTooLong[] =
    "assembling took longer than 10 s of processor time and was stopped: write "
    "less code, unroll less";
static_assert(assembleSeconds == 10);

/// Nothing but system calls: the driver may hold any lock.
static void onTimeOut(int) {
  CudaReply reply = {};
  reply.isError = 1;
  reply.bytes = sizeof(tookTooLong) - 1;
  (void)!send(cudaChildSocket, &reply, sizeof(reply), MSG_NOSIGNAL);
  (void)!send(cudaChildSocket, tookTooLong, sizeof(tookTooLong) - 1,
              MSG_NOSIGNAL);
  _exit(1);
}

namespace {
/// Lowers a soft limit as long as it lives.
class SoftLimit {
public:
  SoftLimit(decltype(RLIMIT_AS) resource, rlim_t value) : resource(resource) {
    known = getrlimit(resource, &old) == 0;
    struct rlimit lower = {std::min(value, old.rlim_cur), old.rlim_max};
    if (known)
      setrlimit(resource, &lower);
  }
  SoftLimit(const SoftLimit &) = delete;
  SoftLimit &operator=(const SoftLimit &) = delete;
  ~SoftLimit() {
    if (known)
      setrlimit(resource, &old);
  }

private:
  decltype(RLIMIT_AS) resource;
  struct rlimit old = {};
  bool known = false;
};
} // namespace

/// Private memory that can be written, as the kernel counts it against
/// RLIMIT_DATA. What a driver only reserves is not in it.
static rlim_t dataBytes() {
  std::ifstream status("/proc/self/status");
  rlim_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmData:" && status >> kilobytes)
      break;
  return kilobytes << 10;
}

std::string fastk::worker::assembleHere(const cuda::Driver &driver,
                                        std::string_view ptx,
                                        std::string &cubin) {
  std::string error;
  {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    rlim_t used = rlim_t(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1;
    std::signal(SIGXCPU, onTimeOut);
    SoftLimit time(RLIMIT_CPU, used + assembleSeconds);
    SoftLimit memory(RLIMIT_DATA, dataBytes() + assembleBytes);
    error = cuda::linkPTX(driver, ptx, cubin);
  }
  if (!error.empty())
    return error;
  std::vector<cuda::Refusal> refusals = cuda::checkCubin(cubin);
  return refusals.empty() ? "" : "refused: " + cuda::describe(refusals);
}
