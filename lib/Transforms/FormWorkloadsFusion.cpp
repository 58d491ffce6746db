//===- FormWorkloadsFusion.cpp - Which ops are one workload ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of fusion=op, greedy and whole. Every rule asks the graph before it
// groups, so none can make a cycle; where a rule is refused the op goes to the
// next best group, at last to one of its own.
//
//===----------------------------------------------------------------------===//

#include "FormWorkloadsGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fastk::form;

/// True when the op takes the value as an input, not only to write into it.
static bool isInput(Operation *op, Value value) {
  auto dps = dyn_cast<DestinationStyleOpInterface>(op);
  return !dps || llvm::is_contained(dps.getDpsInputs(), value);
}

/// The one other group that reads what the group computes, where it `mayRead`
/// each value; or -1: several do, or it is needed outside of all groups.
static int soleReaderOf(const BlockGraph &graph, int group,
                        function_ref<bool(const Node &, Value)> mayRead) {
  int reader = -1;
  for (unsigned member : graph.groups[group].members) {
    bool isSole =
        graph.forEachConsumer(member, [&](unsigned consumer, Value value) {
          const Node &node = graph.nodes[consumer];
          if (node.group == group)
            return true;
          if (node.group < 0 || (reader >= 0 && reader != node.group))
            return false;
          reader = node.group;
          return mayRead(node, value);
        });
    if (!isSole)
      return -1;
  }
  return reader;
}

/// A stray is a replicated op whose result is needed as such.
static void placeStrays(BlockGraph &graph, function_ref<void(unsigned)> place) {
  for (;;) {
    SmallVector<unsigned> strays = graph.strayCompute();
    if (strays.empty())
      return;
    // The last first: what it alone needs is copied into its group.
    place(strays.back());
  }
}

//===----------------------------------------------------------------------===//
// op
//===----------------------------------------------------------------------===//

void fastk::form::fuseOp(BlockGraph &graph) {
  for (unsigned index = 0; index < graph.nodes.size(); ++index)
    if (graph.nodes[index].role == Role::Compute)
      graph.newGroup(index);
  placeStrays(graph, [&](unsigned node) { graph.newGroup(node); });
}

//===----------------------------------------------------------------------===//
// one result each
//===----------------------------------------------------------------------===//

void fastk::form::fuseSingleResults(BlockGraph &graph) {
  graph.mostOperands = kMostOperands;
  // What is elementwise is computed anew by each that reads it: a difference
  // from the mean, of which one takes the square. So are concatenations.
  for (Node &node : graph.nodes)
    if ((node.role == Role::Compute && node.kind == Kind::Elementwise) ||
        node.role == Role::Joining)
      node.role = Role::Replicated;
  fuseOp(graph);
  for (bool changed = true; changed;) {
    changed = false;
    for (int group = graph.groups.size() - 1; group >= 0; --group) {
      if (graph.groups[group].members.empty())
        continue;
      int reader =
          soleReaderOf(graph, group, [](const Node &, Value) { return true; });
      changed |= reader >= 0 && graph.tryMerge(group, reader);
    }
  }
}

//===----------------------------------------------------------------------===//
// whole
//===----------------------------------------------------------------------===//

void fastk::form::fuseWhole(BlockGraph &graph) {
  // The level of an op says how often the way to it alternates between compute
  // and ops that must stay outside. Compute ops of one level are one group: a
  // way out of it and back comes back at a higher level. For each node, the
  // level of a compute op and of an outside op that read it.
  struct Level {
    unsigned compute = 0, outside = 0;
  };
  std::vector<Level> levels(graph.nodes.size());
  DenseMap<unsigned, int> groupOfLevel;
  for (unsigned index = 0; index < graph.nodes.size(); ++index) {
    Node &node = graph.nodes[index];
    Level &level = levels[index];
    auto require = [&](int def) {
      if (def < 0)
        return;
      level.compute = std::max(level.compute, levels[def].compute);
      level.outside = std::max(level.outside, levels[def].outside);
    };
    for (Value use : node.uses)
      require(graph.definition(use));
    require(node.previousEffect);
    if (node.role == Role::Outside)
      level.compute = level.outside;
    if (node.role != Role::Compute)
      continue;
    level.outside = level.compute + 1;
    auto [it, isNew] = groupOfLevel.try_emplace(level.compute, -1);
    if (isNew)
      it->second = graph.newGroup(index);
    else if (!graph.tryJoin(index, it->second))
      graph.newGroup(index);
  }
  // A stray comes after the groups it is before: those of its level may wait
  // for the op outside that needs it.
  placeStrays(graph, [&](unsigned node) {
    int own = graph.newGroup(node);
    auto [it, isNew] = groupOfLevel.try_emplace(levels[node].compute, own);
    if (!isNew)
      graph.tryMerge(own, it->second);
  });
}

//===----------------------------------------------------------------------===//
// greedy
//===----------------------------------------------------------------------===//

namespace {
class Greedy {
public:
  Greedy(BlockGraph &graph, bool joinsPoolings, bool endsPlain)
      : graph(graph), joinsPoolings(joinsPoolings), endsPlain(endsPlain) {}

  void run() {
    for (unsigned index = 0; index < graph.nodes.size(); ++index)
      if (graph.nodes[index].role == Role::Compute)
        place(index);
    absorbPrologues();
    formAttention();
    absorbPrologues();
    placeStrays(graph, [&](unsigned node) { placeElementwise(node); });
  }

private:
  struct Candidate {
    int group;
    /// A value of the group that the op reads, through views.
    Producer producer;
  };

  Group &groupOf(const Candidate &candidate) {
    return graph.groups[candidate.group];
  }

  /// The groups that the op reads from, the one that ends last first: an op
  /// joins the end of the longest chain that leads to it. One entry for each
  /// value read.
  SmallVector<Candidate> candidates(unsigned node) {
    SmallVector<Candidate> found;
    for (Value use : graph.nodes[node].uses)
      for (Producer producer : graph.producers(use))
        if (int group = graph.nodes[producer.node].group; group >= 0)
          found.push_back({group, producer});
    auto key = [&](const Candidate &candidate) {
      return std::tuple(
          groupOf(candidate).members.back(), candidate.producer.node,
          cast<OpResult>(candidate.producer.value).getResultNumber());
    };
    llvm::sort(found, [&](const Candidate &a, const Candidate &b) {
      return key(a) > key(b);
    });
    return found;
  }

  void place(unsigned node) {
    switch (graph.nodes[node].kind) {
    case Kind::Contraction:
    case Kind::BatchContraction:
    case Kind::Convolution:
    case Kind::Opaque:
      graph.newGroup(node);
      return;
    case Kind::Pooling:
      return placePooling(node);
    case Kind::Reduction:
      return placeReduction(node);
    case Kind::Transpose:
      return placeTranspose(node);
    case Kind::Elementwise:
      return placeElementwise(node);
    }
  }

  bool isOnlyReader(unsigned node, const Candidate &candidate) {
    return graph.forEachConsumer(
        candidate.producer.node,
        [&](unsigned consumer, Value) { return consumer == node; });
  }

  /// A pooling joins the convolution whose result only it reads.
  void placePooling(unsigned node) {
    for (const Candidate &candidate : candidates(node)) {
      if (!joinsPoolings || !groupOf(candidate).hasConvolution ||
          groupOf(candidate).hasPooling)
        continue;
      if (isOnlyReader(node, candidate) && graph.tryJoin(node, candidate.group))
        return;
    }
    graph.newGroup(node);
  }

  /// A reduction joins reductions over the same rows: softmax's sum its
  /// maximum, a norm's variance its mean.
  void placeReduction(unsigned node) {
    auto domain = reductionDomain(graph.nodes[node].op);
    for (const Candidate &candidate : candidates(node))
      if (groupOf(candidate).kind == GroupKind::Reduction &&
          groupOf(candidate).reductionDomain == domain &&
          graph.tryJoin(node, candidate.group))
        return;
    graph.newGroup(node);
  }

  /// A transpose that feeds contractions is part of each of them, but behind a
  /// batched one it is the end of that: heads are split and merged by the
  /// attention between them, so that the linears around it stay plain.
  void placeTranspose(unsigned node) {
    for (const Candidate &candidate : candidates(node))
      for (unsigned member : groupOf(candidate).members)
        if (graph.nodes[member].kind == Kind::BatchContraction)
          return placeElementwise(node);
    if (feedsContractionsOnly(node))
      graph.nodes[node].role = Role::Replicated;
    else
      placeElementwise(node);
  }

  bool feedsContractionsOnly(unsigned node) {
    bool any = false;
    return graph.forEachConsumer(node, [&](unsigned consumer, Value value) {
      any = true;
      const Node &reader = graph.nodes[consumer];
      if (reader.role != Role::Compute)
        return false;
      if (reader.kind == Kind::Transpose)
        return feedsContractionsOnly(consumer);
      return isContraction(reader.kind) && isInput(reader.op, value);
    }) && any;
  }

  /// True when all that comes of the op, through elementwise ops, is reduced.
  bool feedsReductionsOnly(unsigned node, DenseSet<unsigned> &seen) {
    bool any = false;
    return graph.forEachConsumer(node, [&](unsigned consumer, Value) {
      any = true;
      const Node &reader = graph.nodes[consumer];
      if (reader.role != Role::Compute)
        return false;
      if (reader.kind == Kind::Reduction || !seen.insert(consumer).second)
        return true;
      return reader.kind == Kind::Elementwise &&
             feedsReductionsOnly(consumer, seen);
    }) && any;
  }
  bool feedsReductionsOnly(unsigned node) {
    DenseSet<unsigned> seen;
    return feedsReductionsOnly(node, seen);
  }

  /// True when the op starts a reduction on a value that is needed otherwise
  /// too (the square of an RMS norm behind a residual): it belongs to the
  /// reduction, else the group would write a second full result.
  bool startsReduction(unsigned node, const Producer &producer) {
    if (!feedsReductionsOnly(node))
      return false;
    return !graph.forEachConsumer(producer.node, [&](unsigned consumer, Value) {
      return graph.nodes[consumer].role == Role::Compute &&
             (graph.nodes[consumer].kind == Kind::Reduction ||
              feedsReductionsOnly(consumer));
    });
  }

  /// Elementwise ops end a contraction, pooling or opaque op of their size;
  /// else they join the reduction they read, else other elementwise ops.
  void placeElementwise(unsigned node) {
    SmallVector<Candidate> all = candidates(node);
    int joined = -1;
    auto tryEach = [&](function_ref<bool(const Candidate &)> wanted) {
      for (const Candidate &candidate : all)
        if (joined < 0 && wanted(candidate) &&
            graph.tryJoin(node, candidate.group))
          joined = candidate.group;
    };
    int64_t size = iterationCount(graph.nodes[node].op);
    tryEach([&](const Candidate &candidate) {
      return groupOf(candidate).kind >= GroupKind::Opaque &&
             cast<RankedTensorType>(candidate.producer.value.getType())
                     .getNumElements() == size &&
             !startsReduction(node, candidate.producer) &&
             (!endsPlain || isOnlyReader(node, candidate));
    });
    tryEach([&](const Candidate &candidate) {
      return groupOf(candidate).kind == GroupKind::Reduction;
    });
    tryEach([&](const Candidate &candidate) {
      return groupOf(candidate).kind == GroupKind::Elementwise;
    });
    if (joined < 0) {
      graph.newGroup(node);
      return;
    }
    // What meets here may be one: two elementwise chains, or two reductions
    // over the same rows (the sum and the sum of squares of a norm).
    for (const Candidate &candidate : all) {
      int other = graph.nodes[candidate.producer.node].group;
      if (other == joined)
        continue;
      Group &a = graph.groups[joined], &b = graph.groups[other];
      if (a.kind == b.kind && (a.kind == GroupKind::Elementwise ||
                               (a.kind == GroupKind::Reduction &&
                                a.reductionDomain == b.reductionDomain)))
        graph.tryMerge(other, joined);
    }
  }

  /// An elementwise group that only one other group reads joins it, except
  /// through the inputs of a contraction: kernels read those many times.
  void absorbPrologues() {
    for (bool changed = true; changed;) {
      changed = false;
      for (int group = graph.groups.size() - 1; group >= 0; --group) {
        if (graph.groups[group].members.empty() ||
            graph.groups[group].kind != GroupKind::Elementwise)
          continue;
        int reader = soleReader(group);
        if (reader >= 0 && graph.tryMerge(group, reader))
          changed = true;
      }
    }
  }

  /// The one group that reads the elementwise group and may take it in, or -1.
  int soleReader(int group) {
    return soleReaderOf(graph, group, [&](const Node &node, Value value) {
      return !isContraction(node.kind) || !isInput(node.op, value) ||
             graph.groups[node.group].kind == GroupKind::Attention;
    });
  }

  /// Softmax, as far as attention is concerned: an exponential and a sum.
  bool isSoftmax(const Group &group) {
    bool exponential = false, sum = false;
    for (unsigned member : group.members) {
      Operation *op = graph.nodes[member].op;
      op->walk([&](Operation *inner) {
        exponential |= isa<math::ExpOp, math::Exp2Op>(inner);
        sum |= graph.nodes[member].kind == Kind::Reduction &&
               isa<arith::AddFOp>(inner);
      });
    }
    return group.kind == GroupKind::Reduction && exponential && sum;
  }

  /// The only two contractions in one group: scores, softmax, weighted sum.
  void formAttention() {
    for (const Node &node : graph.nodes) {
      if (node.kind != Kind::BatchContraction && node.kind != Kind::Contraction)
        continue;
      if (node.role != Role::Compute ||
          graph.groups[node.group].kind != GroupKind::Contraction)
        continue;
      auto dps = cast<DestinationStyleOpInterface>(node.op);
      for (Value input : dps.getDpsInputs())
        for (Producer softmax : graph.producers(input))
          if (int group = graph.nodes[softmax.node].group;
              group >= 0 && isSoftmax(graph.groups[group]))
            if (int scores = findScores(group, softmax.value, node.group);
                scores >= 0)
              mergeAttention(scores, group, node.group);
    }
  }

  /// The contraction that computes what the softmax group normalises: a value
  /// of the size of its result.
  int findScores(int softmax, Value result, int weightedSum) {
    auto elements = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getNumElements();
    };
    for (unsigned member : graph.groups[softmax].members)
      for (Value use : graph.nodes[member].uses)
        for (Producer producer : graph.producers(use)) {
          int group = graph.nodes[producer.node].group;
          if (group >= 0 && group != weightedSum &&
              graph.groups[group].kind == GroupKind::Contraction &&
              !graph.groups[group].hasConvolution &&
              elements(producer.value) == elements(result))
            return group;
        }
    return -1;
  }

  void mergeAttention(int scores, int softmax, int weightedSum) {
    if (graph.tryMerge({scores, softmax}, weightedSum))
      graph.groups[weightedSum].kind = GroupKind::Attention;
  }

  BlockGraph &graph;
  bool joinsPoolings, endsPlain;
};
} // namespace

static void runGreedy(BlockGraph &graph, bool joinsPoolings,
                      bool endsPlain = false) {
  graph.mostOperands = kMostOperands;
  Greedy(graph, joinsPoolings, endsPlain).run();
}

void fastk::form::fuseGreedy(BlockGraph &graph) {
  runGreedy(graph, /*joinsPoolings=*/true);
}

void fastk::form::fuseGreedyPlain(BlockGraph &graph) {
  runGreedy(graph, /*joinsPoolings=*/true, /*endsPlain=*/true);
}

void fastk::form::fuseGreedyApart(BlockGraph &graph) {
  runGreedy(graph, /*joinsPoolings=*/false);
}
