//===- ChildMain.cpp - The process of a GPU program -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Clock.h"
#include "../Random.h"
#include "ChildProtocol.h"
#include "fastk/Cuda/LoadedProgram.h"
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <sys/prctl.h>

using namespace fastk;
using namespace fastk::worker;
using cuda::CUdeviceptr;

namespace {

/// Memory of this process that the worker has open. What a program works on is
/// its process's own: memory that another process made is read and written at
/// half the speed (seen on an H200), and that is not what is to be timed.
struct Block {
  size_t bytes = 0;
  cuda::CUipcMemHandle handle = {};
};

/// What a buffer of a call lies in.
struct Place {
  CUdeviceptr block = 0;
  /// Of the allocation in it, of its red zones, and of the buffer between them.
  CUdeviceptr begin = 0, end = 0, bufferBegin = 0, bufferEnd = 0;
  bool isOperand = false;
};

/// Buffers of one call, and what was made ready for it.
struct Slot {
  cuda::DeviceBuffers buffers;
  cuda::BoundProgram bound;
  std::vector<Place> places;
};

class CudaChild {
public:
  int run();

private:
  std::string createContext();
  std::string start(const std::string &payload);
  std::string map(uint32_t slot, const std::string &payload, CudaReply &reply,
                  std::string &answer);
  std::string unmap(uint32_t slot);
  std::string makeRoom();
  std::string wipe(const Slot &slot);
  std::string warmUp();
  std::string call(uint32_t slot, bool timed, CudaReply &reply);
  std::string allocate(size_t bytes, CUdeviceptr &block);

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
  /// Of the GPU's memory.
  static constexpr size_t pageBytes = size_t(2) << 20;
  std::unique_ptr<cuda::LoadedProgram> program;
  std::map<uint32_t, Slot> slots;
  /// All blocks; and those of no slot, which are used again.
  std::map<CUdeviceptr, Block> blocks;
  std::vector<CUdeviceptr> idle;
  /// One of fastk's own, which leaves nothing behind on purpose.
  bool isTrusted = false;
};

} // namespace

std::string CudaChild::createContext() {
  // One stream needs one channel; eight, the default, take twice as long to
  // make and to end (110 and 52 ms on an H200, not 55 and 22).
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", /*replace=*/1);
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

/// Of whole pages, since a program reaches the rest of a page it has a part of.
std::string CudaChild::allocate(size_t bytes, CUdeviceptr &address) {
  bytes = (bytes + pageBytes - 1) / pageBytes * pageBytes;
  auto at = std::find_if(idle.begin(), idle.end(), [&](CUdeviceptr block) {
    return blocks.at(block).bytes == bytes;
  });
  if (at != idle.end()) {
    address = *at;
    idle.erase(at);
    return {};
  }
  Block block;
  block.bytes = bytes;
  std::string error = driver->call(driver->cuMemAlloc, &address, bytes);
  if (!error.empty())
    return error;
  error = driver->call(driver->cuIpcGetMemHandle, &block.handle, address);
  blocks[address] = block;
  return error;
}

std::string CudaChild::map(uint32_t number, const std::string &payload,
                           CudaReply &reply, std::string &answer) {
  uint64_t begin = clockNs();
  Slot &slot = slots[number];
  std::string error;
  for (size_t at = 0; at + sizeof(MapEntry) <= payload.size() && error.empty();
       at += sizeof(MapEntry)) {
    MapEntry entry;
    std::memcpy(&entry, payload.data() + at, sizeof(entry));
    CUdeviceptr block = 0;
    // One page more: a buffer begins anywhere in the first, so whoever keeps
    // addresses in mind has not seen this one, also in a block used before.
    error = allocate(entry.total + pageBytes, block);
    if (!error.empty())
      break;
    constexpr uint64_t step = 4096;
    MappedEntry mapped;
    mapped.start = secretSeed() % (pageBytes / step) * step;
    std::memcpy(mapped.handle, blocks.at(block).handle.reserved,
                sizeof(mapped.handle));
    answer.append(reinterpret_cast<const char *>(&mapped), sizeof(mapped));
    CUdeviceptr from = block + mapped.start, buffer = from + entry.offset;
    slot.places.push_back({block, from, from + entry.total, buffer,
                           buffer + entry.bytes, entry.kind == 0});
    (entry.kind == 0   ? slot.buffers.inputs
     : entry.kind == 1 ? slot.buffers.outputs
                       : slot.buffers.workspaces)
        .push_back(buffer);
  }
  reply.spent[SpentAllocating] = double(clockNs() - begin) * 1e-9;
  if (error.empty())
    error = program->bind(slot.buffers, slot.bound);
  if (!error.empty())
    unmap(number);
  return error;
}

std::string CudaChild::unmap(uint32_t number) {
  for (const Place &place : slots[number].places)
    idle.push_back(place.block);
  slots.erase(number);
  return {};
}

std::string CudaChild::makeRoom() {
  std::string error;
  for (CUdeviceptr block : idle) {
    if (error.empty())
      error = driver->call(driver->cuMemFree, block);
    blocks.erase(block);
  }
  idle.clear();
  return error;
}

/// Nothing that a program left in any of its memory outlives the call, and what
/// it has not written is NaN. What is written last is the same for all
/// programs, so that they find the L2 cache alike.
std::string CudaChild::wipe(const Slot &slot) {
  std::string error;
  auto fill = [&](CUdeviceptr begin, CUdeviceptr end, unsigned char value) {
    if (begin < end && error.empty())
      error = driver->call(driver->cuMemsetD8Async, begin, value,
                           size_t(end - begin), stream);
  };
  std::set<CUdeviceptr> own;
  for (const Place &place : slot.places) {
    own.insert(place.block);
    CUdeviceptr end = place.block + blocks.at(place.block).bytes;
    fill(place.block, place.begin, poisonByte);
    fill(place.end, end, poisonByte);
    if (place.isOperand)
      continue;
    fill(place.begin, place.bufferBegin, canaryByte);
    fill(place.bufferBegin, place.bufferEnd, poisonByte);
    fill(place.bufferEnd, place.end, canaryByte);
  }
  for (const auto &[address, block] : blocks)
    if (!isTrusted && own.count(address) == 0)
      fill(address, address + block.bytes, poisonByte);
  fill(written, written + writtenBytes, poisonByte);
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
  uint64_t start = clockNs();
  auto spent = [&](SpentOn kind) {
    uint64_t now = clockNs();
    reply.spent[kind] = double(now - start) * 1e-9;
    start = now;
  };
  std::string error = wipe(slot);
  spent(SpentWiping);
  if (error.empty() && timed)
    error = warmUp();
  spent(SpentWarmingUp);
  // What an earlier launch pinned in the L2 cache does not help this one.
  if (error.empty())
    error = driver->call(driver->cuCtxResetPersistingL2Cache);
  if (!error.empty())
    return error;
  uint64_t before = clockNs();
  error = driver->call(driver->cuEventRecord, begin, stream);
  if (error.empty())
    error = program->enqueue(slot.bound, stream);
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
  return error;
}

int CudaChild::run() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  uint64_t begin = clockNs();
  contextError = createContext();
  double seconds = double(clockNs() - begin) * 1e-9;
  if (!sendAll(cudaChildSocket, &seconds, sizeof(seconds)))
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
    std::string error, answer;
    switch (request.command) {
    case CudaCommand::Start:
      isTrusted = request.slot != 0;
      error = start(payload);
      break;
    case CudaCommand::Map:
      error = map(request.slot, payload, reply, answer);
      break;
    case CudaCommand::Unmap:
      error = unmap(request.slot);
      break;
    case CudaCommand::MakeRoom:
      error = makeRoom();
      break;
    case CudaCommand::Set:
      if (size_t zero = payload.find('\0'); program && zero != payload.npos)
        error =
            program->setVariable(payload.substr(0, zero),
                                 std::string_view(payload).substr(zero + 1));
      break;
    case CudaCommand::Call:
      error = call(request.slot, request.timed != 0, reply);
      break;
    }
    reply.isError = !error.empty();
    const std::string &text = error.empty() ? answer : error;
    reply.bytes = text.size();
    if (!sendAll(cudaChildSocket, &reply, sizeof(reply)) ||
        !sendAll(cudaChildSocket, text.data(), text.size()))
      return 1;
  }
}

int fastk::worker::runCudaChild() { return CudaChild().run(); }
