//===- WorkloadMatcher.cpp - Workloads beside their winners ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/WorkloadMatcher.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Transforms/FileOf.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace fastk;

/// By its maps, which the key is of: a kernel of one element is a window as it
/// is written, and no workload that is written as a product has its key.
static bool isConvolution(Region &pattern) {
  WorkloadFeatures features = analyzeWorkload(pattern);
  return features.kind == WorkloadKind::Convolution &&
         features.contractions.empty();
}

FailureOr<CanonicalForm *> WorkloadMatcher::form(WorkloadOp workload) {
  std::unique_ptr<CanonicalForm> &kept = forms[workload];
  if (!kept) {
    FailureOr<CanonicalForm> computed = computeCanonicalForm(workload);
    if (failed(computed)) {
      forms.erase(workload);
      return failure();
    }
    kept = std::make_unique<CanonicalForm>(std::move(*computed));
    if (filter.convolutions && isConvolution(kept->getPattern()))
      convolutions.insert(kept->key);
  }
  return kept.get();
}

WinnerFilter WorkloadMatcher::filterFor(StringRef key) const {
  WinnerFilter own = filter;
  if (filter.convolutions && convolutions.contains(key))
    own.loosest = *filter.convolutions;
  return own;
}

const BankLookup &WorkloadMatcher::lookup(StringRef key, MLIRContext *context) {
  auto [entry, isNew] = lookups.try_emplace(key);
  if (isNew)
    entry->second = banks.lookup(key, filterFor(key), context);
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
  // Its pattern is compared when it is applied.
  if (found.isExpected)
    return true;
  // Equal hashes never suffice: the patterns themselves must be the same.
  return found.winner && isSamePattern(found.winner->getLowering().getPattern(),
                                       (*canonical)->getPattern());
}

LogicalResult
WorkloadMatcher::withRemoteWinners(ModuleOp module,
                                   llvm::function_ref<LogicalResult()> step) {
  if (!banks.hasRemote())
    return step();
  auto warn = llvm::scope_exit([&] {
    for (const std::string &warning : banks.takeWarnings())
      mlir::emitWarning(fileOf(module), warning);
  });
  if (!anyWinners())
    return step();
  OwningOpRef<ModuleOp> before(module.clone());
  banks.lookAhead(true);
  LogicalResult result = step();
  banks.lookAhead(false);
  std::vector<std::string> keys = banks.fetchNoted();
  // What was expected and came changes nothing.
  bool isAsExpected = true;
  for (const std::string &key : keys) {
    auto asked = lookups.find(key);
    bool isExpected = asked != lookups.end() && asked->second.isExpected;
    lookups.erase(key);
    isAsExpected &=
        isExpected && lookup(key, module.getContext()).winner != nullptr;
  }
  if (succeeded(result) && !isAsExpected) {
    forms.clear();
    module->setAttrs((*before)->getAttrDictionary());
    module.getBodyRegion().takeBody(before->getBodyRegion());
    result = step();
  }
  return result;
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
