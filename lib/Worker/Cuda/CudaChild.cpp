//===- CudaChild.cpp - The process of a GPU program, from outside ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaChild.h"
#include "CudaDevice.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

using namespace fastk::worker;

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

/// Programs that fastk made itself.
static bool isTrusted(Part part) {
  return part == Part::Oracle || part == Part::Baseline ||
         part == Part::Control || part == Part::Empty;
}

std::unique_ptr<CudaChild> CudaChild::start(Part part, const std::string &image,
                                            const LaunchPlan &plan,
                                            Failure &failure) {
  std::string payload = toJSON(plan);
  payload.push_back('\0');
  payload += image;
  ChildPool &pool = ChildPool::get();
  std::unique_ptr<CudaChild> child(
      new CudaChild(part, isTrusted(part) ? payload : ""));
  if (isTrusted(part) && (child->process = pool.takeLoaded(payload)))
    return child;
  child->process = pool.take();
  if (!child->process) {
    failure = {Status::Error,
               std::string("cannot start a process: ") + strerror(errno)};
    return nullptr;
  }
  char ready = 0;
  if (!child->process->isReady && receiveAll(child->process->socket, &ready, 1,
                                             startSeconds) != Received::All) {
    child->process.reset();
    failure = {Status::Error, "a process with a CUDA context did not start"};
    return nullptr;
  }
  CudaReply reply;
  if (!child->ask(CudaCommand::Start, 0, payload, startSeconds, reply, failure))
    return nullptr;
  return child;
}

CudaChild::~CudaChild() { release(); }

void CudaChild::release() {
  if (!process)
    return;
  Failure ignored;
  if (!key.empty())
    for (uint32_t slot : std::set<uint32_t>(mapped))
      if (process)
        unmap(slot, ignored);
  if (process && !key.empty())
    ChildPool::get().keep(key, std::move(process));
  process.reset();
}

bool CudaChild::ask(CudaCommand command, uint32_t slot,
                    const std::string &payload, double seconds,
                    CudaReply &reply, Failure &failure, bool timed) {
  const char *name = nameOf(part);
  if (!process) {
    failure = {Status::Error, std::string("the ") + name + " has ended"};
    return false;
  }
  CudaRequest request = {command, slot, timed, payload.size()};
  int socket = process->socket;
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
  process.reset();
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
  mapped.insert(slot);
  return ask(CudaCommand::Map, slot, payload, mapSeconds, reply, failure);
}

bool CudaChild::unmap(uint32_t slot, Failure &failure) {
  CudaReply reply;
  mapped.erase(slot);
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
  if (!process)
    return resources;
  // A process that goes on has used what it has used so far.
  std::string folder = "/proc/" + std::to_string(process->pid);
  std::ifstream status(folder + "/status"), stat(folder + "/stat");
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> resources.peakMemoryBytes)
      resources.peakMemoryBytes *= 1024;
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  // Behind the name, which may hold anything: the 12th and 13th are ticks.
  std::istringstream fields(
      text.substr(std::min(text.size(), text.rfind(')'))));
  std::string field;
  double ticks = 0, number = 0;
  for (int i = 0; i < 12; ++i)
    fields >> field;
  for (int i = 0; i < 2 && fields >> number; ++i)
    ticks += number;
  resources.cpuSeconds = ticks / double(sysconf(_SC_CLK_TCK));
  release();
  return resources;
}
