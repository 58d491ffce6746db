//===- FamilySamples.cpp - Workloads that a family is for -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/FamilySamples.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Families/Samples.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Target/TargetDescription.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fastk;
using families::Evidence;
using families::Family;

/// Samples in a row of which none meets a family's requirements.
static constexpr int kMaxRefused = 2000;

/// The core of what a sample's text computes, or why there is none.
static std::optional<SampledWorkload>
makeWorkload(StringRef name, StringRef text, StringRef target,
             const catalog::Machine &machine, MLIRContext *context,
             std::string &why) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context);
  if (!module || failed(formWorkloads(*module, Fusion::Whole, nullptr))) {
    why = "its text is no function";
    return std::nullopt;
  }
  SmallVector<WorkloadOp> workloads;
  module->walk([&](WorkloadOp workload) { workloads.push_back(workload); });
  if (workloads.size() != 1) {
    why = "it is " + std::to_string(workloads.size()) + " workloads";
    return std::nullopt;
  }
  FailureOr<CanonicalForm> form = computeCanonicalForm(workloads.front());
  if (failed(form)) {
    why = "it has no canonical form";
    return std::nullopt;
  }
  SampledWorkload sampled;
  sampled.form = std::move(*form);
  auto core = families::findCore(name, sampled.form.getPattern().front(),
                                 target, why, machine);
  if (!core)
    return std::nullopt;
  sampled.core = std::move(*core);
  return sampled;
}

llvm::Expected<SampledWorkload>
fastk::makeSampledWorkload(StringRef core, StringRef target, uint64_t seed,
                           uint64_t number, MLIRContext *context,
                           const catalog::Machine &machine) {
  if (target != "host" && !planLimitsOf(target))
    return llvm::createStringError("nothing is known of target '" + target +
                                   "': a family's is host, or that of a GPU "
                                   "from sm_80 on, as sm_90a");
  std::optional<families::Sample> sample =
      families::makeSample(core, seed, number, target == "host");
  std::string why = "there are no samples of a core '" + core.str() + "'";
  std::optional<SampledWorkload> made;
  if (sample)
    made = makeWorkload(core, sample->text, target, machine, context, why);
  if (!made)
    return llvm::createStringError("sample " + llvm::Twine(number) +
                                   " of seed " + llvm::Twine(seed) +
                                   " is no workload of its core: " + why);
  made->number = number;
  made->about = std::move(sample->about);
  return std::move(*made);
}

FamilySamples::FamilySamples(const Family &family, uint64_t seed,
                             Precision accepts, MLIRContext *context)
    : family(family), seed(seed), accepts(accepts), context(context) {
  if (family.isForHost())
    machine = catalog::machineOf(hostDescription());
}

llvm::Expected<SampledWorkload> FamilySamples::next() {
  std::string why;
  for (int refused = 0; refused < kMaxRefused; ++refused) {
    llvm::Expected<SampledWorkload> sample = makeSampledWorkload(
        family.core, family.device(), seed, number++, context, machine);
    if (!sample)
      return sample;
    bool isServed =
        !families::instantiate(family, sample->core, 1, why).empty();
    if (accepts != Precision::ieee && isServed) {
      why = "it is served in class ieee, and is evidence of that";
      continue;
    }
    families::acceptClass(sample->core, stringifyPrecision(accepts));
    if ((isServed ||
         !families::instantiate(family, sample->core, 1, why).empty()) &&
        keys.insert(sample->form.key).second)
      return sample;
  }
  return llvm::createStringError(
      family.folder + ": of " + llvm::Twine(kMaxRefused) +
      " samples none is one that it takes: " + why +
      "; a family that takes so little cannot be admitted: widen its "
      "requirements or its legal choices in family.json");
}

/// Of the vectors of this machine, for families of the host; 0 for others.
static unsigned vectorBytesHere(const Family &family) {
  return family.isForHost() ? catalog::machineOf(hostDescription()).vectorBytes
                            : 0;
}

std::string fastk::evidencePathHere(const Family &family, Precision accepts) {
  return families::evidencePath(family.folder, stringifyPrecision(accepts),
                                vectorBytesHere(family));
}

std::string fastk::digestOfHeaders(ArrayRef<std::string> headers) {
  std::string all;
  for (const std::string &header : headers)
    all += sha256(header);
  return sha256(all);
}

std::string fastk::admissionCommand(const Family &family, StringRef accepts) {
  std::string command = "fastk-opt --admit-family=" + family.folder +
                        " --target=" + family.device();
  if (accepts != "ieee")
    command += " --precision=" + accepts.str();
  return command;
}

/// Evidence of the versions that did not name the prelude is of this one, which
/// all of them had.
static StringRef preludeOf(const Evidence &evidence) {
  if (evidence.prelude.empty())
    return "8eb8fdf2df1bea048f808f617a5b229d682ca62d1e2fa2807993482e24a40a97";
  return evidence.prelude;
}

llvm::Expected<std::string> fastk::whyExpired(const Evidence &evidence,
                                              const Family &family,
                                              StringRef compiler,
                                              MLIRContext *context) {
  auto expired = [&](const llvm::Twine &what) {
    return (what + "; " + admissionCommand(family, evidence.accepts) +
            " admits it again")
        .str();
  };
  if (evidence.family != family.digest)
    return expired(family.isForHost()
                       ? "the program has changed (family.json or kernel.c)"
                       : "the program has changed (family.json, kernel.cu or "
                         "plan.json)");
  if (evidence.target != family.device())
    return expired("it was admitted for " + evidence.target);
  catalog::Machine machine;
  if (family.isForHost())
    machine.vectorBytes = evidence.vectorBytes;
  if (!family.isForHost() && preludeOf(evidence) != cuda::preludeDigest())
    return expired("the prelude has changed, the device code that its "
                   "instances were compiled with");
  std::vector<std::string> headers;
  for (uint64_t number : evidence.samples()) {
    llvm::Expected<SampledWorkload> sample = makeSampledWorkload(
        family.core, evidence.target, evidence.seed, number, context, machine);
    if (!sample)
      return sample.takeError();
    families::acceptClass(sample->core, evidence.accepts);
    headers.push_back(sample->core.text());
  }
  if (evidence.emitter != digestOfHeaders(headers))
    return expired("the headers that the compiler writes have changed");
  if (!compiler.empty() && compiler != evidence.compiler)
    return expired("it was admitted with " + evidence.compilerName() +
                   ", and this machine has " + compiler);
  return "";
}

llvm::Expected<Evidence> fastk::standingEvidence(const Family &family,
                                                 Precision accepts,
                                                 StringRef compiler,
                                                 MLIRContext *context) {
  StringRef name = stringifyPrecision(accepts);
  auto refuse = [](const llvm::Twine &why) {
    return llvm::createStringError(why);
  };
  const unsigned vectorBytes = vectorBytesHere(family);
  const std::string onVectors =
      vectorBytes ? " with vectors of " + std::to_string(vectorBytes) + " bytes"
                  : "";
  if (!llvm::sys::fs::exists(evidencePathHere(family, accepts)))
    return refuse("not admitted" + onVectors + ": " +
                  admissionCommand(family, name) + " judges it");
  llvm::Expected<Evidence> evidence =
      families::readEvidence(family.folder, name, vectorBytes);
  if (!evidence)
    return refuse("not admitted: " + llvm::toString(evidence.takeError()));
  llvm::Expected<std::string> why =
      whyExpired(*evidence, family, compiler, context);
  if (!why)
    return refuse("not admitted: " + llvm::toString(why.takeError()));
  if (!why->empty())
    return refuse("expired: " + *why);
  return evidence;
}

std::string fastk::describeAdmission(llvm::Expected<Evidence> evidence) {
  if (!evidence)
    return llvm::toString(evidence.takeError());
  return "admitted: " + std::to_string(evidence->instances.size()) +
         " instances, " + evidence->compilerName() + ", " + evidence->device;
}

std::string fastk::describeSpeedup(const Evidence &evidence) {
  return evidence.timed() ? llvm::formatv("{0:f2}x", evidence.meanRatio()).str()
                          : "-";
}

SmallVector<Precision> fastk::triedClasses(const Family &family) {
  SmallVector<Precision> classes;
  for (Precision each : {Precision::ieee, Precision::tf32, Precision::half})
    if (llvm::sys::fs::exists(evidencePathHere(family, each)))
      classes.push_back(each);
  if (classes.empty())
    classes.push_back(Precision::ieee);
  return classes;
}

std::string fastk::inClass(Precision accepts) {
  return accepts == Precision::ieee
             ? ""
             : " in class " + stringifyPrecision(accepts).str();
}

/// The loosest class in which an instance is right.
static Precision precisionOf(const Evidence &evidence) {
  Precision loosest = Precision::ieee;
  for (const Evidence::Instance &instance : evidence.instances)
    loosest = std::max(
        loosest,
        symbolizePrecision(instance.precision).value_or(Precision::half));
  return loosest;
}

std::vector<AdmittedFamily>
fastk::admittedFamilies(ArrayRef<Family> families, StringRef target,
                        StringRef core, Precision loosest, StringRef compiler,
                        MLIRContext *context,
                        llvm::function_ref<void(const std::string &)> warn) {
  std::vector<AdmittedFamily> admitted;
  for (const Family &family : families) {
    if (!family.isFor(target) || family.core != core)
      continue;
    SmallVector<Precision> classes = triedClasses(family);
    for (Precision accepts : llvm::reverse(classes)) {
      if (accepts > loosest)
        continue;
      std::string of = inClass(accepts);
      llvm::Expected<Evidence> evidence =
          standingEvidence(family, accepts, compiler, context);
      if (!evidence) {
        warn("family " + family.name + " is left out" + of + ": it is " +
             llvm::toString(evidence.takeError()));
        continue;
      }
      AdmittedFamily each;
      each.accepts = accepts;
      each.precision = precisionOf(*evidence);
      if (each.precision > loosest) {
        warn("family " + family.name + " is left out: it is right in class " +
             stringifyPrecision(each.precision).str() + ", and --precision=" +
             stringifyPrecision(loosest).str() + " takes no looser one");
        continue;
      }
      each.evidence = std::to_string(evidence->instances.size()) +
                      " are right" + of + " on " + evidence->device;
      each.family = family;
      admitted.push_back(std::move(each));
    }
  }
  return admitted;
}
