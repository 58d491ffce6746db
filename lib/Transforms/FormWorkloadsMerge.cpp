//===- FormWorkloadsMerge.cpp - What a cut leaves over finds a reader -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op that was the end of a product is on its own once the product is cut
// off. Had it never been an end, it would be the beginning of what reads it:
// the rules are asked again, of the two alone.
//
//===----------------------------------------------------------------------===//

#include "FormWorkloadsGraph.h"
#include "ReplaceWorkload.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::form;

/// The one workload of the block that reads the one result of an elementwise
/// workload, which nothing else reads; or null.
static WorkloadOp readerOf(WorkloadOp producer) {
  if (producer.getNumResults() != 1 || producer->use_empty() ||
      analyzeWorkload(producer.getBody()).kind != WorkloadKind::Elementwise)
    return nullptr;
  auto reader = dyn_cast<WorkloadOp>(*producer->user_begin());
  if (!reader || reader->getBlock() != producer->getBlock() ||
      llvm::any_of(producer->getUsers(),
                   [&](Operation *user) { return user != reader; }))
    return nullptr;
  return reader;
}

static uint64_t reductionsIn(WorkloadOp workload) {
  uint64_t reductions = 0;
  for (Operation &op : workload.getBodyBlock()->without_terminator())
    reductions += isReduction(&op);
  return reductions;
}

/// A workload of both, where the reader was and read in its place, if the rules
/// make the two one and `isServed` says so of that; else null, and nothing has
/// changed. Neither of the two is erased.
static WorkloadOp mergeServed(WorkloadOp producer, WorkloadOp reader,
                              function_ref<bool(WorkloadOp)> isServed) {
  llvm::SetVector<Value> operands(producer->operand_begin(),
                                  producer->operand_end());
  for (Value operand : reader->getOperands())
    if (operand.getDefiningOp() != producer)
      operands.insert(operand);
  // A function of what both compute, for the rules know blocks.
  Location loc = reader.getLoc();
  OpBuilder builder(reader.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(
      builder, loc, "both",
      builder.getFunctionType(ValueRange(operands.getArrayRef()).getTypes(),
                              reader->getResultTypes()));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  IRMapping mapping;
  mapping.map(operands.getArrayRef(), block->getArguments());
  auto first = cast<WorkloadOp>(builder.clone(*producer, mapping));
  auto second = cast<WorkloadOp>(builder.clone(*reader, mapping));
  auto end = func::ReturnOp::create(builder, loc, second->getResults());
  IRRewriter rewriter(reader.getContext());
  for (WorkloadOp each : {first, second})
    inlineWorkload(rewriter, each);

  // As of fusion=greedy, whatever the rest is formed by: others put prologues
  // into operands that kernels read many times.
  BlockGraph graph(*block, /*replicateCheap=*/true, /*takesScans=*/false);
  fuseGreedy(graph);
  auto isLive = [](const Group &group) { return !group.members.empty(); };
  if (llvm::count_if(graph.groups, isLive) != 1 ||
      materialize(graph, isServed) != 1)
    return nullptr;
  auto both = dyn_cast<WorkloadOp>(block->front());
  if (!both || both->getNextNode() != end)
    return nullptr;
  IRMapping back;
  back.map(block->getArguments(), operands.getArrayRef());
  builder.setInsertionPoint(reader);
  Operation *merged = builder.clone(*both, back);
  for (auto [result, returned] :
       llvm::zip_equal(reader->getResults(), end.getOperands()))
    result.replaceAllUsesWith(back.lookup(returned));
  return cast<WorkloadOp>(merged);
}

void fastk::form::mergeLeftOvers(Block &block, WinnerQuery &winners,
                                 llvm::DenseSet<Operation *> &untouched) {
  SmallVector<WorkloadOp> workloads(block.getOps<WorkloadOp>());
  // What a producer becomes part of comes later, and may be one itself.
  for (WorkloadOp *at = workloads.begin(); at != workloads.end(); ++at) {
    WorkloadOp producer = *at;
    WorkloadOp reader = readerOf(producer);
    // The rules were asked of these before.
    if (!reader ||
        (untouched.contains(producer) && untouched.contains(reader)) ||
        reductionsIn(reader) > winners.mostReductions() ||
        winners.staysAlone(producer) || winners.staysAlone(reader))
      continue;
    WorkloadOp merged = mergeServed(producer, reader, [&](WorkloadOp both) {
      bool isServed = winners.hasWinner(both);
      winners.forget(both);
      return isServed;
    });
    if (!merged)
      continue;
    remark::analysis(
        merged.getLoc(),
        remark::RemarkOpts::name("merged").category("fastk").function(
            merged->getParentOfType<FunctionOpInterface>().getName()))
        << remark::metric("workload", merged.getName())
        << remark::metric("producer", producer.getName())
        << remark::reason("only it reads the producer");
    *std::find(at + 1, workloads.end(), reader) = merged;
    for (WorkloadOp gone : {reader, producer}) {
      winners.forget(gone);
      untouched.erase(gone);
      gone.erase();
    }
  }
}
