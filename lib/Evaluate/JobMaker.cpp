//===- JobMaker.cpp - From a request to what a worker can run -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/JobMaker.h"
#include "CheckPlan.h"
#include "CompilerMessages.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/PTXProgram.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Evaluate/JobBuilder.h"
#include "fastk/Evaluate/Subprocess.h"
#include "fastk/Support/Sha256.h"
#include "fastk/System/WholeFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;
using namespace fastk;

/// Of timing, where a first measurement is all that is wanted.
static constexpr double kBriefSeconds = 0.1;

llvm::Expected<std::unique_ptr<JobMaker>>
JobMaker::create(JobMakerOptions options) {
  if (!llvm::sys::fs::can_execute(options.compiler))
    return llvm::createStringError(
        options.compiler + " is missing or not executable: build it with "
                           "scripts/build.sh, or install fastk whole");
  ProcessFolder scratch;
  if (std::error_code ec = scratch.create("fastk"))
    return llvm::createStringError(ec, explainTemporaryFileError(ec));
  return std::unique_ptr<JobMaker>(
      new JobMaker(std::move(options), std::move(scratch)));
}

JobMaker::JobMaker(JobMakerOptions given, ProcessFolder scratch)
    : options(std::move(given)), scratch(std::move(scratch)),
      compiler(options.compiler, this->scratch.path()),
      target(options.target ? *options.target : hostDescription()) {}

Compilations JobMaker::notYet(Compilations all) const {
  if (options.waitsForCompiler)
    return {};
  llvm::erase_if(all, [](const auto &each) { return each->hasEnded(); });
  return all;
}

void JobMaker::beginFor(LoweringOp workload) {
  for (StringRef role : {"program", "oracle", "condition"})
    beginTrusted(workload, role);
}

const std::string &JobMaker::whyNoCuda() {
  if (cudaProblem)
    return *cudaProblem;
  cuda::CompileRequest request;
  request.source = "#include <cuda_fp16.h>\n"
                   "extern \"C\" __global__ void probe(__half *p) {\n"
                   "  p[threadIdx.x] = __float2half(2.0f);\n"
                   "}\n";
  request.arch = StringRef(target.target).split(':').second.str();
  cuda::CompileLimits limits;
  limits.program = options.compiler;
  // What the cache has was made when there was a compiler.
  return cudaProblem.emplace(cuda::compileInChild(request, limits).error);
}

llvm::Expected<CompiledKernel> JobMaker::sourceProgram(const Variant &variant,
                                                       StringRef arch) {
  CompiledKernel kernel;
  std::string digest = sha256(variant.program);
  bool isPTX = variant.language == Language::ptx;
  kernel.program.path =
      scratch.file(digest.substr(0, 16) + (isPTX ? ".ptx" : ".cu"));
  kernel.program.code = isPTX ? worker::Code::PTX : worker::Code::CUDA;
  kernel.program.plan = variant.plan;
  kernel.digest = sha256(worker::toJSON(*variant.plan) + "\n" + digest);
  if (!llvm::sys::fs::exists(kernel.program.path))
    if (std::error_code ec =
            writeWholeFile(kernel.program.path, variant.program))
      return llvm::createStringError(ec, explainTemporaryFileError(ec));
  // It is compiled where it runs, by the compiler that is there. Where one is
  // here, too, an error costs no device, and equal code is known as such. One
  // that does not work says nothing of the program.
  if (!options.compilesCudaHere ||
      (!isPTX && (cuda::findToolkits().empty() || !whyNoCuda().empty())))
    return kernel;
  cuda::CompileRequest request;
  request.source = variant.program;
  request.arch = arch.str();
  cuda::CompileLimits limits;
  limits.program = options.compiler;
  cuda::CompileResult result =
      isPTX ? cuda::assembleCached({request.source, request.arch}, limits)
            : cuda::compileCached(request, limits);
  // There is no ptxas, or one that is older than the PTX or does not work here.
  if (result.missingTool || result.toolFailed)
    return kernel;
  kernel.problem = result.error;
  kernel.isCompilersWord = !result.ok();
  if (result.ok())
    kernel.digest =
        sha256(worker::toJSON(*variant.plan) + "\n" + sha256(result.cubin));
  return kernel;
}

std::string fastk::checkPlan(LoweringOp workload,
                             const worker::LaunchPlan &plan,
                             const TargetDescription &target, bool isOracle) {
  std::optional<worker::PlanLimits> limits =
      planLimitsOf(workload.getTarget(), target.memoryBytes);
  if (!limits)
    return ("the limits of target '" + workload.getTarget() + "' are unknown")
        .str();
  FunctionType type = workload.getWorkloadType();
  SmallVector<Type> results(type.getResults());
  for (Type &result : results)
    if (auto shaped = dyn_cast<ShapedType>(result);
        shaped && isOracle && isa<FloatType>(shaped.getElementType()))
      result = shaped.clone(Float64Type::get(workload.getContext()));
  std::vector<std::string> problems = worker::verifyLaunchPlan(
      plan, bufferBytes(type.getInputs()), bufferBytes(results), *limits);
  if (problems.empty())
    return "";
  std::string text = problems.front();
  if (problems.size() > 1)
    text += " (and " + std::to_string(problems.size() - 1) + " more)";
  return text;
}

/// What is wrong with a variant before anything is compiled; empty: nothing.
static std::string checkVariant(LoweringOp workload, const Variant &variant,
                                const TargetDescription &target) {
  bool onHost = workload.getTarget() == "host";
  StringRef language = stringifyLanguage(variant.language);
  bool launches = hasLaunchPlan(variant.language);
  if (onHost && launches)
    return ("language '" + language +
            "' is for GPUs: search with --target=cuda:sm_90a")
        .str();
  if (!onHost && variant.language == Language::c)
    return "language 'c' is for the host: write the kernel in CUDA-C, as "
           "kernel.cu with a plan.json";
  if (!launches)
    return "";
  if (!variant.plan)
    return ("language '" + language +
            "' needs a plan that launches it, see docs/formats/plan.md")
        .str();
  if (std::string problem = checkPlan(workload, *variant.plan, target);
      !problem.empty())
    return "its plan breaks a rule: " + problem;
  if (variant.language != Language::ptx)
    return "";
  return cuda::describe(
      cuda::checkPTXProgram(variant.program, *variant.plan,
                            workload.getTarget().split(':').second),
      programFileName(variant.language));
}

llvm::Expected<std::shared_ptr<Compilation>>
JobMaker::beginVariant(LoweringOp workload, const Variant &variant,
                       Precision precision) {
  CompiledKernel kernel;
  kernel.problem = checkVariant(workload, variant, target);
  if (!kernel.problem.empty())
    return Compilation::ended(std::move(kernel));
  if (variant.language == Language::cuda || variant.language == Language::ptx) {
    llvm::Expected<CompiledKernel> program =
        sourceProgram(variant, workload.getTarget().split(':').second);
    if (!program)
      return program.takeError();
    return Compilation::ended(std::move(*program));
  }
  OwningOpRef<ModuleOp> module =
      buildWinner(workload, variant.language, variant.program,
                  variant.workspaceBytes, workload.getTarget(), precision,
                  WinnerRecord(), variant.plan ? &*variant.plan : nullptr);
  return compiler.begin(*module->getOps<LoweringOp>().begin(), "program",
                        options.compileSeconds);
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

llvm::Expected<Provenance> JobMaker::provenance(LoweringOp workload,
                                                const RequestContext &context) {
  Provenance parts;
  // Side by side.
  beginFor(workload);
  auto add = [&](const char *name,
                 llvm::Expected<CompiledKernel> kernel) -> llvm::Error {
    if (!kernel)
      return kernel.takeError();
    parts.push_back(
        {name, kernel->problem.empty() ? kernel->digest : "does not compile"});
    return llvm::Error::success();
  };
  // Schedules go the way of the default lowering; C programs another. First:
  // where it does not go, nothing else is worth its time.
  std::optional<CompiledKernel> ofC;
  if (workload.getTarget() == "host") {
    Variant probe;
    probe.language = Language::c;
    probe.program = probeProgram(workload);
    llvm::Expected<std::shared_ptr<Compilation>> begun =
        beginVariant(workload, probe, Precision::ieee);
    if (!begun)
      return begun.takeError();
    llvm::Expected<CompiledKernel> kernel = (*begun)->wait(context);
    bool isNeeded = expected && expected->count(Language::c);
    if (!kernel && isNeeded)
      return kernel.takeError();
    if (!kernel) {
      llvm::consumeError(kernel.takeError());
      kernel = CompiledKernel();
      kernel->problem = "missing";
    }
    if (!kernel->problem.empty() && isNeeded)
      return llvm::createStringError("C programs cannot be compiled here: " +
                                     kernel->problem);
    ofC = std::move(*kernel);
  }
  if (llvm::Error error =
          add("default lowering", compileTrusted(workload, "program", context)))
    return std::move(error);
  if (llvm::Error error =
          add("oracle", compileTrusted(workload, "oracle", context)))
    return std::move(error);
  // It is no part, but runs to its end before anything is measured.
  if (options.waitsForCompiler) {
    llvm::Expected<CompiledKernel> condition =
        compileTrusted(workload, "condition", context);
    if (!condition)
      return condition.takeError();
  }
  if (ofC) {
    if (llvm::Error error = add("C compiler", std::move(*ofC)))
      return std::move(error);
    parts.back().isUsed = !expected || expected->count(Language::c);
  }
  return parts;
}

/// What is asked, and how much is spent on it. \p timeSeconds: of an
/// evaluation; 0 for the worker's default.
static void setEffort(worker::Job &job, const EvaluationRequest &request,
                      double timeSeconds) {
  job.mode = request.promote        ? worker::Mode::Promote
             : request.validateOnly ? worker::Mode::Validate
                                    : worker::Mode::Evaluate;
  if (request.promote) {
    job.validate.trials = 10;
    job.time.maxSeconds = 5.0;
  }
  if (timeSeconds > 0)
    job.time.maxSeconds = timeSeconds * (request.promote ? 2.5 : 1);
  if (request.timesBriefly) {
    job.validate.full = true;
    job.time.maxSeconds = kBriefSeconds;
  }
  // What is told by its measurement is never dropped for being slow.
  if (request.promote || request.timesBriefly)
    job.time.screenRatio = 0;
}

llvm::Expected<PreparedJob> JobMaker::make(const EvaluationRequest &request,
                                           bool competitors,
                                           const RequestContext &context) {
  LoweringOp workload = request.workload;
  WorkloadFeatures features = analyzeWorkload(workload.getPattern());
  PreparedJob prepared;
  auto answer = [&](worker::Status status, const std::string &reason) {
    prepared.verdict.emplace();
    prepared.verdict->id = workload.getKey().str();
    prepared.verdict->status = status;
    prepared.verdict->reason = reason;
    return std::move(prepared);
  };
  // What cannot be judged ends the search of this workload, not of the model.
  auto unfit = [&](const std::string &reason) {
    return answer(worker::Status::Unfit, reason);
  };
  llvm::Expected<worker::Job> built = buildJob(workload, features);
  if (!built)
    return unfit(llvm::toString(built.takeError()));
  worker::Job &job = prepared.job;
  job = std::move(*built);

  // All of them side by side.
  Compilations begun;
  bool isOfTF32 = request.acceptedPrecision != Precision::ieee;
  for (StringRef role :
       {"oracle", "program", isOfTF32 ? "condition-tf32" : "condition"})
    begun.push_back(beginTrusted(workload, role));
  for (const Variant *variant : {&request.candidate, request.incumbent}) {
    if (!variant)
      continue;
    llvm::Expected<std::shared_ptr<Compilation>> compilation =
        beginVariant(workload, *variant, request.acceptedPrecision);
    if (!compilation)
      return compilation.takeError();
    begun.push_back(std::move(*compilation));
  }
  prepared.compiling = notYet(begun);
  if (!prepared.compiling.empty())
    return prepared;
  // All of them, whatever is said of the first: no compiler disturbs what is
  // measured next.
  std::vector<CompiledKernel> kernels;
  for (const std::shared_ptr<Compilation> &each : begun) {
    llvm::Expected<CompiledKernel> kernel = each->wait(context);
    if (!kernel)
      return kernel.takeError();
    kernels.push_back(std::move(*kernel));
  }
  const CompiledKernel &oracle = kernels[0], &baseline = kernels[1],
                       &condition = kernels[2], &candidate = kernels[3];
  if (!oracle.problem.empty())
    return unfit("its oracle does not compile: " + oracle.problem);
  if (!baseline.problem.empty())
    return unfit("its default lowering does not compile: " + baseline.problem);
  // Intermediates of these may be more than a device has room for.
  for (auto [name, program] :
       {std::pair("oracle", &oracle.program),
        std::pair("default lowering", &baseline.program)})
    if (program->plan)
      if (std::string problem =
              checkPlan(workload, *program->plan, target,
                        /*isOracle=*/program == &oracle.program);
          !problem.empty())
        return unfit("its " + std::string(name) + " cannot run on " +
                     target.model + ": " + problem);
  job.oracle = oracle.program;
  job.baseline = baseline.program;
  // Without conditions, for want of a rule or of room, errors are judged by
  // rows.
  const std::optional<worker::LaunchPlan> &plan = condition.program.plan;
  if (condition.problem.empty() &&
      (!plan || checkPlan(workload, *plan, target, /*isOracle=*/true).empty()))
    job.condition = condition.program;
  job.conditionOfTF32 = job.condition && isOfTF32;

  if (!candidate.problem.empty())
    return answer(candidate.timedOut ? worker::Status::CompileTimeout
                                     : worker::Status::Refused,
                  (candidate.isCompilersWord ? "does not compile: " : "") +
                      candidate.problem);
  job.candidate = candidate.program;
  prepared.candidateDigest = candidate.digest;
  if (request.incumbent && kernels[4].problem.empty())
    job.incumbent = kernels[4].program;

  if (workload.getTarget() != "host")
    job.device = worker::DeviceKind::Cuda;
  if (request.counters && job.device == worker::DeviceKind::Cuda &&
      !request.promote)
    job.profile.when = worker::ProfileOptions::When::Installed;
  job.machine = target.model;
  job.acceptedPrecision = toWorker(request.acceptedPrecision);
  job.validate.competitors = competitors;
  job.validate.requireDeterministic = options.requireDeterministic;
  job.time.threads = options.threads;
  job.time.cache = options.cache;
  setEffort(job, request, options.timeSeconds);
  Roofline roofline = computeRoofline(workload.getPattern());
  job.floorNs =
      1e9 * roofline.floorSeconds(target,
                                  options.cache == worker::Cache::Cold
                                      ? roofline.timedCaches(target)
                                      : CacheState::Warm,
                                  toRoofline(request.acceptedPrecision));
  return prepared;
}
