//===- FactsTest.cpp - What is told of a program that was tried -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "LLMTestUtils.h"
#include "fastk/Propose/Parameters.h"
#include "fastk/System/AvailableMemory.h"
#include "fastk/Target/Occupancy.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::llm;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

DeviceDescription h200() { return *describeDevice("sm_90a"); }

// The expected numbers are those of the occupancy calculator for 9.0.
TEST(OccupancyTest, WhatLimitsIt) {
  Occupancy few = computeOccupancy(h200(), 256, 32, 0);
  EXPECT_EQ(few.blocks, 8);
  EXPECT_EQ(few.limiter, "threads");
  EXPECT_DOUBLE_EQ(few.share, 1.0);

  Occupancy registers = computeOccupancy(h200(), 256, 168, 0);
  EXPECT_EQ(registers.blocks, 1);
  EXPECT_EQ(registers.limiter, "registers");
  EXPECT_DOUBLE_EQ(registers.share, 0.125);

  Occupancy shared = computeOccupancy(h200(), 128, 32, 100 << 10);
  EXPECT_EQ(shared.blocks, 2);
  EXPECT_EQ(shared.limiter, "shared memory");

  Occupancy blocks = computeOccupancy(h200(), 32, 16, 0);
  EXPECT_EQ(blocks.blocks, 32);
  EXPECT_EQ(blocks.limiter, "blocks");
  EXPECT_DOUBLE_EQ(blocks.share, 0.5);
}

TEST(OccupancyTest, RegistersComeInUnitsOfAWarpAndAPart) {
  // 40 registers: 1280 a warp, 12 warps in a quarter of 16384, 48 in all.
  EXPECT_EQ(computeOccupancy(h200(), 512, 40, 0).blocks, 3);
  // 41 are handed out as 48.
  EXPECT_EQ(computeOccupancy(h200(), 512, 41, 0).warps,
            computeOccupancy(h200(), 512, 48, 0).warps);
  EXPECT_EQ(computeOccupancy(h200(), 384, 168, 0).blocks, 1);
}

TEST(OccupancyTest, AllSharedMemoryIsOneBlock) {
  EXPECT_EQ(computeOccupancy(h200(), 128, 32, 227 << 10).blocks, 1);
  EXPECT_EQ(computeOccupancy(h200(), 128, 32, 228 << 10).blocks, 0);
  EXPECT_EQ(computeOccupancy(h200(), 0, 32, 0).blocks, 0);
}

TEST(ShowTest, NumbersForPeople) {
  EXPECT_EQ(showSeconds(2.5e-9), "2.50 ns");
  EXPECT_EQ(showSeconds(1.234e-6), "1.23 us");
  EXPECT_EQ(showSeconds(12.34e-6), "12.3 us");
  EXPECT_EQ(showSeconds(1.2345e-3), "1.234 ms");
  EXPECT_EQ(showSeconds(2), "2.00 s");
  EXPECT_EQ(showBytes(512), "512 B");
  EXPECT_EQ(showBytes(1536), "1.5 KB");
  EXPECT_EQ(showBytes(176.5e6), "176 MB");
  EXPECT_EQ(showBytes(2.147e9), "2.1 GB");
}

TEST(FeaturesTest, SeenInTheText) {
  EXPECT_THAT(featuresOf("wgmmaF16(d, a, b); tmaLoad2D(s, &m, bar, 0, 0);"),
              ElementsAre("wgmma", "TMA"));
  EXPECT_THAT(featuresOf("asm(\"mma.sync.aligned.m16n8k16\"); float4 v;"),
              ElementsAre("mma.sync", "16-byte accesses"));
  EXPECT_TRUE(featuresOf("x[i] = y[i];").empty());
}

/// A program of the workload relu over 8192 elements, as if measured.
struct Measured {
  Measured()
      : request(test::Request::golden("elementwise_small", test::gpuTarget())) {
    Variant variant =
        makeVariant(Language::cuda, test::goodProgram(), test::goodPlan());
    tried = request.tried(variant, "An idea", 20e-6);
    auto result = std::make_shared<worker::Verdict>();
    result->status = worker::Status::OK;
    result->precision = worker::Precision::IEEE;
    worker::TrialError error;
    error.distribution = "normal";
    error.maxNormalized = 2e-7;
    error.bound = 1e-6;
    error.relativeFrobenius = 1e-8;
    error.boundFrobenius = 1e-6;
    result->errors.push_back(error);
    worker::KernelReport kernel;
    kernel.name = "relu";
    kernel.registers = 40;
    kernel.sharedBytes = 1024;
    kernel.spillStoreBytes = 16;
    kernel.spillLoadBytes = 32;
    result->gpu = worker::GpuReport();
    result->gpu->kernels.push_back(kernel);
    result->gpu->warnings.push_back("C7510: wgmma serialized\nin 'relu'");
    verdict = result;
    tried.verdict = verdict;
  }
  test::Request request;
  TriedVariant tried;
  std::shared_ptr<worker::Verdict> verdict;
};

TEST(FactsTest, OfAMeasuredProgram) {
  Measured measured;
  DeviceDescription device = h200();
  ProposalContext context = measured.request.context();
  std::vector<std::string> facts = factsOf(context, measured.tried, &device);
  EXPECT_THAT(facts, Contains(HasSubstr("time 20.0 us, 2.00x the default "
                                        "lowering's speed")));
  double bandwidth =
      double(context.roofline.compulsoryBytes()) / 20e-6 / 4.8e12 * 100;
  EXPECT_THAT(facts,
              Contains(HasSubstr(
                  llvm::formatv("{0:f1} % of the peak", bandwidth).str())));
  EXPECT_THAT(facts, Contains(HasSubstr("class ieee, error at most 20 % of "
                                        "what is allowed (on normal)")));
  EXPECT_THAT(
      facts,
      Contains("relu: 32 blocks of 256 threads, 40 registers a thread, 1024 B "
               "shared memory a block, SPILLS 16 B stores and 32 B loads a "
               "thread; 6 blocks a multiprocessor (occupancy 75 %, limited by "
               "registers), 0.04 waves"));
  EXPECT_THAT(facts,
              Contains("compiler warning: C7510: wgmma serialized in 'relu'"));
  EXPECT_THAT(facts, Contains(HasSubstr("no tensor cores")));
  EXPECT_LE(facts.size(), 12u);
}

TEST(FactsTest, CountersInWords) {
  Measured measured;
  worker::LaunchCounters launch;
  launch.kernel = "relu";
  launch.values = {{"time_ns", 19500},
                   {"dram_read_bytes", 33000},
                   {"dram_write_bytes", 32800},
                   {"tensor_percent", 0},
                   {"shared_wavefronts", 200},
                   {"shared_bank_conflicts", 50},
                   {"stall_long_scoreboard_percent", 61},
                   {"stall_selected_percent", 70},
                   {"stall_barrier_percent", 12},
                   {"stall_wait_percent", 3}};
  measured.verdict->gpu->counters.push_back(launch);
  DeviceDescription device = h200();
  std::vector<std::string> facts =
      factsOf(measured.request.context(), measured.tried, &device);
  EXPECT_THAT(
      facts,
      Contains("relu by ncu (19.5 us alone): DRAM reads 33.0 KB and writes "
               "32.8 KB, tensor cores busy 0 %, bank conflicts 25 % of "
               "shared-memory accesses, 61 % of a warp's time in stall "
               "'long_scoreboard', 12 % of a warp's time in stall 'barrier'"));
}

TEST(FactsTest, WhatIsNotKnownIsNotSaid) {
  Measured measured;
  measured.tried.verdict = nullptr;
  measured.tried.seconds = 0;
  measured.tried.status = "wrong";
  DeviceDescription device = h200();
  std::vector<std::string> facts =
      factsOf(measured.request.context(), measured.tried, &device);
  EXPECT_THAT(facts, Contains("relu: 32 blocks of 256 threads"));
  EXPECT_THAT(facts, Not(Contains(HasSubstr("time"))));
  EXPECT_TRUE(
      factsOf(measured.request.context(), measured.tried, nullptr).empty());
}

TEST(ErrorsTest, WorstFirst) {
  worker::Verdict verdict;
  auto add = [&](const char *name, double error, int64_t nans) {
    worker::TrialError e;
    e.distribution = name;
    e.maxNormalized = error;
    e.bound = 1e-6;
    e.nanMismatch = nans;
    verdict.errors.push_back(e);
  };
  add("normal", 1e-7, 0);
  add("mixed", 1e-3, 0);
  add("logits_80", 1e-9, 5);
  std::vector<std::string> lines = errorsOf(verdict, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], testing::AllOf(HasSubstr("'logits_80'"),
                                       HasSubstr("5 elements are NaN")));
  EXPECT_THAT(lines[1], testing::AllOf(HasSubstr("'mixed'"),
                                       HasSubstr("1.00e-03 (allowed "
                                                 "1.00e-06)")));
}

} // namespace
