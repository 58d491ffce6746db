//===- ApplyFamilies.cpp - Unproved instances where no winner is ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/ApplyFamilies.h"
#include "ApplyLowering.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Families/EvaluatedPlan.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "mlir/IR/Diagnostics.h"
#include <limits>

using namespace mlir;
using namespace fastk;
using families::Instance;

/// A lowering of the workload by an instance; null: there is none.
static OwningOpRef<ModuleOp> lowerBy(const AdmittedFamily &admitted,
                                     const Instance &instance,
                                     LoweringOp workload, StringRef target) {
  std::string why;
  const Language language = admitted.family.language();
  std::optional<families::EvaluatedPlan> plan = families::evaluatePlan(
      language, instance.plan, families::readNumbers(instance.program).names,
      why);
  if (!plan)
    return nullptr;
  FunctionType type = workload.getWorkloadType();
  if (plan->launches &&
      !worker::verifyLaunchPlan(*plan->launches, bufferBytes(type.getInputs()),
                                bufferBytes(type.getResults()),
                                *planLimitsOf(target))
           .empty())
    return nullptr;
  // No times: nobody has measured it.
  WinnerRecord record;
  record.ideaId = "families/" + admitted.family.name;
  record.category = admitted.family.category;
  record.title = admitted.family.title;
  record.text = admitted.family.text;
  return buildWinner(workload, language, instance.program, plan->workspaceBytes,
                     target, admitted.precision, record,
                     plan->launches ? &*plan->launches : nullptr);
}

/// The first choices of families for a core, those first that should be
/// fastest. Estimates for the host have one unit; those for GPUs have none in
/// common, so that their families stay in order.
static std::vector<std::pair<const AdmittedFamily *, Instance>>
firstChoices(FamiliesOfCore families, Precision loosest,
             families::CoreInstance core) {
  std::vector<std::pair<const AdmittedFamily *, Instance>> choices;
  for (const AdmittedFamily &admitted : families(core.core)) {
    if (std::max(admitted.accepts, admitted.precision) > loosest)
      continue;
    families::acceptClass(core, stringifyPrecision(admitted.accepts));
    std::string why;
    for (Instance &instance :
         families::instantiate(admitted.family, core, 1, why)) {
      auto place = core.host
                       ? llvm::upper_bound(choices, instance.cost,
                                           [](int64_t cost, const auto &e) {
                                             return cost < e.second.cost;
                                           })
                       : choices.end();
      choices.emplace(place, &admitted, std::move(instance));
    }
  }
  return choices;
}

/// By the first family that serves it, core by core.
static std::pair<const AdmittedFamily *, OwningOpRef<ModuleOp>>
lowerByFirst(FamiliesOfCore families, Precision loosest,
             ArrayRef<families::CoreInstance> cores, LoweringOp workload,
             StringRef target) {
  for (const families::CoreInstance &core : cores)
    for (const auto &[admitted, instance] :
         firstChoices(families, loosest, core))
      if (OwningOpRef<ModuleOp> lowered =
              lowerBy(*admitted, instance, workload, target))
        return {admitted, std::move(lowered)};
  return {nullptr, nullptr};
}

namespace {
/// What families serve as if it had a winner, where it has none.
class FamilyQuery : public WinnerQuery {
public:
  FamilyQuery(WorkloadMatcher &winners, FamiliesOfCore families,
              const catalog::Machine &machine)
      : winners(winners), families(families), machine(machine) {}

  uint64_t mostReductions() override {
    return std::numeric_limits<uint64_t>::max();
  }
  bool hasWinner(WorkloadOp workload) override {
    // Less than the heaviest op is no reason to cut: what is left would be as
    // slow, and there would be more of it to read and to write.
    if (auto whole = workload->getParentOfType<WorkloadOp>())
      if (int64_t largest = largestReduction(workload);
          largest == 0 || largest < largestReduction(whole))
        return false;
    return winners.hasWinner(workload) || isServed(workload);
  }
  void forget(WorkloadOp workload) override { winners.forget(workload); }
  // No core has several results.
  bool takesSingleResults() const override { return true; }
  StringRef nameOfRegions() const override { return "region-of-family"; }

private:
  bool isServed(WorkloadOp workload);

  WorkloadMatcher &winners;
  FamiliesOfCore families;
  const catalog::Machine &machine;
};
} // namespace

/// The lowering of a workload in the form that its key is of.
static std::pair<const AdmittedFamily *, OwningOpRef<ModuleOp>>
lowerByFirst(FamiliesOfCore families, CanonicalForm &form,
             WorkloadMatcher &matcher, const catalog::Machine &machine) {
  StringRef target = matcher.getFilter().target;
  std::string why;
  Precision loosest = matcher.filterFor(form.key).loosest;
  std::vector<families::CoreInstance> cores =
      families::findCores(form.getPattern().front(), target, why, machine,
                          stringifyPrecision(loosest));
  return lowerByFirst(families, loosest, cores, form.getLowering(), target);
}

bool FamilyQuery::isServed(WorkloadOp workload) {
  if (!workload.hasStaticShape())
    return false;
  // A region that was only considered is no reason to complain.
  ScopedDiagnosticHandler quiet(workload.getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<CanonicalForm *> form = winners.form(workload);
  return succeeded(form) &&
         lowerByFirst(families, **form, winners, machine).second;
}

std::unique_ptr<WinnerQuery>
fastk::familyQuery(WorkloadMatcher &matcher, FamiliesOfCore families,
                   const catalog::Machine &machine) {
  return std::make_unique<FamilyQuery>(matcher, families, machine);
}

LogicalResult fastk::cutForFamilies(ModuleOp module, Fusion fusion,
                                    WorkloadMatcher &matcher,
                                    FamiliesOfCore families,
                                    const catalog::Machine &machine) {
  // A single op is no region to ask for: without its pad a convolution is a
  // product of an operand that is as often as large as the window.
  FamilyQuery query(matcher, families, machine);
  return matcher.withRemoteWinners(module, [&] {
    return splitWorkloads(module, fusion, query, /*smallest=*/Fusion::Greedy);
  });
}

LogicalResult fastk::applyFamilies(ModuleOp module, WorkloadMatcher &matcher,
                                   FamiliesOfCore families,
                                   const catalog::Machine &machine,
                                   ApplySummary &summary) {
  SymbolTable symbols(module);
  SmallVector<WorkloadOp> workloads;
  module.walk([&](WorkloadOp workload) { workloads.push_back(workload); });
  // What has no winner is still there, in the order of the summary.
  auto outcome = summary.workloads.begin();
  for (WorkloadOp workload : workloads) {
    while (outcome->kind == WorkloadOutcome::Hit)
      ++outcome;
    WorkloadOutcome &told = *outcome++;
    if (told.kind == WorkloadOutcome::Dynamic)
      continue;
    FailureOr<CanonicalForm *> form = matcher.form(workload);
    if (failed(form))
      return failure();
    auto [admitted, lowered] = lowerByFirst(families, **form, matcher, machine);
    if (!lowered)
      continue;
    told.kind = WorkloadOutcome::Instance;
    told.reason = "an unproved instance of family " + admitted->family.name +
                  ", of which " + admitted->evidence;
    remark::passed(workload.getLoc(), remarkOpts(workload, "apply-family"))
        << remark::metric("workload", told.name)
        << remark::metric("key", StringRef(told.key).take_front(16))
        << remark::reason("{0}", told.reason)
        << remark::suggest("prove it and measure it with fastk-opt --search");
    auto lowering = cast<LoweringOp>(lowered->getBody()->front());
    if (failed(applyLowering(workload, **form, lowering, symbols, matcher)))
      return failure();
  }
  return success();
}
