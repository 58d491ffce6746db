//===- MeteredEvaluator.cpp - Verdicts are counted ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/MeteredEvaluator.h"
#include "fastk/Protocol/VerdictNumbers.h"
#include <ctime>

using namespace mlir;
using namespace fastk;

namespace {
class MeteredEvaluator : public Evaluator {
public:
  MeteredEvaluator(Evaluator &metered, Metrics &metrics)
      : metered(metered), metrics(metrics) {
    if (Evaluator *other = metered.atOnce(); other && other != &metered)
      once = std::make_unique<MeteredEvaluator>(*other, metrics);
  }
  MeteredEvaluator(std::unique_ptr<Evaluator> given, Metrics &metrics)
      : MeteredEvaluator(*given, metrics) {
    owned = std::move(given);
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &context) override {
    return metered.check(languages, context);
  }
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    return metered.provenance(workload, context);
  }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override {
    llvm::Expected<std::optional<worker::Verdict>> verdict =
        metered.evaluate(request, context);
    if (verdict && *verdict)
      count(**verdict);
    return verdict;
  }
  void expect(LoweringOp workload) override { metered.expect(workload); }
  std::string pendingHint() const override { return metered.pendingHint(); }
  bool waits() const override { return metered.waits(); }
  unsigned workers() const override { return metered.workers(); }
  Evaluator *atOnce() override {
    return once ? once.get() : metered.atOnce() ? this : nullptr;
  }
  llvm::Expected<std::vector<std::string>>
  waitForAnswers(const RequestContext &context) override {
    RequestContext watching = context;
    watching.whileWaiting = [&] {
      write();
      context.tick();
    };
    return metered.waitForAnswers(watching);
  }
  double promotionCost() const override { return metered.promotionCost(); }

private:
  void count(const worker::Verdict &verdict);
  // What cannot be written now is in a later one; whoever owns the metrics
  // tells of the last.
  void write() {
    metrics.set({"fastk_search_workers",
                 "The most evaluations that were seen at the same time"},
                {}, metered.workers());
    (void)metrics.writeIfDue();
  }

  /// Whose answers these are, where this object has it.
  std::unique_ptr<Evaluator> owned;
  Evaluator &metered;
  std::unique_ptr<MeteredEvaluator> once;
  Metrics &metrics;
};
} // namespace

/// Counters by \p numbers, gauges to them.
static void take(Metrics &metrics,
                 const std::vector<worker::VerdictNumber> &numbers) {
  for (const worker::VerdictNumber &number : numbers)
    metrics.take({number.name, number.help}, number.labels, number.value);
}

void MeteredEvaluator::count(const worker::Verdict &verdict) {
  take(metrics, worker::numbersOf(verdict, "fastk_search"));
  metrics.set({"fastk_search_last_answer_timestamp_seconds",
               "When the search last got a verdict"},
              {}, double(std::time(nullptr)));
  write();
}

std::unique_ptr<Evaluator>
fastk::meterEvaluator(std::unique_ptr<Evaluator> evaluator, Metrics &metrics) {
  take(metrics, worker::zeroNumbers("fastk_search"));
  return std::make_unique<MeteredEvaluator>(std::move(evaluator), metrics);
}
