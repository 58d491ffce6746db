//===- CutWorkload.cpp - A workload in parts ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutWorkload.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fastk;

namespace {
/// Answers for splitWorkloads: of the regions that are smaller than a workload,
/// those of its heaviest op are as if they had a winner, and no whole workload
/// has.
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

CutWorkload fastk::cutWorkload(WorkloadOp workload, Fusion fusion) {
  OwningOpRef<ModuleOp> module = isolate(workload);
  HeaviestOp query(*module);
  // How a region is cut that nobody asked for is no news.
  ScopedDiagnosticHandler quiet(workload.getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(splitWorkloads(*module, fusion, query)))
    return {};
  int64_t largest = largestReduction(workload);
  unsigned parts = 0;
  SmallVector<WorkloadOp> heaviest;
  module->walk([&](WorkloadOp part) {
    ++parts;
    if (largestReduction(part) == largest)
      heaviest.push_back(part);
  });
  if (parts < 2)
    return {};
  return {std::move(module), std::move(heaviest)};
}
