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
    {Law::Negatives, "negatives"},
    {Law::OneHot, "one_hot"},
    {Law::FewNonzero, "few_nonzero"},
    {Law::LogUniform, "log_uniform"},
    {Law::LogUniformHalf, "log_uniform_half"},
    {Law::Bands, "bands"},
    {Law::Extremes, "extremes"},
    {Law::Denormals, "denormals"},
    {Law::Nonfinite, "nonfinite"},
    {Law::SignedDomain, "signed_domain"},
    {Law::NearZero, "near_zero"},
    {Law::FullWidth, "full_width"},
    {Law::MaskBias, "mask_bias"},
    {Law::EmptyRows, "empty_rows"}};

std::string_view fastk::worker::toString(Law law) {
  return nameOf(lawNames, law);
}

bool fastk::worker::isExact(Law law, Kind kind) {
  return law == Law::Integers && kind == Kind::Contraction;
}
bool fastk::worker::testsRange(Law law) {
  return law == Law::Mixed || law == Law::MixedHalf || law == Law::LogUniform ||
         law == Law::LogUniformHalf || law == Law::Extremes;
}
bool fastk::worker::exceedsHalf(const Job &job, Law law) {
  return testsRange(law) && law != Law::MixedHalf &&
         job.acceptedPrecision == Precision::Half &&
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
bool fastk::worker::hasFewTerms(Law law) {
  return law == Law::OneHot || law == Law::FewNonzero;
}
bool fastk::worker::takesTurns(Law law) {
  return hasFewTerms(law) || law == Law::Extremes || law == Law::Nonfinite;
}
bool fastk::worker::drawsNonfinite(Law law) {
  return law == Law::Nonfinite || law == Law::Extremes ||
         law == Law::SignedDomain || law == Law::NearZero ||
         law == Law::EmptyRows;
}
bool fastk::worker::drawsDenormals(Law law) {
  return law == Law::Denormals || law == Law::Breakpoints;
}
bool fastk::worker::respondsToScale(Law law) {
  return law != Law::FullWidth && law != Law::SignedDomain &&
         law != Law::NearZero;
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

/// The laws of a kind beside N(0,1), those of its operands left aside.
static std::vector<Law> lawsOf(const Job &job) {
  std::vector<Law> laws = {Law::Shifted,   Law::Scaled, Law::Pareto, Law::Spike,
                           Law::SpikeLast, Law::Equal,  Law::Mixed};
  auto add = [&](std::initializer_list<Law> more) {
    laws.insert(laws.end(), more);
  };
  switch (job.kind) {
  case Kind::Contraction:
  case Kind::Convolution:
    add({Law::Integers, Law::Signs, Law::OneHot, Law::FewNonzero,
         Law::LogUniformHalf});
    break;
  case Kind::Softmax:
    add({Law::Logits80, Law::Ties, Law::NegativeInfinity, Law::LogUniform,
         Law::Bands});
    break;
  case Kind::Attention:
    // Before the laws that also overflow exp, but leave no row all negative.
    // Not the laws of magnitudes: where the two largest of millions of logits
    // are equal to the last place, who wins is rounding.
    laws.insert(laws.begin(), Law::QueryKey80);
    add({Law::Ties, Law::OneHot, Law::FewNonzero});
    break;
  case Kind::Norm:
    add({Law::Mean1000, Law::ConstantRows, Law::LogUniformHalf, Law::Bands});
    break;
  case Kind::Reduction:
    add({Law::Alternating, Law::Runs, Law::OneHot, Law::LogUniform,
         Law::LogUniformHalf, Law::Bands});
    break;
  case Kind::Elementwise:
    add({Law::Breakpoints, Law::Negatives, Law::LogUniform, Law::LogUniformHalf,
         Law::Bands, Law::Denormals});
    break;
  case Kind::Pooling:
    add({Law::Ties, Law::Negatives, Law::NegativeInfinity, Law::LogUniform,
         Law::Bands, Law::Denormals});
    break;
  case Kind::Other:
    add({Law::Mean1000, Law::Breakpoints, Law::Negatives, Law::OneHot,
         Law::LogUniform, Law::LogUniformHalf, Law::Bands, Law::Denormals});
    break;
  }
  add({Law::Extremes});
  if (judgesNonFinite(job) || !isProduct(job.kind))
    add({Law::Nonfinite});
  return laws;
}

/// What the operands themselves ask for.
static std::vector<Law> lawsOfOperands(const Job &job) {
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
  std::vector<Law> laws;
  auto addIf = [&](bool wanted, Law law) {
    if (wanted)
      laws.push_back(law);
  };
  addIf(biases, Law::MaskBias);
  addIf(integers, Law::FullWidth);
  addIf(domain, Law::SignedDomain);
  addIf(domain || divides, Law::NearZero);
  addIf(masks, Law::EmptyRows);
  return laws;
}

/// Laws without which a very large evaluation would miss a whole class of
/// faults: what rounding operands costs, and biases and integers that are
/// taken for the few values that they usually have. One of the latter takes
/// the place of a law that the seed chooses.
static std::vector<Law> alwaysDrawn(const Job &job,
                                    const std::vector<Law> &ofOperands) {
  std::vector<Law> laws = {harshestOf(job.kind)};
  if (isProduct(job.kind))
    laws.push_back(Law::OneHot);
  for (Law law : {Law::MaskBias, Law::FullWidth})
    if (std::find(ofOperands.begin(), ofOperands.end(), law) !=
        ofOperands.end())
      laws.push_back(law);
  return laws;
}

Trials fastk::worker::drawTrials(const Job &job, uint64_t seed) {
  std::vector<Law> laws = lawsOf(job), ofOperands = lawsOfOperands(job);
  // First, for they find most where operands ask for them.
  laws.insert(laws.begin(), ofOperands.begin(), ofOperands.end());
  // Where FP16 operands overflow tells who has more range than they have; who
  // has not must still be right within it.
  if (exceedsHalf(job, Law::Mixed))
    laws.push_back(Law::MixedHalf);
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
  size_t most = laws.size();
  if (brief && size > largeElements)
    most = size > veryLargeElements ? subsetLaws + (isProduct(job.kind) ? 1 : 0)
                                    : largeLaws;
  if (most < laws.size()) {
    // What is always drawn, then the others in secret order.
    std::vector<Law> always = alwaysDrawn(job, ofOperands);
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
    for (Law law : laws) {
      int64_t repeats = brief || law != Law::OneHot ? 1 : turns;
      for (int64_t repeat = 0; repeat < repeats; ++repeat)
        addCase(law,
                round * repeats + repeat + (takesTurns(law) ? firstTurn : 0));
    }
  if (trials.required == 0)
    trials.required = trials.cases.size();
  return trials;
}
