//===- Families.cpp - Shipped families and a model's workloads ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Driver/FamilySamples.h"
#include "fastk/Support/ShippedFolder.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fastk;

/// This machine where the target is the host; for others it says nothing.
static catalog::Machine machineOf(StringRef target) {
  return target == "host" ? catalog::machineOf(hostDescription())
                          : catalog::Machine();
}

llvm::Expected<llvm::StringMap<std::string>>
fastk::askFamilies(ModuleOp applied, WorkloadMatcher &matcher,
                   StringRef executable) {
  llvm::StringMap<std::string> said;
  std::optional<std::string> folder = shippedFolder("families", executable);
  if (!folder)
    return said;
  StringRef target = matcher.getFilter().target;
  auto families = families::readFamiliesOf(target, *folder);
  if (!families)
    return families.takeError();
  const catalog::Machine machine = machineOf(target);
  applied.walk([&](WorkloadOp workload) {
    // What has no canonical form was told when winners were applied.
    ScopedDiagnosticHandler quiet(workload.getContext(),
                                  [](Diagnostic &) { return success(); });
    FailureOr<CanonicalForm *> form = matcher.form(workload);
    if (succeeded(form) && !said.contains((*form)->key))
      said[(*form)->key] = families::explainFamilies(
          *families, (*form)->getPattern().front(), target, machine,
          stringifyPrecision(matcher.filterFor((*form)->key).loosest));
  });
  return said;
}

static void warn(const std::string &line) {
  llvm::WithColor::warning(llvm::errs(), "fastk-opt") << line << "\n";
}

llvm::Expected<UsableFamilies> UsableFamilies::find(const WinnerFilter &filter,
                                                    StringRef executable) {
  std::optional<std::string> folder = shippedFolder("families", executable);
  if (!folder)
    return llvm::createStringError(
        "--winners-from=family: no folder 'families' was found beside the "
        "program: install fastk whole");
  auto families = families::readFamilies(*folder);
  if (!families)
    return families.takeError();
  llvm::erase_if(*families, [&](const families::Family &family) {
    return !family.isFor(filter.target);
  });
  if (families->empty())
    warn("--winners-from=family: no family is admitted for " + filter.target +
         "; 'fastk-bank families' lists them");
  UsableFamilies usable;
  usable.families = std::move(*families);
  usable.target = filter.target;
  usable.compiler =
      filter.target == "host" ? clangVersionHere() : cuda::Nvrtc::versionHere();
  usable.loosest =
      std::max(filter.loosest, filter.convolutions.value_or(filter.loosest));
  usable.machine = machineOf(filter.target);
  return usable;
}

ArrayRef<AdmittedFamily> UsableFamilies::of(StringRef core) {
  auto [entry, isNew] = known.try_emplace(core);
  if (!isNew)
    return entry->second;
  // A context of its own: remarks on the samples of evidence are not the
  // model's.
  mlir::DialectRegistry registry;
  registerCanonicalFormDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return entry->second = admittedFamilies(families, target, core, loosest,
                                          compiler, &context, warn);
}
