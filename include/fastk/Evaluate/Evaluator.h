//===- Evaluator.h - Where evaluations run ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between the search and whatever evaluates: one variant in, one
// verdict out. An evaluator compiles, validates and times; it decides nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_EVALUATOR_H
#define FASTK_EVALUATE_EVALUATOR_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Protocol/Verdict.h"
#include "fastk/Support/RequestContext.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fastk {

/// What one evaluation is asked to do.
struct EvaluationRequest {
  /// The workload as a `fastk.lowering` of language `default`: the baseline,
  /// and the source of the oracle.
  LoweringOp workload;
  /// The variant to be judged.
  const Variant &candidate;
  /// The best variant so far, timed beside the candidate.
  const Variant *incumbent = nullptr;
  Precision acceptedPrecision = Precision::ieee;
  /// A would-be winner: fresh process, fresh data, more trials and samples.
  bool promote = false;
  /// Whether it is right is all that is asked: nothing is timed.
  bool validateOnly = false;
  /// Whether it is right is asked as if that were all; beside the baseline it
  /// is timed for a moment, and never dropped for being slow.
  bool timesBriefly = false;
  /// Where answers come later: nothing that is asked for together with this one
  /// is pending so far. Its evaluation also shows that the workload's inputs
  /// can tell right from wrong.
  bool firstOfBatch = false;
  /// Hardware counters are wanted where the candidate leads and the device has
  /// a tool for them: language models are told of them.
  bool counters = false;
  /// How many promotions of this candidate came to nothing before: noise
  /// spoiled them, or they contradicted a record. Its answer is another one.
  int repeat = 0;
  /// How many times this evaluation failed before, through no fault of the
  /// candidate. Its answer is another one, too.
  int failures = 0;
};

/// What the verdict on a variant is called in journals and recordings:
/// "evaluate/DIGEST", "promote/DIGEST", and where promotions before came to
/// nothing "promote/DIGEST/1" and so on.
std::string verdictName(const Variant &variant, bool promote, int repeat = 0);

/// A part of what verdicts were made with.
struct ProvenancePart {
  std::string name;
  /// What identifies its content. Verdicts made with another do not compare.
  std::string content;
  /// False: it is named for people. No variant that may come rests on it.
  bool isUsed = true;
};
using Provenance = std::vector<ProvenancePart>;

class Evaluator {
public:
  virtual ~Evaluator();
  /// An error where no evaluation can be made, whatever of, or none of variants
  /// in one of `languages`: asked once, before anything is searched. What
  /// people should know besides is said in `context`, which is that of whoever
  /// asks, here and below: where it ends the waiting, that is an error.
  virtual llvm::Error check(const Languages &languages,
                            const RequestContext &context) {
    return llvm::Error::success();
  }
  /// What would judge and time variants of `workload`. Equal for equal content
  /// of the parts, on every run. Nothing: this evaluator never changes.
  virtual llvm::Expected<Provenance> provenance(LoweringOp workload,
                                                const RequestContext &context);
  /// An error means that the evaluation could not be made (no worker, disk
  /// full); a bad candidate is a verdict, never an error. Nothing: the request
  /// is kept, and its answer pending. The same request gets it on a later run.
  virtual llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request, const RequestContext &context) = 0;
  /// Variants of `workload` will be asked for soon: what they are judged with
  /// may be compiled by now.
  virtual void expect(LoweringOp workload) {}
  /// Empty for evaluators that answer at once. For the others, what has to be
  /// done to get the pending answers, as a command. A search asks such an
  /// evaluator for many variants before it waits for the first.
  virtual std::string pendingHint() const { return ""; }
  /// Where answers come later: whether this run waits for them, or ends and is
  /// run again.
  virtual bool waits() const { return false; }
  /// How many evaluations are made at the same time, as far as it is known.
  virtual unsigned workers() const { return 1; }
  /// The same evaluations, answered at once where that can be, one after the
  /// other; null where it cannot.
  virtual Evaluator *atOnce() { return pendingHint().empty() ? this : nullptr; }
  /// Waits until all that is pending of some workload is answered, and returns
  /// the keys of such workloads; evaluate() has their answers. None: no answer
  /// came for so long that the run is to end, `context` ends the waiting, or
  /// nothing is pending.
  virtual llvm::Expected<std::vector<std::string>>
  waitForAnswers(const RequestContext &context) {
    return std::vector<std::string>();
  }

  /// How many times as long as another evaluation a promotion takes, about:
  /// what is kept for it of the minutes until one was seen.
  virtual double promotionCost() const { return 3; }
};

} // namespace fastk

#endif // FASTK_EVALUATE_EVALUATOR_H
