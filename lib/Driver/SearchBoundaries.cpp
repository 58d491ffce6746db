//===- SearchBoundaries.cpp - One workload, or two? -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/SearchBoundaries.h"
#include "DistinctWorkloads.h"
#include "ModelJournals.h"
#include "fastk/Search/BoundaryChoice.h"
#include "fastk/Search/Progress.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>

using namespace mlir;
using namespace fastk;

/// Points of the iteration space of a reduction; 0 for anything else.
static int64_t reductionSize(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumReductionLoops() == 0)
    return 0;
  int64_t size = 1;
  for (int64_t range : linalgOp.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(range))
      return 0;
    size *= range;
  }
  return size;
}

static int64_t largestReduction(WorkloadOp workload) {
  int64_t largest = 0;
  workload.getBody().walk(
      [&](Operation *op) { largest = std::max(largest, reductionSize(op)); });
  return largest;
}

namespace {
/// Answers for splitWorkloads: of the regions of one op, those of the heaviest
/// are as if they had a winner, and no whole workload has.
class HeaviestOp : public WinnerQuery {
public:
  explicit HeaviestOp(ModuleOp module) {
    module.walk([&](WorkloadOp workload) {
      wholes.insert(workload);
      largest = std::max(largest, largestReduction(workload));
    });
  }
  uint64_t mostReductions() override { return 1; }
  bool hasWinner(WorkloadOp workload) override {
    return !wholes.contains(workload) && largest > 0 &&
           largestReduction(workload) == largest;
  }
  void forget(WorkloadOp workload) override { wholes.erase(workload); }

private:
  llvm::DenseSet<Operation *> wholes;
  int64_t largest = 0;
};

/// A workload of the model, and what it can be cut into.
struct Cut {
  BoundaryChoice choice;
  /// Keys of the parts that are its heaviest op.
  llvm::StringSet<> heaviest;
};
} // namespace

/// A module with a function that has a copy of `workload` alone.
static OwningOpRef<ModuleOp> isolate(WorkloadOp workload) {
  OpBuilder builder(workload.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(workload.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto function =
      func::FuncOp::create(builder, workload.getLoc(), "region",
                           builder.getFunctionType(workload->getOperandTypes(),
                                                   workload->getResultTypes()));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  IRMapping mapping;
  mapping.map(workload->getOperands(), entry->getArguments());
  Operation *copy = builder.clone(*workload, mapping);
  func::ReturnOp::create(builder, workload.getLoc(), copy->getResults());
  return module;
}

/// `workload` cut, as a module of its own; null where it is one op already.
static OwningOpRef<ModuleOp> cut(WorkloadOp workload, StringRef fusion) {
  OwningOpRef<ModuleOp> module = isolate(workload);
  HeaviestOp heaviest(*module);
  // How a region is cut that nobody asked for is no news.
  ScopedDiagnosticHandler quiet(workload.getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(splitWorkloads(*module, fusion, heaviest)))
    return nullptr;
  unsigned parts = 0;
  module->walk([&](WorkloadOp) { ++parts; });
  return parts > 1 ? std::move(module) : nullptr;
}

OwningOpRef<ModuleOp> fastk::cutWorkloads(ModuleOp module, StringRef fusion) {
  OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
  unsigned number = 0;
  module.walk([&](WorkloadOp workload) {
    if (!workload.hasStaticShape())
      return;
    OwningOpRef<ModuleOp> parts = cut(workload, fusion);
    if (!parts)
      return;
    for (auto function :
         llvm::make_early_inc_range(parts->getOps<func::FuncOp>())) {
      function.setName(llvm::formatv("region{0}", number++).str());
      function->remove();
      result->push_back(function);
    }
  });
  return result;
}

/// Those of `distinct` that have no winner in the banks of `matcher`, and can
/// be cut.
static llvm::Expected<std::vector<Cut>>
collectCuts(ArrayRef<DistinctWorkload> distinct, StringRef fusion,
            WorkloadMatcher &matcher) {
  std::vector<Cut> cuts;
  for (DistinctWorkload whole : distinct) {
    StringRef key = whole.form->key;
    if (matcher.lookup(key, whole.workload.getContext()).winner)
      continue;
    OwningOpRef<ModuleOp> parts = cut(whole.workload, fusion);
    if (!parts)
      continue;
    Cut each;
    each.choice.name =
        whole.workload.getName().str() + " " + key.take_front(8).str();
    each.choice.key = key.str();
    int64_t largest = largestReduction(whole.workload);
    WalkResult inner = parts->walk([&](WorkloadOp part) -> WalkResult {
      FailureOr<CanonicalForm> partForm = computeCanonicalForm(part);
      if (failed(partForm))
        return WalkResult::interrupt();
      each.choice.parts.push_back(partForm->key);
      if (largestReduction(part) == largest)
        each.heaviest.insert(partForm->key);
      return WalkResult::advance();
    });
    if (inner.wasInterrupted())
      return llvm::createStringError("a workload has no canonical form");
    cuts.push_back(std::move(each));
  }
  return cuts;
}

/// A part of the budget.
static SearchBudget partOf(SearchBudget budget, double part) {
  auto count = [&](int64_t of) {
    return of > 0 ? std::max<int64_t>(static_cast<int64_t>(of * part), 1) : 0;
  };
  budget.evaluations = count(budget.evaluations);
  budget.tokens = count(budget.tokens);
  budget.minutes *= part;
  budget.usd *= part;
  return budget;
}

/// Copies the winner of `key` from the bank of all winners to that of the user.
static llvm::Error store(StringRef key, WorkloadMatcher &all, BankStack &banks,
                         WorkloadMatcher &matcher, MLIRContext *context) {
  const BankLookup &found = all.lookup(key, context);
  if (!found.winner)
    return llvm::Error::success();
  SmallString<128> path(found.winner->folder + "/trajectory.json");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> trajectory =
      llvm::MemoryBuffer::getFile(path);
  if (!trajectory)
    return llvm::createStringError(
        trajectory.getError(), path + ": " + trajectory.getError().message());
  llvm::Expected<WriteResult> written =
      banks.write(*found.winner->module, (*trajectory)->getBuffer());
  if (!written)
    return written.takeError();
  matcher.searchedAgain(key);
  llvm::errs() << (written->outcome == WriteOutcome::KeptExisting
                       ? "kept the winner in "
                       : "stored in ")
               << written->folder << "\n";
  return llvm::Error::success();
}

llvm::Expected<SearchModelEnd>
fastk::searchBoundaries(ModuleOp module, StringRef fusion, BankStack &banks,
                        WorkloadMatcher &matcher, Evaluator &evaluator,
                        const SearchModelOptions &options) {
  MLIRContext *context = module.getContext();
  const WinnerFilter &filter = matcher.getFilter();
  auto distinct = distinctWorkloads(module, matcher);
  if (!distinct)
    return distinct.takeError();
  llvm::Expected<std::vector<Cut>> cuts =
      collectCuts(*distinct, fusion, matcher);
  if (!cuts)
    return cuts.takeError();

  // Everything that is found goes to a bank of its own first.
  std::vector<std::string> folders = {options.journal + "/boundaries"};
  for (const Bank &bank : banks.getBanks())
    folders.push_back(bank.getDirectory().str());
  llvm::Expected<BankStack> stack = BankStack::open(folders);
  if (!stack)
    return stack.takeError();
  WorkloadMatcher all(*stack, filter);
  auto search = [&](ModuleOp of, double part) {
    SearchModelOptions own = options;
    own.search.budget = partOf(options.search.budget, part);
    // The report is that of the model's own workloads.
    if (of != module)
      own.report.clear();
    return searchModel(of, *stack, all, evaluator, own);
  };
  llvm::Expected<SearchModelEnd> end = search(module, 2. / 3);
  if (!end || *end != SearchModelEnd::Done)
    return end;
  OwningOpRef<ModuleOp> parts = cutWorkloads(module, fusion);
  llvm::errs() << llvm::formatv(
      "boundaries: {0} of the model's workloads can be cut at their heaviest "
      "op\n",
      cuts->size());
  if (!cuts->empty()) {
    end = search(*parts, 1. / 3);
    parts->walk([&](WorkloadOp workload) { all.forget(workload); });
    if (!end || *end != SearchModelEnd::Done)
      return end;
  }

  auto hasWinner = [&](StringRef key) {
    return all.lookup(key, context).winner != nullptr;
  };
  auto secondsOf = [&](StringRef key) {
    double baseline =
        recordedBaseline(journalFolder(options.journal, key, filter.loosest))
            .seconds;
    const BankLookup &found = all.lookup(key, context);
    if (!found.winner)
      return baseline;
    WinnerRecord record = found.winner->getRecord();
    // As fast as the promotion showed it beside the default lowering, which is
    // what all times here are of.
    return baseline > 0 && record.speedup > 0 ? baseline / record.speedup
                                              : record.medianNs * 1e-9;
  };
  std::vector<BoundaryChoice> choices;
  for (const Cut &each : *cuts) {
    BoundaryChoice choice = each.choice;
    choice.wholeSeconds = secondsOf(choice.key);
    choice.wholeHasWinner = hasWinner(choice.key);
    bool isKnown = true;
    for (const std::string &part : choice.parts) {
      double seconds = secondsOf(part);
      isKnown &= seconds > 0;
      choice.partsSeconds += seconds;
    }
    if (!isKnown)
      choice.partsSeconds = 0;
    choice.heaviestHasWinner =
        llvm::all_of(each.heaviest,
                     [&](const auto &key) { return hasWinner(key.getKey()); });
    choices.push_back(std::move(choice));
  }
  chooseBoundaries(choices);

  std::set<std::string> stored;
  llvm::StringSet<> cutKeys;
  for (const BoundaryChoice &choice : choices) {
    auto time = [](double seconds) {
      return seconds > 0 ? formatSeconds(seconds) : "unknown time";
    };
    llvm::errs() << llvm::formatv(
        "boundaries: {0}: {1} as one workload, {2} as {3}: {4}\n", choice.name,
        time(choice.wholeSeconds), time(choice.partsSeconds),
        choice.parts.size(), choice.isCut ? "cut" : "whole");
    if (!choice.isCut)
      continue;
    cutKeys.insert(choice.key);
    stored.insert(choice.parts.begin(), choice.parts.end());
  }
  for (const DistinctWorkload &each : *distinct) {
    const std::string &key = each.form->key;
    if (!cutKeys.contains(key) && !matcher.lookup(key, context).winner)
      stored.insert(key);
  }
  for (const std::string &key : stored)
    if (llvm::Error error = store(key, all, banks, matcher, context))
      return std::move(error);
  module.walk([&](WorkloadOp workload) { all.forget(workload); });
  return end;
}
