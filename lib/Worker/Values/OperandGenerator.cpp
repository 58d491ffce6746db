//===- OperandGenerator.cpp - The values of one operand -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandGenerator.h"
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

using namespace fastk::worker;

/// Whether the laws of single values are in operand \p index this time. Ops
/// that multiply operands have them in one at a time, so that the other one is
/// seen through it.
static bool isItsTurn(const Job &job, size_t index, const Trial &trial) {
  std::vector<size_t> turns = turnsOf(job);
  return !turns.empty() && turns[uint64_t(trial.trial) % turns.size()] == index;
}

/// Structural laws are for the data; parameters stay random, so that no kernel
/// gets away with ignoring them.
static Distribution lawFor(const Job &job, size_t index, const Trial &trial) {
  const Tensor &tensor = job.inputs[index];
  bool isDomain = tensor.role == Role::Positive || tensor.role == Role::Divisor;
  bool parameter =
      tensor.role == Role::Weight || tensor.role == Role::Bias || isDomain;
  switch (trial.law) {
  case Distribution::Spike:
  case Distribution::SpikeLast: {
    // One operand at a time has the spike, by turns of the seed.
    std::vector<size_t> candidates = turnsOf(job);
    if (candidates.empty() ||
        candidates[mix(trial.seed) % candidates.size()] != index)
      return Distribution::Normal;
    return trial.law;
  }
  case Distribution::Mixed:
  case Distribution::MixedHalf:
  case Distribution::Equal:
  case Distribution::Mean1000:
  case Distribution::ConstantRows:
  case Distribution::Logits80:
  case Distribution::QueryKey80:
  case Distribution::Ties:
  case Distribution::NegativeInfinity:
  case Distribution::Alternating:
  case Distribution::Runs:
  case Distribution::Breakpoints:
  case Distribution::Negatives:
    return parameter ? Distribution::Normal : trial.law;
  case Distribution::LogUniform:
  case Distribution::LogUniformHalf:
    return tensor.role == Role::Bias ? Distribution::Normal : trial.law;
  case Distribution::Bands:
    return parameter && !isDomain ? Distribution::Normal : trial.law;
  case Distribution::Denormals:
    return tensor.role == Role::Data || tensor.role == Role::Weight
               ? trial.law
               : Distribution::Normal;
  case Distribution::Extremes:
  case Distribution::Nonfinite:
    if (isProduct(job.kind))
      return isItsTurn(job, index, trial) ? trial.law : Distribution::Normal;
    return tensor.role == Role::Bias ? Distribution::Normal : trial.law;
  case Distribution::SignedDomain:
    return tensor.role == Role::Positive ? trial.law : Distribution::Normal;
  case Distribution::NearZero:
    return isDomain ? trial.law : Distribution::Normal;
  case Distribution::MaskBias:
    return tensor.role == Role::Mask ? trial.law : Distribution::Normal;
  default:
    return trial.law;
  }
}

/// Whether an operand that is added to logits is a bias rather than a mask: in
/// trials of its own, and by the seed in others. N(0,1), on which calls are
/// timed, has masks, as most models do.
static bool isBiasIn(const Trial &trial) {
  switch (trial.law) {
  case Distribution::MaskBias:
    return true;
  case Distribution::Normal:
  case Distribution::EmptyRows:
  case Distribution::OneHot:
  case Distribution::FewNonzero:
    return false;
  default:
    return mix(trial.seed ^ 0xb1a5) & 1;
  }
}

static Use useOf(const Tensor &tensor, Distribution law) {
  if (!isFloat(tensor.type))
    return tensor.type == ElementType::I1 || tensor.role == Role::Mask
               ? Use::Bit
               : Use::Integer;
  bool wholeDomain =
      law == Distribution::LogUniform || law == Distribution::LogUniformHalf ||
      law == Distribution::Bands || law == Distribution::NearZero;
  switch (tensor.role) {
  case Role::Mask:
    return Use::Mask;
  case Role::Positive:
    return law == Distribution::SignedDomain ? Use::Plain
           : wholeDomain || hasFewTerms(law) ? Use::Magnitude
                                             : Use::Positive;
  case Role::Divisor:
    return wholeDomain || hasFewTerms(law) ? Use::Plain : Use::Divisor;
  case Role::Scale:
    return hasFewTerms(law) ? Use::Plain : Use::Scale;
  default:
    return Use::Plain;
  }
}

/// The exponents of a float type's normal numbers; of FP16, which nobody may
/// flush to 0, down to the smallest subnormal one.
static std::pair<int32_t, int32_t> exponentsOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return {-1022, 1023};
  case ElementType::F16:
    return {-24, 15};
  default:
    return {-126, 127};
  }
}

/// Sets the places of the laws that draw a few special values.
static void setPlaces(ValueRule &rule, const Job &job, size_t index,
                      const Trial &trial) {
  const Tensor &tensor = job.inputs[index];
  rule.places = rule.law == Distribution::FewNonzero ? 3 : 1;
  rule.block = 1;
  if (hasFewTerms(rule.law)) {
    if (tensor.role == Role::Bias || tensor.role == Role::Mask)
      // Added, they would hide the digits of what they are added to.
      rule.places = 0;
    else if (!isItsTurn(job, index, trial))
      rule.places = -1;
    // One in as many elements as are summed up: whatever axis they are on, a
    // sum has about one term. Now and then, and where it is not known, by the
    // extents: the longest sum of a job may not be this operand's.
    std::vector<int64_t> lengths = {job.reductionLength, rule.row};
    if (tensor.shape.size() > 1)
      lengths.push_back(tensor.shape[tensor.shape.size() - 2]);
    uint64_t choice = bitsAt(trial.seed, 900 + index);
    bool known = job.kind == Kind::Contraction || job.kind == Kind::Convolution;
    size_t which =
        known && choice % 16 != 0 ? 0 : (choice >> 8) % lengths.size();
    rule.block = lengths[which];
  } else if (rule.law == Distribution::Denormals) {
    rule.block = 4;
  } else if (job.kind == Kind::Elementwise) {
    rule.block = rule.law == Distribution::Extremes ? 4 : 16;
  } else if (isProduct(job.kind)) {
    // A few in all: each may decide a whole row of results.
    rule.block = rule.elements / 4;
  } else {
    rule.block =
        std::min(std::max(4 * rule.row, 2 * rule.sample), rule.elements / 4);
  }
  rule.block = std::clamp<int64_t>(rule.block, 1, rule.elements);
}

/// Sets what the laws of magnitudes and of single values need.
static void setExponents(ValueRule &rule, const Job &job, const Trial &trial,
                         ElementType type) {
  auto [low, high] = exponentsOf(type);
  int32_t sum = int32_t(std::ceil(std::log2(double(job.reductionLength))));
  rule.lowExponent = low;
  rule.highExponent = high;
  switch (rule.law) {
  case Distribution::LogUniform:
    // Their sum fits.
    rule.highExponent = std::max(low, high - sum - (sum > 0));
    break;
  case Distribution::LogUniformHalf:
    // The sum of their products fits.
    rule.lowExponent = low / 2;
    rule.highExponent = std::max(low / 2, (high - 1 - sum) / 2 - 1);
    break;
  case Distribution::Bands:
    // Where functions bend: 24 octaves, all within FP16.
    rule.lowExponent = -12;
    rule.highExponent = 11;
    rule.segment = job.reductionLength == 1 ? 1 : rule.row;
    break;
  case Distribution::NegativeInfinity:
    // Windows as large as eight rows.
    if (job.kind == Kind::Pooling || job.kind == Kind::Reduction)
      rule.segment = std::clamp<int64_t>(rule.elements / 4, 1, 8 * rule.row);
    break;
  case Distribution::NearZero:
    // What is divided by them fits.
    rule.lowExponent = low / 2;
    rule.highExponent = -1;
    break;
  case Distribution::Extremes: {
    // Where they may be squared or summed up on the way to the result, that
    // must fit: an honest program would fail there too. Of elementwise ops and
    // of pooling nobody knows: by turns.
    bool byTurns = job.kind == Kind::Elementwise || job.kind == Kind::Pooling;
    bool whole = job.kind == Kind::Softmax || (byTurns && trial.trial % 2 == 0);
    if (!whole)
      rule.extreme = std::ldexp(1, std::max(0, (high - 1 - sum) / 2));
    break;
  }
  case Distribution::Nonfinite:
    rule.onlyNaN = !judgesNonFinite(job) &&
                   (isProduct(job.kind) || job.kind == Kind::Reduction ||
                    job.kind == Kind::Other);
    break;
  case Distribution::SignedDomain:
    // NaN reaches whole rows of what sums them up: some stay.
    rule.segment =
        job.reductionLength == 1 || rule.row == rule.elements ? 1 : rule.row;
    rule.share = job.reductionLength == 1 ? 1 : 4;
    break;
  default:
    break;
  }
}

/// Sets the integers that are drawn.
static void setIntegers(ValueRule &rule, const Job &job, const Tensor &tensor) {
  rule.isDivisor = tensor.role == Role::Divisor;
  rule.hasSpecial = tensor.special.has_value();
  rule.special = double(tensor.special.value_or(0));
  rule.low = tensor.role == Role::Positive ? 1 : -8;
  rule.high = 8;
  rule.highExponent = 0;
  if (tensor.range) {
    rule.low = std::ceil(tensor.range->first);
    rule.high = std::floor(tensor.range->second);
    return;
  }
  if (rule.law != Distribution::FullWidth)
    return;
  // Where results are floats, an integer may be a position or an exponent:
  // large ones would ask for more digits than a float has.
  int32_t bits = tensor.type == ElementType::I8 || !hasIntegerResults(job)
                     ? 7
                     : int32_t(8 * byteSize(tensor.type) - 1);
  if (tensor.role == Role::Positive)
    bits -= 1; // Shifted by a constant it must stay positive.
  rule.highExponent = bits;
  rule.low = tensor.role == Role::Positive ? 1 : -std::ldexp(1, bits);
  rule.high = std::ldexp(1, bits) - 1;
}

ValueRule fastk::worker::ruleOf(const Job &job, size_t index,
                                const Trial &trial) {
  const Tensor &tensor = job.inputs[index];
  ValueRule rule = {};
  rule.law = lawFor(job, index, trial);
  rule.use = useOf(tensor, rule.law);
  rule.seed = bitsAt(trial.seed, 1000 + index);
  rule.elements = tensor.elements();
  rule.row = std::max<int64_t>(1, tensor.rowLength());
  rule.sample =
      tensor.shape.size() < 2 ? rule.elements : rule.elements / tensor.shape[0];
  rule.spike =
      rule.law == Distribution::SpikeLast
          ? rule.elements - 1
          : int64_t(bitsAt(rule.seed, 1u << 30) % uint64_t(rule.elements));
  rule.level = normalOf(bitsAt(rule.seed, 77));
  // Never so close to zero that a constant operand says nothing.
  rule.level += rule.level < 0 ? -0.5 : 0.5;
  rule.scale = respondsToScale(rule.law) ? trial.scale : 1;
  rule.largest = largestValue(tensor.type);
  rule.extreme = rule.largest;
  rule.tiny = smallestNormal(tensor.type);
  rule.step = 2 * unitRoundoff(tensor.type);
  rule.segment = rule.share = 1;
  setPlaces(rule, job, index, trial);
  if (rule.use == Use::Mask && isBiasIn(trial)) {
    rule.law = Distribution::MaskBias;
    rule.use = Use::Plain;
    rule.scale = 1;
  }
  setExponents(rule, job, trial, tensor.type);
  if (isFloat(tensor.type)) {
    rule.hasRange = tensor.range.has_value();
    if (rule.hasRange)
      std::tie(rule.low, rule.high) = *tensor.range;
  } else {
    setIntegers(rule, job, tensor);
  }
  double head = double(std::max<int64_t>(1, job.inputs[0].rowLength()));
  rule.alpha = 1 / std::sqrt(std::sqrt(head));
  rule.isQuery = index % 2 == 0;
  // Where the op multiplies operands with each other, squares must fit.
  bool multiplies = job.kind != Kind::Elementwise && job.kind != Kind::Pooling;
  rule.limit =
      rule.law == Distribution::MixedHalf || tensor.type == ElementType::F16 ? 3
      : multiplies ? 15
                   : 30;
  return rule;
}

void OperandGenerator::values(int64_t begin, int64_t end, double *out) const {
  uint64_t stream = streamOf(rule.seed);
  auto bitsOf = [=](int64_t i) { return mix(stream + uint64_t(i)); };
  if (isLawless(rule.use))
    for (int64_t i = begin; i < end; ++i)
      out[i - begin] = lawlessValueOf(rule, normal, i, bitsOf(i));
  else
    draw(begin, end, out);
  const ValueRule local = rule;
  bool isPlain =
      local.use == Use::Plain && local.scale == 1 && !isNonfiniteLaw(local.law);
  // Only a range asks for the bits again, and most need no more than a limit.
  if (local.hasRange)
    for (int64_t i = begin; i < end; ++i)
      out[i - begin] = finishedValueOf(local, out[i - begin], bitsOf(i));
  else if (isPlain)
    for (int64_t i = begin; i < end; ++i)
      out[i - begin] = limitedTo(local.largest, out[i - begin]);
  else
    for (int64_t i = begin; i < end; ++i)
      out[i - begin] = finishedValueOf(local, out[i - begin], 0);
}

double OperandGenerator::at(int64_t i) const {
  double value;
  values(i, i + 1, &value);
  return value;
}

void OperandGenerator::draw(int64_t begin, int64_t end, double *out) const {
  uint64_t stream = streamOf(rule.seed);
  // Copies, which the writes to out cannot change.
  const ValueRule rule = this->rule;
  const NormalEntries normal = this->normal;
  dispatch(rule.law, [&](auto tag) {
    constexpr Distribution law = lawOf(decltype(tag)());
    // What is the same in a whole row is computed once a row.
    for (int64_t first = begin; first < end;) {
      int64_t number = first / rule.row;
      int64_t last = std::min((number + 1) * rule.row, end);
      double ofRow = rowValueOf<law>(rule, number);
      for (int64_t i = first; i < last; ++i)
        out[i - begin] = elementValueOf<law>(rule, normal, ofRow, i,
                                             mix(stream + uint64_t(i)));
      first = last;
    }
  });
}
