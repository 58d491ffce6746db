//===- Trials.cpp - Which inputs a program is judged on -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trials.h"
#include "Random.h"
#include "fastk/Protocol/Names.h"
#include <algorithm>

using namespace fastk::worker;

static constexpr Name<Distribution> lawNames[] = {
    {Distribution::Normal, "normal"},
    {Distribution::Shifted, "shifted"},
    {Distribution::Scaled, "scaled"},
    {Distribution::Pareto, "pareto"},
    {Distribution::Spike, "spike"},
    {Distribution::SpikeLast, "spike_last"},
    {Distribution::Equal, "equal"},
    {Distribution::Mixed, "mixed"},
    {Distribution::MixedHalf, "mixed_half"},
    {Distribution::Mean1000, "mean_1000"},
    {Distribution::ConstantRows, "constant_rows"},
    {Distribution::Logits80, "logits_80"},
    {Distribution::QueryKey80, "query_key_80"},
    {Distribution::Ties, "ties"},
    {Distribution::NegativeInfinity, "negative_infinity"},
    {Distribution::Integers, "integers"},
    {Distribution::Signs, "signs"},
    {Distribution::Alternating, "alternating"},
    {Distribution::Runs, "runs"},
    {Distribution::Breakpoints, "breakpoints"},
    {Distribution::Negatives, "negatives"},
    {Distribution::OneHot, "one_hot"},
    {Distribution::FewNonzero, "few_nonzero"},
    {Distribution::LogUniform, "log_uniform"},
    {Distribution::LogUniformHalf, "log_uniform_half"},
    {Distribution::Bands, "bands"},
    {Distribution::Extremes, "extremes"},
    {Distribution::Denormals, "denormals"},
    {Distribution::Nonfinite, "nonfinite"},
    {Distribution::SignedDomain, "signed_domain"},
    {Distribution::NearZero, "near_zero"},
    {Distribution::FullWidth, "full_width"},
    {Distribution::MaskBias, "mask_bias"},
    {Distribution::EmptyRows, "empty_rows"}};

std::string_view fastk::worker::toString(Distribution law) {
  return nameOf(lawNames, law);
}

bool fastk::worker::isExact(Distribution law, Kind kind) {
  return law == Distribution::Integers && kind == Kind::Contraction;
}
bool fastk::worker::testsRange(Distribution law) {
  return law == Distribution::Mixed || law == Distribution::MixedHalf ||
         law == Distribution::LogUniform ||
         law == Distribution::LogUniformHalf || law == Distribution::Extremes;
}
bool fastk::worker::exceedsHalf(const Job &job, Distribution law) {
  return testsRange(law) && law != Distribution::MixedHalf &&
         job.acceptedPrecision == Precision::Half &&
         std::any_of(
             job.inputs.begin(), job.inputs.end(), [](const Tensor &input) {
               return isFloat(input.type) && input.type != ElementType::F16;
             });
}
bool fastk::worker::sitsOnBreakpoints(Distribution law) {
  return law == Distribution::Breakpoints;
}
bool fastk::worker::isCoherent(Distribution law) {
  return law == Distribution::Equal || law == Distribution::ConstantRows ||
         law == Distribution::Ties || law == Distribution::Runs ||
         law == Distribution::Alternating || law == Distribution::Signs ||
         law == Distribution::Breakpoints || law == Distribution::QueryKey80;
}
bool fastk::worker::isCore(Distribution law) {
  return law == Distribution::Normal;
}
bool fastk::worker::hasFewTerms(Distribution law) {
  return law == Distribution::OneHot || law == Distribution::FewNonzero;
}
bool fastk::worker::takesTurns(Distribution law) {
  return hasFewTerms(law) || law == Distribution::Extremes ||
         law == Distribution::Nonfinite;
}
bool fastk::worker::drawsNonfinite(Distribution law) {
  return law == Distribution::Nonfinite || law == Distribution::Extremes ||
         law == Distribution::SignedDomain || law == Distribution::NearZero ||
         law == Distribution::EmptyRows;
}
bool fastk::worker::drawsDenormals(Distribution law) {
  return law == Distribution::Denormals || law == Distribution::Breakpoints;
}
bool fastk::worker::respondsToScale(Distribution law) {
  return law != Distribution::FullWidth && law != Distribution::SignedDomain &&
         law != Distribution::NearZero;
}

bool fastk::worker::judgesNonFinite(const Job &job) {
  return job.condition && job.nonFinite != NonFinite::Exact;
}

bool fastk::worker::isProduct(Kind kind) {
  return kind == Kind::Contraction || kind == Kind::Convolution ||
         kind == Kind::Attention;
}

std::vector<size_t> fastk::worker::turnsOf(const Job &job) {
  std::vector<size_t> turns;
  for (size_t i = 0; i < job.inputs.size(); ++i)
    if (isFloat(job.inputs[i].type) && (job.inputs[i].role == Role::Data ||
                                        job.inputs[i].role == Role::Weight))
      turns.push_back(i);
  return turns;
}

bool fastk::worker::hasIntegerResults(const Job &job) {
  return std::none_of(
      job.outputs.begin(), job.outputs.end(),
      [](const Tensor &output) { return isFloat(output.type); });
}

/// What wrong kernels of a kind fail on first.
static Distribution harshestOf(Kind kind) {
  switch (kind) {
  case Kind::Contraction:
  case Kind::Convolution:
  case Kind::Attention:
    return Distribution::Mixed;
  case Kind::Softmax:
    return Distribution::Logits80;
  case Kind::Norm:
  case Kind::Other:
    return Distribution::Mean1000;
  case Kind::Reduction:
    return Distribution::Alternating;
  case Kind::Elementwise:
    return Distribution::Breakpoints;
  case Kind::Pooling:
    return Distribution::Negatives;
  }
  return Distribution::Mixed;
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

/// The laws of a kind beside N(0,1), those of its operands left aside.
static std::vector<Distribution> lawsOf(const Job &job) {
  std::vector<Distribution> laws = {
      Distribution::Shifted, Distribution::Scaled,    Distribution::Pareto,
      Distribution::Spike,   Distribution::SpikeLast, Distribution::Equal,
      Distribution::Mixed};
  auto add = [&](std::initializer_list<Distribution> more) {
    laws.insert(laws.end(), more);
  };
  switch (job.kind) {
  case Kind::Contraction:
  case Kind::Convolution:
    add({Distribution::Integers, Distribution::Signs, Distribution::OneHot,
         Distribution::FewNonzero, Distribution::LogUniformHalf});
    break;
  case Kind::Softmax:
    add({Distribution::Logits80, Distribution::Ties,
         Distribution::NegativeInfinity, Distribution::LogUniform,
         Distribution::Bands});
    break;
  case Kind::Attention:
    // Before the laws that also overflow exp, but leave no row all negative.
    // Not the laws of magnitudes: where the two largest of millions of logits
    // are equal to the last place, who wins is rounding.
    laws.insert(laws.begin(), Distribution::QueryKey80);
    add({Distribution::Ties, Distribution::OneHot, Distribution::FewNonzero});
    break;
  case Kind::Norm:
    add({Distribution::Mean1000, Distribution::ConstantRows,
         Distribution::LogUniformHalf, Distribution::Bands});
    break;
  case Kind::Reduction:
    add({Distribution::Alternating, Distribution::Runs, Distribution::OneHot,
         Distribution::LogUniform, Distribution::LogUniformHalf,
         Distribution::Bands});
    break;
  case Kind::Elementwise:
    add({Distribution::Breakpoints, Distribution::Negatives,
         Distribution::LogUniform, Distribution::LogUniformHalf,
         Distribution::Bands, Distribution::Denormals});
    break;
  case Kind::Pooling:
    add({Distribution::Ties, Distribution::Negatives,
         Distribution::NegativeInfinity, Distribution::LogUniform,
         Distribution::Bands, Distribution::Denormals});
    break;
  case Kind::Other:
    add({Distribution::Mean1000, Distribution::Breakpoints,
         Distribution::Negatives, Distribution::OneHot,
         Distribution::LogUniform, Distribution::LogUniformHalf,
         Distribution::Bands, Distribution::Denormals});
    break;
  }
  add({Distribution::Extremes});
  if (judgesNonFinite(job) || !isProduct(job.kind))
    add({Distribution::Nonfinite});
  return laws;
}

/// What the operands themselves ask for.
static std::vector<Distribution> lawsOfOperands(const Job &job) {
  bool domain = false, divides = false, integers = false, biases = false,
       masks = false;
  for (const Tensor &input : job.inputs) {
    bool isReal = isFloat(input.type);
    domain |= isReal && input.role == Role::Positive;
    divides |= isReal && input.role == Role::Divisor;
    integers |=
        !isReal && input.type != ElementType::I1 && input.role != Role::Mask;
    bool isMask = input.role == Role::Mask || input.type == ElementType::I1;
    biases |= isMask && isReal;
    masks |= isMask && input.rowLength() < input.elements();
  }
  std::vector<Distribution> laws;
  auto addIf = [&](bool wanted, Distribution law) {
    if (wanted)
      laws.push_back(law);
  };
  addIf(biases, Distribution::MaskBias);
  addIf(integers, Distribution::FullWidth);
  addIf(domain, Distribution::SignedDomain);
  addIf(domain || divides, Distribution::NearZero);
  addIf(masks, Distribution::EmptyRows);
  return laws;
}

/// Laws without which a very large evaluation would miss a whole class of
/// faults: what rounding operands costs, and biases and integers that are
/// taken for the few values that they usually have. One of the latter takes
/// the place of a law that the seed chooses.
static std::vector<Distribution>
alwaysDrawn(const Job &job, const std::vector<Distribution> &ofOperands) {
  std::vector<Distribution> laws = {harshestOf(job.kind)};
  if (isProduct(job.kind))
    laws.push_back(Distribution::OneHot);
  for (Distribution law : {Distribution::MaskBias, Distribution::FullWidth})
    if (std::find(ofOperands.begin(), ofOperands.end(), law) !=
        ofOperands.end())
      laws.push_back(law);
  return laws;
}

Trials fastk::worker::drawTrials(const Job &job, uint64_t seed) {
  std::vector<Distribution> laws = lawsOf(job),
                            ofOperands = lawsOfOperands(job);
  // First, for they find most where operands ask for them.
  laws.insert(laws.begin(), ofOperands.begin(), ofOperands.end());
  // Where FP16 operands overflow tells who has more range than they have; who
  // has not must still be right within it.
  if (exceedsHalf(job, Distribution::Mixed))
    laws.push_back(Distribution::MixedHalf);
  Trials trials;
  auto addCase = [&](Distribution law, int64_t trial) {
    trials.cases.push_back({law, trial, bitsAt(seed, trials.cases.size()), 1});
  };
  bool brief = job.mode == Mode::Evaluate && !job.validate.full;
  int64_t size = elementsOf(job);
  // On so many elements one draw of N(0,1) has all there is to see.
  int64_t normals = brief && size > largeElements ? 1 : job.validate.trials;
  for (int64_t trial = 0; trial < normals; ++trial)
    addCase(Distribution::Normal, trial);
  // A promotion draws every distribution twice.
  int64_t rounds = job.mode == Mode::Promote ? 2 : 1;
  size_t most = laws.size();
  if (brief && size > largeElements)
    most = size > veryLargeElements ? subsetLaws + (isProduct(job.kind) ? 1 : 0)
                                    : largeLaws;
  if (most < laws.size()) {
    // What is always drawn, then the others in secret order.
    std::vector<Distribution> always = alwaysDrawn(job, ofOperands);
    for (size_t i = 0; i < always.size(); ++i)
      std::iter_swap(
          laws.begin() + int64_t(i),
          std::find(laws.begin() + int64_t(i), laws.end(), always[i]));
    size_t fixed = always.size();
    for (size_t i = laws.size(); i > fixed + 1; --i)
      std::swap(laws[i - 1],
                laws[fixed + bitsAt(seed ^ 0x9a3f, i) % (i - fixed)]);
    trials.required = size_t(normals) + std::max(most, fixed);
  }
  // Single values are in one operand at a time: evaluate takes the one whose
  // turn the seed says it is; the other modes take them all, where operands
  // are judged by it.
  int64_t turns = std::max<int64_t>(1, int64_t(turnsOf(job).size()));
  auto firstTurn = int64_t(bitsAt(seed ^ 0x7a12, 0) % uint64_t(2 * turns));
  for (int64_t round = 0; round < rounds; ++round)
    for (Distribution law : laws) {
      int64_t repeats = brief || law != Distribution::OneHot ? 1 : turns;
      for (int64_t repeat = 0; repeat < repeats; ++repeat)
        addCase(law,
                round * repeats + repeat + (takesTurns(law) ? firstTurn : 0));
    }
  if (trials.required == 0)
    trials.required = trials.cases.size();
  return trials;
}
