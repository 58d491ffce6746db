//===- Validate.cpp - The trials of a candidate ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "Validation.h"
#include "Values/Random.h"
#include <algorithm>

using namespace fastk::worker;

bool Validation::start(Part part, std::unique_ptr<Running> &program) {
  program = device.start(part, 2, verdict, failure);
  if (!program && part != Part::Candidate)
    return blame(part);
  return program != nullptr;
}

bool Validation::create() {
  inputs = device.createOperands(failure);
  if (!inputs)
    return false;
  for (auto [part, set] : {std::pair(Part::Oracle, &oracleOutputs),
                           std::pair(Part::Oracle, &otherOracle),
                           std::pair(Part::Baseline, &baselineOutputs),
                           std::pair(Part::Candidate, &candidateOutputs)})
    if (!(*set = device.createResults(part, failure)))
      return false;
  if (job.condition &&
      !(conditionOutputs = device.createResults(Part::Condition, failure)))
    return false;
  return true;
}

void Validation::tryCompetitors(const Case &trial,
                                const std::vector<Difficulty> &difficulties) {
  Phase phase("competitors");
  competitors.judge(
      [&](size_t i, int64_t begin, int64_t end) {
        return device.partOf(*inputs, i, begin, end);
      },
      [&](size_t o, int64_t begin, int64_t end) {
        return device.partOf(*oracleOutputs, o, begin, end);
      },
      difficulties, titleOf(trial),
      conditionOutputs
          ? Competitors::Fetch([&](size_t o, int64_t begin, int64_t end) {
              return device.partOf(*conditionOutputs, o, begin, end);
            })
          : Competitors::Fetch());
}

/// Whether the baseline is farther from the oracle than rounding explains, with
/// the text in \p why.
bool Validation::disagreesWithOracle(
    const std::vector<Difficulty> &difficulties, std::string &why) const {
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    Bounds cap = capOf(job, o, difficulties[o]);
    const Measure &m = difficulties[o].baseline;
    // Not so when one is NaN.
    bool isRight = m.max <= cap.max && m.frobenius <= cap.frobenius;
    if (!isFloat(job.outputs[o].type) || isRight)
      continue;
    char text[400];
    snprintf(text, sizeof(text),
             "the baseline disagrees with the oracle on N(0,1): result %zu is "
             "off by %.3g (at most %.3g), Frobenius %.3g (at most %.3g); no "
             "kernel can be judged by them. Unless the op jumps where it is "
             "off, the compiler lowers one of them wrongly: report it",
             o, m.max, cap.max, m.frobenius, cap.frobenius);
    why = text;
    return true;
  }
  return false;
}

bool Validation::run(std::vector<Difficulty> &normalDifficulty) {
  if (!start(Part::Oracle, oracle) || !start(Part::Baseline, baseline) ||
      (job.condition && !start(Part::Condition, condition)) ||
      !start(Part::Candidate, candidate) || !create())
    return false;

  uint64_t seed = secretSeed();
  verdict.audit.seed = seed;
  Trials trials = drawTrials(job, seed);
  verdict.precision = Precision::IEEE;
  bool judged = false;
  size_t needed = trials.required;
  int redraws = 0;
  for (size_t number = 0; number < trials.cases.size(); ++number) {
    // Whether the workload is fit is not decided on a part of the trials.
    if (number >= needed &&
        (!job.validate.competitors || competitors.unrejected().empty()))
      break;
    Case &trial = trials.cases[number];
    placement = placement == Placement::End ? Placement::Start : Placement::End;
    std::vector<Difficulty> difficulties;
    std::string why;
    Outcome outcome = prepare(trial, difficulties, why);
    if (outcome == Outcome::Failed)
      return false;
    std::string name(toString(trial.law));
    if (outcome == Outcome::LeftOut) {
      if (isCore(trial.law)) {
        failure = {Status::Unfit, "the op cannot be judged even on N(0,1): " +
                                      why + "; give its operands a range"};
        return false;
      }
      verdict.audit.leftOut.push_back(name + ": " + why);
      ++needed;
      continue;
    }
    // The first trial's slopes serve the timed calls as well; competitors are
    // judged by the very bounds the candidate is; promotion leaves nothing out.
    bool slopeKnown =
        !judged || job.mode == Mode::Promote ||
        (job.validate.competitors && !competitors.unrejected().empty());
    if (slopeKnown && !job.condition && !measureSlope(trial, difficulties))
      return false;
    if (isCore(trial.law) && !job.condition &&
        disagreesWithOracle(difficulties, why)) {
      // One unlucky element is enough; who computes something else does so on
      // every draw.
      if (redraws++ < 4) {
        trial.seed = bitsAt(trial.seed, 8000);
        --number;
        continue;
      }
      // As with conditions, where such a distribution is not legal. It is so
      // on every run: no machine has failed.
      failure = {Status::Unfit, why};
      return false;
    }
    if (job.validate.competitors)
      tryCompetitors(trial, difficulties);
    bool ok = judgeTrial(trial, difficulties, slopeKnown);
    bool isFirst = !judged;
    judged = true;
    if (isFirst) {
      normalDifficulty = difficulties;
      if (ok && job.mode == Mode::Evaluate && job.time.screenRatio > 0)
        ok = screen();
    }
    // Where elements have bounds of their own, sums hide what operands have
    // lost: some trial must not.
    if (ok && job.validate.competitors && !refusedHalfInputs &&
        (number == 0 || job.condition))
      ok = checkHalfInputs(trial, difficulties);
    if (ok && isFirst &&
        (job.mode == Mode::Promote || job.validate.requireDeterministic))
      ok = checkRepeats(trial, difficulties);
    if (ok && isFirst && job.validate.competitors)
      ok = checkOperands(trial, difficulties);
    if (!ok) {
      verdict.competitors = competitors.results();
      return false;
    }
    ++verdict.audit.trials;
    if (std::find(verdict.audit.distributions.begin(),
                  verdict.audit.distributions.end(),
                  name) == verdict.audit.distributions.end())
      verdict.audit.distributions.push_back(name);
  }
  verdict.competitors = competitors.results();
  if (job.validate.competitors) {
    std::string weak = competitors.unrejected();
    if (!weak.empty()) {
      failure = {Status::Unfit,
                 "the worthless result '" + weak +
                     "' passes every trial of this job: its inputs cannot "
                     "tell right from wrong; this workload cannot be searched"};
      return false;
    }
  }
  for (Running *program :
       {oracle.get(), condition.get(), baseline.get(), candidate.get()})
    if (program)
      evaluation.account(*program);
  evaluation.spare.push_back(std::move(inputs));
  if (moved)
    evaluation.spare.push_back(std::move(moved));
  return true;
}

bool fastk::worker::validateCandidate(Evaluation &evaluation,
                                      std::vector<Difficulty> &difficulty,
                                      Failure &failure) {
  return Validation(evaluation, failure).run(difficulty);
}
