//===- Validation.h - Is the candidate right --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_JUDGE_VALIDATION_H
#define FASTK_LIB_WORKER_JUDGE_VALIDATION_H

#include "Evaluation.h"
#include "NegativeControls.h"
#include "Values/Random.h"

namespace fastk::worker {

/// The validation of one candidate. Validate.cpp walks through the trials,
/// ValidateTrial.cpp has what happens in one, ValidateOnce.cpp what happens
/// after the first, Screen.cpp the first look at its speed.
class Validation {
public:
  Validation(Evaluation &evaluation, Failure &failure)
      : evaluation(evaluation), device(evaluation.device),
        job(evaluation.device.job), verdict(evaluation.verdict),
        failure(failure), competitors(job) {}

  bool run(std::vector<ErrorContext> &normalDifficulty);

private:
  /// Untrusted: on no draw was the baseline near the oracle.
  enum class Outcome { Ready, LeftOut, Untrusted, Failed };

  bool start(ProgramRole part, std::unique_ptr<ProgramInstance> &program);
  bool create();
  bool callTrusted(ProgramRole part, const Operands &operands, Results &outputs,
                   double *ns = nullptr);
  bool callCandidate(const std::string &what);
  Outcome prepare(Trial &trial, std::vector<ErrorContext> &difficulties,
                  std::string &why);
  bool measureBaseline(const Trial &trial, size_t output,
                       ErrorContext &difficulty, bool &mostMasked,
                       std::string &why);
  bool measureSensitivity(const Trial &trial,
                          std::vector<ErrorContext> &difficulties);
  /// Prepares a trial; without conditions on operands on which the baseline
  /// itself is within its bounds. One unlucky element is enough to be beyond
  /// them, so such operands are drawn again; who computes something else is
  /// beyond them on every draw.
  Outcome draw(Trial &trial, std::vector<ErrorContext> &difficulties,
               bool slopeKnown, std::string &why);
  /// Whether the baseline is farther from the oracle than a class allows, with
  /// the text in \p why.
  bool disagreesWithOracle(const std::vector<ErrorContext> &difficulties,
                           Precision precision, std::string &why) const;
  bool judgeTrial(const Trial &trial, std::vector<ErrorContext> &difficulties,
                  bool slopeKnown);
  bool screen();
  /// Runs the program of conditions on \p operands, where the job has one.
  bool callCondition(const Operands &operands);
  /// Whether a candidate that is slightly beyond a bound is so by bad luck.
  bool isBadLuck(const Trial &trial, std::vector<ErrorContext> &difficulties,
                 bool &unlucky);
  void tryCompetitors(const Trial &trial,
                      const std::vector<ErrorContext> &difficulties);
  bool checkOperands(const Trial &trial,
                     const std::vector<ErrorContext> &difficulties);
  bool checkOperand(size_t operand, const Trial &redrawn,
                    const std::vector<ErrorContext> &difficulties,
                    bool &isTrusted, std::string &why);
  bool measureRedrawn(const Trial &redrawn,
                      std::vector<ErrorContext> &difficulties);
  bool checkHalfInputs(const Trial &trial,
                       const std::vector<ErrorContext> &difficulties);
  bool checkRepeats(const Trial &trial,
                    const std::vector<ErrorContext> &difficulties);
  bool wrong(std::string reason) {
    failure = {Status::Wrong, std::move(reason)};
    return false;
  }
  /// An oracle or baseline that fails is no fault of the candidate.
  bool blame(ProgramRole part) {
    failure = {Status::Error, failure.reason + " (the " + nameOf(part) +
                                  " must run on every trial)"};
    return false;
  }

  Evaluation &evaluation;
  Device &device;
  const Job &job;
  Verdict &verdict;
  Failure &failure;
  NegativeControls competitors;
  std::unique_ptr<ProgramInstance> oracle, condition, baseline, candidate;
  std::unique_ptr<Operands> inputs;
  std::unique_ptr<Results> oracleOutputs, otherOracle, baselineOutputs,
      candidateOutputs;
  /// Of the operands that the oracle was last called on by callCondition.
  std::unique_ptr<Results> conditionOutputs;
  Placement placement = Placement::End;
  double baselineSeconds = 0;
  /// What a kernel that rounds operands to FP16 would return was refused.
  bool refusedHalfInputs = false;
  /// The trial's operands, slightly moved; made when first needed.
  std::unique_ptr<Operands> moved;
};

/// So often are operands drawn until the baseline is near the oracle on them.
inline constexpr int trustedDraws = 5;
/// The seed of the next of these draws.
inline uint64_t drawnAgain(uint64_t seed) { return bitsAt(seed, 8000); }

/// "normal, trial 0".
std::string titleOf(const Trial &trial);
/// The errors of a trial and their bounds, for people.
std::string describe(const TrialError &error, Precision accepted);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_JUDGE_VALIDATION_H
