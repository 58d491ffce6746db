//===- FormWorkloadsScans.cpp - Regions of one scan each ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormWorkloadsGraph.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include <set>

using namespace mlir;
using namespace fastk;
using namespace fastk::form;

/// What may be taken into a region, and is in none.
static bool isFreeElementwise(const Node &node) {
  return node.role == Role::Compute && node.group < 0 &&
         (node.kind == Kind::Elementwise || node.kind == Kind::Transpose);
}

namespace {
/// Grows the region of one scan.
class ScanRegion {
public:
  ScanRegion(BlockGraph &graph, unsigned scan)
      : graph(graph), group(graph.newGroup(scan)) {}

  /// Takes what is elementwise and only the region reads.
  void takeProducers() {
    SmallVector<unsigned, 8> stack(graph.groups[group].members);
    while (!stack.empty())
      for (Value use : graph.nodes[stack.pop_back_val()].uses)
        for (const Producer &producer : graph.producers(use))
          if (isOnlyReader(producer.node) && tryTake(producer.node))
            // What the op reads may have had it as its only other reader.
            stack.push_back(producer.node);
  }

  /// Takes what is elementwise and reads the region, as far as that makes the
  /// region read nothing more that is computed elsewhere: the sum of a prefix
  /// and a product is better off as the end of the product.
  void takeConsumers(bool withProducers) {
    std::set<unsigned> readers;
    auto noteReaders = [&](unsigned node) {
      graph.forEachConsumer(node, [&](unsigned reader, Value) {
        if (isFreeElementwise(graph.nodes[reader]))
          readers.insert(reader);
        return true;
      });
    };
    for (unsigned member : graph.groups[group].members)
      noteReaders(member);
    // In the order of the block: what an op reads is taken before it.
    while (!readers.empty()) {
      unsigned reader = *readers.begin();
      readers.erase(readers.begin());
      if (!isFreeElementwise(graph.nodes[reader]))
        continue;
      Group before = graph.groups[group];
      size_t sourcesBefore = countSources();
      if (!tryTake(reader))
        continue;
      if (withProducers)
        takeProducers();
      if (countSources() > sourcesBefore)
        restore(before);
      else
        noteReaders(reader);
    }
  }

private:
  bool isOnlyReader(unsigned node) {
    return isFreeElementwise(graph.nodes[node]) &&
           graph.forEachConsumer(node, [&](unsigned reader, Value) {
             return graph.nodes[reader].group == group;
           });
  }

  bool tryTake(unsigned node) {
    int own = graph.newGroup(node);
    if (graph.tryMerge(own, group))
      return true;
    graph.groups.pop_back();
    graph.nodes[node].group = -1;
    return false;
  }

  void restore(const Group &before) {
    for (unsigned member : graph.groups[group].members)
      if (!llvm::is_contained(before.members, member))
        graph.nodes[member].group = -1;
    graph.groups[group] = before;
  }

  /// Ops of the block that compute what the region takes, seen through views
  /// and whatever else belongs to no group.
  size_t countSources() {
    DenseSet<unsigned> seen, sources;
    SmallVector<Value> stack;
    for (unsigned member : graph.groups[group].members)
      graph.forEachExternal(member, group,
                            [&](Value value) { stack.push_back(value); });
    while (!stack.empty()) {
      int def = graph.definition(stack.pop_back_val());
      if (def < 0 || !seen.insert(def).second)
        continue;
      const Node &node = graph.nodes[def];
      if (node.role == Role::View || node.role == Role::Joining ||
          node.role == Role::Replicated)
        stack.append(node.uses.begin(), node.uses.end());
      else if (node.group != group &&
               !node.op->hasTrait<OpTrait::ConstantLike>())
        sources.insert(def);
    }
    return sources.size();
  }

  BlockGraph &graph;
  int group;
};
} // namespace

/// Makes a group of each scan, and of nothing else.
static void groupScans(BlockGraph &graph, ScanNeighbours neighbours) {
  graph.groups.clear();
  for (Node &node : graph.nodes)
    node.group = -1;
  bool before = neighbours == ScanNeighbours::All ||
                neighbours == ScanNeighbours::Producers;
  bool after = neighbours == ScanNeighbours::All ||
               neighbours == ScanNeighbours::Consumers;
  for (unsigned index = 0; index < graph.nodes.size(); ++index) {
    if (graph.nodes[index].role != Role::Compute ||
        !isa<tm_tensor::ScanOp>(graph.nodes[index].op))
      continue;
    ScanRegion region(graph, index);
    if (before)
      region.takeProducers();
    if (after)
      region.takeConsumers(/*withProducers=*/before);
  }
}

void fastk::form::fuseScans(BlockGraph &graph, ScanNeighbours neighbours) {
  graph.mostOperands = kMostOperands;
  // Those of the calls before, which had no winner.
  std::set<SmallVector<unsigned, 8>> known;
  for (auto larger = int(ScanNeighbours::All); larger < int(neighbours);
       ++larger) {
    groupScans(graph, ScanNeighbours(larger));
    for (const Group &group : graph.groups)
      known.insert(group.members);
  }
  groupScans(graph, neighbours);
  for (Group &group : graph.groups) {
    if (!known.count(group.members))
      continue;
    for (unsigned member : group.members)
      graph.nodes[member].group = -1;
    group = Group();
  }
}
