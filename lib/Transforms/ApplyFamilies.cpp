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

using FirstChoices = std::vector<std::pair<const AdmittedFamily *, Instance>>;

static void insertByCost(FirstChoices &choices,
                         FirstChoices::value_type &&choice) {
  auto place = llvm::upper_bound(
      choices, choice.second.cost,
      [](int64_t cost, const auto &each) { return cost < each.second.cost; });
  choices.insert(place, std::move(choice));
}

/// Whether estimates of a core's families have one unit: on the host, and of
/// products on GPUs, which are in clocks.
static bool hasOneUnit(const families::CoreInstance &core) {
  return core.host || core.core == "contraction";
}

/// The first choices of families for a core, those first that should be
/// fastest; where estimates need have no unit in common, families stay in
/// order.
static FirstChoices firstChoices(FamiliesOfCore families, Precision loosest,
                                 families::CoreInstance core) {
  FirstChoices choices;
  for (const AdmittedFamily &admitted : families(core.core)) {
    if (std::max(admitted.accepts, admitted.precision) > loosest)
      continue;
    families::acceptClass(core, stringifyPrecision(admitted.accepts));
    std::string why;
    for (Instance &instance :
         families::instantiate(admitted.family, core, 1, why))
      if (hasOneUnit(core))
        insertByCost(choices, {&admitted, std::move(instance)});
      else
        choices.emplace_back(&admitted, std::move(instance));
  }
  return choices;
}

/// Whether a workload is a product that may be rounded: a convolution and a
/// contraction, of which all families estimate clocks.
static bool isRoundedProduct(ArrayRef<families::CoreInstance> cores) {
  return llvm::any_of(cores, [](const families::CoreInstance &core) {
    return core.isProduct && core.acceptsTF32;
  });
}

FamilyChoices::FamilyChoices(WorkloadMatcher &matcher, FamiliesOfCore families,
                             const catalog::Machine &machine)
    : matcher(matcher), families(families), machine(machine) {}

std::pair<const AdmittedFamily *, OwningOpRef<ModuleOp>>
FamilyChoices::lower(CanonicalForm &form) {
  StringRef target = matcher.getFilter().target;
  auto [known, isNew] = choices.try_emplace(form.key);
  std::optional<Choice> &choice = known->second;
  if (choice)
    return {choice->admitted, lowerBy(*choice->admitted, choice->instance,
                                      form.getLowering(), target)};
  if (!isNew)
    return {nullptr, nullptr};
  std::string why;
  Precision loosest = matcher.filterFor(form.key).loosest;
  std::vector<families::CoreInstance> cores =
      families::findCores(form.getPattern().front(), target, why, machine,
                          stringifyPrecision(loosest));
  auto lowerByFirst = [&](FirstChoices first) -> OwningOpRef<ModuleOp> {
    for (auto &[admitted, instance] : first)
      if (OwningOpRef<ModuleOp> lowered =
              lowerBy(*admitted, instance, form.getLowering(), target)) {
        choice = {admitted, std::move(instance)};
        return lowered;
      }
    return nullptr;
  };
  OwningOpRef<ModuleOp> lowered;
  if (isRoundedProduct(cores)) {
    FirstChoices all;
    for (const families::CoreInstance &core : cores)
      for (auto &each : firstChoices(families, loosest, core))
        insertByCost(all, std::move(each));
    lowered = lowerByFirst(std::move(all));
  } else {
    for (const families::CoreInstance &core : cores)
      if ((lowered = lowerByFirst(firstChoices(families, loosest, core))))
        break;
  }
  return {choice ? choice->admitted : nullptr, std::move(lowered)};
}

bool FamilyChoices::serves(CanonicalForm &form) {
  auto known = choices.find(form.key);
  return known == choices.end() ? lower(form).first != nullptr
                                : known->second.has_value();
}

namespace {
/// What families serve as if it had a winner, where it has none.
class FamilyQuery : public WinnerQuery {
public:
  explicit FamilyQuery(FamilyChoices &choices)
      : choices(choices), winners(choices.getMatcher()) {}

  uint64_t mostReductions() override {
    return std::numeric_limits<uint64_t>::max();
  }
  bool hasWinner(WorkloadOp workload) override {
    // Less than the heaviest op is no reason to cut: what is left would be as
    // slow, and there would be more of it to read and to write.
    if (auto whole = workload->getParentOfType<WorkloadOp>())
      if (int64_t largest = largestReduction(workload),
          heaviest = largestReduction(whole);
          heaviest == 0 ? isOneLoop(whole) : largest < heaviest)
        return false;
    return winners.hasWinner(workload) || isServed(workload);
  }
  void forget(WorkloadOp workload) override { winners.forget(workload); }
  // What is proved gives way to no guess.
  bool staysAlone(WorkloadOp workload) override {
    return winners.hasWinner(workload);
  }
  // No core has several results.
  bool takesSingleResults() const override { return true; }
  StringRef nameOfRegions() const override { return "region-of-family"; }

private:
  bool isServed(WorkloadOp workload);
  /// Whether the results have one shape: then a loop computes all of them, and
  /// reads operands once.
  static bool isOneLoop(WorkloadOp workload) {
    return llvm::all_equal(
        llvm::map_range(workload->getResultTypes(), [](Type type) {
          return cast<ShapedType>(type).getShape();
        }));
  }

  FamilyChoices &choices;
  WorkloadMatcher &winners;
};
} // namespace

bool FamilyQuery::isServed(WorkloadOp workload) {
  if (!workload.hasStaticShape())
    return false;
  // A region that was only considered is no reason to complain.
  ScopedDiagnosticHandler quiet(workload.getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<CanonicalForm *> form = winners.form(workload);
  return succeeded(form) && choices.serves(**form);
}

std::unique_ptr<WinnerQuery> fastk::familyQuery(FamilyChoices &choices) {
  return std::make_unique<FamilyQuery>(choices);
}

LogicalResult fastk::cutForFamilies(ModuleOp module, Fusion fusion,
                                    FamilyChoices &choices) {
  // A single op is no region to ask for: without its pad a convolution is a
  // product of an operand that is as often as large as the window.
  FamilyQuery query(choices);
  return choices.getMatcher().withRemoteWinners(module, [&] {
    return splitWorkloads(module, fusion, query, /*smallest=*/Fusion::Greedy);
  });
}

LogicalResult fastk::applyFamilies(ModuleOp module, FamilyChoices &choices,
                                   ApplySummary &summary) {
  WorkloadMatcher &matcher = choices.getMatcher();
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
    auto [admitted, lowered] = choices.lower(**form);
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
