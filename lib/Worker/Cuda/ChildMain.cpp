//===- ChildMain.cpp - The process of a GPU program -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Clock.h"
#include "ChildProtocol.h"
#include "fastk/Cuda/LoadedProgram.h"
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <sys/prctl.h>

using namespace fastk;
using namespace fastk::worker;
using cuda::CUdeviceptr;

namespace {

/// One allocation of the worker's, and this process's own copy of it. Programs
/// work on the copy: memory that another process made is read and written at
/// half the speed (seen on an H200), and that is not what is to be timed.
struct Copy {
  CUdeviceptr theirs = 0, own = 0;
  /// Of the worker's allocation; of ours, which is made of whole pages.
  size_t bytes = 0, ownBytes = 0;
  std::string handle;
};

/// Buffers of one call, and what was encoded for them.
struct Slot {
  cuda::DeviceBuffers buffers;
  std::vector<cuda::CUtensorMap> maps;
  std::vector<Copy> copies;
};

class CudaChild {
public:
  int run();

private:
  std::string createContext();
  std::string start(const std::string &payload);
  std::string map(uint32_t slot, const std::string &payload);
  std::string unmap(uint32_t slot);
  std::string forget();
  std::string transfer(const Slot &slot, bool fetch);
  std::string warmUp();
  std::string call(uint32_t slot, bool timed, CudaReply &reply);
  std::string open(const MapEntry &entry, CUdeviceptr &address);

  const cuda::Driver *driver = nullptr;
  cuda::CUcontext context = nullptr;
  cuda::CUstream stream = nullptr;
  cuda::CUevent begin = nullptr, end = nullptr;
  /// What warmUp() writes: several times any L2 cache.
  cuda::CUdeviceptr written = 0;
  static constexpr size_t writtenBytes = size_t(256) << 20;
  /// After a pause clocks need so long; after other calls less.
  static constexpr uint64_t longPauseNs = 200'000'000;
  static constexpr uint64_t longWarmUpNs = 20'000'000;
  static constexpr uint64_t warmUpNs = 1'000'000;
  uint64_t lastTimed = 0;
  std::string contextError;
  /// Of the GPU's memory: a program reaches the rest of a page it has a part
  /// of.
  static constexpr size_t pageBytes = size_t(2) << 20;
  std::unique_ptr<cuda::LoadedProgram> program;
  std::map<uint32_t, Slot> slots;
  /// Open allocations by handle, with how many slots use them.
  std::map<std::string, std::pair<CUdeviceptr, int>> opened;
};

} // namespace

std::string CudaChild::createContext() {
  std::string error;
  driver = cuda::Driver::get(error);
  if (!driver)
    return error;
  cuda::CUdevice device = 0;
  error = driver->call(driver->cuDeviceGet, &device, 0);
  if (error.empty())
    error = driver->call(driver->cuCtxCreate, &context,
                         unsigned(cuda::CU_CTX_SCHED_SPIN), device);
  if (error.empty())
    error = driver->call(driver->cuStreamCreate, &stream,
                         unsigned(cuda::CU_STREAM_NON_BLOCKING));
  for (cuda::CUevent *event : {&begin, &end})
    if (error.empty())
      error = driver->call(driver->cuEventCreate, event,
                           unsigned(cuda::CU_EVENT_DEFAULT));
  // Not while something is timed.
  if (error.empty())
    error = driver->call(driver->cuMemAlloc, &written, writtenBytes);
  return error;
}

std::string CudaChild::start(const std::string &payload) {
  size_t zero = payload.find('\0');
  std::string error = contextError;
  if (!error.empty())
    return error;
  std::optional<LaunchPlan> plan =
      parseLaunchPlan(payload.substr(0, zero), error);
  if (!plan)
    return error;
  program = std::make_unique<cuda::LoadedProgram>(*driver);
  return program->load(std::string_view(payload).substr(zero + 1),
                       std::move(*plan));
}

std::string CudaChild::open(const MapEntry &entry, CUdeviceptr &address) {
  std::string key(entry.handle, sizeof(entry.handle));
  auto [at, isNew] = opened.try_emplace(key, 0, 0);
  if (isNew) {
    cuda::CUipcMemHandle handle;
    std::memcpy(handle.reserved, entry.handle, sizeof(entry.handle));
    std::string error =
        driver->call(driver->cuIpcOpenMemHandle, &at->second.first, handle,
                     unsigned(cuda::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (!error.empty()) {
      opened.erase(at);
      return error;
    }
  }
  ++at->second.second;
  address = at->second.first;
  return {};
}

std::string CudaChild::map(uint32_t number, const std::string &payload) {
  Slot &slot = slots[number];
  for (size_t at = 0; at + sizeof(MapEntry) <= payload.size();
       at += sizeof(MapEntry)) {
    MapEntry entry;
    std::memcpy(&entry, payload.data() + at, sizeof(entry));
    Copy &copy = slot.copies.emplace_back();
    std::string error = open(entry, copy.theirs);
    if (!error.empty())
      return error;
    copy.handle.assign(entry.handle, sizeof(entry.handle));
    copy.bytes = entry.total;
    copy.ownBytes = (copy.bytes + pageBytes - 1) / pageBytes * pageBytes;
    error = driver->call(driver->cuMemAlloc, &copy.own, copy.ownBytes);
    if (!error.empty())
      return error;
    (entry.kind == 0   ? slot.buffers.inputs
     : entry.kind == 1 ? slot.buffers.outputs
                       : slot.buffers.workspaces)
        .push_back(copy.own + entry.offset);
  }
  return program->bind(slot.buffers, slot.maps);
}

std::string CudaChild::unmap(uint32_t number) {
  std::string error;
  auto keep = [&](const std::string &problem) {
    if (error.empty())
      error = problem;
  };
  for (const Copy &copy : slots[number].copies) {
    keep(driver->call(driver->cuMemFree, copy.own));
    auto at = opened.find(copy.handle);
    if (--at->second.second > 0)
      continue;
    keep(driver->call(driver->cuIpcCloseMemHandle, at->second.first));
    opened.erase(at);
  }
  slots.erase(number);
  return error;
}

/// Nothing that a program left in any of its memory outlives the call: neither
/// behind a buffer, to the end of its page, nor in the buffers of other calls.
std::string CudaChild::forget() {
  std::string error;
  for (const auto &[number, slot] : slots)
    for (const Copy &copy : slot.copies)
      if (error.empty())
        error = driver->call(driver->cuMemsetD8Async, copy.own,
                             static_cast<unsigned char>(0xFF), copy.ownBytes,
                             stream);
  return error;
}

/// Red zones and poison included, so that the worker sees all that happened.
std::string CudaChild::transfer(const Slot &slot, bool fetch) {
  std::string error;
  for (const Copy &copy : slot.copies)
    if (error.empty())
      error = driver->call(driver->cuMemcpyDtoDAsync,
                           fetch ? copy.own : copy.theirs,
                           fetch ? copy.theirs : copy.own, copy.bytes, stream);
  return error.empty() ? driver->call(driver->cuStreamSynchronize, stream)
                       : error;
}

/// A GPU that waited for the host has let its clocks down. Writing memory for a
/// while brings them up, and leaves nothing of the operands in the L2 cache.
std::string CudaChild::warmUp() {
  std::string error;
  uint64_t start = clockNs();
  uint64_t duration = start - lastTimed > longPauseNs ? longWarmUpNs : warmUpNs;
  while (error.empty() && clockNs() - start < duration) {
    for (int i = 0; i < 4 && error.empty(); ++i)
      error = driver->call(driver->cuMemsetD8Async, written,
                           static_cast<unsigned char>(i), writtenBytes, stream);
    if (error.empty())
      error = driver->call(driver->cuStreamSynchronize, stream);
  }
  lastTimed = clockNs();
  return error;
}

std::string CudaChild::call(uint32_t number, bool timed, CudaReply &reply) {
  Slot &slot = slots[number];
  std::string error = forget();
  if (error.empty())
    error = transfer(slot, /*fetch=*/true);
  if (error.empty() && timed)
    error = warmUp();
  // What an earlier launch pinned in the L2 cache does not help this one.
  if (error.empty())
    error = driver->call(driver->cuCtxResetPersistingL2Cache);
  if (!error.empty())
    return error;
  uint64_t before = clockNs();
  error = driver->call(driver->cuEventRecord, begin, stream);
  if (error.empty())
    error = program->enqueue(slot.buffers, slot.maps, stream);
  if (error.empty())
    error = driver->call(driver->cuEventRecord, end, stream);
  // The whole context: nothing of the program may run on.
  std::string late = driver->call(driver->cuCtxSynchronize);
  reply.hostNs = double(clockNs() - before);
  if (!error.empty() || !late.empty())
    return error.empty() ? late : error;
  float milliseconds = 0;
  error = driver->call(driver->cuEventElapsedTime, &milliseconds, begin, end);
  reply.eventNs = double(milliseconds) * 1e6;
  return error.empty() ? transfer(slot, /*fetch=*/false) : error;
}

int CudaChild::run() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  contextError = createContext();
  char ready = 1;
  if (!sendAll(cudaChildSocket, &ready, 1))
    return 1;
  for (;;) {
    CudaRequest request;
    if (receiveAll(cudaChildSocket, &request, sizeof(request), -1) !=
        Received::All)
      return 0;
    std::string payload(request.bytes, '\0');
    if (receiveAll(cudaChildSocket, payload.data(), payload.size(), -1) !=
        Received::All)
      return 1;
    CudaReply reply = {};
    std::string error;
    switch (request.command) {
    case CudaCommand::Start:
      error = start(payload);
      break;
    case CudaCommand::Map:
      error = map(request.slot, payload);
      break;
    case CudaCommand::Unmap:
      error = unmap(request.slot);
      break;
    case CudaCommand::Call:
      error = call(request.slot, request.timed != 0, reply);
      break;
    }
    reply.errorBytes = error.size();
    if (!sendAll(cudaChildSocket, &reply, sizeof(reply)) ||
        !sendAll(cudaChildSocket, error.data(), error.size()))
      return 1;
  }
}

int fastk::worker::runCudaChild() { return CudaChild().run(); }
