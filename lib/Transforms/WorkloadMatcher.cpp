//===- WorkloadMatcher.cpp - Workloads beside their winners ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/WorkloadMatcher.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace fastk;

FailureOr<CanonicalForm *> WorkloadMatcher::form(WorkloadOp workload) {
  std::unique_ptr<CanonicalForm> &kept = forms[workload];
  if (!kept) {
    FailureOr<CanonicalForm> computed = computeCanonicalForm(workload);
    if (failed(computed)) {
      forms.erase(workload);
      return failure();
    }
    kept = std::make_unique<CanonicalForm>(std::move(*computed));
  }
  return kept.get();
}

const BankLookup &WorkloadMatcher::lookup(StringRef key, MLIRContext *context) {
  auto [entry, isNew] = lookups.try_emplace(key);
  if (isNew)
    entry->second = banks.lookup(key, filter, context);
  return entry->second;
}

std::optional<unsigned> WorkloadMatcher::largestPattern() {
  if (!largest)
    largest = banks.mostReductions(filter.target);
  return *largest;
}

/// A canonical form has the reductions of its region, each once. Regions that
/// repeat more than half of theirs are not worth the time that the canonical
/// form of every whole model would cost.
static constexpr uint64_t kMaxRepeated = 2;

uint64_t WorkloadMatcher::mostReductions() {
  return kMaxRepeated * largestPattern().value_or(0);
}

bool WorkloadMatcher::hasWinner(WorkloadOp workload) {
  if (!workload.hasStaticShape() || !anyWinners())
    return false;
  // A region that was only considered is no reason to complain.
  ScopedDiagnosticHandler quiet(workload.getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<CanonicalForm *> canonical = form(workload);
  if (failed(canonical))
    return false;
  const BankLookup &found = lookup((*canonical)->key, workload.getContext());
  // Equal hashes never suffice: the patterns themselves must be the same.
  return found.winner && isSamePattern(found.winner->getLowering().getPattern(),
                                       (*canonical)->getPattern());
}

FailureOr<PassBanks> fastk::openPassBanks(ModuleOp module,
                                          ArrayRef<std::string> folders,
                                          StringRef target, Precision loosest,
                                          WinnersFrom winnersFrom,
                                          bool requireDeterministic) {
  llvm::Expected<BankStack> banks = BankStack::open(folders);
  if (!banks)
    return module.emitError() << llvm::toString(banks.takeError());
  return PassBanks{std::move(*banks),
                   {target.str(), loosest, Machine::of(target.str()),
                    /*anyMachine=*/winnersFrom == WinnersFrom::Any,
                    requireDeterministic}};
}
