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
#include <tuple>

using namespace fastk::worker;

/// Structural laws are for the data; parameters stay random, so that no kernel
/// gets away with ignoring them.
static Law lawFor(const Job &job, size_t index, const Case &trial) {
  const Tensor &tensor = job.inputs[index];
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

static Use useOf(const Tensor &tensor) {
  if (!isFloat(tensor.type))
    return tensor.type == ElementType::I1 || tensor.role == Role::Mask
               ? Use::Bit
               : Use::Integer;
  switch (tensor.role) {
  case Role::Mask:
    return Use::Mask;
  case Role::Positive:
    return Use::Positive;
  case Role::Scale:
    return Use::Scale;
  default:
    return Use::Plain;
  }
}

ValueRule fastk::worker::ruleOf(const Job &job, size_t index,
                                const Case &trial) {
  const Tensor &tensor = job.inputs[index];
  ValueRule rule = {};
  rule.law = lawFor(job, index, trial);
  rule.use = useOf(tensor);
  rule.seed = bitsAt(trial.seed, 1000 + index);
  rule.elements = tensor.elements();
  rule.row = std::max<int64_t>(1, tensor.rowLength());
  rule.sample =
      tensor.shape.size() < 2 ? rule.elements : rule.elements / tensor.shape[0];
  rule.spike =
      rule.law == Law::SpikeLast
          ? rule.elements - 1
          : int64_t(bitsAt(rule.seed, 1u << 30) % uint64_t(rule.elements));
  rule.level = normalOf(bitsAt(rule.seed, 77));
  // Never so close to zero that a constant operand says nothing.
  rule.level += rule.level < 0 ? -0.5 : 0.5;
  rule.scale = trial.scale;
  rule.largest = largestValue(tensor.type);
  if (isFloat(tensor.type)) {
    rule.hasRange = tensor.range.has_value();
    if (rule.hasRange)
      std::tie(rule.low, rule.high) = *tensor.range;
  } else {
    rule.low = tensor.role == Role::Positive ? 1 : -8;
    rule.high = 8;
    if (tensor.range) {
      rule.low = std::ceil(tensor.range->first);
      rule.high = std::floor(tensor.range->second);
    }
  }
  double head = double(std::max<int64_t>(1, job.inputs[0].rowLength()));
  rule.alpha = 1 / std::sqrt(std::sqrt(head));
  rule.isQuery = index % 2 == 0;
  // Where the op multiplies operands with each other, squares must fit.
  bool multiplies = job.kind != Kind::Elementwise && job.kind != Kind::Pooling;
  rule.limit = rule.law == Law::MixedHalf || tensor.type == ElementType::F16 ? 3
               : multiplies ? 15
                            : 30;
  return rule;
}

void Source::values(int64_t begin, int64_t end, double *out) const {
  uint64_t stream = streamOf(rule.seed);
  auto bitsOf = [=](int64_t i) { return mix(stream + uint64_t(i)); };
  if (isLawless(rule.use))
    for (int64_t i = begin; i < end; ++i)
      out[i - begin] = lawlessValueOf(rule, normal, i, bitsOf(i));
  else
    draw(begin, end, out);
  const ValueRule local = rule;
  bool isPlain = local.use == Use::Plain && local.scale == 1 &&
                 local.law != Law::NegativeInfinity;
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

double Source::at(int64_t i) const {
  double value;
  values(i, i + 1, &value);
  return value;
}

void Source::draw(int64_t begin, int64_t end, double *out) const {
  uint64_t stream = streamOf(rule.seed);
  // Copies, which the writes to out cannot change.
  const ValueRule rule = this->rule;
  const NormalEntries normal = this->normal;
  dispatch(rule.law, [&](auto tag) {
    constexpr Law law = lawOf(decltype(tag)());
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
