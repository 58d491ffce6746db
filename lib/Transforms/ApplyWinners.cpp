//===- ApplyWinners.cpp - Replace workloads by the bank's winners ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/ApplyWinners.h"
#include "ApplyLowering.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/FormatVariadic.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKAPPLYWINNERSPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using namespace mlir;
using namespace fastk;

unsigned ApplySummary::count(WorkloadOutcome::Kind kind) const {
  return llvm::count_if(workloads, [&](const WorkloadOutcome &outcome) {
    return outcome.kind == kind;
  });
}

std::string ApplySummary::str() const {
  auto plural = [](unsigned count, StringRef one, StringRef many) {
    return llvm::formatv("{0} {1}", count, count == 1 ? one : many).str();
  };
  std::string text = plural(workloads.size(), "workload", "workloads") + ": " +
                     plural(count(WorkloadOutcome::Hit), "hit", "hits") + ", " +
                     plural(count(WorkloadOutcome::Miss), "miss", "misses") +
                     ", " +
                     plural(count(WorkloadOutcome::Stale), "stale", "stale");
  if (unsigned instances = count(WorkloadOutcome::Instance))
    text += llvm::formatv(", {0} by a family, unproved", instances);
  if (unsigned dynamic = count(WorkloadOutcome::Dynamic))
    text += llvm::formatv(", {0} of dynamic shape", dynamic);
  unsigned elsewhere = llvm::count_if(
      workloads, [](const WorkloadOutcome &each) { return each.otherMachine; });
  llvm::StringSet<> keys;
  unsigned repeated = 0;
  for (const WorkloadOutcome &each : workloads)
    if (!each.key.empty() && !keys.insert(each.key).second)
      ++repeated;
  if (repeated)
    text += "; " + plural(keys.size(), "key", "keys");
  if (elsewhere)
    text += llvm::formatv("; {0} measured on another machine: search again, or "
                          "--winners-from=any",
                          plural(elsewhere, "winner was", "winners were"));
  return text;
}

static void emitRemark(WorkloadOp workload, const WorkloadOutcome &outcome) {
  Location loc = workload.getLoc();
  switch (outcome.kind) {
  case WorkloadOutcome::Hit:
    remark::passed(loc, remarkOpts(workload, "apply-winner"))
        << remark::metric("workload", outcome.name)
        << remark::metric("key", StringRef(outcome.key).take_front(16))
        << remark::reason("{0}", outcome.reason);
    return;
  case WorkloadOutcome::Miss:
    remark::missed(loc, remarkOpts(workload, "no-winner"))
        << remark::metric("workload", outcome.name)
        << remark::metric("key", StringRef(outcome.key).take_front(16))
        << remark::reason("{0}", outcome.reason)
        << remark::suggest("search for one with fastk-opt --search");
    return;
  case WorkloadOutcome::Stale:
    remark::failed(loc, remarkOpts(workload, "stale-winner"))
        << remark::metric("workload", outcome.name)
        << remark::metric("key", StringRef(outcome.key).take_front(16))
        << remark::reason("{0}", outcome.reason)
        << remark::suggest("find it again with fastk-opt --search");
    return;
  case WorkloadOutcome::Dynamic:
    remark::missed(loc, remarkOpts(workload, "dynamic-shape"))
        << remark::metric("workload", outcome.name)
        << remark::reason("{0}", outcome.reason)
        << remark::suggest("export the model with static shapes");
    return;
  case WorkloadOutcome::Instance:
    llvm_unreachable("of families: applyFamilies()");
  }
}

/// Winners that were passed over although there is a hit are named, too.
static void reportShadowed(WorkloadOp workload, const WorkloadOutcome &outcome,
                           ArrayRef<StaleWinner> stale) {
  for (const StaleWinner &winner : stale)
    remark::failed(workload.getLoc(), remarkOpts(workload, "stale-winner"))
        << remark::metric("workload", outcome.name)
        << remark::metric("key", StringRef(outcome.key).take_front(16))
        << remark::reason("{0}", winner.reason)
        << remark::suggest("find it again with fastk-opt --search=all");
}

/// Where what it computes comes from.
static llvm::SetVector<Location> placesOf(WorkloadOp workload) {
  llvm::SetVector<Location> places;
  workload.getBody().walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::ConstantLike>() &&
        !op->hasTrait<OpTrait::IsTerminator>() && !isa<tensor::EmptyOp>(op))
      places.insert(op->getLoc());
  });
  return places;
}

FailureOr<ApplySummary> fastk::applyWinners(ModuleOp module,
                                            WorkloadMatcher &matcher) {
  ApplySummary summary;
  SymbolTable symbols(module);
  SmallVector<WorkloadOp> workloads;
  module.walk([&](WorkloadOp op) { workloads.push_back(op); });
  for (WorkloadOp workload : workloads) {
    WorkloadOutcome outcome{
        WorkloadOutcome::Miss, workload.getName().str(), "", "", "", false,
        workload.getLoc(),     placesOf(workload)};
    if (!workload.hasStaticShape()) {
      outcome.kind = WorkloadOutcome::Dynamic;
      outcome.reason = "winners are stored for static shapes only";
      emitRemark(workload, outcome);
      summary.workloads.push_back(std::move(outcome));
      continue;
    }
    FailureOr<CanonicalForm *> computed = matcher.form(workload);
    if (failed(computed))
      return failure();
    CanonicalForm *form = *computed;
    outcome.key = form->key;
    outcome.shapes = describeShapes(form->getLowering());
    const BankLookup &found = matcher.lookup(form->key, module.getContext());
    // Equal hashes never suffice: the patterns themselves must be the same.
    if (found.winner && !isSamePattern(found.winner->getLowering().getPattern(),
                                       form->getPattern())) {
      outcome.reason = "the stored pattern has this key but is another region";
    } else if (found.winner) {
      outcome.kind = WorkloadOutcome::Hit;
      WinnerRecord record = found.winner->getRecord();
      outcome.reason =
          llvm::formatv("{0} ({1:f2}x the default lowering, measured on {2})",
                        record.title.empty() ? "winner" : record.title,
                        record.speedup, record.getMachine().str());
    } else {
      outcome.kind =
          found.stale.empty() ? WorkloadOutcome::Miss : WorkloadOutcome::Stale;
      outcome.reason = found.reason;
      outcome.otherMachine = found.otherMachine;
    }
    emitRemark(workload, outcome);
    if (outcome.kind == WorkloadOutcome::Hit) {
      reportShadowed(workload, outcome, found.stale);
      // The form goes with the workload.
      if (failed(applyLowering(workload, *form, found.winner->getLowering(),
                               symbols, matcher)))
        return failure();
    }
    summary.workloads.push_back(std::move(outcome));
  }
  return summary;
}

namespace {
struct FastkApplyWinnersPass
    : public fastk::impl::FastkApplyWinnersPassBase<FastkApplyWinnersPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<PassBanks> opened = openPassBanks(
        getOperation(), std::vector<std::string>(bank.begin(), bank.end()),
        target, precision, winnersFrom, requireDeterministic);
    if (failed(opened))
      return signalPassFailure();
    WorkloadMatcher matcher(opened->banks, opened->filter);
    if (failed(applyWinners(getOperation(), matcher)))
      signalPassFailure();
  }
};
} // namespace
