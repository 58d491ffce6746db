//===- WatchedEvaluator.cpp - Verdicts are counted and told ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/WatchedEvaluator.h"
#include "fastk/Protocol/VerdictNumbers.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>

using namespace mlir;
using namespace fastk;

namespace {
class WatchedEvaluator : public Evaluator {
public:
  WatchedEvaluator(Evaluator &watched, Metrics *metrics, const EventLog *log)
      : watched(watched), metrics(metrics), log(log) {
    if (Evaluator *other = watched.atOnce(); other && other != &watched)
      once = std::make_unique<WatchedEvaluator>(*other, metrics, log);
  }
  WatchedEvaluator(std::unique_ptr<Evaluator> given, Metrics *metrics,
                   const EventLog *log)
      : WatchedEvaluator(*given, metrics, log) {
    owned = std::move(given);
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &context) override {
    return watched.check(languages, context);
  }
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    return watched.provenance(workload, context);
  }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override {
    llvm::Expected<std::optional<worker::Verdict>> verdict =
        watched.evaluate(request, context);
    if (verdict && *verdict && metrics)
      count(**verdict);
    if (verdict && *verdict && log)
      say(request, **verdict);
    return verdict;
  }
  void expect(LoweringOp workload) override { watched.expect(workload); }
  std::string pendingHint() const override { return watched.pendingHint(); }
  bool waits() const override { return watched.waits(); }
  unsigned workers() const override { return watched.workers(); }
  Evaluator *atOnce() override {
    return once ? once.get() : watched.atOnce() ? this : nullptr;
  }
  llvm::Expected<std::vector<std::string>>
  waitForAnswers(const RequestContext &context) override {
    RequestContext watching = context;
    watching.whileWaiting = [&] {
      write();
      context.tick();
    };
    return watched.waitForAnswers(watching);
  }
  double promotionCost() const override { return watched.promotionCost(); }

private:
  void count(const worker::Verdict &verdict);
  void say(const EvaluationRequest &request, const worker::Verdict &verdict);
  // What cannot be written now is in a later one; whoever owns the metrics
  // tells of the last.
  void write() {
    if (!metrics)
      return;
    metrics->set({"fastk_search_workers",
                  "The most evaluations that were seen at the same time"},
                 {}, watched.workers());
    (void)metrics->writeIfDue();
  }

  /// Whose answers these are, where this object has it.
  std::unique_ptr<Evaluator> owned;
  Evaluator &watched;
  std::unique_ptr<WatchedEvaluator> once;
  Metrics *metrics;
  const EventLog *log;
};
} // namespace

/// Counters by \p numbers, gauges to them.
static void take(Metrics &metrics,
                 const std::vector<worker::VerdictNumber> &numbers) {
  for (const worker::VerdictNumber &number : numbers)
    metrics.take({number.name, number.help}, number.labels, number.value);
}

void WatchedEvaluator::count(const worker::Verdict &verdict) {
  take(*metrics, worker::numbersOf(verdict, "fastk_search"));
  metrics->set({"fastk_search_last_answer_timestamp_seconds",
                "When the search last got a verdict"},
               {}, double(std::time(nullptr)));
  write();
}

/// Whether the reason is of the workload or the machine. That of others quotes
/// their programs, and a log is no place for these.
static bool isOfNoVariant(worker::Status status) {
  return status == worker::Status::Error || status == worker::Status::Unfit ||
         status == worker::Status::Disagreement;
}

void WatchedEvaluator::say(const EvaluationRequest &request,
                           const worker::Verdict &verdict) {
  std::string key = LoweringOp(request.workload).getKey().str();
  std::string status(worker::toString(verdict.status));
  std::string text = StringRef(key).take_front(8).str() + ": " +
                     (request.promote ? "second measurement" : "evaluation") +
                     " of " + request.candidate.ideaId + ": " + status;
  EventLog::Fields fields = {
      {"key", key},
      {"evaluation",
       verdictName(request.candidate, request.promote, request.repeat)},
      {"idea", request.candidate.ideaId},
      {"status", status},
      {"seconds", verdict.resources.wallSeconds}};
  const auto &speedup = verdict.timing.speedupOverBaseline;
  if (speedup) {
    fields.emplace_back("speedup", speedup->median);
    text += llvm::formatv(", {0:f2}x default lowering", speedup->median).str();
  }
  // Of a spool, whose worker says in its own log that it answered it.
  if (StringRef(verdict.id).starts_with("job-"))
    fields.emplace_back("job", verdict.id);
  if (verdict.gpu)
    fields.emplace_back("machine", verdict.gpu->name);
  // Then no winner can be recorded.
  if (verdict.timing.tooBusy)
    fields.emplace_back("disturbed_by", verdict.timing.disturbedBy);
  if (isOfNoVariant(verdict.status)) {
    fields.emplace_back("reason", verdict.reason);
    text += ": " + verdict.reason;
  }
  log->say(request.promote ? "second measurement" : "answered", text, fields,
           /*isError=*/verdict.status == worker::Status::Error);
}

std::unique_ptr<Evaluator>
fastk::watchEvaluator(std::unique_ptr<Evaluator> evaluator, Metrics *metrics,
                      const EventLog *log) {
  if (metrics)
    take(*metrics, worker::zeroNumbers("fastk_search"));
  return std::make_unique<WatchedEvaluator>(std::move(evaluator), metrics, log);
}
