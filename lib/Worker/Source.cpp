//===- Source.cpp - The values of one operand -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Source.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace fastk::worker;

Source::Source(const Job &job, size_t index, const Case &trial)
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
  double head = double(std::max<int64_t>(1, job.inputs[0].rowLength()));
  alpha = 1 / std::sqrt(std::sqrt(head));
  isQuery = index % 2 == 0;
  // Keeps |x|^2 summed over a row within the type.
  largest = largestValue(tensor.type);
  multiplies = job.kind != Kind::Elementwise && job.kind != Kind::Pooling;
}

void Source::values(int64_t begin, int64_t end, double *out) const {
  int64_t count = end - begin;
  uint64_t stream = streamOf(seed) + uint64_t(begin);
  auto bitsOf = [=](int64_t k) { return mix(stream + uint64_t(k)); };
  if (!isFloat(tensor.type)) {
    for (int64_t k = 0; k < count; ++k)
      out[k] = integer(bitsOf(k));
    return;
  }
  switch (tensor.role) {
  case Role::Mask:
    // The first element of a row stays, so that no row is empty.
    for (int64_t k = 0; k < count; ++k)
      out[k] = (begin + k) % row != 0 && bitsOf(k) % 4 == 0
                   ? -std::numeric_limits<double>::infinity()
                   : 0;
    return;
  case Role::Positive:
    draw(begin, end, out);
    for (int64_t k = 0; k < count; ++k)
      out[k] = std::fabs(out[k]) + 0.05;
    break;
  case Role::Scale:
    for (int64_t k = 0; k < count; ++k) {
      uint64_t bits = bitsOf(k);
      out[k] = law == Law::Integers ? double(int64_t(bits % 5)) - 2
                                    : 1 + 0.5 * normal.at(bits);
    }
    break;
  default:
    draw(begin, end, out);
    if (trial.scale != 1)
      for (int64_t k = 0; k < count; ++k)
        out[k] *= trial.scale;
    break;
  }
  if (tensor.range) {
    for (int64_t k = 0; k < count; ++k)
      out[k] = inside(out[k], bitsOf(k));
    return;
  }
  // Infinities stay.
  if (law == Law::NegativeInfinity)
    for (int64_t k = 0; k < count; ++k)
      out[k] =
          std::isinf(out[k]) ? out[k] : std::clamp(out[k], -largest, largest);
  else
    for (int64_t k = 0; k < count; ++k)
      out[k] = std::max(-largest, std::min(out[k], largest));
}

double Source::at(int64_t i) const {
  double value;
  values(i, i + 1, &value);
  return value;
}

Law Source::lawFor(const Job &job, size_t index) const {
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
  case Law::MixedHalf:
  case Law::Equal:
  case Law::Mean1000:
  case Law::ConstantRows:
  case Law::Logits80:
  case Law::QueryKey80:
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

double Source::integer(uint64_t bits) const {
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

double Source::inside(double value, uint64_t bits) const {
  auto [low, high] = *tensor.range;
  if (value >= low && value <= high)
    return value;
  return std::clamp(low + (high - low) * uniformOf(mix(bits)), low, high);
}

void Source::draw(int64_t begin, int64_t end, double *out) const {
  uint64_t stream = streamOf(seed);
  auto each = [&](auto value) {
    for (int64_t i = begin; i < end; ++i)
      out[i - begin] = value(i, mix(stream + uint64_t(i)));
  };
  // What is the same in a whole row is computed once a row.
  auto eachRow = [&](auto prepare, auto value) {
    for (int64_t first = begin; first < end;) {
      int64_t number = first / row;
      int64_t last = std::min((number + 1) * row, end);
      auto common = prepare(number);
      for (int64_t i = first; i < last; ++i)
        out[i - begin] = value(common, mix(stream + uint64_t(i)));
      first = last;
    }
  };
  const NormalTable &n = normal;
  switch (law) {
  case Law::Normal:
    return each([&](int64_t, uint64_t bits) { return n.at(bits); });
  case Law::Shifted:
    return each([&](int64_t, uint64_t bits) { return 5 + n.at(bits); });
  case Law::Scaled:
    return each([&](int64_t, uint64_t bits) { return 10 * n.at(bits); });
  case Law::Pareto:
    // alpha = 1.5, scale 0.01, random sign.
    return each([&](int64_t, uint64_t bits) {
      double root = std::cbrt(uniformOf(bits));
      double magnitude = 0.01 / (root * root);
      return bits & 1 ? magnitude : -magnitude;
    });
  case Law::Spike:
  case Law::SpikeLast:
    each([&](int64_t, uint64_t bits) { return 1e-3 * n.at(bits); });
    if (spike >= begin && spike < end)
      out[spike - begin] = std::copysign(100.0, level);
    return;
  case Law::Equal:
    std::fill(out, out + (end - begin), level);
    return;
  case Law::Mixed:
  case Law::MixedHalf: {
    // Row by row: within a row, an error is measured against the row.
    double limit = law == Law::MixedHalf || tensor.type == ElementType::F16 ? 3
                   : multiplies ? 15
                                : 30;
    return eachRow(
        [&](int64_t number) {
          return std::pow(
              10.0,
              (2 * uniformOf(bitsAt(seed ^ 0xabcd, uint64_t(number))) - 1) *
                  limit);
        },
        [&](double factor, uint64_t bits) { return n.at(bits) * factor; });
  }
  case Law::Mean1000:
    return each(
        [&](int64_t, uint64_t bits) { return 1000 + 0.1 * n.at(bits); });
  case Law::ConstantRows: {
    // Every second sample is constant; the others give the scale.
    double constant = double(int64_t(bitsAt(seed, 5) % 7)) + 1;
    return each([&](int64_t i, uint64_t bits) {
      return (i / sample) % 2 == 0 && elements > sample ? constant : n.at(bits);
    });
  }
  case Law::QueryKey80: {
    // Query i is f_i alpha (1, 1, ...) plus noise, a key alpha (1, 1, ...) plus
    // noise: with the usual factor 1 / sqrt(D) the logits of row i lie around
    // f_i = +-80 to 120, a whole row on one side. The mean is the same along
    // all axes, so it does not matter which one is contracted.
    constexpr double key = 10;
    return eachRow(
        [&](int64_t number) {
          if (!isQuery)
            return key * alpha;
          uint64_t bits = bitsAt(seed ^ 0x80f1, uint64_t(number));
          double level = (80 + 40 * uniformOf(bits)) / key;
          return (bits & 1 ? level : -level) * alpha;
        },
        [&](double mean, uint64_t bits) { return mean + 0.5 * n.at(bits); });
  }
  case Law::Logits80:
    return each(
        [&](int64_t, uint64_t bits) { return 160 * uniformOf(bits) - 80; });
  case Law::Ties:
    // NaN: the row is not constant.
    return eachRow(
        [&](int64_t number) {
          if ((number & 1) == 0 && elements > row)
            return double(
                       int64_t(bitsAt(seed ^ 0x7135, uint64_t(number)) % 9)) -
                   4;
          return std::numeric_limits<double>::quiet_NaN();
        },
        [&](double constant, uint64_t bits) {
          return std::isnan(constant) ? double(int64_t(bits % 3)) - 1
                                      : constant;
        });
  case Law::NegativeInfinity:
    // An op over any one axis still finds finite values.
    return each([&](int64_t, uint64_t bits) {
      return bits % 4 == 0 ? -std::numeric_limits<double>::infinity()
                           : n.at(mix(bits));
    });
  case Law::Integers:
    return each(
        [&](int64_t, uint64_t bits) { return double(int64_t(bits % 5)) - 2; });
  case Law::Signs:
    return each([&](int64_t, uint64_t bits) { return bits & 1 ? 1.0 : -1.0; });
  case Law::Alternating:
    return each([&](int64_t i, uint64_t bits) {
      return (i & 1 ? -1 : 1) * (1 + 0.01 * n.at(bits));
    });
  case Law::Runs:
    return each([&](int64_t i, uint64_t) {
      return n.at(bitsAt(seed, uint64_t(i / 97)));
    });
  case Law::Breakpoints: {
    static constexpr double points[] = {0,  -0.0, 0.5, -0.5, 1,  -1,    2,
                                        -2, 3,    -3,  6,    -6, 1e-40, -20};
    constexpr size_t count = sizeof(points) / sizeof(points[0]);
    return each([&](int64_t, uint64_t bits) {
      return bits % 2 ? points[(bits >> 8) % count] : n.at(mix(bits));
    });
  }
  case Law::Negatives:
    return each(
        [&](int64_t, uint64_t bits) { return -std::fabs(n.at(bits)) - 0.1; });
  }
}
