//===- Remeasure.cpp - A stored winner, measured once more ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Remeasure.h"
#include "PromotionRules.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Search/SearchOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace fastk;

Variant fastk::variantOf(const Winner &winner) {
  LoweringOp lowering = winner.getLowering();
  WinnerRecord record = winner.getRecord();
  Variant variant;
  variant.ideaId = record.ideaId.empty() ? "bank/winner" : record.ideaId;
  variant.language = lowering.getLanguage();
  variant.program = lowering.getSource().value_or("").str();
  variant.workspaceBytes = lowering.getWorkspace();
  // It was verified when it was loaded.
  if (!lowering.getPlan().empty())
    if (FailureOr<worker::LaunchPlan> plan = readPlan(lowering);
        succeeded(plan))
      variant.plan = std::move(*plan);
  variant.parameters = record.parameters;
  return variant;
}

/// The record of a winner with the times of a second measurement.
static WinnerRecord measuredAgain(WinnerRecord record,
                                  const worker::Verdict &verdict,
                                  const TargetDescription &device,
                                  double floorSeconds) {
  const worker::TimingReport &timing = verdict.timing;
  record.machine = device.model;
  record.cpu = device.target == "host" ? hostCpu() : "";
  record.threads = device.target == "host" ? timing.threads : 0;
  record.medianNs = timing.candidate->medianNs;
  record.p10Ns = timing.candidate->p10Ns;
  record.p90Ns = timing.candidate->p90Ns;
  record.samples = timing.candidate->samples;
  record.baselineNs = timing.baseline ? timing.baseline->medianNs : 0;
  record.speedup = timing.speedupOverBaseline->median;
  record.speedupLow = timing.speedupOverBaseline->low;
  record.speedupHigh = timing.speedupOverBaseline->high;
  record.floorNs = floorSeconds * 1e9;
  record.errors.clear();
  for (const worker::TrialError &error : verdict.errors) {
    double &worst = record.errors[error.distribution];
    worst = std::max(worst, error.maxNormalized);
  }
  record.mlirVersion = LLVM_VERSION_STRING;
  record.fastkVersion = FASTK_VERSION;
  return record;
}

llvm::Expected<Remeasurement> fastk::remeasure(const Winner &winner,
                                               const Winner *rival,
                                               const TargetDescription &device,
                                               Evaluator &evaluator) {
  LoweringOp lowering = winner.getLowering();
  // The roofline is computed on a function of the pattern; whoever only read
  // winners has not met one.
  lowering.getContext()->loadDialect<func::FuncDialect>();
  OwningOpRef<ModuleOp> scratch =
      buildWinner(lowering, Language::generic, /*program=*/"",
                  /*workspaceBytes=*/0, lowering.getTarget(), Precision::ieee,
                  WinnerRecord());
  LoweringOp workload = *scratch->getOps<LoweringOp>().begin();
  workload.removeRecordAttr();

  Variant candidate = variantOf(winner);
  std::optional<Variant> incumbent;
  if (rival)
    incumbent = variantOf(*rival);
  EvaluationRequest request{workload, candidate,
                            incumbent ? &*incumbent : nullptr,
                            lowering.getPrecision(), /*promote=*/true};
  llvm::Expected<std::optional<worker::Verdict>> verdict =
      evaluator.evaluate(request);
  if (!verdict)
    return verdict.takeError();
  if (!*verdict)
    return llvm::createStringError("the evaluator answers later: measure "
                                   "winners again with a local one");
  Remeasurement result;
  result.verdict = std::move(**verdict);
  double gain = SearchOptions().promotionGain;
  result.problem =
      promotionProblem(result.verdict, lowering.getPrecision(), gain);
  result.isNoise = !result.problem.empty() && isTooNoisy(result.verdict, gain);
  if (!result.problem.empty())
    return result;
  double floor = computeRoofline(lowering.getPattern())
                     .floorSeconds(device, CacheState::Warm,
                                   toRoofline(lowering.getPrecision()));
  // A class that was measured once is not made tighter by one lucky trial.
  result.winner = buildWinner(
      workload, candidate.language, candidate.program, candidate.workspaceBytes,
      lowering.getTarget(), lowering.getPrecision(),
      measuredAgain(winner.getRecord(), result.verdict, device, floor),
      candidate.plan ? &*candidate.plan : nullptr);
  const auto &ratio = result.verdict.timing.speedupOverIncumbent;
  result.beatsRival = rival && ratio && ratio->low > 1;
  return result;
}
