//===- CudaMemory.cpp - Operands and results on the GPU -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Phases.h"
#include "Cuda/Child/ChildProtocol.h"
#include "CudaDevice.h"
#include "Values/Inputs.h"
#include "Values/OperandGenerator.h"
#include "Values/Random.h"
#include <algorithm>
#include <cstring>

using namespace fastk;
using namespace fastk::worker;
using cuda::CUdeviceptr;

static HostBytes hostBytes(size_t bytes) {
  constexpr size_t page = 4096;
  return HostBytes(static_cast<char *>(
      std::aligned_alloc(page, (bytes + page) / page * page)));
}

static CudaOperands &cudaOf(Operands &operands) {
  return static_cast<CudaOperands &>(operands);
}
static const CudaOperands &cudaOf(const Operands &operands) {
  return static_cast<const CudaOperands &>(operands);
}
static CudaResults &cudaOf(Results &results) {
  return static_cast<CudaResults &>(results);
}
static const CudaResults &cudaOf(const Results &results) {
  return static_cast<const CudaResults &>(results);
}

std::unique_ptr<Operands> CudaDevice::createOperands(Failure &failure) {
  Phase phase("allocate");
  auto set = std::make_unique<CudaOperands>();
  set->memory.resize(job.inputs.size());
  set->fetched.resize(job.inputs.size());
  set->hashes.assign(job.inputs.size(), 0);
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    std::string error =
        set->memory[i].create(*gpu, size_t(job.inputs[i].bytes()));
    if (!error.empty()) {
      failure = {Status::Error, error};
      return nullptr;
    }
  }
  return set;
}

std::unique_ptr<Results> CudaDevice::createResults(ProgramRole part,
                                                   Failure &failure) {
  Phase phase("allocate");
  auto set = std::make_unique<CudaResults>(storesDoubles(part));
  std::string error;
  for (const Tensor &tensor : job.outputs) {
    DeviceMemory &memory = set->memory.emplace_back();
    if (error.empty())
      error = memory.create(*gpu, size_t(set->ofOracle && isFloat(tensor.type)
                                             ? tensor.elements() * 8
                                             : tensor.bytes()));
  }
  set->fetched.resize(job.outputs.size());
  if (const Program *program = programOf(job, part); program && program->plan)
    for (const Workspace &workspace : program->plan->workspaces)
      set->workspaces.emplace_back().describe(*gpu, size_t(workspace.bytes));
  if (!error.empty()) {
    bool isMemory = error.find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos;
    failure = {isMemory && part == ProgramRole::Candidate ? Status::Memory
                                                          : Status::Error,
               std::string("the results of the ") + nameOf(part) + ": " +
                   error};
    return nullptr;
  }
  return set;
}

uint64_t CudaDevice::hashOf(const DeviceMemory &memory) {
  uint64_t hash = 0;
  note(gpu->hashOf(memory.address(), memory.size(), hash));
  return hash;
}

/// The number of a type in judge.cu.
static int numberOf(ElementType type) {
  static constexpr ElementType order[] = {
      ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
      ElementType::I64, ElementType::I32, ElementType::I8,  ElementType::I1};
  return int(std::find(std::begin(order), std::end(order), type) - order);
}

void CudaDevice::draw(CudaOperands &operands, size_t index,
                      const Trial &trial) {
  Phase phase("draw");
  DeviceMemory &memory = operands.memory[index];
  note(memory.setRedZones());
  CUdeviceptr address = memory.address();
  int type = numberOf(job.inputs[index].type);
  ValueRule rule = ruleOf(job, index, trial);
  NormalEntries normal = gpu->normalTables();
  uint64_t none = 0;
  void *arguments[] = {&address, &type, &rule, &normal, &none, &none};
  note(gpu->launch(gpu->fill, ownBlocks, arguments));
  operands.hashes[index] = hashOf(memory);
}

void CudaDevice::fill(Operands &operands, const Trial &trial,
                      Placement placement) {
  CudaOperands &set = cudaOf(operands);
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    set.memory[i].place(placement);
    draw(set, i, trial);
  }
}

void CudaDevice::redraw(Operands &operands, size_t index, const Trial &trial) {
  draw(cudaOf(operands), index, trial);
}

void CudaDevice::mutate(Operands &operands, const Trial &trial, uint64_t seed) {
  Phase phase("draw");
  CudaOperands &set = cudaOf(operands);
  Trial fresh = trial;
  fresh.seed = seed;
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    // Not used since it was last looked at: whoever changed it had no business
    // there.
    disturbed |= hashOf(set.memory[i]) != set.hashes[i];
    CUdeviceptr address = set.memory[i].address();
    int type = numberOf(job.inputs[i].type);
    ValueRule rule = ruleOf(job, i, fresh);
    NormalEntries normal = gpu->normalTables();
    uint64_t places = seed ^ i;
    uint64_t count = uint64_t(mutationsOf(rule.elements));
    void *arguments[] = {&address, &type, &rule, &normal, &places, &count};
    note(gpu->launch(gpu->fill, ownBlocks, arguments));
    set.hashes[i] = hashOf(set.memory[i]);
  }
}

void CudaDevice::perturb(const Operands &from, Operands &to, const Trial &trial,
                         uint64_t draw, double delta, Placement placement) {
  Phase phase("draw");
  CudaOperands &set = cudaOf(to);
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    const Tensor &tensor = job.inputs[i];
    set.memory[i].place(placement);
    note(set.memory[i].setRedZones());
    CUdeviceptr source = cudaOf(from).memory[i].address();
    CUdeviceptr target = set.memory[i].address();
    if (!isFloat(tensor.type)) {
      note(driver->call(driver->cuMemcpyDtoD, target, source,
                        set.memory[i].size()));
    } else {
      int type = numberOf(tensor.type);
      uint64_t elements = uint64_t(tensor.elements());
      uint64_t seed = bitsAt(trial.seed, 500 + i + 1000 * draw);
      double limit = largestValue(tensor.type);
      void *arguments[] = {&source, &target, &type, &elements,
                           &seed,   &delta,  &limit};
      note(gpu->launch(gpu->perturb, ownBlocks, arguments));
    }
    set.hashes[i] = hashOf(set.memory[i]);
  }
}

bool CudaDevice::roundToHalf(Operands &operands) {
  Phase phase("draw");
  CudaOperands &set = cudaOf(operands);
  bool any = false;
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    ElementType type = job.inputs[i].type;
    if (type != ElementType::F32 && type != ElementType::F64)
      continue;
    CUdeviceptr address = set.memory[i].address();
    int number = numberOf(type);
    uint64_t elements = uint64_t(job.inputs[i].elements());
    void *arguments[] = {&address, &number, &elements};
    note(gpu->launch(gpu->roundToHalf, ownBlocks, arguments));
    set.hashes[i] = hashOf(set.memory[i]);
    any = true;
  }
  return any;
}

void CudaDevice::place(Results &results, Placement placement) {
  for (auto *group : {&cudaOf(results).memory, &cudaOf(results).workspaces})
    for (DeviceMemory &memory : *group)
      memory.place(placement);
}

void CudaDevice::poison(Results &results) {
  Phase phase("poison");
  // The program's copies, and its workspaces, are poisoned in its process
  // before each call (ChildMain.cpp).
  for (DeviceMemory &memory : cudaOf(results).memory) {
    note(memory.setRedZones());
    note(gpu->memory.write(memory.allocation(), memory.offset(),
                           memory.offset() + memory.size(), Pattern::Poison,
                           secretSeed()));
  }
  note(driver->call(driver->cuCtxSynchronize));
}

std::string CudaDevice::damage(const Operands &, const Results &results) {
  Phase phase("check");
  const CudaResults &out = cudaOf(results);
  if (disturbed)
    return "changed operands of another call";
  // Of the program's copies; what they were made from no program can address.
  if (!out.operandDamage.empty())
    return out.operandDamage;
  for (size_t o = 0; o < out.memory.size(); ++o)
    if (!out.memory[o].redZonesAlive())
      return "wrote outside result " + std::to_string(o);
  return out.workspaceDamage;
}

const void *CudaDevice::fetch(const DeviceMemory &memory, HostBytes &bytes,
                              size_t begin, size_t end) {
  Phase phase("fetch");
  // Pages that nobody writes to cost nothing.
  if (!bytes)
    bytes = hostBytes(memory.size());
  end = std::min(end, memory.size());
  if (begin < end)
    note(driver->call(driver->cuMemcpyDtoH,
                      static_cast<void *>(bytes.get() + begin),
                      memory.address() + begin, end - begin));
  return bytes.get();
}

// What is fetched is a cache of what the GPU holds.

const void *CudaDevice::bytesOf(const Operands &operands, size_t index) {
  auto &set = const_cast<CudaOperands &>(cudaOf(operands));
  return fetch(set.memory[index], set.fetched[index]);
}

const void *CudaDevice::bytesOf(const Results &results, size_t index) {
  auto &set = const_cast<CudaResults &>(cudaOf(results));
  return fetch(set.memory[index], set.fetched[index]);
}

const void *CudaDevice::partOf(const Operands &operands, size_t index,
                               int64_t begin, int64_t end) {
  auto &set = const_cast<CudaOperands &>(cudaOf(operands));
  int64_t width = byteSize(job.inputs[index].type);
  return fetch(set.memory[index], set.fetched[index], size_t(begin * width),
               size_t(end * width));
}

const void *CudaDevice::partOf(const Results &results, size_t index,
                               int64_t begin, int64_t end) {
  auto &set = const_cast<CudaResults &>(cudaOf(results));
  const Tensor &tensor = job.outputs[index];
  int64_t width =
      set.ofOracle && isFloat(tensor.type) ? 8 : byteSize(tensor.type);
  return fetch(set.memory[index], set.fetched[index], size_t(begin * width),
               size_t(end * width));
}

void CudaDevice::write(Results &results, size_t index, const void *bytes) {
  DeviceMemory &memory = cudaOf(results).memory[index];
  note(driver->call(driver->cuMemcpyHtoD, memory.address(), bytes,
                    memory.size()));
}

uint64_t CudaDevice::hashOf(const Results &results) {
  uint64_t hash = 0;
  for (const DeviceMemory &memory : cudaOf(results).memory)
    hash = mix(hash) ^ hashOf(memory);
  return hash;
}

//===----------------------------------------------------------------------===//
// Judging where the bytes are
//===----------------------------------------------------------------------===//

/// As in judge.cu.
struct CudaDevice::Sums {
  ErrorSums squares;
  uint64_t largest = 0, mismatches = 0, firstMismatch = ~uint64_t(0),
           overflows = 0;
};

CudaDevice::Sums CudaDevice::sum(size_t output, const CudaResults &results,
                                 const CudaResults &reference, double tiny) {
  const Tensor &tensor = job.outputs[output];
  auto typeIn = [&](const CudaResults &set) {
    return numberOf(set.ofOracle ? ElementType::F64 : tensor.type);
  };
  CUdeviceptr y = results.memory[output].address();
  CUdeviceptr r = reference.memory[output].address();
  int yType = typeIn(results), rType = typeIn(reference);
  uint64_t elements = uint64_t(tensor.elements());
  uint64_t row = uint64_t(scaleRowOf(tensor));
  double limit = largestValue(tensor.type);
  Sums sums;
  note(driver->call(driver->cuMemcpyHtoD, gpu->scratch,
                    static_cast<const void *>(&sums), sizeof(sums)));
  void *arguments[] = {&y,   &yType, &r,     &rType,       &elements,
                       &row, &tiny,  &limit, &gpu->scratch};
  uint64_t rows = (elements + row - 1) / row;
  note(gpu->launch(gpu->compare, unsigned(std::min<uint64_t>(rows, ownBlocks)),
                   arguments));
  note(driver->call(driver->cuMemcpyDtoH, static_cast<void *>(&sums),
                    CUdeviceptr(gpu->scratch), sizeof(sums)));
  return sums;
}

Measure CudaDevice::compare(size_t output, const Results &results,
                            const Results &reference) {
  Phase phase("judge");
  const Tensor &tensor = job.outputs[output];
  if (!isFloat(tensor.type))
    return Device::compare(output, results, reference);
  Sums sums = sum(output, cudaOf(results), cudaOf(reference),
                  smallestNormal(tensor.type));
  Measure result;
  std::memcpy(&result.max, &sums.largest, sizeof(double));
  result.mismatches = int64_t(sums.mismatches);
  result.where = sums.mismatches ? int64_t(sums.firstMismatch) : 0;
  setMeans(result, sums.squares, tensor.type, tensor.elements());
  return result;
}

namespace {
/// As in judge.cu.
struct ShareSums {
  double ieee = 0, tf32 = 0, half = 0, relativeCondition = 0, rowCondition = 0;
  double errorSquares = 0, referenceSquares = 0, largest = 0;
  uint64_t masked = 0, judged = 0, mismatches = 0, firstMismatch = ~uint64_t(0);
};
} // namespace

Shares CudaDevice::judge(size_t output, const Results &results,
                         const Results &reference, const Results *condition,
                         const ErrorRule &rule) {
  Phase phase("judge");
  const Tensor &tensor = job.outputs[output];
  auto typeIn = [&](const Results &set) {
    return numberOf(set.ofOracle ? ElementType::F64 : tensor.type);
  };
  CUdeviceptr y = cudaOf(results).memory[output].address();
  CUdeviceptr r = cudaOf(reference).memory[output].address();
  CUdeviceptr k = condition ? cudaOf(*condition).memory[output].address() : 0;
  int yType = typeIn(results), rType = typeIn(reference);
  uint64_t elements = uint64_t(tensor.elements());
  uint64_t row = uint64_t(scaleRowOf(tensor));
  ErrorRule own = rule;
  ShareSums sums;
  note(driver->call(driver->cuMemcpyHtoD, gpu->scratch,
                    static_cast<const void *>(&sums), sizeof(sums)));
  void *arguments[] = {&y,        &yType, &r,   &rType,       &k,
                       &elements, &row,   &own, &gpu->scratch};
  uint64_t rows = (elements + row - 1) / row;
  note(gpu->launch(gpu->judge, unsigned(std::min<uint64_t>(rows, ownBlocks)),
                   arguments));
  note(driver->call(driver->cuMemcpyDtoH, static_cast<void *>(&sums),
                    CUdeviceptr(gpu->scratch), sizeof(sums)));
  Shares shares;
  shares.ieee = sums.ieee;
  shares.tf32 = sums.tf32;
  shares.half = sums.half;
  shares.relativeCondition = sums.relativeCondition;
  shares.rowCondition = sums.rowCondition;
  ErrorSums squares;
  squares.errors = sums.errorSquares;
  squares.references = sums.referenceSquares;
  Measure means;
  setMeans(means, squares, tensor.type, tensor.elements());
  shares.max = sums.largest;
  shares.frobenius = means.frobenius;
  shares.masked = int64_t(sums.masked);
  shares.judged = int64_t(sums.judged);
  shares.mismatches = int64_t(sums.mismatches);
  shares.where = sums.mismatches ? int64_t(sums.firstMismatch) : 0;
  return shares;
}

bool CudaDevice::fits(size_t output, const Results &oracle) {
  Phase phase("judge");
  if (!isFloat(job.outputs[output].type))
    return Device::fits(output, oracle);
  // Compared with itself: only the overflows are of interest.
  return sum(output, cudaOf(oracle), cudaOf(oracle), /*tiny=*/0).overflows == 0;
}
