//===- ChildMain.cpp - The process of a GPU program -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildAssemble.h"
#include "ChildContext.h"
#include "ChildProtocol.h"
#include "Clock.h"
#include "Cuda/MemoryKernels.h"
#include "Values/Random.h"
#include "fastk/Cuda/Cubin.h"
#include "fastk/Cuda/LoadedProgram.h"
#include "fastk/Cuda/ModuleWatch.h"
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
  /// As in MapEntry.
  uint64_t kind = 0;
};

/// Buffers of one call, and what was made ready for it.
struct Slot {
  cuda::DeviceBuffers buffers;
  cuda::BoundProgram bound;
  std::vector<Place> places;
  /// Of a thread of any of its kernels.
  int localBytes = 0;
};

class CudaChild {
public:
  int run();

private:
  std::string createContext();
  std::string serve(std::string payload, bool ofTrusted);
  std::string start(const std::string &payload);
  std::string map(uint32_t slot, const std::string &payload, CudaReply &reply,
                  std::string &answer);
  std::string unmap(uint32_t slot);
  std::string makeRoom();
  std::string loadMemoryKernels(std::string &payload);
  std::string renew(Slot &slot);
  std::string wipe(const Slot &slot, uint64_t key);
  std::string scrub(const Slot &slot);
  std::string warmUp();
  std::string measureFence();
  std::string call(uint32_t slot, bool timed, uint64_t key, CudaReply &reply);
  std::string allocate(size_t bytes, CUdeviceptr &block);

  const cuda::Driver *driver = nullptr;
  cuda::CUcontext context = nullptr;
  cuda::CUstream stream = nullptr;
  /// Around the program; and behind the kernel that waits for its memory.
  cuda::CUevent begin = nullptr, end = nullptr, fenced = nullptr;
  /// What that kernel takes behind work that is in memory, as this program's
  /// time saw it.
  static constexpr double kNoFence = 1e9;
  double fenceNs = kNoFence;
  MemoryKernels memory;
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
  /// Of a program that is not trusted.
  std::unique_ptr<cuda::ModuleWatch> moduleData;
  /// Where its data cannot be found: the code, to be loaded before every call.
  std::string renewedCode;
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
  std::string error =
      createChildContext(driver, context, stream, {&begin, &end, &fenced});
  // Not while something is timed.
  if (error.empty())
    error = driver->call(driver->cuMemAlloc, &written, writtenBytes);
  return error;
}

/// Takes them off the front of the payload.
std::string CudaChild::loadMemoryKernels(std::string &payload) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, payload.data(), std::min(sizeof(bytes), payload.size()));
  if (payload.size() < sizeof(bytes) || payload.size() - sizeof(bytes) < bytes)
    return "the worker's own kernels are missing";
  // A process that has had a program has them.
  std::string error;
  if (!program)
    error = memory.load(*driver,
                        std::string_view(payload).substr(sizeof(bytes), bytes));
  payload.erase(0, sizeof(bytes) + bytes);
  return error;
}

/// The first program; or the next one, where all are trusted.
std::string CudaChild::serve(std::string payload, bool ofTrusted) {
  if (!contextError.empty())
    return contextError;
  if (program && !(isTrusted && ofTrusted && slots.empty()))
    return "this process is for the program that it has";
  isTrusted = ofTrusted;
  std::string error = loadMemoryKernels(payload);
  return error.empty() ? start(payload) : error;
}

std::string CudaChild::start(const std::string &payload) {
  size_t zero = payload.find('\0');
  std::string error;
  std::optional<LaunchPlan> plan =
      parseLaunchPlan(payload.substr(0, zero), error);
  if (!plan)
    return error;
  std::string_view image = std::string_view(payload).substr(zero + 1);
  std::string assembled;
  if (!isTrusted && !cuda::isCubin(image)) {
    if (error = assembleHere(*driver, image, assembled); !error.empty())
      return error;
    image = assembled;
  }
  fenceNs = kNoFence;
  program = std::make_unique<cuda::LoadedProgram>(*driver);
  error = program->load(image, std::move(*plan));
  if (!error.empty() || isTrusted)
    return error;
  moduleData = std::make_unique<cuda::ModuleWatch>(*driver);
  if (!moduleData->start(program->module(), image).empty()) {
    moduleData.reset();
    renewedCode = image;
  }
  return {};
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
                           buffer + entry.bytes, entry.kind});
    (entry.kind == 0   ? slot.buffers.inputs
     : entry.kind == 1 ? slot.buffers.outputs
                       : slot.buffers.workspaces)
        .push_back(buffer);
  }
  reply.spent[SpentAllocating] = double(clockNs() - begin) * 1e-9;
  if (error.empty())
    error = program->bind(slot.buffers, slot.bound);
  for (const cuda::BoundProgram::Step &step : slot.bound.steps) {
    cuda::FunctionAttributes attributes;
    if (error.empty() && step.function)
      error = cuda::getAttributes(*driver, step.function, attributes);
    slot.localBytes = std::max(slot.localBytes, attributes.localBytes);
  }
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

/// A module that is loaded anew has its first data.
std::string CudaChild::renew(Slot &slot) {
  LaunchPlan plan = program->plan;
  // Unloaded before.
  program.reset();
  program = std::make_unique<cuda::LoadedProgram>(*driver);
  if (std::string error = program->load(renewedCode, std::move(plan));
      !error.empty())
    return error;
  slot.bound.steps.clear();
  slot.bound.maps.clear();
  return program->bind(slot.buffers, slot.bound);
}

/// Nothing that a program left in any of its memory outlives the call, and what
/// it finds there nobody can know: NaN in results, any bits or NaN in
/// workspaces. What is written last is the same for all programs, so that they
/// find the L2 cache alike.
std::string CudaChild::wipe(const Slot &slot, uint64_t key) {
  // What an earlier launch pinned in the L2 cache does not help this one. What
  // is no longer pinned is evicted by what is written from here on.
  std::string error = driver->call(driver->cuCtxResetPersistingL2Cache);
  uint64_t other = secretSeed();
  // Of the pattern that begins at base.
  auto fill = [&](CUdeviceptr base, CUdeviceptr begin, CUdeviceptr end,
                  Pattern pattern, uint64_t ofKey) {
    if (error.empty())
      error =
          memory.write(base, begin - base, end - base, pattern, ofKey, stream);
  };
  std::set<CUdeviceptr> own;
  for (size_t i = 0; i < slot.places.size(); ++i) {
    const Place &place = slot.places[i];
    own.insert(place.block);
    CUdeviceptr end = place.block + blocks.at(place.block).bytes;
    fill(place.block, place.block, place.begin, Pattern::Poison, other);
    fill(place.block, place.end, end, Pattern::Poison, other);
    if (place.kind == 0)
      continue;
    uint64_t zones = bitsAt(key, i);
    fill(place.begin, place.begin, place.bufferBegin, Pattern::Canary, zones);
    fill(place.begin, place.bufferBegin, place.bufferEnd,
         place.kind == 1 ? Pattern::Poison : Pattern::Undefined, ~zones);
    fill(place.begin, place.bufferEnd, place.end, Pattern::Canary, zones);
  }
  for (const auto &[address, block] : blocks)
    if (!isTrusted && own.count(address) == 0)
      fill(address, address, address + block.bytes, Pattern::Poison, other);
  if (error.empty())
    error = scrub(slot);
  if (error.empty())
    error =
        driver->call(driver->cuMemsetD8Async, written,
                     static_cast<unsigned char>(0xFF), writtenBytes, stream);
  return error.empty() ? driver->call(driver->cuStreamSynchronize, stream)
                       : error;
}

/// Local and shared memory have no addresses outside a kernel, and nobody
/// clears them: what a kernel left there the next one can read.
std::string CudaChild::scrub(const Slot &slot) {
  std::string error = memory.scrubShared(secretSeed(), stream);
  if (error.empty() && slot.localBytes > 0)
    error = memory.scrubLocal(slot.localBytes, secretSeed(), stream);
  return error;
}

/// How long the fence takes where nothing is left to wait for; the least that
/// was seen.
std::string CudaChild::measureFence() {
  std::string error =
      driver->call(driver->cuMemsetD8Async, written,
                   static_cast<unsigned char>(0), writtenBytes, stream);
  if (error.empty())
    error = driver->call(driver->cuEventRecord, end, stream);
  if (error.empty())
    error = memory.fence(stream);
  if (error.empty())
    error = driver->call(driver->cuEventRecord, fenced, stream);
  if (error.empty())
    error = driver->call(driver->cuStreamSynchronize, stream);
  float milliseconds = 0;
  if (error.empty())
    error =
        driver->call(driver->cuEventElapsedTime, &milliseconds, end, fenced);
  if (error.empty())
    fenceNs = std::min(fenceNs, double(milliseconds) * 1e6);
  return error;
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

std::string CudaChild::call(uint32_t number, bool timed, uint64_t key,
                            CudaReply &reply) {
  Slot &slot = slots[number];
  uint64_t start = clockNs();
  auto spent = [&](SpentOn kind) {
    uint64_t now = clockNs();
    reply.spent[kind] = double(now - start) * 1e-9;
    start = now;
  };
  std::string error = renewedCode.empty() ? "" : renew(slot);
  if (error.empty())
    error = wipe(slot, key);
  spent(SpentWiping);
  if (error.empty() && timed)
    error = warmUp();
  if (error.empty() && timed)
    error = measureFence();
  spent(SpentWarmingUp);
  if (!error.empty())
    return error;
  uint64_t before = clockNs();
  error = driver->call(driver->cuEventRecord, begin, stream);
  if (error.empty())
    error = program->enqueue(slot.bound, stream);
  if (error.empty())
    error = driver->call(driver->cuEventRecord, end, stream);
  if (error.empty())
    error = memory.fence(stream);
  if (error.empty())
    error = driver->call(driver->cuEventRecord, fenced, stream);
  double enqueueNs = double(clockNs() - before);
  // The whole context: nothing of the program may run on.
  std::string late = driver->call(driver->cuCtxSynchronize);
  reply.hostNs = double(clockNs() - before);
  if (!error.empty() || !late.empty())
    return error.empty() ? late : error;
  float milliseconds = 0, behind = 0;
  error = driver->call(driver->cuEventElapsedTime, &milliseconds, begin, end);
  if (error.empty())
    error = driver->call(driver->cuEventElapsedTime, &behind, end, fenced);
  reply.eventNs = double(milliseconds) * 1e6;
  // Stores that nobody awaited may reach memory after the last kernel has
  // ended: they count. Events are good to half a microsecond. What ends before
  // the fence is enqueued tells how fast the host is, and nothing else.
  constexpr double tolerance = 1500;
  double more = double(behind) * 1e6 - fenceNs;
  if (timed && more > tolerance && reply.eventNs > enqueueNs)
    reply.eventNs += more;
  if (error.empty() && moduleData)
    error = moduleData->check();
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
      error = serve(std::move(payload), request.slot != 0);
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
      if (error.empty() && moduleData)
        error = moduleData->keep();
      break;
    case CudaCommand::Call:
      error = call(request.slot, request.timed != 0, request.key, reply);
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
