//===- LocalFleet.cpp - Evaluations on all GPUs of this machine -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/LocalFleet.h"
#include "FileDigest.h"
#include "SpoolProcess.h"
#include "fastk/Evaluate/Spool.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;

/// Workers keep their own watch on programs; this only catches workers that
/// hang themselves.
static constexpr double kWaitSeconds = 1800;

namespace {
class LocalFleet : public Evaluator {
public:
  explicit LocalFleet(LocalFleetOptions given) : options(std::move(given)) {}
  llvm::Error prepare() {
    if (llvm::Error error = createLocalPool(options.pool).moveInto(pool))
      return error;
    return createSpool({options.pool.jobs, options.spool, kWaitSeconds})
        .moveInto(spool);
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &context) override {
    if (llvm::Error error = pool->check(languages, context))
      return error;
    return spool->check(languages, context);
  }
  // The worker is known here, and is the pool's.
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    llvm::Expected<std::string> worker = digestOfFile(options.pool.worker);
    if (!worker)
      return worker.takeError();
    llvm::Expected<Provenance> parts = spool->provenance(workload, context);
    if (parts)
      parts->front().content = std::move(*worker);
    return parts;
  }
  void expect(LoweringOp workload) override { spool->expect(workload); }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override {
    if (llvm::Error error = start())
      return std::move(error);
    return spool->evaluate(request, context);
  }
  std::string pendingHint() const override { return spool->pendingHint(); }
  bool waits() const override { return true; }
  unsigned workers() const override { return unsigned(options.gpus.size()); }
  Evaluator *atOnce() override { return pool.get(); }
  llvm::Expected<std::vector<std::string>>
  waitForAnswers(const RequestContext &context) override;
  double promotionCost() const override { return pool->promotionCost(); }

private:
  llvm::Error start();

  LocalFleetOptions options;
  std::unique_ptr<Evaluator> pool, spool;
  SpoolProcess process;
};
} // namespace

/// What workers say of themselves, not of each job.
static bool isOfWorkers(llvm::StringRef line) {
  return line.contains("error:") || line.contains("starts again") ||
         line.contains("this GPU takes ");
}

llvm::Error LocalFleet::start() {
  SpawnOptions spawned;
  spawned.program = options.pool.worker;
  spawned.arguments = {
      "fastk-worker", "--spool=" + options.spool, "--follow",
      "--gpus=" + llvm::join(llvm::map_range(options.gpus,
                                             [](unsigned gpu) {
                                               return std::to_string(gpu);
                                             }),
                             ",")};
  return process.start(std::move(spawned), options.spool + "/workers.log");
}

llvm::Expected<std::vector<std::string>>
LocalFleet::waitForAnswers(const RequestContext &context) {
  return process.waitForAnswers(*spool, context, isOfWorkers,
                                "the workers of this machine's GPUs have "
                                "ended");
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::createLocalFleet(LocalFleetOptions options) {
  // Answers of another worker are no answers of this one.
  llvm::Expected<std::string> worker = digestOfFile(options.pool.worker);
  if (!worker)
    return worker.takeError();
  constexpr size_t kDigits = 12;
  options.spool += "/" + worker->substr(0, kDigits);
  auto fleet = std::make_unique<LocalFleet>(std::move(options));
  if (llvm::Error error = fleet->prepare())
    return std::move(error);
  return fleet;
}
