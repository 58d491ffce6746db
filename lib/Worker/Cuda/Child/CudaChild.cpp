//===- CudaChild.cpp - The process of a GPU program, from outside ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaChild.h"
#include "Phases.h"
#include "Values/Random.h"
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
static bool isTrusted(ProgramRole part) {
  return storesDoubles(part) || part == ProgramRole::Baseline ||
         part == ProgramRole::Control || part == ProgramRole::Empty;
}

/// What a process has used so far.
static double cpuSecondsOf(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
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
  return ticks / double(sysconf(_SC_CLK_TCK));
}

std::unique_ptr<CudaChild> CudaChild::start(GpuSession &session,
                                            ProgramRole part,
                                            const std::string &image,
                                            const LaunchPlan &plan,
                                            Failure &failure) {
  Phase phase("start");
  uint64_t kernels = session.memoryCubin.size();
  std::string payload(reinterpret_cast<const char *>(&kernels),
                      sizeof(kernels));
  payload += session.memoryCubin;
  payload += toJSON(plan);
  payload.push_back('\0');
  payload += image;
  ChildPool &pool = ChildPool::get();
  std::unique_ptr<CudaChild> child(
      new CudaChild(session, part, isTrusted(part) ? payload : ""));
  if (isTrusted(part) && (child->process = pool.takeLoaded(payload))) {
    child->cpuSecondsBefore = cpuSecondsOf(child->process->pid);
    return child;
  }
  child->process = isTrusted(part) ? pool.takeTrusted() : pool.take();
  if (!child->process) {
    failure = {Status::Error,
               std::string("cannot start a process: ") + strerror(errno)};
    return nullptr;
  }
  if (!child->process->awaitReady()) {
    child->process.reset();
    failure = {Status::Error, "a process with a CUDA context did not start"};
    return nullptr;
  }
  if (isTrusted(part))
    child->cpuSecondsBefore = cpuSecondsOf(child->process->pid);
  CudaReply reply;
  if (!child->ask(CudaCommand::Start, isTrusted(part), payload, startSeconds,
                  reply, failure))
    return nullptr;
  return child;
}

CudaChild::~CudaChild() { release(); }

void CudaChild::release() {
  if (!process)
    return;
  Failure ignored;
  if (!key.empty())
    while (process && !slots.empty())
      unmap(slots.begin()->first, ignored);
  if (process && !key.empty())
    ChildPool::get().keep(key, std::move(process));
  else if (process)
    ChildPool::get().retire(std::move(process));
}

bool CudaChild::ask(CudaCommand command, uint32_t slot,
                    const std::string &payload, double seconds,
                    CudaReply &reply, Failure &failure, bool timed,
                    std::string *answer) {
  const char *name = nameOf(part);
  if (!process) {
    failure = {Status::Error, std::string("the ") + name + " has ended"};
    return false;
  }
  CudaRequest request = {command, slot, timed, callKey, payload.size()};
  int socket = process->socket;
  std::string error;
  Received received = Received::Closed;
  if (sendAll(socket, &request, sizeof(request)) &&
      sendAll(socket, payload.data(), payload.size()))
    received = receiveAll(socket, &reply, sizeof(reply), seconds);
  if (received == Received::All) {
    for (int kind = 0; kind < spentKinds; ++kind)
      if (reply.spent[kind] > 0)
        Phase::wasSpentOn(spentNames[kind], reply.spent[kind]);
    error.resize(reply.bytes);
    received = receiveAll(socket, error.data(), error.size(), mapSeconds);
  }
  if (received == Received::All) {
    if (!reply.isError) {
      if (answer)
        *answer = std::move(error);
      return true;
    }
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
  // A context that has failed is of no further use, but for one that is full.
  if (command != CudaCommand::Map || failure.status != Status::Memory)
    process.reset();
  return false;
}

bool CudaChild::map(uint32_t number, const Operands *operands,
                    const Results *results, Failure &failure) {
  Phase phase("map");
  Slot &slot = slots[number];
  slot.operands = static_cast<const CudaOperands *>(operands);
  slot.results = static_cast<const CudaResults *>(results);
  std::string payload;
  auto add = [&](const std::vector<DeviceMemory> &group, Copy::Kind kind) {
    for (const DeviceMemory &memory : group) {
      slot.copies.push_back({kind, &memory});
      MapEntry entry = {memory.offset(), memory.size(), memory.total(),
                        uint64_t(kind)};
      payload.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
    }
  };
  if (operands)
    add(slot.operands->memory, Copy::Operand);
  if (results) {
    add(slot.results->memory, Copy::Result);
    add(slot.results->workspaces, Copy::Workspace);
  }
  CudaReply reply;
  std::string answer;
  auto request = [&] {
    return ask(CudaCommand::Map, number, payload, mapSeconds, reply, failure,
               false, &answer);
  };
  // What others only keep must not be what is missing here.
  if (!request() && (!process || !session.makeRoom() || !request())) {
    process.reset();
    return false;
  }
  if (answer.size() != slot.copies.size() * sizeof(MappedEntry))
    return fail(failure, "mapped other buffers than it was asked for");
  for (size_t i = 0; i < slot.copies.size(); ++i) {
    MappedEntry entry;
    std::memcpy(&entry, answer.data() + i * sizeof(entry), sizeof(entry));
    Copy &copy = slot.copies[i];
    std::string error = process->open(
        std::string(entry.handle, sizeof(entry.handle)), copy.begin);
    if (!error.empty())
      return fail(failure, error);
    copy.begin = copy.begin + entry.start;
  }
  return true;
}

bool CudaChild::unmap(uint32_t slot, Failure &failure) {
  Phase phase("map");
  CudaReply reply;
  slots.erase(slot);
  return ask(CudaCommand::Unmap, slot, {}, mapSeconds, reply, failure);
}

bool CudaChild::set(const std::string &variable, std::string_view bytes,
                    Failure &failure) {
  std::string payload = variable;
  payload.push_back('\0');
  payload += bytes;
  CudaReply reply;
  return ask(CudaCommand::Set, 0, payload, mapSeconds, reply, failure);
}

bool CudaChild::fail(Failure &failure, const std::string &error) {
  failure = {Status::Error, std::string("the ") + nameOf(part) + ": " + error};
  return false;
}

/// Operands with their red zones. All else of its memory the child overwrites.
std::string CudaChild::fill(const Slot &slot) {
  Phase phase("copy");
  const cuda::Driver &driver = *session.driver;
  std::string error;
  for (const Copy &copy : slot.copies)
    if (copy.kind == Copy::Operand && error.empty())
      error = driver.call(driver.cuMemcpyDtoD, copy.begin,
                          copy.memory->allocation(), copy.memory->total());
  return error.empty() ? driver.call(driver.cuCtxSynchronize) : error;
}

/// Results come back whole, red zones included. What must not have changed is
/// looked at where it is.
std::string CudaChild::fetch(const Slot &slot) {
  Phase phase("copy");
  const cuda::Driver &driver = *session.driver;
  std::string error;
  std::string changed, around;
  size_t index = 0;
  for (const Copy &copy : slot.copies) {
    cuda::CUdeviceptr begin = copy.begin;
    if (copy.kind == Copy::Result) {
      error = driver.call(driver.cuMemcpyDtoD, copy.memory->allocation(), begin,
                          copy.memory->total());
    } else if (copy.kind == Copy::Workspace) {
      if (!copy.memory->redZonesAlive(begin))
        slot.results->workspaceDamage = "wrote outside its workspace";
    } else {
      uint64_t hash = 0;
      error = session.hashOf(begin + copy.memory->offset(), copy.memory->size(),
                             hash);
      if (hash != slot.operands->hashes[index])
        changed = "changed its inputs";
      else if (around.empty() && !copy.memory->redZonesAlive(begin))
        around = "wrote around operand " + std::to_string(index);
      ++index;
    }
    if (!error.empty())
      return error;
  }
  if (slot.results && slot.results->operandDamage.empty())
    slot.results->operandDamage = changed.empty() ? around : changed;
  return driver.call(driver.cuCtxSynchronize);
}

bool CudaChild::call(uint32_t number, double timeoutSeconds, CallTime &time,
                     Failure &failure, bool timed) {
  const Slot &slot = slots[number];
  // What the program finds around and in its buffers is another in each call.
  callKey = secretSeed();
  for (size_t i = 0; i < slot.copies.size(); ++i)
    if (slot.copies[i].kind != Copy::Operand)
      slot.copies[i].memory->noteRedZones(bitsAt(callKey, i));
  if (std::string error = fill(slot); !error.empty())
    return fail(failure, error);
  {
    Phase phase(nameOf(part));
    CudaReply reply;
    if (!ask(CudaCommand::Call, number, {}, timeoutSeconds, reply, failure,
             timed))
      return false;
    time.ns = reply.eventNs;
    time.otherNs = reply.hostNs;
  }
  std::string error = fetch(slot);
  return error.empty() || fail(failure, error);
}

Resources CudaChild::finish() {
  Resources resources;
  if (!process)
    return resources;
  resources.cpuSeconds =
      std::max(0.0, cpuSecondsOf(process->pid) - cpuSecondsBefore);
  // The most of a process that goes on is that of whichever program was
  // largest.
  if (key.empty()) {
    std::ifstream status("/proc/" + std::to_string(process->pid) + "/status");
    for (std::string word; status >> word;)
      if (word == "VmHWM:" && status >> resources.peakMemoryBytes)
        resources.peakMemoryBytes *= 1024;
  }
  release();
  return resources;
}
