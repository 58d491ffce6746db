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

bool Validation::start(ProgramRole part,
                       std::unique_ptr<ProgramInstance> &program) {
  program = device.start(part, 2, verdict, failure);
  if (!program && part != ProgramRole::Candidate)
    return blame(part);
  return program != nullptr;
}

bool Validation::create() {
  inputs = device.createOperands(failure);
  if (!inputs)
    return false;
  for (auto [part, set] :
       {std::pair(ProgramRole::Oracle, &oracleOutputs),
        std::pair(ProgramRole::Oracle, &otherOracle),
        std::pair(ProgramRole::Baseline, &baselineOutputs),
        std::pair(ProgramRole::Candidate, &candidateOutputs)})
    if (!(*set = device.createResults(part, failure)))
      return false;
  if (job.condition && !(conditionOutputs = device.createResults(
                             ProgramRole::Condition, failure)))
    return false;
  return true;
}

void Validation::tryCompetitors(const Trial &trial,
                                const std::vector<ErrorContext> &difficulties) {
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
          ? NegativeControls::Fetch([&](size_t o, int64_t begin, int64_t end) {
              return device.partOf(*conditionOutputs, o, begin, end);
            })
          : NegativeControls::Fetch());
}

bool Validation::disagreesWithOracle(
    const std::vector<ErrorContext> &difficulties, Precision precision,
    std::string &why) const {
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    const Measure &m = difficulties[o].baseline;
    if (classify(job, o, m, difficulties[o]) <= precision)
      continue;
    Bounds most = boundsOf(job, o, precision, difficulties[o]);
    char text[400];
    snprintf(text, sizeof(text),
             "the baseline disagrees with the oracle on %d draws: result %zu "
             "is off by %.3g (at most %.3g), Frobenius %.3g (at most %.3g); no "
             "kernel can be judged by them. Unless the op jumps where it is "
             "off, the compiler lowers one of them wrongly: report it",
             trustedDraws, o, m.max, most.max, m.frobenius, most.frobenius);
    why = text;
    return true;
  }
  return false;
}

Validation::Outcome Validation::draw(Trial &trial,
                                     std::vector<ErrorContext> &difficulties,
                                     bool slopeKnown, std::string &why) {
  for (int number = 0; number < trustedDraws; ++number) {
    if (number > 0)
      trial.seed = drawnAgain(trial.seed);
    Outcome outcome = prepare(trial, difficulties, why);
    // What is not legal is so by its law.
    if (outcome != Outcome::Ready &&
        (outcome == Outcome::Failed || number == 0))
      return outcome;
    if (outcome != Outcome::Ready)
      continue;
    if (condition)
      return Outcome::Ready;
    if (slopeKnown && !measureSensitivity(trial, difficulties))
      return Outcome::Failed;
    bool isOff = disagreesWithOracle(difficulties, Precision::IEEE, why);
    if (isOff && !slopeKnown) {
      // Without the slope the bounds are tighter.
      if (!measureSensitivity(trial, difficulties))
        return Outcome::Failed;
      isOff = disagreesWithOracle(difficulties, Precision::IEEE, why);
    }
    if (!isOff)
      return Outcome::Ready;
    // A looser class may be judged all the same, where that is what the job
    // asks for. N(0,1) is what everything else rests on.
    bool isLast = number + 1 == trustedDraws;
    if (isLast && !isCore(trial.law) &&
        !disagreesWithOracle(difficulties, job.acceptedPrecision, why))
      return Outcome::Ready;
  }
  return Outcome::Untrusted;
}

bool Validation::run(std::vector<ErrorContext> &normalDifficulty) {
  if (!start(ProgramRole::Oracle, oracle) ||
      !start(ProgramRole::Baseline, baseline) ||
      (job.condition && !start(ProgramRole::Condition, condition)) ||
      !start(ProgramRole::Candidate, candidate) || !create())
    return false;

  uint64_t seed = secretSeed();
  verdict.audit.seed = seed;
  Trials trials = drawTrials(job, seed);
  verdict.precision = job.conditionOfTF32 ? Precision::TF32 : Precision::IEEE;
  bool judged = false;
  size_t needed = trials.required;
  for (size_t number = 0; number < trials.cases.size(); ++number) {
    // Whether the workload is fit is not decided on a part of the trials.
    if (number >= needed &&
        (!job.validate.competitors || competitors.unrejected().empty()))
      break;
    Trial &trial = trials.cases[number];
    placement = placement == Placement::End ? Placement::Start : Placement::End;
    std::vector<ErrorContext> difficulties;
    std::string why;
    // The first trial's slopes serve the timed calls as well; competitors are
    // judged by the very bounds the candidate is; promotion leaves nothing out.
    bool slopeKnown =
        !judged || job.mode == Mode::Promote ||
        (job.validate.competitors && !competitors.unrejected().empty());
    Outcome outcome = draw(trial, difficulties, slopeKnown, why);
    if (outcome == Outcome::Failed)
      return false;
    std::string name(toString(trial.law));
    if (outcome != Outcome::Ready) {
      if (isCore(trial.law)) {
        // Either is so on every run: no machine has failed.
        failure = {Status::Unfit,
                   outcome == Outcome::Untrusted
                       ? "on N(0,1) " + why
                       : "the op cannot be judged even on N(0,1): " + why +
                             "; give its operands a range"};
        return false;
      }
      verdict.audit.leftOut.push_back(name + ": " + why);
      ++needed;
      continue;
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
  for (ProgramInstance *program :
       {oracle.get(), condition.get(), baseline.get(), candidate.get()})
    if (program)
      evaluation.account(*program);
  evaluation.spare.push_back(std::move(inputs));
  if (moved)
    evaluation.spare.push_back(std::move(moved));
  return true;
}

bool fastk::worker::validateCandidate(Evaluation &evaluation,
                                      std::vector<ErrorContext> &difficulty,
                                      Failure &failure) {
  return Validation(evaluation, failure).run(difficulty);
}
