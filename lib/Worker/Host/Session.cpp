//===- Session.cpp - What the phases of an evaluation share ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "../Parallel.h"
#include "../Random.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sched.h>
#include <unistd.h>

using namespace fastk::worker;

/// Processors this process may use.
static int64_t processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
}

Session::Session(const Job &job, Verdict &verdict)
    : job(job), verdict(verdict) {}

bool Session::open(Failure &failure) {
  threads = job.time.threads ? job.time.threads : processors();
  wallSeconds = job.limits.wallSeconds > 0 ? job.limits.wallSeconds : 10;
  verdict.timing.threads = threads;
  verdict.timing.cache = job.time.cache;
  std::string error;
  auto read = [&](ProgramImage &image, const Program &program,
                  const char *name) {
    if (image.read(program.path, error))
      return true;
    failure = {Status::Error,
               std::string("the ") + name + " cannot be read: " + error};
    return false;
  };
  if (!read(oracle, job.oracle, "oracle") ||
      !read(baseline, job.baseline, "baseline") ||
      (job.incumbent && !read(incumbent, *job.incumbent, "incumbent")) ||
      !read(candidate, job.candidate, "candidate"))
    return false;
  verdict.audit.candidateHash = candidate.hash();
  return true;
}

/// FNV-1a over words; inputs are read at memory speed.
static uint64_t hashPart(const char *data, size_t bytes) {
  uint64_t hash[4] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + 32 <= bytes; i += 32) {
    uint64_t words[4];
    std::memcpy(words, data + i, 32);
    for (int k = 0; k < 4; ++k)
      hash[k] = (hash[k] ^ words[k]) * 0x9fb21c651e98df25u + (hash[k] >> 29);
  }
  uint64_t tail = 0xcbf29ce484222325u;
  for (; i < bytes; ++i)
    tail = (tail ^ static_cast<unsigned char>(data[i])) * 0x100000001b3u;
  return mix(mix(mix(mix(hash[0]) + hash[1]) + hash[2]) + hash[3]) ^ tail;
}

/// The hash of the hashes of its pieces, which several threads compute.
static uint64_t hashBytes(const char *data, size_t bytes) {
  constexpr size_t piece = size_t(1) << 20;
  size_t pieces = (bytes + piece - 1) / piece;
  std::vector<uint64_t> hashes(pieces);
  parallelFor(int64_t(bytes), int64_t(piece),
              [&](int64_t, int64_t begin, int64_t end) {
                for (size_t at = size_t(begin); at < size_t(end); at += piece)
                  hashes[at / piece] =
                      hashPart(data + at, std::min(piece, size_t(end) - at));
              });
  return hashPart(reinterpret_cast<const char *>(hashes.data()),
                  pieces * sizeof(uint64_t));
}

static int64_t lastLevelCache() {
  int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : int64_t(64) << 20;
}

bool Session::mustFlush() const {
  int64_t footprint = 0;
  for (const Tensor &tensor : job.inputs)
    footprint += tensor.bytes();
  for (const Tensor &tensor : job.outputs)
    footprint += tensor.bytes();
  // What exceeds the caches evicts itself.
  return job.time.cache == Cache::Cold && footprint <= 4 * lastLevelCache();
}

bool Session::createInputs(InputSet &set, Failure &failure) const {
  set.buffers.resize(job.inputs.size());
  set.hashes.assign(job.inputs.size(), 0);
  std::string error;
  for (size_t i = 0; i < job.inputs.size(); ++i)
    if (!set.buffers[i].create(size_t(job.inputs[i].bytes()), false, error)) {
      failure = {Status::Error, error};
      return false;
    }
  return true;
}

bool Session::createOutputs(OutputSet &set, const Program &program,
                            bool isOracle, Failure &failure) const {
  set.buffers.resize(job.outputs.size());
  std::string error;
  bool ok = set.workspace.create(size_t(program.workspaceBytes), true, error);
  for (size_t o = 0; ok && o < job.outputs.size(); ++o) {
    const Tensor &tensor = job.outputs[o];
    int64_t bytes = isOracle && isFloat(tensor.type) ? tensor.elements() * 8
                                                     : tensor.bytes();
    ok = set.buffers[o].create(size_t(bytes), true, error);
  }
  if (!ok)
    failure = {Status::Error, error};
  return ok;
}

void Session::fill(InputSet &set, const Case &trial,
                   Placement placement) const {
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    set.buffers[i].place(placement);
    set.buffers[i].setCanaries();
    fillInput(job, i, trial, set.buffers[i].data());
  }
  rehash(set);
}

void Session::rehash(InputSet &set) const {
  for (size_t i = 0; i < set.buffers.size(); ++i)
    set.hashes[i] = hashBytes(set.buffers[i].data(), set.buffers[i].size());
}

bool Session::unchanged(const InputSet &set) const {
  for (size_t i = 0; i < set.buffers.size(); ++i)
    if (set.hashes[i] !=
        hashBytes(set.buffers[i].data(), set.buffers[i].size()))
      return false;
  return true;
}

void Session::place(OutputSet &set, Placement placement) {
  for (SharedBuffer &buffer : set.buffers)
    buffer.place(placement);
  set.workspace.place(placement);
}

void Session::poison(OutputSet &set) {
  // All bits set is a NaN in every float type.
  for (SharedBuffer &buffer : set.buffers)
    buffer.poison(0xFF);
  set.workspace.poison(0xFF);
}

std::string Session::damage(const InputSet &inputs,
                            const OutputSet &outputs) const {
  if (!unchanged(inputs))
    return "changed its inputs";
  for (size_t i = 0; i < inputs.buffers.size(); ++i)
    if (!inputs.buffers[i].canariesAlive())
      return "wrote around operand " + std::to_string(i);
  for (size_t o = 0; o < outputs.buffers.size(); ++o)
    if (!outputs.buffers[o].canariesAlive())
      return "wrote outside result " + std::to_string(o);
  if (!outputs.workspace.canariesAlive())
    return "wrote outside its workspace";
  return {};
}

std::unique_ptr<Child> Session::start(const std::string &name,
                                      const ProgramImage *image,
                                      const Program *program, int64_t sets,
                                      Failure &failure) {
  ChildOptions options;
  options.threads = threads;
  options.threadLimit =
      job.limits.threads ? job.limits.threads : 4 * threads + 8;
  options.memoryBytes = job.limits.memoryBytes;
  options.fileBytes = job.limits.fileBytes;
  int64_t bytes = program ? program->workspaceBytes : 0;
  for (const Tensor &tensor : job.inputs)
    bytes += tensor.bytes();
  for (const Tensor &tensor : job.outputs)
    bytes += tensor.elements() * 8;
  int64_t count = int64_t(job.inputs.size() + job.outputs.size()) + 1;
  options.bufferBytes = sets * (bytes + count * 4 * int64_t(pageSize));
  std::unique_ptr<Child> child = Child::start(name, image, options, failure);
  if (!child)
    return nullptr;
  // The protections in force, once.
  if (verdict.protections.empty() && verdict.missingProtections.empty()) {
    static constexpr std::pair<Protection, const char *> names[] = {
        {ProtectRlimits, "rlimits"},
        {ProtectNoNewPrivileges, "no-new-privileges"},
        {ProtectCapabilities, "no-capabilities"},
        {ProtectUser, "own-user"},
        {ProtectThreads, "thread-limit"},
        {ProtectNetwork, "no-network"},
        {ProtectLandlock, "landlock"},
        {ProtectSeccomp, "seccomp"}};
    uint32_t active = child->protections();
    for (auto [bit, text] : names)
      (active & bit ? verdict.protections : verdict.missingProtections)
          .push_back(text);
    for (const char *always :
         {"own-process", "sealed-inputs", "guard-pages", "canaries",
          "poisoned-outputs", "scrubbed-environment", "watchdog"})
      verdict.protections.push_back(always);
  }
  return child;
}

void Session::account(Child &child) {
  Resources used = child.finish();
  verdict.resources.peakMemoryBytes =
      std::max(verdict.resources.peakMemoryBytes, used.peakMemoryBytes);
  verdict.resources.cpuSeconds += used.cpuSeconds;
}

std::vector<const SharedBuffer *> Session::buffersOf(const InputSet &inputs,
                                                     const OutputSet &outputs) {
  std::vector<const SharedBuffer *> all;
  for (const SharedBuffer &buffer : inputs.buffers)
    all.push_back(&buffer);
  for (const SharedBuffer &buffer : outputs.buffers)
    all.push_back(&buffer);
  all.push_back(&outputs.workspace);
  return all;
}

std::vector<const void *> Session::dataOf(const InputSet &inputs) const {
  std::vector<const void *> data;
  for (const SharedBuffer &buffer : inputs.buffers)
    data.push_back(buffer.data());
  return data;
}

std::vector<const void *> Session::dataOf(const OutputSet &outputs) const {
  std::vector<const void *> data;
  for (const SharedBuffer &buffer : outputs.buffers)
    data.push_back(buffer.data());
  return data;
}

Measure Session::measureOutput(size_t output, const OutputSet &outputs,
                               const OutputSet &oracleSet) const {
  const Tensor &tensor = job.outputs[output];
  const void *data = outputs.buffers[output].data();
  const void *reference = oracleSet.buffers[output].data();
  if (!isFloat(tensor.type))
    return compareExact(tensor, data, reference);
  return measure(tensor, readerOf(tensor.type, data),
                 readerOf(ElementType::F64, reference));
}

Precision fastk::worker::judgeOutputs(
    const Session &session, const OutputSet &outputs, const OutputSet &oracle,
    const std::vector<Difficulty> &difficulties, TrialError &worst) {
  Precision precision = Precision::IEEE;
  double worstShare = -1;
  for (size_t o = 0; o < outputs.buffers.size(); ++o) {
    const Difficulty &difficulty = difficulties[o];
    Measure m = session.measureOutput(o, outputs, oracle);
    Precision got = classify(session.job, o, m, difficulty);
    Bounds bounds =
        boundsOf(session.job, o, session.job.acceptedPrecision, difficulty);
    double share = m.mismatches ? 1e300
                                : (m.max == 0 ? 0 : m.max / bounds.max) +
                                      100 * double(got);
    if (share > worstShare) {
      worstShare = share;
      worst.output = int64_t(o);
      worst.maxNormalized = m.max;
      worst.relativeFrobenius = m.frobenius;
      worst.nanMismatch = m.mismatches;
      worst.referenceMax = difficulty.baseline.max;
      worst.referenceFrobenius = difficulty.baseline.frobenius;
      worst.bound = bounds.max;
      worst.boundFrobenius = bounds.frobenius;
      worst.precision = got;
    }
    precision = looser(precision, got);
  }
  worst.precision = precision;
  return precision;
}
