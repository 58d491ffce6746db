//===- AdmitFamily.cpp - Families are admitted on evidence ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/AdmitFamily.h"
#include "SearchEvaluator.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Driver/FamilySamples.h"
#include "fastk/Propose/Parameters.h"
#include "fastk/Search/Progress.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace fastk;
using families::Evidence;
using families::Family;
using families::Instance;

/// Each so-manyth sample that the family serves has a second instance judged,
/// whatever the verdicts on others.
static constexpr size_t kSecondEvery = 3;
/// How often a judgement that failed by itself is made.
static constexpr int kMaxTries = 3;
/// So many samples in a row that cannot be judged are no accident.
static constexpr int kMaxLeftOut = 200;

namespace {
/// One admission.
class Admission {
public:
  Admission(const AdmitOptions &options, Family family, StringRef target,
            Evaluator &evaluator, const SearchRequest &request,
            MLIRContext *context)
      : options(options), family(std::move(family)), target(target),
        evaluator(evaluator), request(request), context(context),
        samples(this->family, options.seed, options.precision, context),
        progress(createStreamProgress(*request.said,
                                      request.said->is_displayed(),
                                      "family " + this->family.name)) {
    waiting.stopRequested = request.stopRequested;
    waiting.whileWaiting = [this] { progress->tick(); };
    waiting.note = [this](const std::string &text) { progress->note(text); };
  }

  llvm::Expected<AdmitResult> run();

private:
  /// Judges instances for one workload. False: it is none that can be judged.
  llvm::Expected<bool> judge(SampledWorkload &sample, bool hasSecond);
  /// The cheapest instance, and with `hasSecond` another one.
  std::vector<Instance> choose(const SampledWorkload &sample, bool hasSecond);
  /// Nothing: pending. The first instance of a sample is timed, too.
  llvm::Expected<std::optional<worker::Verdict>>
  ask(LoweringOp workload, const Variant &variant, bool isFirst);
  llvm::Error conclude(const SampledWorkload &sample, const Instance &instance,
                       const Variant &variant, const worker::Verdict &verdict);
  llvm::Error noteMachine(const SampledWorkload &sample,
                          const worker::Verdict &verdict);
  std::string nameOf(const SampledWorkload &sample) const;
  AdmitResult refuse();
  llvm::Expected<AdmitResult> admit();

  const AdmitOptions &options;
  const Family family;
  std::string target;
  Evaluator &evaluator;
  const SearchRequest &request;
  MLIRContext *context;
  FamilySamples samples;
  std::unique_ptr<SearchProgress> progress;
  RequestContext waiting;

  Evidence evidence;
  std::vector<std::string> headers;
  std::vector<std::string> failures;
  int pending = 0, answered = 0;
  /// Of the last sample that could not be judged.
  std::string whyLeftOut;
};
} // namespace

std::vector<Instance> Admission::choose(const SampledWorkload &sample,
                                        bool hasSecond) {
  std::string why;
  std::vector<Instance> chosen = families::instantiate(
      family, sample.core, hasSecond ? std::numeric_limits<size_t>::max() : 1,
      why);
  if (chosen.size() > 2) {
    std::mt19937_64 random(options.seed + sample.number);
    std::swap(chosen[1], chosen[1 + random() % (chosen.size() - 1)]);
    chosen.resize(2);
  }
  return chosen;
}

/// Whether a verdict on a timed job may be so for its times alone: clocks that
/// contradict each other, a floor that is wrong, room for more operands.
static bool mayBeOfTimes(worker::Status status) {
  using worker::Status;
  return status != Status::OK && status != Status::Wrong &&
         status != Status::Crash && status != Status::Unfit &&
         status != Status::Disagreement;
}

llvm::Expected<std::optional<worker::Verdict>>
Admission::ask(LoweringOp workload, const Variant &variant, bool isFirst) {
  EvaluationRequest asked{workload, variant};
  asked.acceptedPrecision = options.precision;
  asked.timesBriefly = isFirst;
  asked.validateOnly = !isFirst;
  asked.firstOfBatch = isFirst;
  for (;;) {
    llvm::Expected<std::optional<worker::Verdict>> verdict =
        evaluator.evaluate(asked, waiting);
    if (!verdict || !*verdict)
      return verdict;
    worker::Status status = (*verdict)->status;
    bool hasFailed = status == worker::Status::Error;
    if (hasFailed && ++asked.failures == kMaxTries)
      return verdict;
    if (!hasFailed && !(asked.timesBriefly && mayBeOfTimes(status)))
      return verdict;
    // Times are of no account: what it is without them decides.
    asked.timesBriefly = false;
    asked.validateOnly = true;
  }
}

/// Nothing where nothing was timed, or too much disturbed it.
static std::optional<Evidence::Times> timesOf(const worker::Verdict &verdict) {
  const worker::TimingReport &timing = verdict.timing;
  if (!timing.candidate || !timing.baseline || !timing.speedupOverBaseline ||
      timing.tooBusy || !std::isnormal(timing.speedupOverBaseline->median))
    return std::nullopt;
  return Evidence::Times{timing.candidate->medianNs, timing.baseline->medianNs,
                         timing.speedupOverBaseline->median,
                         timing.belowResolution};
}

/// "BN 64, CONSUMERS 2": what was chosen for an instance.
static std::string choicesOf(const Family &family, const Instance &instance) {
  families::Names names = families::readNumbers(instance.program).names;
  std::string text;
  for (const std::string &name : family.chosen)
    text +=
        (text.empty() ? "" : ", ") + name + " " + std::to_string(names[name]);
  return text;
}

std::string Admission::nameOf(const SampledWorkload &sample) const {
  return "sample " + std::to_string(sample.number) + " of seed " +
         std::to_string(options.seed) + " (" + sample.about + "; key " +
         sample.form.key.substr(0, 8) + ")";
}

llvm::Error Admission::noteMachine(const SampledWorkload &sample,
                                   const worker::Verdict &verdict) {
  if (family.isForHost()) {
    // Compiled and judged here, in this process and those it begins.
    if (evidence.compiler.empty()) {
      evidence.compiler = clangVersionHere();
      evidence.device = hostDescription().model;
      evidence.vectorBytes = sample.core.host->vectorBytes;
    }
    return llvm::Error::success();
  }
  if (!verdict.gpu || verdict.gpu->compiler.empty())
    return llvm::createStringError(
        nameOf(sample) + ": its verdict does not say on which GPU it was "
                         "found, and with which compiler: answer it with the "
                         "fastk-worker of this fastk");
  const worker::GpuReport &gpu = *verdict.gpu;
  if (gpu.prelude != cuda::preludeDigest())
    return llvm::createStringError(
        nameOf(sample) + ": its verdict is of a worker with another prelude "
                         "than this fastk's (docs/cuda.md), or of an earlier "
                         "one: remove it, or take an empty spool, and answer "
                         "with the fastk-worker of this fastk");
  if (evidence.compiler.empty()) {
    evidence.compiler = gpu.compiler;
    evidence.device = gpu.name;
    evidence.driver = gpu.driver;
    evidence.prelude = gpu.prelude;
  }
  if (evidence.compiler != gpu.compiler || evidence.device != gpu.name)
    return llvm::createStringError(
        nameOf(sample) + " was judged on " + gpu.name + " with NVRTC " +
        gpu.compiler + ", and others on " + evidence.device + " with NVRTC " +
        evidence.compiler + ": evidence is of one machine; let one answer all");
  return llvm::Error::success();
}

llvm::Error Admission::conclude(const SampledWorkload &sample,
                                const Instance &instance,
                                const Variant &variant,
                                const worker::Verdict &verdict) {
  using worker::Status;
  ++answered;
  if (verdict.status == Status::Error || verdict.status == Status::Disagreement)
    return llvm::createStringError(
        nameOf(sample) +
        " could not be judged, through no fault of the "
        "family: " +
        verdict.reason);
  if (verdict.status != Status::OK) {
    failures.push_back(nameOf(sample) + " with " + choicesOf(family, instance) +
                       ": " + std::string(toString(verdict.status)) + ": " +
                       verdict.reason);
    return llvm::Error::success();
  }
  evidence.instances.push_back(
      {sample.number, sample.form.key, sample.about, digestOf(variant),
       std::string(toString(verdict.precision)), timesOf(verdict)});
  return noteMachine(sample, verdict);
}

llvm::Expected<bool> Admission::judge(SampledWorkload &sample, bool hasSecond) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  FailureOr<LoweringOp> workload =
      buildDefaultLowering(builder, sample.form, target);
  if (failed(workload))
    return llvm::createStringError(nameOf(sample) + " has no default lowering");
  bool isFirst = true;
  for (const Instance &instance : choose(sample, hasSecond)) {
    Variant variant =
        makeVariant(family.language(), instance.program, instance.plan);
    variant.ideaId = "families/" + family.name;
    std::optional<worker::Verdict> verdict;
    if (!variant.problem.empty()) {
      verdict.emplace();
      verdict->status = worker::Status::Refused;
      verdict->reason = variant.problem;
    } else if (llvm::Error error =
                   ask(*workload, variant, isFirst).moveInto(verdict)) {
      return std::move(error);
    }
    // Another sample takes its place: what the inputs cannot tell apart shows
    // nothing, for or against.
    if (isFirst && verdict && verdict->status == worker::Status::Unfit) {
      whyLeftOut = verdict->reason;
      progress->note(nameOf(sample) + " is left out: " + whyLeftOut);
      return false;
    }
    isFirst = false;
    if (!verdict)
      ++pending;
    else if (llvm::Error error = conclude(sample, instance, variant, *verdict))
      return std::move(error);
  }
  headers.push_back(sample.core.text());
  return true;
}

AdmitResult Admission::refuse() {
  std::string path = evidencePathHere(family, options.precision);
  std::string text = family.folder + " is not admitted" +
                     inClass(options.precision) + ": " +
                     std::to_string(failures.size()) + " of " +
                     std::to_string(answered) + " instances are not right\n";
  for (const std::string &failure : failures)
    text += "  " + failure + "\n";
  text += "a sample N is printed by `fastk-opt /dev/null "
          "--fastk-sample-workloads=\"core=" +
          family.core + " seed=" + std::to_string(options.seed) +
          " first=N count=1" + (family.isForHost() ? " target=host" : "") +
          "\"`; mend " + family.programFile().str() +
          (family.isForHost() ? "" : " or plan.json") +
          ", or say in the requirements of family.json what the family is not "
          "for\n";
  // What was found before does not hold.
  if (!llvm::sys::fs::remove(path, /*IgnoreNonExisting=*/false))
    text += path + " was of before, and is removed\n";
  return {AdmitEnd::Refused, std::move(text)};
}

llvm::Expected<AdmitResult> Admission::admit() {
  evidence.family = family.digest;
  evidence.emitter = digestOfHeaders(headers);
  evidence.target = target;
  evidence.seed = options.seed;
  evidence.accepts = stringifyPrecision(options.precision).str();
  std::string found = std::to_string(evidence.instances.size()) +
                      " instances of " + std::to_string(headers.size()) +
                      " workloads are right on " + evidence.device + ", with " +
                      evidence.compilerName();
  if (size_t timed = evidence.timed())
    found += llvm::formatv("; {0:f2} times the default lowering's speed, the "
                           "mean of {1} that were timed",
                           evidence.meanRatio(), timed);
  if (headers.size() < families::kMinSamples)
    return AdmitResult{AdmitEnd::Done,
                       found + "; a trial: evidence is of " +
                           std::to_string(families::kMinSamples) +
                           " workloads or more\n"};
  if (llvm::Error error = families::writeEvidence(family.folder, evidence))
    return std::move(error);
  return AdmitResult{AdmitEnd::Done, family.folder + " is admitted" +
                                         inClass(options.precision) + ": " +
                                         found + "\n"};
}

llvm::Expected<AdmitResult> Admission::run() {
  if (llvm::Error error =
          checkWritable(evidencePathHere(family, options.precision)))
    return std::move(error);
  if (llvm::Error error = evaluator.check({family.language()}, waiting))
    return std::move(error);
  bool shows = true;
  int leftOut = 0;
  size_t served = 0;
  while (headers.size() < options.samples) {
    if (waiting.isStopRequested())
      return AdmitResult{AdmitEnd::Interrupted, ""};
    // Without a terminal one line is enough.
    if (shows)
      progress->preparing("judging instances for workload " +
                          std::to_string(headers.size() + 1) + " of " +
                          std::to_string(options.samples));
    shows = request.said->is_displayed();
    llvm::Expected<SampledWorkload> sample = samples.next();
    if (!sample)
      return sample.takeError();
    llvm::Expected<bool> isJudged =
        judge(*sample, served++ % kSecondEvery == 0);
    if (!isJudged)
      return isJudged.takeError();
    leftOut = *isJudged ? 0 : leftOut + 1;
    if (leftOut == kMaxLeftOut)
      return llvm::createStringError(
          family.folder + ": none of " + llvm::Twine(kMaxLeftOut) +
          " samples in a row can be judged, the last one for this reason: " +
          whyLeftOut +
          "; a family whose workloads cannot be judged cannot be admitted: "
          "take others into its requirements, or report the reason");
  }
  progress->ended();
  if (pending > 0) {
    progress->note(std::to_string(pending) + " pending, " +
                   std::to_string(answered) + " answered");
    *request.said << explainPending(pending, evaluator, target);
    return AdmitResult{AdmitEnd::Pending, ""};
  }
  return failures.empty() ? admit() : refuse();
}

llvm::Expected<AdmitResult> fastk::admitFamily(const AdmitOptions &options,
                                               StringRef target,
                                               Evaluator &evaluator,
                                               const SearchRequest &request,
                                               MLIRContext *context) {
  llvm::Expected<Family> family = families::readFamily(options.folder);
  if (!family)
    return family.takeError();
  if (target != family->device())
    return llvm::createStringError(options.folder + " is a family for " +
                                   family->device() + ", not for " + target +
                                   ": add --target=" + family->device());
  context->loadAllAvailableDialects();
  return Admission(options, std::move(*family), target, evaluator, request,
                   context)
      .run();
}

llvm::Expected<AdmitResult> fastk::admitFamily(const AdmitOptions &options,
                                               const SearchSettings &settings,
                                               const SearchRequest &request,
                                               MLIRContext *context) {
  if (settings.target == "host" && !settings.spool.empty())
    return llvm::createStringError(
        "a family for the host is judged on the machine that evidence names: "
        "leave out --evaluator=spool, or add --evaluator=local");
  SearchModelOptions search{settings, request};
  llvm::Expected<std::unique_ptr<Evaluator>> evaluator =
      makeEvaluator(search, /*atOnce=*/true);
  if (!evaluator)
    return evaluator.takeError();
  return admitFamily(options, settings.target, **evaluator, request, context);
}
