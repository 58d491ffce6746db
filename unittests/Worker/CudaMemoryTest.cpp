//===- CudaMemoryTest.cpp - The GPU's inputs and judge are the host's -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/CudaDevice.h"
#include "Cuda/JudgeKernels.h"
#include "Cuda/MemoryKernels.h"
#include "NeedsGpu.h"
#include "Values/Inputs.h"
#include "Values/Random.h"
#include "fastk/Cuda/CompileInChild.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace fastk;
using namespace fastk::worker;
using namespace fastk::worker::test;

/// Operands of every type and role.
static Job anyJob() {
  Job job;
  job.kind = Kind::Softmax;
  auto add = [&](ElementType type, Role role,
                 std::optional<std::pair<double, double>> range = {}) {
    job.inputs.push_back({type, {37, 1000}, role, range});
  };
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16,
                           ElementType::BF16}) {
    for (Role role : {Role::Data, Role::Weight, Role::Bias, Role::Scale,
                      Role::Positive, Role::Divisor, Role::Mask})
      add(type, role);
    add(type, Role::Data, {{-1.5, 2}});
  }
  add(ElementType::I64, Role::Data);
  add(ElementType::I32, Role::Index, {{3, 77}});
  add(ElementType::I8, Role::Positive);
  for (ElementType type : {ElementType::I64, ElementType::I32, ElementType::I8})
    add(type, Role::Divisor);
  add(ElementType::I1, Role::Data);
  add(ElementType::I64, Role::Index, {{0, 9}});
  job.inputs.back().special = -100;
  job.outputs = {{ElementType::F32, {37, 1000}, Role::Data, {}},
                 {ElementType::F16, {7, 11}, Role::Data, {}},
                 {ElementType::F64, {5000, 3}, Role::Data, {}},
                 // A block has a row, where others have a warp.
                 {ElementType::F32, {3, 5003}, Role::Data, {}}};
  return job;
}

namespace {
class Gpu {
public:
  explicit Gpu(const Job &job) : device(job) {
    EXPECT_TRUE(device.openMemory(verdict, failure)) << failure.reason;
    operands = device.createOperands(failure);
    EXPECT_TRUE(operands) << failure.reason;
  }
  Verdict verdict;
  Failure failure;
  CudaDevice device;
  std::unique_ptr<Operands> operands;
};
} // namespace

/// Equal up to the last place, which fused multiply-adds and the functions of
/// another library may round otherwise, and that only now and then.
static void expectAlike(const Tensor &tensor, const void *host, const void *gpu,
                        const std::string &what) {
  int64_t elements = tensor.elements(), unequal = 0;
  double worst = 0;
  for (int64_t i = 0; i < elements; ++i) {
    double x = loadElement(tensor.type, host, i);
    double y = loadElement(tensor.type, gpu, i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    ++unequal;
    // Differences of larger terms lose places of a double, never of a float.
    double scale = tensor.type == ElementType::F64 ? std::max(std::fabs(x), 1.0)
                                                   : std::fabs(x);
    worst = std::max(worst, std::fabs(x - y) / scale);
  }
  // Of doubles every operation's rounding is seen, of halves hardly one.
  double place = 2 * unitRoundoff(tensor.type);
  bool isDouble = tensor.type == ElementType::F64;
  EXPECT_LE(worst, isDouble ? 64 * place : place * 1.01) << what;
  if (!isDouble) {
    EXPECT_LE(unequal, elements / 1000) << what;
  }
}

TEST(CudaMemory, InputsAreTheHosts) {
  NEEDS_GPU();
  Job job = anyJob();
  Gpu gpu(job);
  ASSERT_TRUE(gpu.operands);
  for (int law = 0; law <= int(lastLaw); ++law) {
    Trial trial = {Distribution(law), 0, uint64_t(100 + law),
                   law % 2 ? 1 : 0.125};
    gpu.device.fill(*gpu.operands, trial,
                    law % 2 ? Placement::Start : Placement::End);
    std::vector<std::vector<char>> host;
    auto compare = [&](const char *what) {
      for (size_t i = 0; i < job.inputs.size(); ++i)
        expectAlike(
            job.inputs[i], host[i].data(), gpu.device.bytesOf(*gpu.operands, i),
            std::string(what) + ", " + std::string(toString(trial.law)) +
                ", operand " + std::to_string(i));
    };
    for (size_t i = 0; i < job.inputs.size(); ++i) {
      host.emplace_back(size_t(job.inputs[i].bytes()));
      fillInput(job, i, trial, host[i].data());
    }
    compare("filled");
    for (size_t i = 0; i < job.inputs.size(); ++i)
      mutate(job, i, trial, 4711, host[i].data());
    gpu.device.mutate(*gpu.operands, trial, 4711);
    compare("mutated");
    gpu.device.perturb(*gpu.operands, *gpu.operands, trial, 3, 0x1p-9,
                       law % 2 ? Placement::Start : Placement::End);
    for (size_t i = 0; i < job.inputs.size(); ++i)
      perturb(job.inputs[i], bitsAt(trial.seed, 500 + i + 3000), 0x1p-9,
              host[i].data(), host[i].data());
    compare("perturbed");
    EXPECT_TRUE(gpu.device.roundToHalf(*gpu.operands));
    for (size_t i = 0; i < job.inputs.size(); ++i)
      roundToHalf(job.inputs[i], host[i].data());
    // One place of float may round to another half.
    for (size_t i = 0; i < job.inputs.size(); ++i)
      for (int64_t k = 0; k < job.inputs[i].elements(); ++k) {
        double x = loadElement(job.inputs[i].type, host[i].data(), k);
        double y = loadElement(job.inputs[i].type,
                               gpu.device.bytesOf(*gpu.operands, i), k);
        if (k > 50)
          break;
        if (x != y) {
          EXPECT_LE(std::fabs(x - y), std::fabs(x) * 0x1p-9) << i << " " << k;
        }
      }
  }
}

/// Rows with NaN, infinities, denormals, spikes, and what a kernel got wrong.
TEST(CudaMemory, ErrorsAreTheHosts) {
  NEEDS_GPU();
  Job job = anyJob();
  Gpu gpu(job);
  ASSERT_TRUE(gpu.operands);
  std::unique_ptr<Results> oracle =
      gpu.device.createResults(ProgramRole::Oracle, gpu.failure);
  std::unique_ptr<Results> results =
      gpu.device.createResults(ProgramRole::Candidate, gpu.failure);
  std::unique_ptr<Results> condition =
      gpu.device.createResults(ProgramRole::Condition, gpu.failure);
  ASSERT_TRUE(oracle && results && condition) << gpu.failure.reason;
  const double infinity = HUGE_VAL, nan = std::nan("");
  for (int round = 0; round < 40; ++round) {
    for (size_t o = 0; o < job.outputs.size(); ++o) {
      const Tensor &tensor = job.outputs[o];
      int64_t elements = tensor.elements();
      std::vector<char> y(size_t(tensor.bytes())), r(size_t(elements) * 8);
      for (int64_t i = 0; i < elements; ++i) {
        uint64_t bits = bitsAt(uint64_t(round), uint64_t(i));
        double value = normalOf(bits) * (round % 7 == 0 ? 1e-4 : 1);
        double error = normalOf(mix(bits)) * unitRoundoff(tensor.type) *
                       (round % 3 == 0 ? 0 : 4);
        double other = value * (1 + error);
        if (round % 5 == 1 && bits % 97 == 0)
          value = other = bits & 1024 ? infinity : nan;
        if (round % 11 == 2 && bits % 1009 == 0)
          other = nan;
        if (round % 13 == 3 && bits % 1013 == 0)
          other = -infinity;
        storeElement(ElementType::F64, r.data(), i, value);
        storeElement(tensor.type, y.data(), i, other);
      }
      gpu.device.write(*oracle, o, r.data());
      gpu.device.write(*results, o, y.data());
      Measure host = measure(tensor, readerOf(tensor.type, y.data()),
                             readerOf(ElementType::F64, r.data()));
      Measure own = gpu.device.compare(o, *results, *oracle);
      EXPECT_EQ(own.mismatches, host.mismatches) << round << " " << o;
      auto near = [&](double a, double b) {
        EXPECT_TRUE(a == b || std::fabs(a - b) <= 1e-9 * std::fabs(b))
            << a << " " << b << ", round " << round << ", result " << o;
      };
      near(own.max, host.max);
      near(own.frobenius, host.frobenius);
      near(own.carriers, host.carriers);
      EXPECT_EQ(gpu.device.fits(o, *oracle),
                fits(tensor, readerOf(ElementType::F64, r.data())));
      // Each element by its own condition, or by its magnitude.
      std::vector<double> k(static_cast<size_t>(elements));
      for (int64_t i = 0; i < elements; ++i) {
        uint64_t bits = mix(bitsAt(uint64_t(round), uint64_t(i)));
        k[size_t(i)] = bits % 503 == 0   ? infinity
                       : bits % 211 == 0 ? 0
                                         : std::fabs(normalOf(bits));
      }
      gpu.device.write(*condition, o, k.data());
      ErrorContext difficulty;
      difficulty.perElement = true;
      ErrorRule rule = errorRuleOf(job, o, difficulty);
      rule.nonFinite = round % 3;
      rule.relative = round % 4 == 3 ? 1 + round % 2 : 0;
      Shares expected =
          judgeElements(tensor, readerOf(tensor.type, y.data()),
                        readerOf(ElementType::F64, r.data()),
                        readerOf(ElementType::F64, k.data()), rule);
      Shares shares =
          gpu.device.judge(o, *results, *oracle,
                           rule.relative ? nullptr : condition.get(), rule);
      EXPECT_EQ(shares.mismatches, expected.mismatches) << round << " " << o;
      EXPECT_EQ(shares.masked, expected.masked) << round << " " << o;
      EXPECT_EQ(shares.judged, expected.judged) << round << " " << o;
      near(shares.ieee, expected.ieee);
      near(shares.tf32, expected.tf32);
      near(shares.half, expected.half);
      near(shares.relativeCondition, expected.relativeCondition);
      near(shares.rowCondition, expected.rowCondition);
    }
  }
  // Beyond FP16.
  std::vector<double> big(77, 1);
  big[76] = 70000;
  gpu.device.write(*oracle, 1, big.data());
  EXPECT_FALSE(gpu.device.fits(1, *oracle));
  big[76] = infinity;
  gpu.device.write(*oracle, 1, big.data());
  EXPECT_TRUE(gpu.device.fits(1, *oracle));
}

/// The patterns of host and GPU are the same, to the byte at both ends.
TEST(CudaMemory, PatternsAreTheHosts) {
  NEEDS_GPU();
  std::string error;
  GpuSession *session = GpuSession::get(error);
  ASSERT_TRUE(session) << error;
  const cuda::Driver &driver = *session->driver;
  constexpr size_t total = 100000;
  cuda::CUdeviceptr base = 0;
  ASSERT_EQ(session->allocate(total, base), "");
  for (Pattern pattern :
       {Pattern::Canary, Pattern::Poison, Pattern::Undefined}) {
    for (auto range : {std::pair(0, 100000), std::pair(13, 77777),
                       std::pair(64, 65), std::pair(7, 9)}) {
      int begin = range.first, end = range.second;
      std::vector<unsigned char> bytes(total, 0x11);
      ASSERT_EQ(driver.cuMemcpyHtoD(base, bytes.data(), total),
                cuda::CUDA_SUCCESS);
      ASSERT_EQ(session->memory.write(base, uint64_t(begin), uint64_t(end),
                                      pattern, 4711),
                "");
      ASSERT_EQ(driver.cuMemcpyDtoH(bytes.data(), base, total),
                cuda::CUDA_SUCCESS);
      for (int i = 0; i < int(total); ++i) {
        uint64_t word = patternWord(
            pattern, patternLine(4711, uint64_t(i) / 64), uint64_t(i) / 8);
        bool isInside = i >= begin && i < end;
        ASSERT_EQ(bytes[size_t(i)],
                  isInside ? (word >> (8 * (i % 8)) & 0xff) : 0x11)
            << i;
      }
      uint64_t changed = 1;
      auto count = [&] {
        EXPECT_EQ(session->countChanged(base, uint64_t(begin), uint64_t(end),
                                        pattern, 4711, changed),
                  "");
        return changed;
      };
      EXPECT_EQ(count(), 0u);
      bytes[size_t(end - 1)] ^= 1;
      ASSERT_EQ(driver.cuMemcpyHtoD(base, bytes.data(), total),
                cuda::CUDA_SUCCESS);
      EXPECT_EQ(count(), 1u);
    }
  }
  session->giveBack(base);
}

/// The inverse of mix().
static uint64_t unmix(uint64_t x) {
  auto unshift = [](uint64_t y, int by) {
    uint64_t result = y;
    for (int i = 0; i < 64 / by; ++i)
      result = y ^ (result >> by);
    return result;
  };
  x = unshift(x, 31) * 0x319642b2d24d8ec3u;
  x = unshift(x, 27) * 0x96de1b173f119089u;
  return unshift(x, 30) - 0x9e3779b97f4a7c15u;
}

/// A hash without a secret can be kept while operands change.
TEST(CudaMemory, ChangesOfOperandsDoNotCancel) {
  uint64_t words[2] = {0x123456789abcdef0u, 0xfedcba9876543210u};
  ASSERT_EQ(unmix(mix(words[0])), words[0]);
  auto sum = [&](uint64_t stream) {
    return mix(words[0] ^ mix(stream)) + mix(words[1] ^ mix(stream + 1));
  };
  uint64_t known = sum(0), keyed = sum(streamOf(4711));
  words[0] ^= 1;
  words[1] = unmix(known - mix(words[0] ^ mix(0))) ^ mix(1);
  EXPECT_EQ(sum(0), known);
  EXPECT_NE(sum(streamOf(4711)), keyed);
}

/// What is kept for later is freed where something else is asked for.
TEST(CudaMemory, WhatIsKeptStandsInNobodysWay) {
  NEEDS_GPU();
  std::string error;
  GpuSession *session = GpuSession::get(error);
  ASSERT_TRUE(session) << error;
  session->makeRoom();
  size_t available = 0, total = 0;
  ASSERT_EQ(session->driver->cuMemGetInfo(&available, &total),
            cuda::CUDA_SUCCESS);
  cuda::CUdeviceptr most = 0, same = 0, more = 0;
  ASSERT_EQ(session->allocate(available / 10 * 7, most), "");
  session->giveBack(most);
  EXPECT_GE(session->idleBytes(), available / 10 * 7);
  ASSERT_EQ(session->allocate(available / 10 * 7, same), "");
  EXPECT_EQ(same, most);
  session->giveBack(same);
  ASSERT_EQ(session->allocate(available / 10 * 8, more), "");
  EXPECT_EQ(session->idleBytes(), 0u);
  session->giveBack(more);
  EXPECT_TRUE(session->makeRoom());
  EXPECT_FALSE(session->makeRoom());
}

/// Whose fault it is that results do not fit.
TEST(CudaMemory, TooMuchIsSaidToBeMemory) {
  NEEDS_GPU();
  Job job = anyJob();
  job.outputs[0].shape = {int64_t(1) << 42};
  Gpu gpu(job);
  EXPECT_FALSE(gpu.device.createResults(ProgramRole::Candidate, gpu.failure));
  EXPECT_EQ(gpu.failure.status, Status::Memory) << gpu.failure.reason;
  EXPECT_NE(gpu.failure.reason.find("results of the candidate"),
            std::string::npos)
      << gpu.failure.reason;
  EXPECT_FALSE(gpu.device.createResults(ProgramRole::Baseline, gpu.failure));
  EXPECT_EQ(gpu.failure.status, Status::Error) << gpu.failure.reason;
}

/// Parts of tensors, at their places.
TEST(CudaMemory, PartsAreFetchedAlone) {
  NEEDS_GPU();
  Job job = anyJob();
  Gpu gpu(job);
  ASSERT_TRUE(gpu.operands);
  std::unique_ptr<Results> oracle =
      gpu.device.createResults(ProgramRole::Oracle, gpu.failure);
  ASSERT_TRUE(oracle) << gpu.failure.reason;
  std::vector<double> values(77);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = double(i);
  gpu.device.write(*oracle, 1, values.data());
  const auto *tail =
      static_cast<const double *>(gpu.device.partOf(*oracle, 1, 70, 77));
  EXPECT_EQ(tail[70], 70);
  EXPECT_EQ(tail[76], 76);
  // The same address, with what was fetched before.
  EXPECT_EQ(gpu.device.partOf(*oracle, 1, 0, 1), tail);
  EXPECT_EQ(tail[0], 0);
  EXPECT_EQ(tail[75], 75);
}

TEST(CudaMemory, OwnKernelsCompile) {
  std::string error;
  if (!cuda::Nvrtc::get(error)) {
    std::printf("needs NVRTC: %s\n", error.c_str());
    return;
  }
  for (auto [source, arch] :
       {std::pair(judgeKernels, "sm_80"), std::pair(judgeKernels, "sm_89"),
        std::pair(judgeKernels, "sm_90a"), std::pair(memoryKernels, "sm_80"),
        std::pair(memoryKernels, "sm_90a")}) {
    cuda::CompileRequest request;
    request.source = source;
    request.arch = arch;
    request.prelude = false;
    cuda::CompileResult result = cuda::compileInChild(request);
    EXPECT_TRUE(result.ok()) << result.error;
    for (const cuda::KernelFacts &kernel : result.kernels)
      if (kernel.isEntry) {
        EXPECT_EQ(kernel.spillStoreBytes, 0u) << kernel.name;
      }
    // The worker's own code goes through the gate of everybody else's.
  }
}
