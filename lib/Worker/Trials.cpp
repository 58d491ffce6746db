//===- Trials.cpp - Which inputs a program is judged on -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trials.h"
#include "Names.h"
#include "Random.h"
#include <algorithm>

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
    {Law::QueryKey80, "query_key_80"},
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
         std::any_of(
             job.inputs.begin(), job.inputs.end(), [](const Tensor &input) {
               return isFloat(input.type) && input.type != ElementType::F16;
             });
}
bool fastk::worker::sitsOnBreakpoints(Law law) {
  return law == Law::Breakpoints;
}
bool fastk::worker::isCoherent(Law law) {
  return law == Law::Equal || law == Law::ConstantRows || law == Law::Ties ||
         law == Law::Runs || law == Law::Alternating || law == Law::Signs ||
         law == Law::Breakpoints || law == Law::QueryKey80;
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

Trials fastk::worker::drawTrials(const Job &job, uint64_t seed) {
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
    // Before the laws that also overflow exp, but leave no row all negative.
    laws.insert(laws.begin(), Law::QueryKey80);
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
  Trials trials;
  auto addCase = [&](Law law, int64_t trial) {
    trials.cases.push_back({law, trial, bitsAt(seed, trials.cases.size()), 1});
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
    trials.required = size_t(normals) + subsetLaws;
  }
  for (int64_t round = 0; round < rounds; ++round)
    for (Law law : laws)
      addCase(law, round);
  if (trials.required == 0)
    trials.required = trials.cases.size();
  return trials;
}
