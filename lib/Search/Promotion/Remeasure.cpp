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
#include "fastk/Protocol/RecordRules.h"
#include "fastk/Search/SearchOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"

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
  record.worstShare = 0;
  for (const worker::TrialError &error : verdict.errors) {
    double &worst = record.errors[error.distribution];
    worst = std::max(worst, error.maxNormalized);
    record.worstShare = std::max(record.worstShare, error.share.value_or(0));
  }
  // What gave other bits once may do so again.
  if (record.bitwiseDeterministic != false)
    record.bitwiseDeterministic = verdict.audit.bitwiseDeterministic;
  record.mlirVersion = LLVM_VERSION_STRING;
  record.fastkVersion = FASTK_VERSION;
  return record;
}

std::optional<RecordedGain>
fastk::recordedGain(const Winner &winner, const TargetDescription &device) {
  WinnerRecord record = winner.getRecord();
  bool isHost = device.target == "host";
  Machine here{device.model, isHost ? hostCpu() : "",
               isHost ? static_cast<int64_t>(device.threads) : 0};
  if (!record.getMachine().isComparable(here) ||
      record.mlirVersion != LLVM_VERSION_STRING ||
      record.fastkVersion != FASTK_VERSION || !(record.speedupLow > 0))
    return std::nullopt;
  return RecordedGain{digestOf(variantOf(winner)),
                      {record.speedup, record.speedupLow, record.speedupHigh}};
}

/// "2.35x (2.31 to 2.40)".
static std::string text(const worker::Ratio &ratio) {
  return llvm::formatv("{0:f2}x ({1:f2} to {2:f2})", ratio.median, ratio.low,
                       ratio.high)
      .str();
}

/// What a measurement says against the records; empty when nothing.
static std::string contradictionOf(const worker::TimingReport &timing,
                                   const Winner &winner, const Winner *rival,
                                   const TargetDescription &device,
                                   bool isOfStranger) {
  const auto &gain = timing.speedupOverBaseline;
  if (!gain)
    return "";
  if (auto record = recordedGain(winner, device);
      record && !isOfStranger && worker::contradicts(*gain, record->speedup))
    return text(*gain) + " where its record says " + text(record->speedup);
  const auto &over = timing.speedupOverIncumbent;
  if (!rival || !over)
    return "";
  worker::Ratio rivals{gain->median / over->median, gain->low / over->high,
                       gain->high / over->low};
  if (auto record = recordedGain(*rival, device);
      record && worker::contradicts(rivals, record->speedup))
    return text(rivals) + " of its rival, whose record says " +
           text(record->speedup);
  return "";
}

static llvm::Expected<Remeasurement> measure(const Winner &winner,
                                             const Winner *rival,
                                             const TargetDescription &device,
                                             Evaluator &evaluator, int repeat) {
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
  request.repeat = repeat;
  llvm::Expected<std::optional<worker::Verdict>> verdict =
      evaluator.evaluate(request, {});
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
  Roofline roofline = computeRoofline(lowering.getPattern());
  double floor = roofline.floorSeconds(device, roofline.timedCaches(device),
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

llvm::Expected<Remeasurement> fastk::remeasure(const Winner &winner,
                                               const Winner *rival,
                                               const TargetDescription &device,
                                               Evaluator &evaluator,
                                               bool isOfStranger) {
  llvm::Expected<Remeasurement> first =
      measure(winner, rival, device, evaluator, /*repeat=*/0);
  if (!first || !first->problem.empty())
    return first;
  std::string contradiction = contradictionOf(first->verdict.timing, winner,
                                              rival, device, isOfStranger);
  if (contradiction.empty())
    return first;
  llvm::Expected<Remeasurement> second =
      measure(winner, rival, device, evaluator, /*repeat=*/1);
  if (!second || !second->problem.empty())
    return second;
  if (std::string again = contradictionOf(second->verdict.timing, winner, rival,
                                          device, isOfStranger);
      !again.empty())
    second->contradiction =
        "it was measured with " + contradiction + ", and again with " + again;
  return second;
}
