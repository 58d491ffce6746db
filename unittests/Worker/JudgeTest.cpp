//===- JudgeTest.cpp - Errors, bounds and classes -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge/Judge.h"
#include "Evaluation.h"
#include "Host/HostDevice.h"
#include "Judge/NegativeControls.h"
#include "Values/Inputs.h"
#include "Values/Random.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <vector>

using namespace fastk::worker;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static Tensor vector(int64_t n) {
  return {ElementType::F32, {n}, Role::Data, {}};
}

static Measure compare(const std::vector<float> &y,
                       const std::vector<double> &r) {
  return measure(vector(int64_t(y.size())),
                 readerOf(ElementType::F32, y.data()),
                 readerOf(ElementType::F64, r.data()));
}

TEST(Judge, MeasuresAgainstTheRow) {
  std::vector<float> y(64, 1);
  std::vector<double> r(64, 1);
  EXPECT_EQ(compare(y, r).max, 0);
  y[10] = 1.5;
  Measure m = compare(y, r);
  EXPECT_DOUBLE_EQ(m.max, 0.25);
  EXPECT_EQ(m.where, 10);
  EXPECT_DOUBLE_EQ(m.frobenius, 0.5 / 8);
}

TEST(Judge, NothingPassesForNaN) {
  float nan = std::nanf("");
  std::vector<double> r(40, 1);
  std::vector<float> y(40, 1);
  y[3] = nan;
  EXPECT_EQ(compare(y, r).mismatches, 1);
  r[3] = nan;
  EXPECT_EQ(compare(y, r).mismatches, 0);
  y[3] = 1;
  EXPECT_EQ(compare(y, r).mismatches, 1);
  r[3] = infinity;
  y[3] = -float(infinity);
  EXPECT_EQ(compare(y, r).mismatches, 1);
  y[3] = float(infinity);
  EXPECT_EQ(compare(y, r).mismatches, 0);
}

/// What is seen in a short row is seen anywhere in one of many pieces.
TEST(Judge, FindsOneElementInLongRows) {
  constexpr size_t length = 5003;
  for (size_t where : {size_t(0), size_t(1023), size_t(4321), length - 1}) {
    std::vector<double> r(length, 1);
    std::vector<float> y(length, 1);
    y[where] = 1.5;
    y[(where + 7) % length] = 1.25;
    Measure m = compare(y, r);
    EXPECT_DOUBLE_EQ(m.max, 0.25);
    EXPECT_EQ(m.where, int64_t(where));
    EXPECT_NEAR(m.frobenius, std::sqrt((0.25 + 0.0625) / length), 1e-12);
    EXPECT_NEAR(m.carriers, length, 1e-6);
    for (float bad : {std::nanf(""), float(infinity)}) {
      y[where] = bad;
      m = compare(y, r);
      EXPECT_EQ(m.mismatches, 1);
      EXPECT_EQ(m.where, int64_t(where));
      // The others still count.
      EXPECT_DOUBLE_EQ(m.max, 0.125);
      r[where] = double(bad);
      EXPECT_EQ(compare(y, r).mismatches, 0);
      r[where] = 1;
    }
  }
}

TEST(Judge, ZeroRowsAndDenormals) {
  std::vector<double> r(64, 0);
  std::vector<float> y(64, 0);
  y[1] = 1e-40f;
  EXPECT_EQ(compare(y, r).max, 0);
  y[1] = 1e-6f;
  EXPECT_EQ(compare(y, r).max, infinity);
}

TEST(Judge, TensorsThatHaveNoRoom) {
  Job job;
  job.inputs = job.outputs = {vector(int64_t(1) << 44)};
  HostDevice device(job);
  Verdict verdict;
  Failure failure;
  EXPECT_FALSE(device.open(verdict, failure));
  EXPECT_EQ(failure.status, Status::Unfit);
  // Operand, result and the oracle's.
  EXPECT_NE(failure.reason.find("a trial takes at least 281 TB of memory"),
            std::string::npos)
      << failure.reason;
}

/// Parallel and serial judging agree.
TEST(Judge, LargeOutputs) {
  size_t n = 1 << 20;
  std::vector<double> r(n, 2);
  std::vector<float> y(n, 2);
  y[n - 1] = 3;
  y[7] = 2.5;
  Measure m = compare(y, r);
  EXPECT_DOUBLE_EQ(m.max, 0.25);
  EXPECT_EQ(m.where, int64_t(n) - 1);
  EXPECT_NEAR(m.frobenius, std::sqrt(1.25 / (4.0 * double(n))), 1e-12);
}

TEST(Judge, PartOfTheRows) {
  Tensor tensor = {ElementType::F32, {1000, 300}, Role::Data, {}};
  std::vector<double> r(300000, 1);
  std::vector<float> y(300000, 1);
  y[1000] = 5;
  y[299999] = 2;
  auto from = [&](int64_t row) {
    return measure(tensor, readerOf(ElementType::F32, y.data()),
                   readerOf(ElementType::F64, r.data()), row * 300);
  };
  EXPECT_DOUBLE_EQ(from(0).max, 2);
  EXPECT_EQ(from(0).where, 1000);
  EXPECT_DOUBLE_EQ(from(4).max, 0.5);
  EXPECT_EQ(from(999).where, 299999);
}

/// Integers, on several threads.
TEST(Judge, ExactComparisonOfLargeOutputs) {
  Tensor tensor = {ElementType::I32, {1 << 20}, Role::Data, {}};
  std::vector<int32_t> r(1 << 20, 7), y = r;
  EXPECT_EQ(compareExact(tensor, y.data(), r.data()).mismatches, 0);
  y[1000003] = 8;
  y[600000] = 8;
  Measure m = compareExact(tensor, y.data(), r.data());
  EXPECT_EQ(m.mismatches, 2);
  EXPECT_EQ(m.where, 600000);
  EXPECT_EQ(m.max, infinity);
}

/// All of the only tensor is there.
static NegativeControls::Fetch all(const void *data) {
  return [=](size_t, int64_t, int64_t) { return data; };
}

/// What is rejected on the last rows of a large result is rejected on all, and
/// what is right there is looked at altogether.
TEST(Judge, CompetitorsOfLargeOutputs) {
  int64_t rows = 70, columns = 1 << 17;
  Job job;
  job.kind = Kind::Elementwise;
  job.inputs = {{ElementType::F32, {rows, columns}, Role::Data, {}}};
  job.outputs = job.inputs;
  auto elements = size_t(rows * columns);
  std::vector<float> x(elements);
  fillInput(job, 0, {Distribution::Normal, 0, 1, 1}, x.data());
  std::vector<double> r(x.begin(), x.end());
  NegativeControls competitors(job);
  competitors.judge(all(x.data()), all(r.data()), {ErrorContext()}, "normal");
  EXPECT_EQ(competitors.unrejected(), "copy of an input");
  r[5] += 1;
  competitors.judge(all(x.data()), all(r.data()), {ErrorContext()}, "normal");
  for (const Competitor &competitor : competitors.results())
    EXPECT_TRUE(competitor.rejected || competitor.name == "previous output")
        << competitor.name;
}

/// Of a large result only the last rows and one element are fetched, and
/// nothing once all are rejected.
TEST(Judge, CompetitorsFetchLittle) {
  int64_t rows = 130, columns = 1 << 17;
  Job job;
  job.kind = Kind::Elementwise;
  job.inputs = {{ElementType::F32, {rows, columns}, Role::Data, {}}};
  job.outputs = job.inputs;
  auto elements = size_t(rows * columns);
  std::vector<float> x(elements), near(elements);
  std::vector<double> r(elements), there(elements);
  for (size_t i = 0; i < elements; ++i) {
    x[i] = float(i * 7919 % 1009) / 500 - 1;
    r[i] = 2 * double(x[i]);
  }
  int64_t fetched = 0;
  auto fetch = [&](const auto &from, auto &to) {
    return [&](size_t, int64_t begin, int64_t end) -> const void * {
      std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
      fetched += end - begin;
      return to.data();
    };
  };
  NegativeControls competitors(job);
  auto judge = [&] {
    competitors.judge(fetch(x, near), fetch(r, there), {ErrorContext()},
                      "normal");
  };
  judge();
  EXPECT_GT(fetched, 0);
  EXPECT_LE(fetched, 2 * ((int64_t(1) << 21) + columns) + 1);
  for (const Competitor &competitor : competitors.results())
    EXPECT_TRUE(competitor.rejected) << competitor.name;
  fetched = 0;
  judge();
  EXPECT_EQ(fetched, 0);
}

static Job contraction(int64_t k) {
  Job job;
  job.inputs = {{ElementType::F32, {64, k}, Role::Data, {}},
                {ElementType::F32, {k, 64}, Role::Data, {}}};
  job.outputs = {{ElementType::F32, {64, 64}, Role::Data, {}}};
  job.kind = Kind::Contraction;
  job.reductionLength = k;
  return job;
}

/// What matters is that the classes stay apart for every length: rounding an
/// operand to 10 bits is off by 0.42 * slope * 2^-11, never within ieee.
TEST(Judge, ClassesStayApart) {
  for (int64_t k : {1, 16, 1000, 4096, 65536, 1 << 22}) {
    Job job = contraction(k);
    ErrorContext d;
    d.carriers = 4096;
    d.slopeFrobenius = 1.41;
    d.slopeMax = 6;
    // Even when the baseline is as bad as can be.
    d.baseline.frobenius = 1;
    d.baseline.max = 1;
    Bounds ieee = boundsOf(job, 0, Precision::IEEE, d);
    Bounds tf32 = boundsOf(job, 0, Precision::TF32, d);
    Bounds half = boundsOf(job, 0, Precision::Half, d);
    EXPECT_LT(ieee.frobenius, 0.42 * 1.41 * 0x1p-11) << k;
    EXPECT_LT(ieee.frobenius, tf32.frobenius);
    EXPECT_LE(tf32.frobenius, half.frobenius);
    EXPECT_LT(half.max, 0.05);
    // A plain sum, 0.3 sqrt(K) u, always passes.
    d.baseline = Measure();
    ieee = boundsOf(job, 0, Precision::IEEE, d);
    if (k <= 65536)
      EXPECT_GT(ieee.frobenius, 0.3 * std::sqrt(double(k)) * 0x1p-24) << k;
  }
}

TEST(Judge, ExactMeansExact) {
  Job job = contraction(64);
  ErrorContext d;
  d.exact = true;
  Measure m;
  EXPECT_EQ(classify(job, 0, m, d), Precision::IEEE);
  m.max = m.frobenius = 1e-8;
  EXPECT_NE(classify(job, 0, m, d), Precision::IEEE);
}

TEST(Judge, NaNErrorsHoldNoClass) {
  Job job = contraction(64);
  ErrorContext d;
  Measure m;
  m.max = std::nan("");
  EXPECT_EQ(classify(job, 0, m, d), Precision::None);
}

/// Trials of the range forgive errors, never a NaN where there is none.
TEST(Judge, RangeTrialsForgiveNoNaN) {
  Job job = contraction(64);
  ErrorContext d;
  d.rangeOnly = true;
  Measure m;
  m.max = m.frobenius = 0.5;
  EXPECT_EQ(classify(job, 0, m, d), Precision::Half);
  m.mismatches = 1;
  EXPECT_EQ(classify(job, 0, m, d), Precision::None);
  m.mismatches = 0;
  m.max = std::nan("");
  EXPECT_EQ(classify(job, 0, m, d), Precision::None);
}

/// Beyond FP16's range a NaN only tells the class; within it, it is wrong.
TEST(Judge, NaNBeyondTheRangeOfHalfIsHalf) {
  Job job = contraction(64);
  ErrorContext d;
  d.rangeOnly = d.exceedsHalf = true;
  Measure m;
  EXPECT_EQ(classify(job, 0, m, d), Precision::IEEE);
  m.mismatches = 1;
  EXPECT_EQ(classify(job, 0, m, d), Precision::Half);
}

/// Jobs that accept half draw mixed magnitudes within FP16's range as well.
TEST(Distribution, MixedMagnitudesInTheRangeOfHalf) {
  Job job = contraction(512);
  std::vector<float> values(64 * 512);
  auto largest = [&](Distribution law) {
    double most = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      fillInput(job, 0, {law, 0, seed, 1}, values.data());
      for (float value : values)
        most = std::max(most, std::fabs(double(value)));
    }
    return most;
  };
  EXPECT_GT(largest(Distribution::Mixed), 1e12);
  EXPECT_GT(largest(Distribution::MixedHalf), 500);
  EXPECT_LT(largest(Distribution::MixedHalf), 65504);
  auto draws = [&](Precision accepted, ElementType type) {
    job.acceptedPrecision = accepted;
    job.inputs[0].type = job.inputs[1].type = type;
    for (const Trial &trial : drawTrials(job, 1).cases)
      if (trial.law == Distribution::MixedHalf)
        return true;
    return false;
  };
  EXPECT_TRUE(draws(Precision::Half, ElementType::F32));
  EXPECT_FALSE(draws(Precision::TF32, ElementType::F32));
  EXPECT_FALSE(draws(Precision::Half, ElementType::F16));
  EXPECT_FALSE(exceedsHalf(job, Distribution::Mixed));
}

/// Inputs depend on nothing but seed and position.
TEST(Distribution, IsReproducibleAndLegal) {
  Job job;
  job.kind = Kind::Other;
  job.inputs = {{ElementType::F32, {100, 70}, Role::Data, {}},
                {ElementType::F16, {7000}, Role::Positive, {}},
                {ElementType::I64, {7000}, Role::Index, {{3, 9}}},
                {ElementType::I1, {7000}, Role::Mask, {}},
                {ElementType::F32, {100, 70}, Role::Mask, {}},
                {ElementType::F32, {7000}, Role::Data, {{-1, 1}}}};
  job.outputs = {{ElementType::F32, {1}, Role::Data, {}}};
  std::vector<Trial> cases = drawTrials(job, 42).cases;
  for (Kind kind : {Kind::Contraction, Kind::Softmax, Kind::Norm,
                    Kind::Elementwise, Kind::Pooling, Kind::Reduction}) {
    job.kind = kind;
    for (const Trial &trial : drawTrials(job, 43).cases)
      cases.push_back(trial);
  }
  for (const Trial &trial : cases)
    for (size_t i = 0; i < job.inputs.size(); ++i) {
      const Tensor &tensor = job.inputs[i];
      std::vector<char> one(size_t(tensor.bytes())), two(one.size());
      fillInput(job, i, trial, one.data());
      fillInput(job, i, trial, two.data());
      ASSERT_EQ(one, two);
      bool rowIsEmpty = true;
      for (int64_t k = 0; k < 7000; ++k) {
        double x = loadElement(tensor.type, one.data(), k);
        ASSERT_TRUE(!std::isnan(x) || trial.law == Distribution::Nonfinite)
            << toString(trial.law);
        if (i == 1 && !drawsNonfinite(trial.law))
          ASSERT_TRUE(x > 0 && x <= 65504) << toString(trial.law);
        if (i == 2)
          ASSERT_TRUE(x >= 3 && x <= 9);
        if (i == 3)
          ASSERT_TRUE(x == 0 || x == 1);
        if (i == 4) {
          // A mask without empty rows, or a bias.
          rowIsEmpty &= x == -infinity;
          if (trial.law == Distribution::Normal)
            ASSERT_TRUE(x == 0 || x == -infinity);
          if (k % 70 == 69) {
            ASSERT_TRUE(!rowIsEmpty || trial.law == Distribution::EmptyRows)
                << toString(trial.law);
            rowIsEmpty = true;
          }
        }
        if (i == 5)
          ASSERT_TRUE(x >= -1 && x <= 1) << toString(trial.law);
      }
    }
}

/// Whole rows of logits around +-80 and beyond, whichever axis of the keys is
/// contracted.
TEST(Distribution, QueriesAndKeysGiveLargeLogits) {
  constexpr int64_t count = 64, depth = 128;
  Job job;
  job.kind = Kind::Attention;
  job.inputs = {{ElementType::F32, {count, depth}, Role::Data, {}},
                {ElementType::F32, {count, depth}, Role::Data, {}}};
  job.outputs = job.inputs;
  for (bool transposed : {false, true}) {
    if (transposed)
      job.inputs[1].shape = {depth, count};
    std::vector<float> q(count * depth), k(q.size());
    fillInput(job, 0, {Distribution::QueryKey80, 0, 3, 1}, q.data());
    fillInput(job, 1, {Distribution::QueryKey80, 0, 3, 1}, k.data());
    int positive = 0, negative = 0;
    for (int64_t i = 0; i < count; ++i) {
      double least = infinity, most = -infinity;
      for (int64_t j = 0; j < count; ++j) {
        double sum = 0;
        for (int64_t d = 0; d < depth; ++d)
          sum += double(q[size_t(i * depth + d)]) *
                 k[size_t(transposed ? d * count + j : j * depth + d)];
        sum /= std::sqrt(double(depth));
        least = std::min(least, sum);
        most = std::max(most, sum);
      }
      positive += least > 60 && most < 140;
      negative += most < -60 && least > -140;
    }
    EXPECT_EQ(positive + negative, count);
    EXPECT_GT(positive, count / 4);
    EXPECT_GT(negative, count / 4);
  }
}

TEST(Distribution, NormalHasItsMoments) {
  Job job;
  job.inputs = {{ElementType::F64, {200000}, Role::Data, {}}};
  job.outputs = job.inputs;
  std::vector<double> x(200000);
  fillInput(job, 0, {Distribution::Normal, 0, 5, 1}, x.data());
  double sum = 0, squares = 0, fourth = 0;
  for (double v : x) {
    sum += v;
    squares += v * v;
    fourth += v * v * v * v;
  }
  EXPECT_NEAR(sum / 200000, 0, 0.01);
  EXPECT_NEAR(squares / 200000, 1, 0.02);
  EXPECT_NEAR(fourth / 200000, 3, 0.15);
}

/// The tables meet each other, and the function where it is computed.
TEST(Distribution, NormalInvertsItsDistributionFunction) {
  for (uint64_t step = 1; step < 4000; ++step)
    for (int shift : {0, 6, 8, 20, 30}) {
      uint64_t bits = (step << 52) >> shift;
      for (uint64_t b : {bits - 1, bits, bits + 12345, ~bits}) {
        double p = uniformOf(b), x = normalOf(b);
        double tail = std::min(p, 1 - p);
        double back = 0.5 * std::erfc(std::fabs(x) * std::sqrt(0.5));
        ASSERT_NEAR(back / tail, 1, 2e-3) << b;
        ASSERT_TRUE(p < 0.5 ? x <= 0 : x >= 0) << b;
      }
    }
}

static std::vector<std::string> lawsOf(const Trials &trials, size_t count) {
  std::vector<std::string> laws;
  for (size_t i = 0; i < count; ++i)
    laws.emplace_back(toString(trials.cases[i].law));
  return laws;
}

/// Only evaluate saves trials, and only on large tensors.
TEST(Distribution, PlansFollowModeAndSize) {
  Job job;
  job.kind = Kind::Softmax;
  auto trialsOf = [&](Mode mode, int64_t rows, uint64_t seed) {
    job.mode = mode;
    job.validate.trials = mode == Mode::Promote ? 10 : 3;
    job.inputs = {{ElementType::F32, {rows, 1024}, Role::Data, {}}};
    job.outputs = job.inputs;
    return drawTrials(job, seed);
  };
  for (int64_t rows : {8, 1024, 4096}) {
    Trials promote = trialsOf(Mode::Promote, rows, 1);
    EXPECT_EQ(promote.cases.size(), 10u + 2 * 14);
    EXPECT_EQ(promote.required, promote.cases.size());
    Trials validate = trialsOf(Mode::Validate, rows, 1);
    EXPECT_EQ(validate.cases.size(), 3u + 14);
    EXPECT_EQ(validate.required, validate.cases.size());
  }
  EXPECT_EQ(trialsOf(Mode::Evaluate, 8, 1).required, 17u);
  EXPECT_EQ(trialsOf(Mode::Evaluate, 1024, 1).required, 13u);

  // A subset, the harshest first, different from seed to seed; all others in
  // reserve.
  std::set<std::vector<std::string>> subsets;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Trials trials = trialsOf(Mode::Evaluate, 4096, seed);
    ASSERT_EQ(trials.required, 4u);
    std::vector<std::string> laws = lawsOf(trials, trials.required);
    EXPECT_EQ(laws[0], "normal");
    EXPECT_EQ(laws[1], "logits_80");
    subsets.insert(laws);
    laws = lawsOf(trials, trials.cases.size());
    EXPECT_EQ(std::set<std::string>(laws.begin(), laws.end()).size(), 15u);
  }
  EXPECT_GT(subsets.size(), 5u);
}

TEST(Distribution, SeedsDiffer) {
  Job job;
  job.inputs = {{ElementType::F32, {1000}, Role::Data, {}}};
  job.outputs = job.inputs;
  std::vector<float> a(1000), b(1000);
  fillInput(job, 0, {Distribution::Normal, 0, 1, 1}, a.data());
  fillInput(job, 0, {Distribution::Normal, 0, 2, 1}, b.data());
  EXPECT_NE(a, b);
  b = a;
  mutate(job, 0, {Distribution::Normal, 0, 1, 1}, 99, b.data());
  int changed = 0;
  for (int i = 0; i < 1000; ++i)
    changed += a[size_t(i)] != b[size_t(i)];
  EXPECT_GE(changed, 16);
  EXPECT_LE(changed, 23);
}
