//===- LocalPool.cpp - Evaluations on this machine ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/LocalPool.h"
#include "CompilerMessages.h"
#include "FileDigest.h"
#include "fastk/Evaluate/OracleComparison.h"
#include "fastk/Evaluate/Subprocess.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;

/// By the recorded searches: 6 to 12.
static constexpr double kPromotionCost = 6;

namespace {
class LocalPool : public Evaluator {
public:
  explicit LocalPool(LocalPoolOptions given) : options(std::move(given)) {}
  llvm::Error prepare() {
    if (llvm::Error error = JobMaker::create(options.jobs).moveInto(maker))
      return error;
    comparison.emplace(*maker);
    return llvm::Error::success();
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &context) override;
  double promotionCost() const override { return kPromotionCost; }
  llvm::Expected<Provenance> provenance(LoweringOp workload,
                                        const RequestContext &context) override;
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override;

private:
  llvm::Expected<worker::Verdict> judge(const worker::Job &job,
                                        const RequestContext &context);

  LocalPoolOptions options;
  std::unique_ptr<JobMaker> maker;
  std::optional<OracleComparison> comparison;
  /// Keys whose inputs were shown to tell right from wrong.
  llvm::StringSet<> fitKeys;
};
} // namespace

llvm::Error LocalPool::check(const Languages &languages,
                             const RequestContext &context) {
  maker->expect(languages);
  ProcessLimits limits;
  limits.watchedBy(context);
  const char *device = options.jobs.target ? "cuda" : "host";
  llvm::Expected<ProcessResult> result = runProcess(
      options.worker, {"--check", device}, "", limits, maker->getScratch());
  if (!result)
    return result.takeError();
  if (result->exitCode != 0)
    return llvm::createStringError(
        "programs cannot be judged here: " +
        (result->timedOut ? options.worker + " --check does not end"
                          : firstError(result->diagnostics)));
  StringRef missing = StringRef(result->output).trim();
  if (missing.consume_front("missing: "))
    context.say(
        ("programs run without " + missing +
         ": this kernel or container does not offer it (docs/validation.md "
         "tells what it is for)")
            .str());
  if (options.jobs.target && languages.count(Language::cuda))
    if (const std::string &problem = maker->whyNoCuda(); !problem.empty())
      return llvm::createStringError("CUDA-C cannot be compiled here: " +
                                     problem);
  return llvm::Error::success();
}

llvm::Expected<worker::Verdict>
LocalPool::judge(const worker::Job &job, const RequestContext &context) {
  ProcessLimits limits;
  // The worker keeps its own watch on the programs; this only catches a worker
  // that hangs itself.
  limits.seconds = 1800;
  limits.watchedBy(context);
  llvm::Expected<ProcessResult> result = runProcess(
      options.worker, {}, worker::toJSON(job), limits, maker->getScratch());
  if (!result)
    return result.takeError();
  std::string error;
  std::optional<worker::Verdict> verdict =
      worker::parseVerdict(result->output, error);
  if (!verdict)
    return llvm::createStringError(
        options.worker + " gave no verdict (exit code " +
        std::to_string(result->exitCode) + "): " +
        (result->diagnostics.empty() ? error
                                     : firstError(result->diagnostics)));
  return std::move(*verdict);
}

llvm::Expected<Provenance>
LocalPool::provenance(LoweringOp workload, const RequestContext &context) {
  llvm::Expected<std::string> worker = digestOfFile(options.worker);
  if (!worker)
    return worker.takeError();
  llvm::Expected<Provenance> parts = maker->provenance(workload, context);
  if (parts)
    parts->insert(parts->begin(), {"worker", *worker});
  return parts;
}

llvm::Expected<std::optional<worker::Verdict>>
LocalPool::evaluate(const EvaluationRequest &request,
                    const RequestContext &context) {
  StringRef key = LoweringOp(request.workload).getKey();
  // Zeros, copies and means must fail on this workload's inputs: shown once in
  // a search, and again on the fresh inputs of every promotion.
  llvm::Expected<PreparedJob> prepared =
      maker->make(request, request.promote || !fitKeys.contains(key), context);
  if (!prepared)
    return prepared.takeError();
  if (prepared->verdict)
    return std::move(prepared->verdict);
  llvm::Expected<OracleComparison::Answer> oracles = comparison->check(
      request.workload,
      [&](worker::Job &job) -> llvm::Expected<std::optional<worker::Verdict>> {
        return judge(job, context);
      },
      context);
  if (!oracles)
    return oracles.takeError();
  if (oracles->verdict)
    return std::move(oracles->verdict);
  llvm::Expected<worker::Verdict> verdict = judge(prepared->job, context);
  if (!verdict)
    return verdict.takeError();
  if (verdict->status == worker::Status::OK)
    fitKeys.insert(key);
  return std::move(*verdict);
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::createLocalPool(LocalPoolOptions options) {
  if (!llvm::sys::fs::can_execute(options.worker))
    return llvm::createStringError(
        options.worker + " is missing or not executable: build it with "
                         "scripts/build.sh, or install fastk whole");
  if (!options.jobs.target)
    if (std::string problem = explainTooManyThreads(options.jobs.threads);
        !problem.empty())
      return llvm::createStringError("--num-threads: " + problem);
  auto pool = std::make_unique<LocalPool>(std::move(options));
  if (llvm::Error error = pool->prepare())
    return std::move(error);
  return pool;
}
