//===- InputsTest.cpp - What is drawn finds who is wrong there ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that are wrong on a part of their domain, each beside its honest
// twin; and the values of the laws themselves.
//
//===----------------------------------------------------------------------===//

#include "Values/Inputs.h"
#include "Values/Random.h"
#include "WorkerHarness.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace fastk::worker;
using namespace fastk::worker::test;

static constexpr double infinity = HUGE_VAL;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
struct Partly {
  const char *op;
  /// What finds it.
  const char *law;
  Precision accepted = Precision::IEEE;
};
void PrintTo(const Partly &partly, std::ostream *os) { *os << partly.op; }
class WrongInPart : public ::testing::TestWithParam<Partly> {};
} // namespace

static Job partlyJob(const Partly &partly, const char *wrong) {
  std::string op = partly.op;
  std::string flags = "-DOP=" + op + " -DWRONG=" + wrong;
  if (op.rfind("H_", 0) == 0)
    flags += " -DT=_Float16";
  Job job = domainJob(op, compile("domain.c", flags));
  job.acceptedPrecision = partly.accepted;
  return job;
}

TEST_P(WrongInPart, IsFoundAndItsTwinIsNot) {
  Verdict verdict = judge(partlyJob(GetParam(), "1"));
  // What no law finds is found by chance, 14 times of 15 for SOFTSIGN. A winner
  // is judged twice, on fresh data: a program that is wrong has to pass both.
  if (!*GetParam().law && verdict.status == Status::OK)
    verdict = judge(partlyJob(GetParam(), "1"));
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  ASSERT_FALSE(verdict.errors.empty());
  if (*GetParam().law) {
    EXPECT_EQ(verdict.errors.back().distribution, GetParam().law)
        << explain(verdict);
  }
  for (const std::string &left : verdict.audit.leftOut)
    EXPECT_NE(left.rfind(GetParam().law, 0), 0u) << left;

  verdict = judge(partlyJob(GetParam(), "0"));
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.precision, Precision::IEEE) << explain(verdict);
}

INSTANTIATE_TEST_SUITE_P(
    Domain, WrongInPart,
    ::testing::Values(
        Partly{"DIVIDE", "normal"}, Partly{"CUBE", "signed_domain"},
        Partly{"LOG", "signed_domain"}, Partly{"SQRT", "signed_domain"},
        Partly{"RELU", "nonfinite"}, Partly{"SOFTSIGN", ""},
        Partly{"HALVE", ""}, Partly{"NORM", "", Precision::Half},
        Partly{"I_PRODUCT", "full_width"}, Partly{"I_DIVIDE", "full_width"},
        Partly{"I_IGNORE", "full_width"}, Partly{"H_SCALE", ""},
        Partly{"FAR", ""}),
    [](const auto &info) { return std::string(info.param.op); });

/// Numbers below the smallest normal one may count as 0, as they do on a GPU.
TEST(Inputs, DenormalsMayBeFlushed) {
  for (const char *flushes : {"0", "1"}) {
    Verdict verdict = judge(partlyJob({"SCALE", ""}, flushes));
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
    EXPECT_EQ(verdict.precision, Precision::IEEE) << explain(verdict);
    EXPECT_EQ(std::count(verdict.audit.distributions.begin(),
                         verdict.audit.distributions.end(), "denormals"),
              1);
  }
}

/// What is added to logits is a mask in some trials and a bias in others; rows
/// begin and end masked, and some are empty.
TEST(Inputs, MasksAreBiasesToo) {
  auto verdictOf = [](const char *variant) {
    return judge(maskedAttentionJob(
        compile("attention.c", std::string("-DMASKED -DVARIANT=") + variant)));
  };
  for (const char *honest : {"0", "ONLINE"}) {
    Verdict verdict = verdictOf(honest);
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
    EXPECT_EQ(verdict.precision, Precision::IEEE) << explain(verdict);
    EXPECT_TRUE(verdict.audit.leftOut.empty())
        << ::testing::PrintToString(verdict.audit.leftOut);
    const auto &drawn = verdict.audit.distributions;
    for (const char *law : {"mask_bias", "empty_rows"})
      EXPECT_EQ(std::count(drawn.begin(), drawn.end(), law), 1) << law;
  }
  for (auto [variant, law] :
       {std::pair("AS_MASK", "mask_bias"), std::pair("NO_GUARD", "normal"),
        std::pair("SAFE", "empty_rows")}) {
    Verdict verdict = verdictOf(variant);
    EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
    ASSERT_FALSE(verdict.errors.empty());
    EXPECT_EQ(verdict.errors.back().distribution, law) << explain(verdict);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::vector<double> drawn(const Job &job, size_t index,
                                 const Trial &trial) {
  const Tensor &tensor = job.inputs[index];
  std::vector<char> bytes(size_t(tensor.bytes()));
  fillInput(job, index, trial, bytes.data());
  std::vector<double> values(size_t(tensor.elements()));
  loadElements(tensor.type, bytes.data(), 0, values.data(), tensor.elements());
  return values;
}

// A program may treat the first or the last of a range in its own way.
TEST(Inputs, BothEndsOfAWideRangeAreDrawn) {
  Job job;
  job.inputs = {{ElementType::I64, {1024}, Role::Index, {{-100000, 99999}}}};
  job.outputs = {{ElementType::F32, {1024}, Role::Data, {}}};
  std::vector<double> values =
      drawn(job, 0, {Distribution::Normal, 0, 12345, 1});
  EXPECT_GT(std::count(values.begin(), values.end(), -100000), 8);
  EXPECT_GT(std::count(values.begin(), values.end(), 99999), 8);
  // Most are others.
  EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 900u);
}

static Job productJob(int64_t m, int64_t k, int64_t n) {
  Job job;
  job.kind = Kind::Contraction;
  job.reductionLength = k;
  job.inputs = {{ElementType::F32, {m, k}, Role::Data, {}},
                {ElementType::F32, {k, n}, Role::Weight, {}}};
  job.outputs = {{ElementType::F32, {m, n}, Role::Data, {}}};
  return job;
}

/// The upper 8 bits of the significand, as BF16 keeps them.
static float toBFloat(float x) {
  return float(fromBFloatBits(toBFloatBits(x)));
}

namespace {
struct ProductErrors {
  double plain = 0, threeTerms = 0, halfTerms = 0;
  /// Results that have a term.
  double share = 0;
};
} // namespace

/// Largest errors of results, each against itself, of a plain sum and of sums
/// of three products of parts of operands.
static ProductErrors productErrors(const Job &job, const Trial &trial,
                                   bool transposed) {
  int64_t m = job.outputs[0].shape[0], n = job.outputs[0].shape[1];
  int64_t k = job.reductionLength;
  std::vector<double> a = drawn(job, 0, trial), b = drawn(job, 1, trial);
  ProductErrors errors;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double exact = 0, magnitude = 0;
      float plain = 0, three = 0, half = 0;
      for (int64_t l = 0; l < k; ++l) {
        auto x = float(a[size_t(transposed ? l * m + i : i * k + l)]);
        auto y = float(b[size_t(transposed ? j * k + l : l * n + j)]);
        exact += double(x) * y;
        magnitude += std::fabs(double(x) * y);
        plain += x * y;
        float x1 = toBFloat(x), y1 = toBFloat(y);
        float x2 = toBFloat(x - x1), y2 = toBFloat(y - y1);
        three += x1 * y1 + (x1 * y2 + x2 * y1);
        auto f1 = float(fromHalfBits(toHalfBits(x)));
        auto g1 = float(fromHalfBits(toHalfBits(y)));
        auto f2 = float(fromHalfBits(toHalfBits((x - f1) * 2048)));
        auto g2 = float(fromHalfBits(toHalfBits((y - g1) * 2048)));
        half += f1 * g1 + (f1 * g2 + f2 * g1) / 2048;
      }
      if (magnitude == 0)
        continue;
      errors.share += 1.0 / double(m * n);
      auto grow = [&](double &error, double got) {
        error = std::max(error, std::fabs(got - exact) / magnitude);
      };
      grow(errors.plain, double(plain));
      grow(errors.threeTerms, double(three));
      grow(errors.halfTerms, double(half));
    }
  return errors;
}

/// Whatever K and however operands lie: three BF16 terms are seen, three FP16
/// terms are as good as FP32, and most results have a term.
TEST(Inputs, RoundedOperandsCannotHide) {
  for (auto [m, k, n] : {std::tuple(32, 96, 24), std::tuple(24, 8192, 16)})
    for (bool transposed : {false, true})
      for (Distribution law : {Distribution::OneHot, Distribution::FewNonzero})
        for (int64_t turn : {0, 1}) {
          SCOPED_TRACE(std::string(toString(law)) + ", K " + std::to_string(k) +
                       ", operand " + std::to_string(turn));
          Job job = productJob(m, k, n);
          if (transposed) {
            std::swap(job.inputs[0].shape[0], job.inputs[0].shape[1]);
            std::swap(job.inputs[1].shape[0], job.inputs[1].shape[1]);
          }
          // A seed that takes K for the distance of values.
          uint64_t seed = 1;
          while (bitsAt(seed, 900 + size_t(turn)) % 16 == 0)
            ++seed;
          ProductErrors errors =
              productErrors(job, {law, turn, seed, 1}, transposed);
          EXPECT_GT(errors.share, 0.5);
          EXPECT_LT(errors.plain, 0x1p-22);
          EXPECT_LT(errors.halfTerms, 0x1p-20);
          EXPECT_GT(errors.threeTerms, 0x1p-18);
        }
}

/// A filter has one value, an image about one in each window: with padding,
/// most results have a term, and few have many.
TEST(Inputs, ConvolutionsHaveFewTerms) {
  constexpr int64_t channels = 8, size = 16, filters = 12, window = 3;
  Job job;
  job.kind = Kind::Convolution;
  job.reductionLength = channels * window * window;
  job.inputs = {{ElementType::F32, {1, channels, size, size}, Role::Data, {}},
                {ElementType::F32,
                 {filters, channels, window, window},
                 Role::Weight,
                 {}}};
  job.outputs = {{ElementType::F32, {1, filters, size, size}, Role::Data, {}}};
  for (int64_t turn : {0, 1}) {
    uint64_t seed = 1;
    while (bitsAt(seed, 900 + size_t(turn)) % 16 == 0)
      ++seed;
    Trial trial = {Distribution::OneHot, turn, seed, 1};
    std::vector<double> image = drawn(job, 0, trial),
                        filter = drawn(job, 1, trial);
    int64_t some = 0, many = 0, results = filters * size * size;
    for (int64_t result = 0; result < results; ++result) {
      int64_t f = result / (size * size), y = result / size % size,
              x = result % size, terms = 0;
      for (int64_t tap = 0; tap < job.reductionLength; ++tap) {
        int64_t row = y + tap / window % window - 1,
                column = x + tap % window - 1;
        if (row < 0 || row >= size || column < 0 || column >= size)
          continue;
        int64_t channel = tap / (window * window);
        terms += image[size_t((channel * size + row) * size + column)] *
                     filter[size_t(f * job.reductionLength + tap)] !=
                 0;
      }
      some += terms > 0;
      many += terms > 3;
    }
    EXPECT_GT(some, results / 2) << turn;
    EXPECT_LT(many, results / 20) << turn;
  }
}

/// On N(0,1) they do: a plain sum is as far off as three BF16 terms.
TEST(Inputs, RoundedOperandsHideUnderSums) {
  ProductErrors errors = productErrors(productJob(24, 8192, 16),
                                       {Distribution::Normal, 0, 1, 1}, false);
  EXPECT_LT(errors.threeTerms, 4 * errors.plain);
}

/// Each operand has its turn; values added to the product are 0.
TEST(Inputs, OperandsTakeTurns) {
  Job job = productJob(64, 96, 48);
  job.inputs.push_back({ElementType::F32, {48}, Role::Bias, {}});
  for (Mode mode : {Mode::Evaluate, Mode::Validate, Mode::Promote}) {
    job.mode = mode;
    std::set<size_t> sparse;
    for (const Trial &trial : drawTrials(job, 5).cases) {
      if (trial.law != Distribution::OneHot)
        continue;
      for (size_t i : {0, 1}) {
        std::vector<double> values = drawn(job, i, trial);
        auto zeros = std::count(values.begin(), values.end(), 0);
        if (zeros > 0)
          sparse.insert(i);
        for (double value : values)
          ASSERT_TRUE(value == 0 ||
                      (std::fabs(value) >= 0.5 && std::fabs(value) <= 2));
      }
      for (double value : drawn(job, 2, trial))
        ASSERT_EQ(value, 0);
    }
    EXPECT_EQ(sparse.size(), mode == Mode::Evaluate ? 1u : 2u);
  }
}

static Job singleJob(ElementType type, Role role = Role::Data,
                     Kind kind = Kind::Elementwise) {
  Job job;
  job.kind = kind;
  job.inputs = {{type, {100, 200}, role, {}}};
  job.outputs = job.inputs;
  job.outputs[0].role = Role::Data;
  return job;
}

/// All exponents of the type, both signs; those of FP16 below its normal
/// numbers, too. Halved, squares fit.
TEST(Inputs, MagnitudesReachTheWholeRange) {
  for (auto [type, low, high] : {std::tuple(ElementType::F32, -126, 127),
                                 std::tuple(ElementType::BF16, -126, 127),
                                 std::tuple(ElementType::F16, -24, 15),
                                 std::tuple(ElementType::F64, -1022, 1023)})
    for (bool isHalf : {false, true}) {
      std::set<int> exponents;
      int negative = 0;
      for (double value : drawn(singleJob(type), 0,
                                {isHalf ? Distribution::LogUniformHalf
                                        : Distribution::LogUniform,
                                 0, 1, 1})) {
        ASSERT_TRUE(std::isfinite(value) && value != 0);
        if (isHalf && type != ElementType::F64) {
          ASSERT_LE(value * value, largestValue(type));
        }
        exponents.insert(std::ilogb(value));
        negative += value < 0;
      }
      int least = isHalf ? low / 2 : low;
      int most = isHalf ? (high - 1) / 2 - 1 : high;
      EXPECT_EQ(*exponents.begin(), least);
      EXPECT_LE(std::abs(*exponents.rbegin() - most), 1);
      EXPECT_GT(exponents.size(), size_t(most - least) * 9 / 10);
      EXPECT_NEAR(negative, 10000, 500);
    }
}

/// The sums of products of 4096 fit.
TEST(Inputs, MagnitudesOfProductsFit) {
  Job job = productJob(64, 4096, 16);
  for (ElementType type : {ElementType::F32, ElementType::F16}) {
    job.inputs[0].type = type;
    double most = 0;
    for (double value : drawn(job, 0, {Distribution::LogUniformHalf, 0, 1, 1}))
      most = std::max(most, std::fabs(value));
    EXPECT_LT(most * most * 4096, largestValue(type));
  }
}

TEST(Inputs, ExtremesAndWhatIsNotFinite) {
  for (ElementType type : {ElementType::F32, ElementType::F16,
                           ElementType::BF16, ElementType::F64}) {
    Job job = singleJob(type);
    std::vector<double> values =
        drawn(job, 0, {Distribution::Extremes, 0, 1, 1});
    auto has = [&](double value) {
      return std::count(values.begin(), values.end(), value) > 0;
    };
    EXPECT_TRUE(has(largestValue(type)) && has(-largestValue(type)));
    EXPECT_TRUE(has(smallestNormal(type)) && has(-smallestNormal(type)));
    EXPECT_TRUE(has(1 + 2 * unitRoundoff(type)));
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](double value) {
      return value == 0 && std::signbit(value);
    }));
    // By turns such that their squares fit.
    for (double value : drawn(job, 0, {Distribution::Extremes, 1, 1, 1}))
      ASSERT_LE(value * value, largestValue(type));
    values = drawn(job, 0, {Distribution::Nonfinite, 0, 1, 1});
    EXPECT_TRUE(has(infinity) && has(-infinity));
    auto wild = std::count_if(values.begin(), values.end(), [](double value) {
      return !std::isfinite(value);
    });
    EXPECT_EQ(wild, 20000 / 16);
    auto nans = std::count_if(values.begin(), values.end(),
                              [](double value) { return std::isnan(value); });
    EXPECT_NEAR(double(nans), double(wild) / 3, 100);
    values = drawn(job, 0, {Distribution::Denormals, 0, 1, 1});
    auto small = std::count_if(values.begin(), values.end(), [&](double value) {
      return std::fabs(value) < smallestNormal(type);
    });
    EXPECT_NEAR(double(small), 5000, 100);
  }
  // Of a product few, in one operand: most results do not know of them.
  Job job = productJob(64, 96, 48);
  for (int64_t turn : {0, 1})
    for (size_t i : {0, 1}) {
      std::vector<double> values =
          drawn(job, i, {Distribution::Nonfinite, turn, 3, 1});
      auto wild = std::count_if(values.begin(), values.end(),
                                [](double v) { return !std::isfinite(v); });
      EXPECT_EQ(wild, int64_t(i) == turn ? 4 : 0);
    }
}

TEST(Inputs, DomainsAreNotNarrowed) {
  Job job = singleJob(ElementType::F32, Role::Positive);
  auto count = [&](Distribution law, auto &&is) {
    std::vector<double> values = drawn(job, 0, {law, 0, 1, 1});
    return std::count_if(values.begin(), values.end(), is);
  };
  auto isNegative = [](double v) { return v < 0; };
  auto isZero = [](double v) { return v == 0; };
  auto isTiny = [](double v) { return v > 0 && v < 1e-9; };
  EXPECT_EQ(count(Distribution::Normal, isNegative), 0);
  EXPECT_EQ(count(Distribution::LogUniform, isNegative), 0);
  EXPECT_GT(count(Distribution::LogUniform, isTiny), 5000);
  EXPECT_GT(count(Distribution::SignedDomain, isNegative), 8000);
  EXPECT_GT(count(Distribution::SignedDomain, isZero), 500);
  EXPECT_EQ(count(Distribution::NearZero, isNegative), 0);
  EXPECT_GT(count(Distribution::NearZero, isZero), 2000);
  EXPECT_GT(count(Distribution::NearZero, isTiny), 5000);
  // Where rows are summed up, most have no NaN.
  job.kind = Kind::Reduction;
  job.reductionLength = 200;
  std::vector<double> values =
      drawn(job, 0, {Distribution::SignedDomain, 0, 1, 1});
  int rows = 0;
  for (int row = 0; row < 100; ++row)
    rows += std::any_of(values.begin() + row * 200,
                        values.begin() + (row + 1) * 200, isNegative);
  EXPECT_GT(rows, 10);
  EXPECT_LT(rows, 45);

  job = singleJob(ElementType::F32, Role::Divisor);
  EXPECT_GT(count(Distribution::Normal, isNegative), 9000);
  EXPECT_EQ(
      count(Distribution::Normal, [](double v) { return std::fabs(v) < 0.05; }),
      0);
  EXPECT_GT(count(Distribution::NearZero, isNegative), 8000);
}

TEST(Inputs, IntegersHaveTheirWholeWidth) {
  for (ElementType type :
       {ElementType::I64, ElementType::I32, ElementType::I8}) {
    Job job = singleJob(type);
    auto drawnWide = [&] {
      return drawn(job, 0, {Distribution::FullWidth, 0, 1, 1});
    };
    std::vector<double> values = drawnWide();
    auto has = [&](double value) {
      return std::count(values.begin(), values.end(), value) > 0;
    };
    int bits = type == ElementType::I8 ? 7 : type == ElementType::I32 ? 31 : 63;
    double least = -std::ldexp(1, bits);
    double most = roundTo(type, std::ldexp(1, bits) - 1);
    for (double value : {least, most, -1.0, 0.0, -100.0, 127.0})
      EXPECT_TRUE(has(value)) << value;
    for (double value : drawn(job, 0, {Distribution::Normal, 0, 1, 1}))
      ASSERT_LE(std::fabs(value), 8);
    // No quotient is without a result.
    job.inputs[0].role = Role::Divisor;
    values = drawnWide();
    EXPECT_FALSE(has(0) || has(-1));
    EXPECT_TRUE(has(-100) && has(most) && has(least));
    values = drawn(job, 0, {Distribution::Normal, 0, 1, 1});
    EXPECT_FALSE(has(0));
    EXPECT_TRUE(has(-1) && has(-8));
    job.inputs[0].role = Role::Positive;
    for (double value : drawnWide())
      ASSERT_TRUE(value >= 1 && value <= most / 2);
    // Beside floats they are numbers that a float does not lose digits of.
    job.inputs[0].role = Role::Data;
    job.outputs[0].type = ElementType::F32;
    values = drawnWide();
    EXPECT_TRUE(has(-100) && has(-128) && has(127));
    for (double value : values)
      ASSERT_LE(std::fabs(value), 128);
    // Whatever the range and the law.
    job.inputs[0].special = -77;
    job.inputs[0].range = {{0, 100}};
    for (Distribution law :
         {Distribution::Normal, Distribution::Equal, Distribution::FullWidth}) {
      values = drawn(job, 0, {law, 0, 1, 1});
      auto count = std::count(values.begin(), values.end(), -77);
      EXPECT_NEAR(double(count), 20000.0 / 16, 200);
      EXPECT_EQ(std::count_if(values.begin(), values.end(),
                              [](double v) { return v < 0; }),
                count);
    }
    job.inputs[0].special.reset();
    // A range is kept, its ends are drawn.
    job.inputs[0].range = {{-3, 100}};
    values = drawnWide();
    EXPECT_TRUE(has(-3) && has(100));
    EXPECT_EQ(*std::min_element(values.begin(), values.end()), -3);
    EXPECT_EQ(*std::max_element(values.begin(), values.end()), 100);
  }
}

/// What very large evaluations never leave out, and how much they draw.
TEST(Inputs, VeryLargeEvaluationsStayCheap) {
  Job job = productJob(2048, 2048, 2048);
  job.mode = Mode::Evaluate;
  std::set<std::string> all;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Trials trials = drawTrials(job, seed);
    EXPECT_EQ(trials.required, 5u);
    std::set<Distribution> first;
    for (size_t i = 0; i < trials.required; ++i)
      first.insert(trials.cases[i].law);
    EXPECT_EQ(first.size(), trials.required);
    EXPECT_TRUE(first.count(Distribution::OneHot) &&
                first.count(Distribution::Mixed));
    for (Distribution law : first)
      all.emplace(toString(law));
  }
  EXPECT_GT(all.size(), 12u);

  job.kind = Kind::Attention;
  job.inputs.push_back({ElementType::F32, {2048, 2048}, Role::Mask, {}});
  Trials trials = drawTrials(job, 1);
  EXPECT_EQ(trials.required, 5u);
  std::set<Distribution> first;
  for (size_t i = 0; i < trials.required; ++i)
    first.insert(trials.cases[i].law);
  EXPECT_TRUE(first.count(Distribution::MaskBias) &&
              first.count(Distribution::OneHot));

  Job integers = singleJob(ElementType::I32);
  integers.inputs[0].shape = integers.outputs[0].shape = {4096, 4096};
  integers.mode = Mode::Evaluate;
  trials = drawTrials(integers, 1);
  EXPECT_EQ(trials.required, 4u);
  EXPECT_TRUE(std::any_of(
      trials.cases.begin(), trials.cases.begin() + 4,
      [](const Trial &trial) { return trial.law == Distribution::FullWidth; }));
}

/// Where it asks for all, an evaluation draws what mode validate does.
TEST(Inputs, FullEvaluationsDrawAsValidationsDo) {
  Job evaluation = productJob(2048, 2048, 2048);
  evaluation.mode = Mode::Evaluate;
  evaluation.validate.full = true;
  Job validation = evaluation;
  validation.mode = Mode::Validate;
  Trials mine = drawTrials(evaluation, 7), theirs = drawTrials(validation, 7);
  EXPECT_EQ(mine.required, theirs.required);
  ASSERT_EQ(mine.cases.size(), theirs.cases.size());
  for (size_t i = 0; i < mine.cases.size(); ++i) {
    EXPECT_EQ(mine.cases[i].law, theirs.cases[i].law);
    EXPECT_EQ(mine.cases[i].seed, theirs.cases[i].seed);
  }
  evaluation.validate.full = false;
  EXPECT_LT(drawTrials(evaluation, 7).required, theirs.required);
}

/// A promotion leaves nothing out: each law of the kind and of the operands.
TEST(Inputs, PromotionDrawsEveryLaw) {
  Job job = productJob(2048, 2048, 2048);
  job.mode = Mode::Promote;
  job.inputs.push_back({ElementType::F32, {2048}, Role::Positive, {}});
  job.inputs.push_back({ElementType::I64, {2048}, Role::Data, {}});
  std::multiset<Distribution> laws;
  for (const Trial &trial : drawTrials(job, 1).cases)
    laws.insert(trial.law);
  for (Distribution law :
       {Distribution::FewNonzero, Distribution::LogUniformHalf,
        Distribution::Extremes, Distribution::SignedDomain,
        Distribution::NearZero, Distribution::FullWidth})
    EXPECT_EQ(laws.count(law), 2u) << toString(law);
  EXPECT_EQ(laws.count(Distribution::Nonfinite),
            judgesNonFinite(job) ? 2u : 0u);
  EXPECT_EQ(laws.count(Distribution::OneHot), 4u);
}
