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
#include "llvm/Support/MemoryBuffer.h"
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
  bool timedOut = false;
};

class LocalPool : public Evaluator {
public:
  LocalPool(LocalPoolOptions options, std::string scratch)
      : options(std::move(options)), scratch(std::move(scratch)),
        target(describeHost()) {}
  ~LocalPool() override { llvm::sys::fs::remove_directories(scratch); }

  llvm::Expected<Provenance> provenance(LoweringOp workload) override;
  llvm::Expected<worker::Verdict>
  evaluate(const EvaluationRequest &request) override;

private:
  llvm::Expected<CompiledKernel> compile(LoweringOp lowering, StringRef role,
                                         unsigned seconds);
  /// The workload's default lowering or oracle.
  llvm::Expected<CompiledKernel> compileTrusted(LoweringOp workload,
                                                StringRef role) {
    return compile(workload, role, options.trustedCompileSeconds);
  }
  llvm::Expected<CompiledKernel> compileVariant(LoweringOp workload,
                                                const Variant &variant,
                                                Precision precision);
  llvm::Expected<worker::Verdict> judge(const worker::Job &job);
  /// What is asked while a process runs.
  std::function<bool()> watch() {
    return [this] {
      if (whileWaiting)
        whileWaiting();
      return options.cancelled && options.cancelled();
    };
  }

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
/// Of a line that only announces another program's diagnostics ("C program does
/// not compile:"), the first of those.
static std::string firstError(StringRef diagnostics) {
  constexpr StringRef kError = "error: ";
  SmallVector<StringRef> lines;
  diagnostics.split(lines, '\n', -1, /*KeepEmpty=*/false);
  ArrayRef<StringRef> rest = lines;
  auto isError = [&](StringRef line) { return line.contains(kError); };
  rest = rest.drop_until(isError);
  if (rest.empty())
    return lines.empty() ? "no diagnostic" : lines.front().str();
  StringRef line = rest.front();
  if (line.rtrim().ends_with(":"))
    if (ArrayRef<StringRef> inner = rest.drop_front().drop_until(isError);
        !inner.empty())
      return inner.front().trim().str();
  return line.drop_front(line.find(kError) + kError.size()).str();
}

llvm::Expected<CompiledKernel>
LocalPool::compile(LoweringOp lowering, StringRef role, unsigned seconds) {
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
  limits.seconds = seconds;
  limits.memoryMegabytes = 8192;
  limits.cancelled = watch();
  // It runs the C compiler and the linker, which must not outlive it either.
  limits.parentDeathSignal = SIGTERM;
  llvm::Expected<ProcessResult> result =
      runProcess(options.compiler,
                 {"--compile-kernel=" + role.str(), "-", "-o", kernel.path},
                 text, limits, scratch);
  if (!result)
    return result.takeError();
  kernel.timedOut = result->timedOut;
  if (result->timedOut)
    kernel.problem =
        "compiling took longer than " + std::to_string(seconds) + " s";
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
  return compile(*module->getOps<LoweringOp>().begin(), "program",
                 options.compileSeconds);
}

llvm::Expected<worker::Verdict> LocalPool::judge(const worker::Job &job) {
  ProcessLimits limits;
  // The worker keeps its own watch on the programs; this only catches a worker
  // that hangs itself.
  limits.seconds = 1800;
  limits.cancelled = watch();
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

static worker::Precision toWorker(Precision precision) {
  switch (precision) {
  case Precision::ieee:
    return worker::Precision::IEEE;
  case Precision::tf32:
    return worker::Precision::TF32;
  case Precision::half:
    return worker::Precision::Half;
  }
  llvm_unreachable("all precisions are named above");
}

/// SHA-256 of a file's content.
static llvm::Expected<std::string> digestOfFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read " + path + ": " +
                                       buffer.getError().message());
  return sha256((*buffer)->getBuffer());
}

/// A C program for `workload`'s ABI whose code tells how C is compiled: loops
/// to vectorise, a reduction, threads, a math function.
static std::string probeProgram(LoweringOp workload) {
  FunctionType type = workload.getWorkloadType();
  std::string parameters;
  for (size_t i = 0, e = type.getNumInputs() + type.getNumResults(); i < e; ++i)
    parameters += "float *p" + std::to_string(i) + ", ";
  return "#include <math.h>\nvoid fastk_kernel(" + parameters +
         "void *workspace) {\n"
         "#pragma omp parallel for\n"
         "  for (long i = 0; i < 4096; ++i) {\n"
         "    float sum = 0;\n"
         "    for (long j = 0; j < 4096; ++j)\n"
         "      sum += p0[j] * p0[4096 * j + i];\n"
         "    p0[i] = sqrtf(sum);\n"
         "  }\n"
         "}\n";
}

llvm::Expected<Provenance> LocalPool::provenance(LoweringOp workload) {
  llvm::Expected<std::string> worker = digestOfFile(options.worker);
  if (!worker)
    return worker.takeError();
  Provenance parts = {{"worker", *worker}};
  // Objects have no time and no build id in them: equal code, equal bytes.
  auto add = [&](const char *name,
                 llvm::Expected<CompiledKernel> kernel) -> llvm::Error {
    if (!kernel)
      return kernel.takeError();
    if (!kernel->problem.empty()) {
      parts.emplace_back(name, "does not compile");
      return llvm::Error::success();
    }
    llvm::Expected<std::string> digest = digestOfFile(kernel->path);
    if (!digest)
      return digest.takeError();
    parts.emplace_back(name, *digest);
    return llvm::Error::success();
  };
  if (llvm::Error error =
          add("default lowering", compileTrusted(workload, "program")))
    return std::move(error);
  if (llvm::Error error = add("oracle", compileTrusted(workload, "oracle")))
    return std::move(error);
  // Schedules go the way of the default lowering; C programs another.
  Variant probe;
  probe.language = Language::c;
  probe.program = probeProgram(workload);
  if (llvm::Error error =
          add("C compiler", compileVariant(workload, probe, Precision::ieee)))
    return std::move(error);
  return parts;
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

  llvm::Expected<CompiledKernel> oracle = compileTrusted(workload, "oracle");
  if (!oracle)
    return oracle.takeError();
  llvm::Expected<CompiledKernel> baseline = compileTrusted(workload, "program");
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
    verdict.status = candidate->timedOut ? worker::Status::CompileTimeout
                                         : worker::Status::Refused;
    verdict.reason = candidate->timedOut
                         ? candidate->problem
                         : "does not compile: " + candidate->problem;
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

  job->acceptedPrecision = toWorker(request.acceptedPrecision);
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
