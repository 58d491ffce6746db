//===- FormWorkloadsGraph.h - The ops of a block as groups ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What workload formation knows of a block: what each op may be part of, which
// group it is in, which values a group takes from outside, and whether a group
// could be one op without a cycle. The fusion rules (FormWorkloadsFusion.cpp)
// only ever ask this class; it owns the invariants:
//
//  * a compute op is in at most one group, and in exactly one at the end, but
//    where only regions of winners are formed;
//  * cheap producers (constants, fills, generators, casts up, slices, pads) are
//    copied into every group that uses them, and views into every group that
//    holds both their ends, so they never tie two groups together;
//  * no group depends on itself through anything outside of it.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_FORMWORKLOADSGRAPH_H
#define FASTK_LIB_TRANSFORMS_FORMWORKLOADSGRAPH_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <limits>
#include <string>
#include <vector>

namespace fastk::form {

/// How an op may take part in a workload.
enum class Role {
  /// Stays where it is. `Node::reason` says why, where that is worth a remark.
  Outside,
  /// Belongs to exactly one group.
  Compute,
  /// Copied into every group that uses its result.
  Replicated,
  /// expand_shape, collapse_shape, cast: part of a group when its source is;
  /// free, hence left outside at the border, where keys must not see it.
  View,
  /// concat, insert_slice: part of a group when a compute op of the group
  /// produces one of its sources, else a copy that stays outside.
  Joining,
};

/// What a compute op computes, as far as the rules distinguish.
enum class Kind {
  Elementwise,
  /// Elementwise, and moves values only: a transpose.
  Transpose,
  Contraction,
  BatchContraction,
  Convolution,
  Pooling,
  Reduction,
  /// Ops that are none of these (softmax, pack, winograd, scans).
  Opaque,
};

/// Whether it sums products.
inline bool isContraction(Kind kind) {
  return kind == Kind::Contraction || kind == Kind::BatchContraction ||
         kind == Kind::Convolution;
}

struct Node {
  mlir::Operation *op = nullptr;
  Role role = Role::Outside;
  Kind kind = Kind::Opaque;
  /// Why the op is outside; empty when nobody needs to be told.
  std::string reason;
  /// Operands and the values that the regions capture, each once.
  llvm::SmallVector<mlir::Value, 4> uses;
  /// The result depends on nothing but constants and positions.
  bool generated = false;
  /// The op with side effects before this one, which has some too; else -1.
  int previousEffect = -1;
  /// The group it is in, -1 for none. A replicated op has one only when its
  /// result is needed outside of all groups.
  int group = -1;
};

/// What a group is, by its strongest member.
enum class GroupKind { Elementwise, Reduction, Opaque, Contraction, Attention };

struct Group {
  GroupKind kind = GroupKind::Elementwise;
  bool hasConvolution = false;
  bool hasPooling = false;
  /// Members' node indices in block order; empty when merged into another.
  llvm::SmallVector<unsigned, 8> members;
  /// Loop sizes of its reductions, unit loops dropped, reduced ones negative.
  llvm::SmallVector<int64_t, 4> reductionDomain;
  /// What members take from outside; some of it may be inside by now.
  llvm::DenseSet<mlir::Value> taken;
};

/// A value of a compute op that another op reads, perhaps through views.
struct Producer {
  unsigned node;
  mlir::Value value;
};

/// A thread of a GPU has registers for so many operands in vectors of four, and
/// a launch room for their addresses.
inline constexpr size_t kMostOperands = 64;

class BlockGraph {
public:
  /// `replicateCheap` is false for fusion=op, where each linalg op is one
  /// workload and only constants, empties and fills are copied. `takesScans` is
  /// false where what has no winner is formed, too: a scan is left as it is.
  BlockGraph(mlir::Block &block, bool replicateCheap, bool takesScans);

  mlir::Block &block;
  std::vector<Node> nodes;
  std::vector<Group> groups;
  /// No group grows by an op or by others if it then took more values than
  /// these from outside.
  size_t mostOperands = std::numeric_limits<size_t>::max();

  /// The node that defines the value in this block, -1 for none.
  int definition(mlir::Value value) const;

  /// True when the value is computed inside the group: by a member, by a copy
  /// of a replicated op, or by a view of such.
  bool isInternal(mlir::Value value, int group) const;
  /// Calls `visit` for each value that the node, as part of the group, takes
  /// from outside, through whatever is copied along; a value may come twice.
  void forEachExternal(unsigned node, int group,
                       llvm::function_ref<void(mlir::Value)> visit) const;

  /// The compute ops that the value comes from, seen through views and through
  /// replicated ops.
  llvm::SmallVector<Producer> producers(mlir::Value value) const;
  /// The compute and outside nodes that read any result of the node, seen
  /// through views and replicated ops; the value is what they read. `visit`
  /// returns false to stop. Returns false when stopped.
  bool
  forEachConsumer(unsigned node,
                  llvm::function_ref<bool(unsigned, mlir::Value)> visit) const;

  /// A new group of this one node.
  int newGroup(unsigned node);
  /// Puts the node into the group unless that made a cycle, or the group took
  /// more than `mostOperands`.
  bool tryJoin(unsigned node, int group);
  /// The same for the members of all of `from`.
  bool tryMerge(llvm::ArrayRef<int> from, int into);

  /// Points of the linalg ops that the group computes, with what is copied into
  /// it.
  int64_t pointsOf(int group) const;

  /// Values of group members that are read outside of their group: index by
  /// group. Groups that nobody reads have none and are dead.
  std::vector<llvm::SmallVector<mlir::Value, 2>> escapes() const;
  /// linalg ops in no group whose result is needed outside of all groups.
  llvm::SmallVector<unsigned> strayCompute() const;

private:
  void addToGroup(unsigned node, int group);
  /// Whether the group takes at most `mostOperands` values, `more` included.
  bool fitsOperands(int group, llvm::ArrayRef<mlir::Value> more);
  /// The largest node index that is none of the group's, nor within any group
  /// that has members on both of its sides: nothing before it depends on the
  /// group.
  unsigned firstAround(int group) const;
  /// True when one of the values depends on the group.
  bool dependOn(llvm::ArrayRef<mlir::Value> values, int group) const;
  /// Marks what is needed outside of groups. `onEscape` gets each value of a
  /// member that is, `live` one flag per node.
  void findLive(std::vector<bool> &live,
                llvm::function_ref<void(mlir::Value)> onEscape) const;

  llvm::DenseMap<mlir::Operation *, unsigned> indices;
};

/// Loop sizes of a linalg op, unit loops dropped, reduced ones negative.
llvm::SmallVector<int64_t, 4> reductionDomain(mlir::Operation *op);
/// True for a linalg op that has a reduction loop.
bool isReduction(mlir::Operation *op);
/// The number of points in a linalg op's iteration space; 0 for other ops.
int64_t iterationCount(mlir::Operation *op);

/// The fusion rules. Each but fuseScans() puts every compute op of the graph
/// into a group.
void fuseOp(BlockGraph &graph);
void fuseGreedy(BlockGraph &graph);
/// As fuseGreedy(), but no pooling is part of a convolution's group.
void fuseGreedyApart(BlockGraph &graph);
/// As fuseGreedy(), but what a contraction's group computes for several ops is
/// its end.
void fuseGreedyPlain(BlockGraph &graph);
/// Regions of one result each: what is read by several others, or is a result,
/// ends a region, but for what is elementwise.
void fuseSingleResults(BlockGraph &graph);
void fuseWhole(BlockGraph &graph);

/// What a scan's region has beside the scan and what is copied into it: ops
/// that are elementwise, or only move values.
enum class ScanNeighbours {
  All,
  /// Those that only the region reads.
  Producers,
  /// Those that read the region, and nothing more that is computed.
  Consumers,
  None
};
/// A region of each scan, but for those that are the same with the neighbours
/// that `neighbours` comes after.
void fuseScans(BlockGraph &graph, ScanNeighbours neighbours);

/// Replaces each live group by a `fastk.workload` and puts the block into an
/// order in which definitions come first. With `keep`, only the groups whose
/// workload it accepts, of those with at most `mostReductions`; the others stay
/// as they are. Returns the number of workloads.
unsigned
materialize(BlockGraph &graph,
            llvm::function_ref<bool(WorkloadOp workload)> keep = nullptr,
            uint64_t mostReductions = std::numeric_limits<uint64_t>::max());

/// Merges elementwise workloads of the block with the one workload that reads
/// them, where the rules of fuseGreedy() make the two one, `winners` has one
/// for that, and none of the two staysAlone(). Two that are `untouched` stay
/// apart.
void mergeLeftOvers(mlir::Block &block, WinnerQuery &winners,
                    llvm::DenseSet<mlir::Operation *> &untouched);

} // namespace fastk::form

#endif // FASTK_LIB_TRANSFORMS_FORMWORKLOADSGRAPH_H
