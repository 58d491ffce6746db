//===- ChildPool.cpp - Processes of GPU programs, kept ready --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildPool.h"
#include "ChildProtocol.h"
#include "Phases.h"
#include "Process/ChildRegistry.h"
#include "fastk/System/SpawnProcess.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::worker;

/// A candidate takes two: one validates, one is timed; the incumbent may, too.
static constexpr size_t wantedSpares = 4;
/// A job has four trusted programs and the empty kernel; each context takes
/// half a gigabyte of the GPU.
static constexpr size_t mostTrusted = 6;

ChildPool &ChildPool::get() {
  // Never destroyed: processes end with the worker, by their sockets.
  static auto *pool = new ChildPool();
  return *pool;
}

ChildProcess::~ChildProcess() {
  close();
  kill(pid, SIGKILL);
  forgetChild(pid);
  ::close(socket);
  ChildPool &pool = ChildPool::get();
  pool.trusted -= isTrusted;
  // Taking a context down takes the driver a while: nobody waits for it here.
  pool.dying.push_back(pid);
}

bool ChildProcess::awaitReady() {
  double seconds = 0;
  if (!isReady && receiveAll(socket, &seconds, sizeof(seconds), startSeconds) ==
                      Received::All) {
    isReady = true;
    Phase::wasSpentBeside("context", seconds);
  }
  return isReady;
}

std::string ChildProcess::open(const std::string &handle,
                               cuda::CUdeviceptr &address) {
  auto [at, isNew] = opened.try_emplace(handle, 0);
  std::string error;
  const cuda::Driver *driver = cuda::Driver::get(error);
  if (isNew && driver) {
    cuda::CUipcMemHandle bytes;
    std::memcpy(bytes.reserved, handle.data(), sizeof(bytes.reserved));
    error = driver->call(driver->cuIpcOpenMemHandle, &at->second, bytes,
                         unsigned(cuda::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  }
  address = at->second;
  if (!error.empty())
    opened.erase(at);
  return error;
}

void ChildProcess::close() {
  std::string ignored;
  const cuda::Driver *driver =
      opened.empty() ? nullptr : cuda::Driver::get(ignored);
  if (driver)
    for (const auto &[handle, address] : opened)
      driver->cuIpcCloseMemHandle(address);
  opened.clear();
}

bool ChildProcess::makeRoom() {
  close();
  CudaRequest request = {CudaCommand::MakeRoom, 0, 0, 0, 0};
  CudaReply reply;
  constexpr double seconds = 60;
  return sendAll(socket, &request, sizeof(request)) &&
         receiveAll(socket, &reply, sizeof(reply), seconds) == Received::All &&
         !reply.isError;
}

void ChildPool::reap(bool wait) {
  dying.erase(std::remove_if(dying.begin(), dying.end(),
                             [=](pid_t pid) {
                               pid_t result;
                               do
                                 result =
                                     waitpid(pid, nullptr, wait ? 0 : WNOHANG);
                               while (result < 0 && errno == EINTR);
                               return result != 0;
                             }),
              dying.end());
}

std::unique_ptr<ChildProcess> ChildPool::spawn() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return nullptr;
  static_assert(cudaChildSocket == firstChildDescriptor);
  // A driver reads variables of its own: the environment stays.
  pid_t pid = spawnProcess(
      {"", {"fastk-worker", cudaChildFlag}, std::nullopt, {pair[1]}});
  int code = errno;
  close(pair[1]);
  if (pid < 0) {
    close(pair[0]);
    errno = code;
    return nullptr;
  }
  rememberChild(pid);
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, pair[0]));
}

std::unique_ptr<ChildProcess> ChildPool::take() {
  reap(/*wait=*/false);
  if (spares.empty())
    return spawn();
  std::unique_ptr<ChildProcess> process = std::move(spares.front());
  spares.erase(spares.begin());
  return process;
}

std::unique_ptr<ChildProcess> ChildPool::takeLoaded(const std::string &key) {
  for (auto at = loaded.begin(); at != loaded.end(); ++at)
    if (at->first == key) {
      std::unique_ptr<ChildProcess> process = std::move(at->second);
      loaded.erase(at);
      return process;
    }
  return nullptr;
}

std::unique_ptr<ChildProcess> ChildPool::takeTrusted() {
  while (trusted >= mostTrusted && !loaded.empty()) {
    std::unique_ptr<ChildProcess> process = std::move(loaded.front().second);
    loaded.erase(loaded.begin());
    // Buffers of other sizes are of no use to the next program.
    if (process->makeRoom())
      return process;
  }
  std::unique_ptr<ChildProcess> process = take();
  if (process) {
    process->isTrusted = true;
    ++trusted;
  }
  return process;
}

void ChildPool::keep(const std::string &key,
                     std::unique_ptr<ChildProcess> process) {
  // One that came while all others were at work.
  if (trusted > mostTrusted) {
    process->isTrusted = false;
    --trusted;
    retire(std::move(process));
    return;
  }
  loaded.emplace_back(key, std::move(process));
}

void ChildPool::retire(std::unique_ptr<ChildProcess> process) {
  retired.push_back(std::move(process));
}

void ChildPool::endRetired() { retired.clear(); }

void ChildPool::dropLoaded() {
  retired.clear();
  loaded.clear();
  reap(/*wait=*/true);
}

bool ChildPool::makeRoom() {
  bool isAny = !retired.empty() || !loaded.empty();
  retired.clear();
  for (auto at = loaded.begin(); at != loaded.end();)
    at = at->second->makeRoom() ? at + 1 : loaded.erase(at);
  reap(/*wait=*/true);
  return isAny;
}

void ChildPool::replenish() {
  reap(/*wait=*/false);
  while (spares.size() < wantedSpares) {
    std::unique_ptr<ChildProcess> process = spawn();
    if (!process)
      return; // take() tries again, and says why.
    spares.push_back(std::move(process));
  }
}

void ChildPool::settle() {
  for (auto at = spares.begin(); at != spares.end();) {
    at = (*at)->awaitReady() ? at + 1 : spares.erase(at);
  }
  reap(/*wait=*/true);
}
