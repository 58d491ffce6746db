//===- CudaChild.cpp - The process of a GPU program, from outside ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaChild.h"
#include "../Host/ChildRegistry.h"
#include "CudaDevice.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk::worker;

/// A context takes a fraction of a second, PTX of a large program seconds.
static constexpr double startSeconds = 120;
static constexpr double mapSeconds = 60;

/// What a driver error of a program means for its verdict.
static Status statusOf(const std::string &error) {
  auto says = [&](const char *name) {
    return error.find(name) != std::string::npos;
  };
  if (says("CUDA_ERROR_OUT_OF_MEMORY"))
    return Status::Memory;
  for (const char *name :
       {"CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE", "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_HARDWARE_STACK_ERROR", "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_ECC_UNCORRECTABLE"})
    if (says(name))
      return Status::Crash;
  if (says("CUDA_ERROR_LAUNCH_TIMEOUT"))
    return Status::Timeout;
  return Status::Refused;
}

std::unique_ptr<CudaChild> CudaChild::start(Part part, const std::string &image,
                                            const LaunchPlan &plan,
                                            Failure &failure) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    failure = {Status::Error,
               std::string("cannot make a socket: ") + strerror(errno)};
    return nullptr;
  }
  pid_t pid = fork();
  if (pid == 0) {
    // Without close-on-exec from here on.
    if (pair[1] == cudaChildSocket)
      fcntl(pair[1], F_SETFD, 0);
    else
      dup2(pair[1], cudaChildSocket);
    int null = ::open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2})
      dup2(null, fd);
    execl("/proc/self/exe", "fastk-worker", cudaChildFlag, nullptr);
    _exit(127);
  }
  close(pair[1]);
  if (pid < 0) {
    close(pair[0]);
    failure = {Status::Error,
               std::string("cannot start a process: ") + strerror(errno)};
    return nullptr;
  }
  rememberChild(pid);
  std::unique_ptr<CudaChild> child(new CudaChild(part));
  child->pid = pid;
  child->socket = pair[0];
  CudaReply reply;
  std::string payload = toJSON(plan);
  payload.push_back('\0');
  payload += image;
  if (!child->ask(CudaCommand::Start, 0, payload, startSeconds, reply, failure))
    return nullptr;
  return child;
}

CudaChild::~CudaChild() { killAndReap(); }

void CudaChild::killAndReap() {
  if (pid < 0)
    return;
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR)
    ;
  forgetChild(pid);
  close(socket);
  pid = -1;
}

bool CudaChild::ask(CudaCommand command, uint32_t slot,
                    const std::string &payload, double seconds,
                    CudaReply &reply, Failure &failure, bool timed) {
  const char *name = nameOf(part);
  if (pid < 0) {
    failure = {Status::Error, std::string("the ") + name + " has ended"};
    return false;
  }
  CudaRequest request = {command, slot, timed, payload.size()};
  std::string error;
  Received received = Received::Closed;
  if (sendAll(socket, &request, sizeof(request)) &&
      sendAll(socket, payload.data(), payload.size()))
    received = receiveAll(socket, &reply, sizeof(reply), seconds);
  if (received == Received::All) {
    error.resize(reply.errorBytes);
    received = receiveAll(socket, error.data(), error.size(), mapSeconds);
  }
  if (received == Received::All) {
    if (error.empty())
      return true;
    Status status = statusOf(error);
    // What fails before a kernel ran is how it was asked for.
    failure = {status, std::string("the ") + name + ": " + error};
  } else if (received == Received::TimedOut) {
    char text[160];
    snprintf(text, sizeof(text),
             "the %s did not end within %.3g s: its process "
             "was killed",
             name, seconds);
    failure = {Status::Timeout, text};
  } else {
    failure = {Status::Crash,
               std::string("the process of the ") + name + " ended"};
  }
  // A context that has failed is of no further use.
  killAndReap();
  return false;
}

bool CudaChild::map(uint32_t slot, const Operands *operands,
                    const Results *results, Failure &failure) {
  std::string payload;
  auto add = [&](const DeviceMemory &memory, uint64_t kind) {
    MapEntry entry;
    std::memcpy(entry.handle, memory.handle().reserved, sizeof(entry.handle));
    entry.offset = memory.offset();
    entry.total = memory.total();
    entry.kind = kind;
    payload.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
  };
  if (operands)
    for (const DeviceMemory &memory :
         static_cast<const CudaOperands *>(operands)->memory)
      add(memory, 0);
  if (results) {
    const auto *set = static_cast<const CudaResults *>(results);
    for (const DeviceMemory &memory : set->memory)
      add(memory, 1);
    for (const DeviceMemory &memory : set->workspaces)
      add(memory, 2);
  }
  CudaReply reply;
  return ask(CudaCommand::Map, slot, payload, mapSeconds, reply, failure);
}

bool CudaChild::unmap(uint32_t slot, Failure &failure) {
  CudaReply reply;
  return ask(CudaCommand::Unmap, slot, {}, mapSeconds, reply, failure);
}

bool CudaChild::call(uint32_t slot, double timeoutSeconds, CallTime &time,
                     Failure &failure, bool timed) {
  CudaReply reply;
  if (!ask(CudaCommand::Call, slot, {}, timeoutSeconds, reply, failure, timed))
    return false;
  time.ns = reply.eventNs;
  time.otherNs = reply.hostNs;
  return true;
}

Resources CudaChild::finish() {
  Resources resources;
  if (pid < 0)
    return resources;
  // The end of the socket ends the process.
  shutdown(socket, SHUT_RDWR);
  struct rusage usage = {};
  while (wait4(pid, nullptr, 0, &usage) < 0 && errno == EINTR)
    ;
  forgetChild(pid);
  close(socket);
  pid = -1;
  resources.peakMemoryBytes = int64_t(usage.ru_maxrss) * 1024;
  resources.cpuSeconds =
      double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  return resources;
}
