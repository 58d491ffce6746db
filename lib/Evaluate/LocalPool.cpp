//===- LocalPool.cpp - Evaluations on this machine ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/LocalPool.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "fastk/Evaluate/JobBuilder.h"
#include "fastk/Evaluate/Subprocess.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;
using namespace fastk;

namespace {
/// A compiled kernel, or why there is none.
struct CompiledKernel {
  std::string path;
  int64_t workspaceBytes = 0;
  /// The compiler's first error; empty when it compiled.
  std::string problem;
};

class LocalPool : public Evaluator {
public:
  LocalPool(LocalPoolOptions options, std::string scratch)
      : options(std::move(options)), scratch(std::move(scratch)),
        target(describeHost()) {}
  ~LocalPool() override { llvm::sys::fs::remove_directories(scratch); }

  llvm::Expected<worker::Verdict>
  evaluate(const EvaluationRequest &request) override;

private:
  llvm::Expected<CompiledKernel> compile(LoweringOp lowering, StringRef role);
  llvm::Expected<CompiledKernel> compileVariant(LoweringOp workload,
                                                const Variant &variant,
                                                Precision precision);
  llvm::Expected<worker::Verdict> judge(const worker::Job &job);

  LocalPoolOptions options;
  std::string scratch;
  TargetDescription target;
  /// By SHA-256 of the lowering's text and its role: baselines, oracles and
  /// incumbents are compiled once.
  llvm::StringMap<CompiledKernel> kernels;
  /// Keys whose inputs were shown to tell right from wrong.
  llvm::StringSet<> fitKeys;
};
} // namespace

/// The first line that says "error", without the place in the temporary file.
static std::string firstError(StringRef diagnostics) {
  SmallVector<StringRef> lines;
  diagnostics.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (size_t at = line.find("error: "); at != StringRef::npos)
      return line.drop_front(at + 7).str();
  return lines.empty() ? "no diagnostic" : lines.front().str();
}

llvm::Expected<CompiledKernel> LocalPool::compile(LoweringOp lowering,
                                                  StringRef role) {
  std::string text;
  {
    llvm::raw_string_ostream os(text);
    os << "module {\n";
    // In full, whatever the command line asks of printing: an elided constant
    // would be another program.
    constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
    lowering->print(os, OpPrintingFlags()
                            .useLocalScope()
                            .enableDebugInfo(false)
                            .elideLargeElementsAttrs(kNoLimit)
                            .elideLargeResourceString(kNoLimit)
                            .skipRegions(false));
    os << "\n}\n";
  }
  std::string name = sha256(role.str() + text);
  if (auto known = kernels.find(name); known != kernels.end())
    return known->second;

  CompiledKernel kernel;
  llvm::SmallString<128> path(scratch);
  llvm::sys::path::append(path, StringRef(name).take_front(16) + ".so");
  kernel.path = std::string(path);
  kernel.workspaceBytes = lowering.getWorkspace();
  ProcessLimits limits;
  limits.seconds = options.compileSeconds;
  limits.memoryMegabytes = 8192;
  llvm::Expected<ProcessResult> result =
      runProcess(options.compiler,
                 {"--compile-kernel=" + role.str(), "-", "-o", kernel.path},
                 text, limits, scratch);
  if (!result)
    return result.takeError();
  if (result->timedOut)
    kernel.problem = "compiling took longer than " +
                     std::to_string(options.compileSeconds) + " s";
  else if (result->exitCode < 0)
    kernel.problem = "the compiler crashed: " + firstError(result->diagnostics);
  else if (result->exitCode != 0)
    kernel.problem = firstError(result->diagnostics);
  kernels[name] = kernel;
  return kernel;
}

llvm::Expected<CompiledKernel> LocalPool::compileVariant(LoweringOp workload,
                                                         const Variant &variant,
                                                         Precision precision) {
  OwningOpRef<ModuleOp> module = buildWinner(
      workload, variant.language, variant.program, variant.workspaceBytes,
      workload.getTarget(), precision, WinnerRecord());
  return compile(*module->getOps<LoweringOp>().begin(), "program");
}

llvm::Expected<worker::Verdict> LocalPool::judge(const worker::Job &job) {
  ProcessLimits limits;
  // The worker keeps its own watch on the programs; this only catches a worker
  // that hangs itself.
  limits.seconds = 1800;
  llvm::Expected<ProcessResult> result =
      runProcess(options.worker, {}, worker::toJSON(job), limits, scratch);
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

llvm::Expected<worker::Verdict>
LocalPool::evaluate(const EvaluationRequest &request) {
  LoweringOp workload = request.workload;
  WorkloadFeatures features = analyzeWorkload(workload.getPattern());
  // What cannot be judged ends the search of this workload, not of the model.
  auto unfit = [&](const std::string &reason) {
    worker::Verdict verdict;
    verdict.id = workload.getKey().str();
    verdict.status = worker::Status::Unfit;
    verdict.reason = reason;
    return verdict;
  };
  llvm::Expected<worker::Job> job = buildJob(workload, features);
  if (!job)
    return unfit(llvm::toString(job.takeError()));

  llvm::Expected<CompiledKernel> oracle = compile(workload, "oracle");
  if (!oracle)
    return oracle.takeError();
  llvm::Expected<CompiledKernel> baseline = compile(workload, "program");
  if (!baseline)
    return baseline.takeError();
  if (!oracle->problem.empty())
    return unfit("its oracle does not compile: " + oracle->problem);
  if (!baseline->problem.empty())
    return unfit("its default lowering does not compile: " + baseline->problem);
  job->oracle = {oracle->path, oracle->workspaceBytes};
  job->baseline = {baseline->path, baseline->workspaceBytes};

  llvm::Expected<CompiledKernel> candidate =
      compileVariant(workload, request.candidate, request.acceptedPrecision);
  if (!candidate)
    return candidate.takeError();
  if (!candidate->problem.empty()) {
    worker::Verdict verdict;
    verdict.id = job->id;
    verdict.status = worker::Status::Refused;
    verdict.reason = "does not compile: " + candidate->problem;
    return verdict;
  }
  job->candidate = {candidate->path, candidate->workspaceBytes};
  if (request.incumbent) {
    llvm::Expected<CompiledKernel> incumbent =
        compileVariant(workload, *request.incumbent, request.acceptedPrecision);
    if (!incumbent)
      return incumbent.takeError();
    if (incumbent->problem.empty())
      job->incumbent = {incumbent->path, incumbent->workspaceBytes};
  }

  std::optional<worker::Precision> precision = worker::parsePrecision(
      std::string_view(stringifyPrecision(request.acceptedPrecision)));
  job->acceptedPrecision = precision.value_or(worker::Precision::IEEE);
  job->mode = request.promote ? worker::Mode::Promote : worker::Mode::Evaluate;
  // Zeros, copies and means must fail on this workload's inputs: shown once in
  // a search, and again on the fresh inputs of every promotion.
  job->validate.competitors =
      request.promote || !fitKeys.contains(workload.getKey());
  job->time.threads = options.threads;
  job->time.cache = options.cache;
  if (request.promote) {
    job->validate.trials = 10;
    job->time.maxSeconds = 5.0;
    // A winner is told by its measurement, never dropped for being slow.
    job->time.screenRatio = 0;
  }
  if (options.timeSeconds > 0)
    job->time.maxSeconds = options.timeSeconds * (request.promote ? 2.5 : 1);
  RooflinePrecision floorClass =
      request.acceptedPrecision == Precision::ieee   ? RooflinePrecision::IEEE
      : request.acceptedPrecision == Precision::tf32 ? RooflinePrecision::TF32
                                                     : RooflinePrecision::Half;
  job->floorNs = 1e9 * computeRoofline(workload.getPattern())
                           .floorSeconds(target, CacheState::Warm, floorClass);
  llvm::Expected<worker::Verdict> verdict = judge(*job);
  if (verdict && verdict->status == worker::Status::OK)
    fitKeys.insert(workload.getKey());
  return verdict;
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::createLocalPool(LocalPoolOptions options) {
  for (const std::string &program : {options.compiler, options.worker})
    if (!llvm::sys::fs::can_execute(program))
      return llvm::createStringError(
          program + " is missing or not executable: build it with "
                    "scripts/build.sh, or install fastk whole");
  llvm::SmallString<128> scratch;
  std::error_code ec;
  if (options.scratch.empty()) {
    ec = llvm::sys::fs::createUniqueDirectory("fastk", scratch);
  } else {
    scratch = options.scratch;
    ec = llvm::sys::fs::create_directories(scratch);
  }
  if (ec)
    return llvm::createStringError(ec, "cannot make a folder for kernels: " +
                                           ec.message());
  return std::make_unique<LocalPool>(std::move(options), scratch.str().str());
}
