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
#include <cstring>
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
    {Law::MixedHalf, "mixed_half"},
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
bool fastk::worker::testsRange(Law law) {
  return law == Law::Mixed || law == Law::MixedHalf;
}
bool fastk::worker::exceedsHalf(const Job &job, Law law) {
  return law == Law::Mixed && job.acceptedPrecision == Precision::Half &&
         std::any_of(job.inputs.begin(), job.inputs.end(),
                     [](const Tensor &input) {
                       return isFloat(input.type) &&
                              input.type != ElementType::F16;
                     });
}
bool fastk::worker::sitsOnBreakpoints(Law law) {
  return law == Law::Breakpoints;
}
bool fastk::worker::isCoherent(Law law) {
  return law == Law::Equal || law == Law::ConstantRows || law == Law::Ties ||
         law == Law::Runs || law == Law::Alternating || law == Law::Signs ||
         law == Law::Breakpoints;
}
bool fastk::worker::isCore(Law law) { return law == Law::Normal; }

/// What wrong kernels of a kind fail on first.
static Law harshestOf(Kind kind) {
  switch (kind) {
  case Kind::Contraction:
  case Kind::Convolution:
  case Kind::Attention:
    return Law::Mixed;
  case Kind::Softmax:
    return Law::Logits80;
  case Kind::Norm:
  case Kind::Other:
    return Law::Mean1000;
  case Kind::Reduction:
    return Law::Alternating;
  case Kind::Elementwise:
    return Law::Breakpoints;
  case Kind::Pooling:
    return Law::Negatives;
  }
  return Law::Mixed;
}

/// Elements of all operands and results.
static int64_t elementsOf(const Job &job) {
  int64_t count = 0;
  for (const Tensor &tensor : job.inputs)
    count += tensor.elements();
  for (const Tensor &tensor : job.outputs)
    count += tensor.elements();
  return count;
}

Plan fastk::worker::planCases(const Job &job, uint64_t seed) {
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
  // Where FP16 operands overflow tells who has more range than they have; who
  // has not must still be right within it.
  if (exceedsHalf(job, Law::Mixed))
    add({Law::MixedHalf});
  Plan plan;
  auto addCase = [&](Law law, int64_t trial) {
    plan.cases.push_back({law, trial, bitsAt(seed, plan.cases.size()), 1});
  };
  bool brief = job.mode == Mode::Evaluate;
  int64_t size = elementsOf(job);
  // On so many elements one draw of N(0,1) has all there is to see.
  int64_t normals = brief && size > largeElements ? 1 : job.validate.trials;
  for (int64_t trial = 0; trial < normals; ++trial)
    addCase(Law::Normal, trial);
  // A promotion draws every distribution twice.
  int64_t rounds = job.mode == Mode::Promote ? 2 : 1;
  if (brief && size > veryLargeElements) {
    // The harshest, then the others in secret order.
    auto harshest = std::find(laws.begin(), laws.end(), harshestOf(job.kind));
    std::iter_swap(laws.begin(), harshest);
    for (size_t i = laws.size(); i > 2; --i)
      std::swap(laws[i - 1], laws[1 + bitsAt(seed ^ 0x9a3f, i) % (i - 1)]);
    plan.required = size_t(normals) + subsetLaws;
  }
  for (int64_t round = 0; round < rounds; ++round)
    for (Law law : laws)
      addCase(law, round);
  if (plan.required == 0)
    plan.required = plan.cases.size();
  return plan;
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

  /// Elements [begin, end).
  void values(int64_t begin, int64_t end, double *out) const {
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

  double at(int64_t i) const {
    double value;
    values(i, i + 1, &value);
    return value;
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
    case Law::MixedHalf:
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

  /// The law's values, before role and range. One loop per law.
  void draw(int64_t begin, int64_t end, double *out) const {
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
      double limit = law == Law::MixedHalf || tensor.type == ElementType::F16
                         ? 3
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
        return (i / sample) % 2 == 0 && elements > sample ? constant
                                                          : n.at(bits);
      });
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
      return each([&](int64_t, uint64_t bits) {
        return double(int64_t(bits % 5)) - 2;
      });
    case Law::Signs:
      return each(
          [&](int64_t, uint64_t bits) { return bits & 1 ? 1.0 : -1.0; });
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

  const Tensor &tensor;
  const NormalTable &normal = NormalTable::get();
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

/// Elements made at a time: they stay in the first-level cache.
static constexpr int64_t pieceLength = 1024;

void fastk::worker::fillInput(const Job &job, size_t index, const Case &trial,
                              void *data) {
  Source source(job, index, trial);
  ElementType type = job.inputs[index].type;
  parallelFor(job.inputs[index].elements(), 64,
              [&](int64_t, int64_t begin, int64_t end) {
                double piece[pieceLength];
                for (int64_t at = begin; at < end; at += pieceLength) {
                  int64_t stop = std::min(at + pieceLength, end);
                  source.values(at, stop, piece);
                  storeElements(type, data, at, piece, stop - at);
                }
              });
}

void fastk::worker::perturb(const Tensor &tensor, uint64_t seed, double delta,
                            const void *from, void *to) {
  if (!isFloat(tensor.type) || tensor.role == Role::Mask) {
    if (from != to)
      std::memcpy(to, from, size_t(tensor.bytes()));
    return;
  }
  double limit = largestValue(tensor.type);
  uint64_t stream = streamOf(seed);
  double up = 1 + delta, down = 1 - delta;
  // One draw gives the signs of 64 elements.
  parallelFor(tensor.elements(), 64, [&](int64_t, int64_t begin, int64_t end) {
    double piece[pieceLength];
    for (int64_t at = begin; at < end; at += pieceLength) {
      int64_t stop = std::min(at + pieceLength, end);
      loadElements(tensor.type, from, at, piece, stop - at);
      for (int64_t k = 0; k < stop - at; k += 64) {
        uint64_t signs = mix(stream + uint64_t((at + k) / 64));
        int64_t last = std::min<int64_t>(k + 64, stop - at);
        for (int64_t i = k; i < last; ++i, signs >>= 1) {
          double moved = piece[i] * (signs & 1 ? up : down);
          // Written so that NaN and infinities stay.
          if (std::fabs(moved) <= limit)
            piece[i] = moved;
        }
      }
      storeElements(tensor.type, to, at, piece, stop - at);
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
