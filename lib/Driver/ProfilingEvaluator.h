//===- ProfilingEvaluator.h - Until a time is known -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_PROFILINGEVALUATOR_H
#define FASTK_LIB_DRIVER_PROFILINGEVALUATOR_H

#include "PreparedSearch.h"
#include "fastk/Evaluate/Evaluator.h"

namespace fastk {

/// Ends a search when the default lowering's time is known, when an answer is
/// pending, or when so many evaluations have not told it.
class ProfilingEvaluator : public Evaluator {
public:
  static constexpr int kEvaluations = 3;

  explicit ProfilingEvaluator(Evaluator &evaluator) : evaluator(evaluator) {}
  llvm::Expected<Provenance> provenance(LoweringOp workload,
                                        const RequestContext &context) override;
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override;
  std::string pendingHint() const override { return evaluator.pendingHint(); }
  bool waits() const override { return evaluator.waits(); }
  unsigned workers() const override { return evaluator.workers(); }
  double promotionCost() const override { return evaluator.promotionCost(); }

  /// What the search asks before each evaluation, and after each: then the
  /// answer is no, for what fails while a search is ended is not believed.
  bool endsSearch();
  /// Whether an answer is awaited: the same search asks for it again.
  bool isPending() const { return pending; }

private:
  Evaluator &evaluator;
  int evaluations = 0;
  bool isKnown = false, isAnswering = false, pending = false;
};

/// The default lowering's time as the journal of `target` has it; 0 where it is
/// not there. Says in `target` what it took.
double readProfile(SearchTarget &target);

/// Begins the search of `target`, whose input `prepared` has made for
/// `evaluator`, and leaves it when that ends it: the journal has what was
/// evaluated. Its seconds; 0 where another process searches it, which has
/// measured it, or will.
llvm::Expected<double> searchUntilProfiled(SearchTarget &target,
                                           PreparedSearch &prepared,
                                           ProfilingEvaluator &evaluator);

/// Whether the journal of `target` tells enough, or never will; `baseline` is
/// what readProfile() found there.
inline bool isProfiled(const SearchTarget &target, double baseline) {
  return baseline > 0 ||
         target.profile.evaluations >= ProfilingEvaluator::kEvaluations;
}

} // namespace fastk

#endif // FASTK_LIB_DRIVER_PROFILINGEVALUATOR_H
