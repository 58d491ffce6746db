//===- Distribution.cpp - The inputs a program is judged on ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution.h"
#include "Names.h"
#include "Parallel.h"
#include "Random.h"
#include <algorithm>
#include <limits>

using namespace fastk::worker;

static constexpr Name<Law> lawNames[] = {
    {Law::Normal, "normal"},
    {Law::Shifted, "shifted"},
    {Law::Scaled, "scaled"},
    {Law::Pareto, "pareto"},
    {Law::Spike, "spike"},
    {Law::SpikeLast, "spike_last"},
    {Law::Equal, "equal"},
    {Law::Mixed, "mixed"},
    {Law::Mean1000, "mean_1000"},
    {Law::ConstantRows, "constant_rows"},
    {Law::Logits80, "logits_80"},
    {Law::Ties, "ties"},
    {Law::NegativeInfinity, "negative_infinity"},
    {Law::Integers, "integers"},
    {Law::Signs, "signs"},
    {Law::Alternating, "alternating"},
    {Law::Runs, "runs"},
    {Law::Breakpoints, "breakpoints"},
    {Law::Negatives, "negatives"}};

std::string_view fastk::worker::toString(Law law) {
  return nameOf(lawNames, law);
}

bool fastk::worker::isExact(Law law, Kind kind) {
  return law == Law::Integers && kind == Kind::Contraction;
}
bool fastk::worker::testsRange(Law law) { return law == Law::Mixed; }
bool fastk::worker::sitsOnBreakpoints(Law law) {
  return law == Law::Breakpoints;
}
bool fastk::worker::isCoherent(Law law) {
  return law == Law::Equal || law == Law::ConstantRows || law == Law::Ties ||
         law == Law::Runs || law == Law::Alternating || law == Law::Signs ||
         law == Law::Breakpoints;
}
bool fastk::worker::isCore(Law law) { return law == Law::Normal; }

std::vector<Case> fastk::worker::planCases(const Job &job, uint64_t seed) {
  std::vector<Law> laws = {Law::Shifted,   Law::Scaled, Law::Pareto, Law::Spike,
                           Law::SpikeLast, Law::Equal,  Law::Mixed};
  auto add = [&](std::initializer_list<Law> more) {
    laws.insert(laws.end(), more);
  };
  switch (job.kind) {
  case Kind::Contraction:
  case Kind::Convolution:
    add({Law::Integers, Law::Signs});
    break;
  case Kind::Softmax:
    add({Law::Logits80, Law::Ties, Law::NegativeInfinity});
    break;
  case Kind::Attention:
    add({Law::Ties});
    break;
  case Kind::Norm:
    add({Law::Mean1000, Law::ConstantRows});
    break;
  case Kind::Reduction:
    add({Law::Alternating, Law::Runs});
    break;
  case Kind::Elementwise:
    add({Law::Breakpoints, Law::Negatives});
    break;
  case Kind::Pooling:
    add({Law::Ties, Law::Negatives});
    break;
  case Kind::Other:
    add({Law::Mean1000, Law::Breakpoints, Law::Negatives});
    break;
  }
  std::vector<Case> cases;
  auto addCase = [&](Law law, int64_t trial) {
    cases.push_back({law, trial, bitsAt(seed, cases.size()), 1});
  };
  for (int64_t trial = 0; trial < job.validate.trials; ++trial)
    addCase(Law::Normal, trial);
  // A promotion draws every distribution twice.
  int64_t rounds = job.mode == Mode::Promote ? 2 : 1;
  for (int64_t round = 0; round < rounds; ++round)
    for (Law law : laws)
      addCase(law, round);
  return cases;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {

/// Draws the elements of one operand.
class Source {
public:
  Source(const Job &job, size_t index, const Case &trial)
      : tensor(job.inputs[index]), trial(trial),
        seed(bitsAt(trial.seed, 1000 + index)), elements(tensor.elements()) {
    law = lawFor(job, index);
    row = std::max<int64_t>(1, tensor.rowLength());
    sample = tensor.shape.size() < 2 ? elements : elements / tensor.shape[0];
    spike = law == Law::SpikeLast
                ? elements - 1
                : int64_t(bitsAt(seed, 1u << 30) % uint64_t(elements));
    level = normalOf(bitsAt(seed, 77));
    // Never so close to zero that a constant operand says nothing.
    level += level < 0 ? -0.5 : 0.5;
    // Keeps |x|^2 summed over a row within the type.
    largest = largestValue(tensor.type);
    multiplies = job.kind != Kind::Elementwise && job.kind != Kind::Pooling;
  }

  double at(int64_t i) const {
    uint64_t bits = bitsAt(seed, uint64_t(i));
    if (!isFloat(tensor.type))
      return integer(bits);
    double value;
    switch (tensor.role) {
    case Role::Mask:
      // The first element of a row stays, so that no row is empty.
      return i % row != 0 && bits % 4 == 0
                 ? -std::numeric_limits<double>::infinity()
                 : 0;
    case Role::Positive:
      value = std::fabs(draw(i, bits)) + 0.05;
      break;
    case Role::Scale:
      value = law == Law::Integers ? double(int64_t(bits % 5)) - 2
                                   : 1 + 0.5 * normalOf(bits);
      break;
    default:
      value = draw(i, bits) * trial.scale;
      break;
    }
    if (std::isinf(value) && !tensor.range)
      return value;
    if (tensor.range)
      return inside(value, bits);
    return std::clamp(value, -largest, largest);
  }

private:
  /// Structural laws are for the data; parameters stay random, so that no
  /// kernel gets away with ignoring them.
  Law lawFor(const Job &job, size_t index) const {
    bool parameter = tensor.role == Role::Weight || tensor.role == Role::Bias ||
                     tensor.role == Role::Positive;
    switch (trial.law) {
    case Law::Spike:
    case Law::SpikeLast: {
      // One operand at a time has the spike, by turns of the seed.
      std::vector<size_t> candidates;
      for (size_t i = 0; i < job.inputs.size(); ++i)
        if (isFloat(job.inputs[i].type) && (job.inputs[i].role == Role::Data ||
                                            job.inputs[i].role == Role::Weight))
          candidates.push_back(i);
      if (candidates.empty() ||
          candidates[mix(trial.seed) % candidates.size()] != index)
        return Law::Normal;
      return trial.law;
    }
    case Law::Mixed:
    case Law::Equal:
    case Law::Mean1000:
    case Law::ConstantRows:
    case Law::Logits80:
    case Law::Ties:
    case Law::NegativeInfinity:
    case Law::Alternating:
    case Law::Runs:
    case Law::Breakpoints:
    case Law::Negatives:
      return parameter ? Law::Normal : trial.law;
    default:
      return trial.law;
    }
  }

  double integer(uint64_t bits) const {
    if (tensor.type == ElementType::I1 || tensor.role == Role::Mask)
      return double(bits & 1);
    double low = -8, high = 8;
    if (tensor.role == Role::Positive)
      low = 1;
    if (tensor.range) {
      low = std::ceil(tensor.range->first);
      high = std::floor(tensor.range->second);
    }
    double span = std::min(high - low + 1, 0x1p53);
    if (!(span >= 1))
      return low;
    return low + std::floor(uniformOf(bits) * span);
  }

  /// Into the operand's range: kept where it is in it, else drawn uniformly.
  double inside(double value, uint64_t bits) const {
    auto [low, high] = *tensor.range;
    if (value >= low && value <= high)
      return value;
    return std::clamp(low + (high - low) * uniformOf(mix(bits)), low, high);
  }

  double draw(int64_t i, uint64_t bits) const {
    switch (law) {
    case Law::Normal:
      return normalOf(bits);
    case Law::Shifted:
      return 5 + normalOf(bits);
    case Law::Scaled:
      return 10 * normalOf(bits);
    case Law::Pareto: {
      // alpha = 1.5, scale 0.01, random sign.
      double root = std::cbrt(uniformOf(bits));
      double magnitude = 0.01 / (root * root);
      return bits & 1 ? magnitude : -magnitude;
    }
    case Law::Spike:
    case Law::SpikeLast:
      return i == spike ? std::copysign(100.0, level) : 1e-3 * normalOf(bits);
    case Law::Equal:
      return level;
    case Law::Mixed: {
      // Row by row: within a row, an error is measured against the row.
      double limit = tensor.type == ElementType::F16 ? 3 : multiplies ? 15 : 30;
      double exponent =
          (2 * uniformOf(bitsAt(seed ^ 0xabcd, i / row)) - 1) * limit;
      return normalOf(bits) * std::pow(10.0, exponent);
    }
    case Law::Mean1000:
      return 1000 + 0.1 * normalOf(bits);
    case Law::ConstantRows:
      // Every second sample is constant; the others give the scale.
      return (i / sample) % 2 == 0 && elements > sample
                 ? double(int64_t(bitsAt(seed, 5) % 7)) + 1
                 : normalOf(bits);
    case Law::Logits80:
      return 160 * uniformOf(bits) - 80;
    case Law::Ties: {
      if (((i / row) & 1) == 0 && elements > row)
        return double(int64_t(bitsAt(seed ^ 0x7135, i / row) % 9)) - 4;
      return double(int64_t(bits % 3)) - 1;
    }
    case Law::NegativeInfinity:
      // An op over any one axis still finds finite values.
      if (bits % 4 == 0)
        return -std::numeric_limits<double>::infinity();
      return normalOf(mix(bits));
    case Law::Integers:
      return double(int64_t(bits % 5)) - 2;
    case Law::Signs:
      return bits & 1 ? 1 : -1;
    case Law::Alternating:
      return (i & 1 ? -1 : 1) * (1 + 0.01 * normalOf(bits));
    case Law::Runs:
      return normalOf(bitsAt(seed, uint64_t(i / 97)));
    case Law::Breakpoints: {
      static constexpr double points[] = {0,  -0.0, 0.5, -0.5, 1,  -1,    2,
                                          -2, 3,    -3,  6,    -6, 1e-40, -20};
      constexpr size_t count = sizeof(points) / sizeof(points[0]);
      return bits % 2 ? points[(bits >> 8) % count] : normalOf(mix(bits));
    }
    case Law::Negatives:
      return -std::fabs(normalOf(bits)) - 0.1;
    }
    return 0;
  }

  const Tensor &tensor;
  Case trial;
  uint64_t seed;
  int64_t elements;
  Law law = Law::Normal;
  int64_t row = 1;
  int64_t sample = 1;
  int64_t spike = 0;
  double level = 1;
  double largest = 0;
  /// The op multiplies operands with each other: squares must fit.
  bool multiplies = true;
};

} // namespace

void fastk::worker::fillInput(const Job &job, size_t index, const Case &trial,
                              void *data) {
  Source source(job, index, trial);
  ElementType type = job.inputs[index].type;
  parallelFor(job.inputs[index].elements(), 64,
              [&](int64_t, int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  storeElement(type, data, i, source.at(i));
              });
}

void fastk::worker::perturb(const Tensor &tensor, uint64_t seed, double delta,
                            void *data) {
  if (!isFloat(tensor.type) || tensor.role == Role::Mask)
    return;
  parallelFor(tensor.elements(), 64, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double value = loadElement(tensor.type, data, i);
      if (!std::isfinite(value))
        continue;
      double factor = 1 + (bitsAt(seed, uint64_t(i)) & 1 ? delta : -delta);
      double moved = value * factor;
      if (std::fabs(moved) <= largestValue(tensor.type))
        storeElement(tensor.type, data, i, moved);
    }
  });
}

void fastk::worker::mutate(const Job &job, size_t index, const Case &trial,
                           uint64_t seed, void *data) {
  const Tensor &tensor = job.inputs[index];
  Case fresh = trial;
  fresh.seed = seed;
  Source source(job, index, fresh);
  int64_t elements = tensor.elements();
  int64_t count = std::min(elements, elements / 1024 + 16);
  for (int64_t k = 0; k < count; ++k) {
    int64_t i =
        count == elements
            ? k
            : int64_t(bitsAt(seed ^ index, uint64_t(k)) % uint64_t(elements));
    storeElement(tensor.type, data, i, source.at(i));
  }
}
