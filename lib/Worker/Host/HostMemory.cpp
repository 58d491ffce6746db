//===- HostMemory.cpp - Operands and results in memory files --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Phases.h"
#include "HostDevice.h"
#include "Values/Hash.h"
#include "Values/Inputs.h"
#include "Values/Random.h"
#include <cstring>

using namespace fastk::worker;

static HostOperands &hostOf(Operands &operands) {
  return static_cast<HostOperands &>(operands);
}
static const HostOperands &hostOf(const Operands &operands) {
  return static_cast<const HostOperands &>(operands);
}
static HostResults &hostOf(Results &results) {
  return static_cast<HostResults &>(results);
}
static const HostResults &hostOf(const Results &results) {
  return static_cast<const HostResults &>(results);
}

uint64_t HostDevice::hashOf(const SharedBuffer &buffer) const {
  return hash.of(buffer.data(), buffer.size());
}

void HostDevice::rehash(HostOperands &set) const {
  for (size_t i = 0; i < set.buffers.size(); ++i)
    set.hashes[i] = hashOf(set.buffers[i]);
}

std::unique_ptr<Operands> HostDevice::createOperands(Failure &failure) {
  Phase phase("allocate");
  auto set = std::make_unique<HostOperands>();
  set->buffers.resize(job.inputs.size());
  set->hashes.assign(job.inputs.size(), 0);
  std::string error;
  for (size_t i = 0; i < job.inputs.size(); ++i)
    if (!set->buffers[i].create(size_t(job.inputs[i].bytes()), false, error)) {
      failure = {Status::Error, error};
      return nullptr;
    }
  return set;
}

std::unique_ptr<Results> HostDevice::createResults(ProgramRole part,
                                                   Failure &failure) {
  Phase phase("allocate");
  auto set = std::make_unique<HostResults>(storesDoubles(part));
  set->buffers.resize(job.outputs.size());
  std::string error;
  const Program *program = programOf(job, part);
  size_t workspaceBytes = program ? size_t(program->workspaceBytes) : 0;
  bool ok = set->workspace.create(workspaceBytes, true, error);
  for (size_t o = 0; ok && o < job.outputs.size(); ++o) {
    const Tensor &tensor = job.outputs[o];
    int64_t bytes = set->ofOracle && isFloat(tensor.type)
                        ? tensor.elements() * 8
                        : tensor.bytes();
    ok = set->buffers[o].create(size_t(bytes), true, error);
  }
  if (!ok) {
    failure = {Status::Error, error};
    return nullptr;
  }
  return set;
}

void HostDevice::fill(Operands &operands, const Trial &trial,
                      Placement placement) {
  Phase phase("draw");
  HostOperands &set = hostOf(operands);
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    set.buffers[i].place(placement);
    set.buffers[i].setCanaries(secretSeed());
    fillInput(job, i, trial, set.buffers[i].data());
  }
  rehash(set);
}

void HostDevice::copy(
    Operands &operands, Placement placement,
    const std::function<const void *(size_t index)> &bytesOf) {
  Phase phase("draw");
  HostOperands &set = hostOf(operands);
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    set.buffers[i].place(placement);
    set.buffers[i].setCanaries(secretSeed());
    std::memcpy(set.buffers[i].data(), bytesOf(i),
                size_t(job.inputs[i].bytes()));
  }
  rehash(set);
}

void HostDevice::redraw(Operands &operands, size_t index, const Trial &trial) {
  Phase phase("draw");
  HostOperands &set = hostOf(operands);
  fillInput(job, index, trial, set.buffers[index].data());
  set.hashes[index] = hashOf(set.buffers[index]);
}

void HostDevice::mutate(Operands &operands, const Trial &trial, uint64_t seed) {
  Phase phase("draw");
  HostOperands &set = hostOf(operands);
  for (size_t i = 0; i < job.inputs.size(); ++i)
    worker::mutate(job, i, trial, seed, set.buffers[i].data());
  rehash(set);
}

void HostDevice::perturb(const Operands &from, Operands &to, const Trial &trial,
                         uint64_t draw, double delta, Placement placement) {
  Phase phase("draw");
  HostOperands &set = hostOf(to);
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    set.buffers[i].place(placement);
    set.buffers[i].setCanaries(secretSeed());
    worker::perturb(job.inputs[i], bitsAt(trial.seed, 500 + i + 1000 * draw),
                    delta, hostOf(from).buffers[i].data(),
                    set.buffers[i].data());
  }
  rehash(set);
}

bool HostDevice::roundToHalf(Operands &operands) {
  Phase phase("draw");
  HostOperands &set = hostOf(operands);
  bool any = false;
  for (size_t i = 0; i < job.inputs.size(); ++i)
    any |= worker::roundToHalf(job.inputs[i], set.buffers[i].data());
  rehash(set);
  return any;
}

void HostDevice::place(Results &results, Placement placement) {
  for (SharedBuffer &buffer : hostOf(results).buffers)
    buffer.place(placement);
  hostOf(results).workspace.place(placement);
}

void HostDevice::poison(Results &results) {
  Phase phase("poison");
  for (SharedBuffer &buffer : hostOf(results).buffers)
    buffer.poison(Pattern::Poison, secretSeed());
  hostOf(results).workspace.poison(Pattern::Undefined, secretSeed());
}

std::string HostDevice::damage(const Operands &operands,
                               const Results &results) {
  Phase phase("check");
  const HostOperands &in = hostOf(operands);
  const HostResults &out = hostOf(results);
  for (size_t i = 0; i < in.buffers.size(); ++i)
    if (in.hashes[i] != hashOf(in.buffers[i]))
      return "changed its inputs";
  for (size_t i = 0; i < in.buffers.size(); ++i)
    if (!in.buffers[i].canariesAlive())
      return "wrote around operand " + std::to_string(i);
  for (size_t o = 0; o < out.buffers.size(); ++o)
    if (!out.buffers[o].canariesAlive())
      return "wrote outside result " + std::to_string(o);
  if (!out.workspace.canariesAlive())
    return "wrote outside its workspace";
  return {};
}

const void *HostDevice::bytesOf(const Operands &operands, size_t index) {
  return hostOf(operands).buffers[index].data();
}

const void *HostDevice::bytesOf(const Results &results, size_t index) {
  return hostOf(results).buffers[index].data();
}

uint64_t HostDevice::hashOf(const Results &results) {
  uint64_t hash = 0;
  for (const SharedBuffer &buffer : hostOf(results).buffers)
    hash = mix(hash) ^ hashOf(buffer);
  return hash;
}
