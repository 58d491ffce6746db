//===- FormWorkloadsMaterialize.cpp - Groups become workloads -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormWorkloadsGraph.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include <queue>

using namespace mlir;
using namespace fastk;
using namespace fastk::form;

namespace {
/// Builds the workload of one group: copies of its members in block order, each
/// behind copies of the replicated ops and views that it needs.
class WorkloadBuilder {
public:
  WorkloadBuilder(const BlockGraph &graph, int group)
      : graph(graph), index(group), group(graph.groups[group]) {}

  WorkloadOp build(OpBuilder &builder, ArrayRef<Value> results) {
    // Operands are found while the body is made, so the body is made first.
    OpBuilder inside(builder.getContext());
    inside.setInsertionPointToEnd(&body);
    for (unsigned member : group.members)
      copy(inside, graph.nodes[member]);
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(mapping.lookup(result));
    Location loc = graph.nodes[group.members.back()].op->getLoc();
    YieldOp::create(inside, loc, yielded);
    auto workload = WorkloadOp::create(
        builder, loc, ValueRange(yielded).getTypes(), "workload", operands);
    workload.getBody().push_back(new Block());
    Block &dest = workload.getBody().front();
    for (Value operand : operands) {
      BlockArgument arg = dest.addArgument(operand.getType(), operand.getLoc());
      body.getArgument(arg.getArgNumber()).replaceAllUsesWith(arg);
    }
    dest.getOperations().splice(dest.end(), body.getOperations());
    // Names come from the structure of the finished body.
    workload.setName(analyzeWorkload(workload.getBody()).name);
    return workload;
  }

private:
  void copy(OpBuilder &inside, const Node &node) {
    if (node.op->getNumResults() && mapping.contains(node.op->getResult(0)))
      return;
    for (Value use : node.uses)
      require(inside, use);
    inside.clone(*node.op, mapping);
  }

  void require(OpBuilder &inside, Value value) {
    if (mapping.contains(value))
      return;
    if (!graph.isInternal(value, index)) {
      operands.push_back(value);
      mapping.map(value, body.addArgument(value.getType(), value.getLoc()));
      return;
    }
    if (int def = graph.definition(value); def >= 0)
      return copy(inside, graph.nodes[def]);
    for (Value operand : value.getDefiningOp()->getOperands())
      require(inside, operand);
    inside.clone(*value.getDefiningOp(), mapping);
  }

  const BlockGraph &graph;
  int index;
  const Group &group;
  Block body;
  IRMapping mapping;
  SmallVector<Value> operands;
};
} // namespace

/// Orders the block so that definitions come before uses, ops with effects keep
/// their order, and everything else stays as near to `position` as that allows.
static void sortBlock(Block &block,
                      const DenseMap<Operation *, unsigned> &position) {
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> index;
  for (Operation &op : block) {
    index[&op] = ops.size();
    ops.push_back(&op);
  }
  std::vector<SmallVector<unsigned, 4>> users(ops.size());
  SmallVector<unsigned> waitsFor(ops.size(), 0);
  auto order = [&](unsigned first, unsigned second) {
    users[first].push_back(second);
    ++waitsFor[second];
  };
  int lastEffect = -1;
  for (unsigned i = 0; i < ops.size(); ++i) {
    SetVector<Value> uses(ops[i]->operand_begin(), ops[i]->operand_end());
    getUsedValuesDefinedAbove(ops[i]->getRegions(), uses);
    for (Value use : uses)
      if (auto it = index.find(use.getDefiningOp()); it != index.end())
        order(it->second, i);
    if (!isMemoryEffectFree(ops[i])) {
      if (lastEffect >= 0)
        order(lastEffect, i);
      lastEffect = i;
    }
  }
  using Entry = std::pair<unsigned, unsigned>; // position, index
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto enqueue = [&](unsigned i) { ready.push({position.lookup(ops[i]), i}); };
  for (unsigned i = 0; i < ops.size(); ++i)
    if (waitsFor[i] == 0)
      enqueue(i);
  unsigned placed = 0;
  while (!ready.empty()) {
    unsigned i = ready.top().second;
    ready.pop();
    ++placed;
    ops[i]->moveBefore(&block, block.end());
    for (unsigned user : users[i])
      if (--waitsFor[user] == 0)
        enqueue(user);
  }
  (void)placed;
  assert(placed == ops.size() && "groups depend on each other");
}

unsigned fastk::form::materialize(BlockGraph &graph,
                                  function_ref<bool(WorkloadOp workload)> keep,
                                  uint64_t mostReductions) {
  DenseMap<Operation *, unsigned> position;
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    position[node.op] = index;
  // All bodies are copied from the block as it came, and only then do their
  // results take over.
  std::vector<SmallVector<Value, 2>> escapes = graph.escapes();
  SmallVector<std::pair<WorkloadOp, unsigned>> workloads;
  OpBuilder builder(graph.block.getTerminator());
  for (unsigned group = 0; group < graph.groups.size(); ++group) {
    if (escapes[group].empty())
      continue;
    uint64_t reductions =
        llvm::count_if(graph.groups[group].members, [&](unsigned member) {
          return isReduction(graph.nodes[member].op);
        });
    if (reductions > mostReductions)
      continue;
    WorkloadOp workload =
        WorkloadBuilder(graph, group).build(builder, escapes[group]);
    // Groups do not depend on each other in a cycle, so any of them may be left
    // out.
    if (keep && !keep(workload)) {
      workload.erase();
      continue;
    }
    position[workload] = graph.groups[group].members.back();
    workloads.push_back({workload, group});
  }
  for (auto [workload, group] : workloads)
    for (auto [value, result] :
         llvm::zip_equal(escapes[group], workload.getOutputs()))
      value.replaceAllUsesWith(result);
  if (workloads.empty())
    return 0;
  for (Node &node : llvm::reverse(graph.nodes))
    if (node.role != Role::Outside && node.op->use_empty())
      node.op->erase();
  sortBlock(graph.block, position);
  return workloads.size();
}
