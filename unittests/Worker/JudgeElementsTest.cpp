//===- JudgeElementsTest.cpp - Elements with bounds of their own ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"
#include "Host/HostDevice.h"
#include "Judge/Judge.h"
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace fastk::worker;

/// One row of eight: too short to be bounded as a row.
static Job rowJob(NonFinite rule = NonFinite::Exact) {
  Job job;
  job.outputs.resize(1);
  job.outputs[0].shape = {8};
  job.nonFinite = rule;
  return job;
}

static Shares sharesOf(const Job &job, std::vector<double> y,
                       std::vector<double> r, std::vector<double> k) {
  ErrorContext d;
  d.perElement = true;
  return judgeElements(job.outputs[0], readerOf(ElementType::F64, y.data()),
                       readerOf(ElementType::F64, r.data()),
                       readerOf(ElementType::F64, k.data()),
                       errorRuleOf(job, 0, d));
}

static constexpr double inf = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

TEST(JudgeElements, ConditionsOfTF32AreOneBoundForAllButHalf) {
  Job job = rowJob();
  std::vector<double> r(8, 1), k(8, 2), y = r;
  // What operands of 10 bits lose is beyond ieee.
  y[3] += 2 * 0x1p-11;
  Shares shares = sharesOf(job, y, r, k);
  EXPECT_GT(shares.ieee, 1);
  EXPECT_LT(shares.tf32, 1);
  job.acceptedPrecision = Precision::TF32;
  job.conditionOfTF32 = true;
  shares = sharesOf(job, y, r, k);
  EXPECT_LT(shares.ieee, 1);
  EXPECT_EQ(shares.ieee, shares.tf32);
  y[3] += 2 * 0x1p-11;
  EXPECT_GT(sharesOf(job, y, r, k).ieee, 1);
}

TEST(JudgeElements, AnElementHasItsOwnBound) {
  // A large neighbour hides nothing.
  std::vector<double> r = {1e6, 1e-6, 1, 1, 1, 1, 1, 1}, k = r, y = r;
  y[1] = 0;
  Shares shares = sharesOf(rowJob(), y, r, k);
  EXPECT_NEAR(shares.ieee, 1 / (8 * 0x1p-24), 1);
  EXPECT_EQ(shares.where, 1);
  EXPECT_EQ(shares.judged, 8);
  y[1] = 1e-6 * (1 + 7 * 0x1p-24);
  shares = sharesOf(rowJob(), y, r, k);
  EXPECT_NEAR(shares.ieee, 7.0 / 8, 1e-6);
}

TEST(JudgeElements, WhatIsExactMustBe) {
  std::vector<double> r(8, 1), k(8, 0), y = r;
  EXPECT_EQ(sharesOf(rowJob(), y, r, k).ieee, 0);
  y[3] = 1 + 0x1p-23;
  EXPECT_GT(sharesOf(rowJob(), y, r, k).ieee, 1);
}

TEST(JudgeElements, OverflowIsAskedForWhereItIsCertain) {
  double largest = std::numeric_limits<float>::max();
  std::vector<double> r(8, 2 * largest), k = r, y(8, inf);
  Shares shares = sharesOf(rowJob(), y, r, k);
  EXPECT_EQ(shares.masked, 8);
  EXPECT_EQ(shares.mismatches, 0);
  y[0] = largest; // Saturated.
  EXPECT_GT(sharesOf(rowJob(), y, r, k).half, 1);
  y[0] = -inf;
  EXPECT_EQ(sharesOf(rowJob(), y, r, k).mismatches, 1);
  // Rounding may lead beyond the type, but not from half of it.
  r.assign(8, largest / 2);
  k = r;
  y.assign(8, inf);
  EXPECT_EQ(sharesOf(rowJob(), y, r, k).mismatches, 8);
}

TEST(JudgeElements, OverflowIsAnErrorOfWhatItIsAtLeast) {
  Job job = rowJob();
  job.outputs[0].type = ElementType::F16;
  constexpr double largest = 65504;
  // So near that TF32 may lead beyond the type, and f32 may not.
  std::vector<double> r(8, largest - 20), k = r, y = r;
  y[3] = inf;
  Shares shares = sharesOf(job, y, r, k);
  EXPECT_EQ(shares.mismatches, 0);
  EXPECT_GT(shares.ieee, 1);
  EXPECT_LT(shares.tf32, 1);
  y[3] = -inf;
  EXPECT_EQ(sharesOf(job, y, r, k).mismatches, 1);
  y[3] = notANumber;
  EXPECT_EQ(sharesOf(job, y, r, k).mismatches, 1);
  // Of a sum that cancels either side may be met.
  r.assign(8, 30);
  y = r;
  k.assign(8, 1e20);
  for (double each : {inf, -inf}) {
    y[3] = each;
    shares = sharesOf(job, y, r, k);
    EXPECT_EQ(shares.mismatches, 0);
    EXPECT_EQ(shares.masked, 1);
  }
  y[3] = notANumber;
  EXPECT_EQ(sharesOf(job, y, r, k).mismatches, 1);
}

TEST(JudgeElements, NothingIsAskedWhereAStepMayOverflow) {
  std::vector<double> r(8, 1), k(8, 1), y(8, 1);
  k[2] = inf;
  y[2] = notANumber;
  Shares shares = sharesOf(rowJob(), y, r, k);
  EXPECT_EQ(shares.masked, 1);
  EXPECT_EQ(shares.mismatches, 0);
  y[3] = notANumber;
  EXPECT_EQ(sharesOf(rowJob(), y, r, k).mismatches, 1);
}

TEST(JudgeElements, NaNAndInfinitiesFollowTheRuleOfTheJob) {
  std::vector<double> r = {notANumber, inf, -inf, 1, 1, 1, 1, 1}, k(8, 1);
  std::vector<double> same = r, other = r, finite = r;
  other[1] = notANumber;
  finite[0] = 0;
  EXPECT_EQ(sharesOf(rowJob(NonFinite::Exact), same, r, k).mismatches, 0);
  EXPECT_EQ(sharesOf(rowJob(NonFinite::Exact), other, r, k).mismatches, 1);
  EXPECT_EQ(sharesOf(rowJob(NonFinite::Any), other, r, k).mismatches, 0);
  EXPECT_EQ(sharesOf(rowJob(NonFinite::Any), finite, r, k).mismatches, 1);
  EXPECT_EQ(sharesOf(rowJob(NonFinite::Free), finite, r, k).mismatches, 0);
  EXPECT_EQ(sharesOf(rowJob(NonFinite::Free), finite, r, k).masked, 1);
}

TEST(JudgeElements, ClassesFollowTheirBounds) {
  std::vector<double> r(8, 1), k(8, 1), y(8, 1);
  ErrorContext d;
  d.perElement = true;
  auto classOf = [&](double error) {
    y[0] = 1 + error;
    return classify(sharesOf(rowJob(), y, r, k), d);
  };
  EXPECT_EQ(classOf(0x1p-22), Precision::IEEE);
  EXPECT_EQ(classOf(0x1p-12), Precision::TF32);
  EXPECT_EQ(classOf(0x1p-8), Precision::Half);
  EXPECT_EQ(classOf(0x1p-5), Precision::None);
}

TEST(JudgeElements, DenormalsOfF16Count) {
  Job job = rowJob();
  job.outputs[0].type = ElementType::F16;
  std::vector<double> r(8, 3 * 0x1p-24), k(8, 0), y = r;
  EXPECT_LE(sharesOf(job, y, r, k).ieee, 1);
  y[5] = 0;
  EXPECT_GT(sharesOf(job, y, r, k).ieee, 1);
  // f32 and bf16 may flush.
  job.outputs[0].type = ElementType::F32;
  r.assign(8, 0x1p-130);
  y.assign(8, 0);
  EXPECT_EQ(sharesOf(job, y, r, k).ieee, 0);
}

TEST(JudgeElements, ErrorsOfAWholeRowAreBoundedTogether) {
  Job job = rowJob();
  job.outputs[0].shape = {4096};
  std::vector<double> r(4096, 1), k = r, y = r;
  for (double &element : y)
    element += 0.9 * 8 * 0x1p-24; // Each within its bound.
  EXPECT_GT(sharesOf(job, y, r, k).ieee, 1);
  y = r;
  y[7] += 0.9 * 8 * 0x1p-24; // One alone.
  EXPECT_NEAR(sharesOf(job, y, r, k).ieee, 0.9, 1e-6);
}

namespace {
/// Doubles that stand for results of the oracle's type.
struct KnownResults : Results {
  explicit KnownResults(std::vector<double> values)
      : Results(/*ofOracle=*/true), values(std::move(values)) {}
  const std::vector<double> values;
};

struct KnownDevice : HostDevice {
  using HostDevice::HostDevice;
  const void *bytesOf(const Results &results, size_t) override {
    return static_cast<const KnownResults &>(results).values.data();
  }
};
} // namespace

/// What no seed repeats is judged where it came up: by each element's own bound
/// where the job tells it.
TEST(JudgeElements, RepeatedRunsKeepTheirClassByElements) {
  Job job = rowJob();
  KnownDevice device(job);
  std::vector<double> r = {1e3, 1, 1, 1, 1, 1, 1, 1}, y = r;
  KnownResults oracle(r), condition(r);
  Bounds rows = {1e-5, 1e-5};
  // Small beside its row, far beyond what its element owes.
  y[1] = 1 + 20 * 8 * 0x1p-24;
  EXPECT_TRUE(keepsClass(device, KnownResults(y), oracle, nullptr, rows));
  EXPECT_FALSE(keepsClass(device, KnownResults(y), oracle, &condition, rows));
  // There are many runs: twice the bound.
  y[1] = 1 + 1.9 * 8 * 0x1p-24;
  EXPECT_TRUE(keepsClass(device, KnownResults(y), oracle, &condition, rows));
  y[1] = notANumber;
  EXPECT_FALSE(keepsClass(device, KnownResults(y), oracle, &condition, rows));
  // What rows forbid, an element may owe no more than.
  y[1] = 1;
  y[0] = 1e3 * (1 + 4e-7);
  rows = {1e-8, 1e-8};
  EXPECT_FALSE(keepsClass(device, KnownResults(y), oracle, nullptr, rows));
  EXPECT_TRUE(keepsClass(device, KnownResults(y), oracle, &condition, rows));
  job.acceptedPrecision = Precision::Half;
  y[1] = 1.005;
  EXPECT_TRUE(keepsClass(device, KnownResults(y), oracle, &condition, rows));
}
