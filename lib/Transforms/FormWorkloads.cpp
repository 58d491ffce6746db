//===- FormWorkloads.cpp - Group linalg ops into workloads ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/FormWorkloads.h"
#include "ElementwiseToLinalg.h"
#include "FormWorkloadsGraph.h"
#include "RaiseVariances.h"
#include "ReplaceWorkload.h"
#include "StaticConcat.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace fastk;

namespace {
/// One way to form workloads.
struct FusionMode {
  Fusion fusion;
  llvm::StringLiteral name;
  void (*fuse)(form::BlockGraph &);
  /// Whether cheap producers are copied into each workload.
  bool replicateCheap;
  /// Whether scans are part of workloads.
  bool takesScans;
  /// Whether its regions are worth a question, as far as can be said without a
  /// graph, and with one; null: they are.
  bool (*isAsked)(Block &, WinnerQuery &, WorkloadOp known) = nullptr;
  bool (*isAskedOf)(const form::BlockGraph &, WinnerQuery &) = nullptr;
  /// Whether each of its regions is of a scan.
  bool isOfScans = false;
  /// Whether regions are worth what is computed in several of them; null: they
  /// are.
  bool (*isWorthIt)(const form::BlockGraph &) = nullptr;

  form::BlockGraph graphOf(Block &block) const {
    return form::BlockGraph(block, replicateCheap, takesScans);
  }
};
} // namespace

static remark::RemarkOpts about(FunctionOpInterface function, StringRef name) {
  return remark::RemarkOpts::name(name).category("fastk").function(
      function.getName());
}

/// Ops whose blocks may hold linalg on tensors, as against linalg bodies.
static bool isControlFlow(Operation *op) {
  return op->getNumRegions() != 0 && isa<RegionBranchOpInterface>(op);
}

/// Blocks of control flow are formed on their own: nothing is fused into, out
/// of or across a branch or loop.
static SmallVector<Block *> blocksOf(FunctionOpInterface function) {
  SmallVector<Block *> blocks;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function && !isControlFlow(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        blocks.push_back(&block);
    return WalkResult::advance();
  });
  return blocks;
}

/// False when fusion=whole makes one region of the block, and that is too large
/// for any winner: nothing stands between its ops that must stay outside.
static bool isWholeAskedOf(const form::BlockGraph &graph,
                           WinnerQuery &winners) {
  uint64_t reductions = 0;
  for (const form::Node &node : graph.nodes) {
    if (node.role == form::Role::Outside && !node.uses.empty() &&
        !node.op->hasTrait<OpTrait::IsTerminator>())
      return true;
    reductions +=
        node.role == form::Role::Compute && form::isReduction(node.op);
  }
  return reductions <= winners.mostReductions();
}

/// Without a pooling the regions are those of fusion=greedy, which were asked
/// for.
static bool isApartAskedOf(const form::BlockGraph &graph, WinnerQuery &) {
  return llvm::any_of(graph.nodes, [](const form::Node &node) {
    return node.role == form::Role::Compute && node.kind == form::Kind::Pooling;
  });
}

static bool hasScan(Block &block, WinnerQuery &, WorkloadOp) {
  return !block.getOps<tm_tensor::ScanOp>().empty();
}

static bool areSinglesAsked(Block &, WinnerQuery &winners, WorkloadOp known) {
  return winners.takesSingleResults() && known && known.getNumResults() > 1;
}

/// Of a product whose result is needed by what it was fused with and by others.
static bool arePlainAskedOf(const form::BlockGraph &graph, WinnerQuery &) {
  return llvm::any_of(graph.nodes, [](const form::Node &node) {
    return node.role == form::Role::Compute && form::isContraction(node.kind);
  });
}

/// Of a norm, and no sum of products.
static bool areSinglesAskedOf(const form::BlockGraph &graph, WinnerQuery &) {
  return llvm::all_of(graph.nodes, [](const form::Node &node) {
    return node.role != form::Role::Compute ||
           node.kind == form::Kind::Elementwise ||
           node.kind == form::Kind::Transpose ||
           node.kind == form::Kind::Reduction;
  });
}

/// What results have in common is computed for each: at most as much again.
static bool areSinglesWorthIt(const form::BlockGraph &graph) {
  int64_t all = 0, regions = 0;
  for (const form::Node &node : graph.nodes)
    all += form::iterationCount(node.op);
  for (size_t group = 0; group < graph.groups.size(); ++group)
    regions += graph.pointsOf(group);
  return regions <= 2 * all;
}

/// Only regions of winners are formed so. They lie within those of the whole,
/// whose scans no other way takes.
template <form::ScanNeighbours neighbours>
static constexpr FusionMode kScans = {
    Fusion::Whole,
    "scan",
    [](form::BlockGraph &graph) { form::fuseScans(graph, neighbours); },
    /*replicateCheap=*/true,
    /*takesScans=*/true,
    hasScan,
    /*isAskedOf=*/nullptr,
    /*isOfScans=*/true};

/// Each makes regions that lie within those of one before. The first of a
/// Fusion is what an option names.
static constexpr FusionMode kModes[] = {
    {Fusion::Whole, "whole", form::fuseWhole, true, true, nullptr,
     isWholeAskedOf},
    kScans<form::ScanNeighbours::All>,
    kScans<form::ScanNeighbours::Producers>,
    kScans<form::ScanNeighbours::Consumers>,
    kScans<form::ScanNeighbours::None>,
    {Fusion::Greedy, "greedy", form::fuseGreedy, true, false},
    // Only regions of winners are formed so, and only where those before have
    // none: few programs are of a convolution and its pooling.
    {Fusion::Greedy, "greedy", form::fuseGreedyApart, true, false, nullptr,
     isApartAskedOf},
    {Fusion::Greedy, "greedy", form::fuseGreedyPlain, true, false,
     areSinglesAsked, arePlainAskedOf},
    {Fusion::Greedy, "greedy", form::fuseSingleResults, true, false,
     areSinglesAsked, areSinglesAskedOf, /*isOfScans=*/false,
     areSinglesWorthIt},
    {Fusion::Op, "op", form::fuseOp, false, false}};

/// The place in kModes.
static size_t indexOf(Fusion fusion) {
  return llvm::find_if(
             kModes,
             [&](const FusionMode &mode) { return mode.fusion == fusion; }) -
         std::begin(kModes);
}

/// True when the one region that was formed is all of the block.
static bool isAll(const form::BlockGraph &graph) {
  return llvm::none_of(graph.nodes, [](const form::Node &node) {
    return node.role == form::Role::Compute && node.group < 0;
  });
}

/// Makes workloads of those regions of `mode` that have a winner. `known` is a
/// region that is known to have none.
static unsigned takeWinners(Block &block, const FusionMode &mode,
                            FunctionOpInterface function, WinnerQuery &winners,
                            WorkloadOp known = nullptr) {
  // A graph takes as long as there are ops.
  if (mode.isAsked && !mode.isAsked(block, winners, known))
    return 0;
  form::BlockGraph graph = mode.graphOf(block);
  if (mode.isAskedOf && !mode.isAskedOf(graph, winners))
    return 0;
  mode.fuse(graph);
  if (mode.isWorthIt && !mode.isWorthIt(graph))
    return 0;
  auto isLive = [](const form::Group &group) { return !group.members.empty(); };
  size_t live = llvm::count_if(graph.groups, isLive);
  if (live == 0 || (known && live == 1 && isAll(graph)))
    return 0;
  auto keep = [&](WorkloadOp workload) {
    if (!winners.hasWinner(workload)) {
      winners.forget(workload);
      return false;
    }
    remark::analysis(workload.getLoc(),
                     about(function, winners.nameOfRegions()))
        << remark::metric("workload", workload.getName())
        << remark::metric("fusion", mode.name);
    return true;
  };
  return form::materialize(graph, keep, winners.mostReductions());
}

static void formFunction(FunctionOpInterface function, size_t mode,
                         WinnerQuery *winners, WinnerQuery *scans) {
  unsigned workloads = 0, computeOps = 0, outside = 0;
  for (Block *block : blocksOf(function)) {
    form::BlockGraph all = kModes[mode].graphOf(*block);
    computeOps += llvm::count_if(all.nodes, [](const form::Node &node) {
      return node.role == form::Role::Compute;
    });
    unsigned taken = 0;
    for (const FusionMode &larger : ArrayRef(kModes).take_front(mode))
      if (WinnerQuery *asked = larger.isOfScans && scans ? scans : winners)
        taken += takeWinners(*block, larger, function, *asked);
    workloads += taken;
    auto formRest = [&](form::BlockGraph &graph) {
      for (const form::Node &node : graph.nodes) {
        if (node.reason.empty())
          continue;
        ++outside;
        StringRef op = node.op->getName().getStringRef();
        remark::missed(node.op->getLoc(), about(function, "left-outside"))
            << remark::reason("{0} {1}", op.str(), node.reason);
      }
      kModes[mode].fuse(graph);
      workloads += form::materialize(graph);
    };
    if (taken == 0) {
      formRest(all);
    } else {
      form::BlockGraph rest = kModes[mode].graphOf(*block);
      formRest(rest);
    }
  }
  remark::analysis(function.getLoc(), about(function, "workloads"))
      << remark::metric("workloads", workloads)
      << remark::metric("ops", computeOps)
      << remark::metric("outside", outside);
}

/// `smaller` are the modes whose regions are asked for, and `mode` is that of
/// what is left.
static void splitFunction(FunctionOpInterface function, size_t mode,
                          ArrayRef<FusionMode> smaller, WinnerQuery &winners) {
  SmallVector<WorkloadOp> workloads;
  function->walk([&](WorkloadOp workload) { workloads.push_back(workload); });
  IRRewriter rewriter(function->getContext());
  llvm::SetVector<Block *> split;
  llvm::DenseSet<Operation *> untouched(workloads.begin(), workloads.end());
  for (WorkloadOp workload : workloads) {
    if (winners.hasWinner(workload))
      continue;
    unsigned taken = 0;
    for (const FusionMode &each : smaller)
      taken += takeWinners(*workload.getBodyBlock(), each, function, winners,
                           /*known=*/workload);
    if (taken == 0)
      continue;
    remark::analysis(workload.getLoc(), about(function, "split"))
        << remark::metric("workload", workload.getName())
        << remark::metric("regions", taken)
        << remark::reason("no winner for the whole of it");
    split.insert(workload->getBlock());
    winners.forget(workload);
    untouched.erase(workload);
    inlineWorkload(rewriter, workload);
  }
  for (Block *block : split) {
    form::BlockGraph rest = kModes[mode].graphOf(*block);
    kModes[mode].fuse(rest);
    form::materialize(rest);
    form::mergeLeftOvers(*block, winners, untouched);
  }
}

int64_t fastk::largestReduction(WorkloadOp workload) {
  if (!workload.hasStaticShape())
    return 0;
  int64_t largest = 0;
  workload.getBody().walk([&](Operation *op) {
    if (form::isReduction(op) &&
        llvm::none_of(cast<linalg::LinalgOp>(op).getStaticLoopRanges(),
                      ShapedType::isDynamic))
      largest = std::max(largest, form::iterationCount(op));
  });
  return largest;
}

LogicalResult fastk::formWorkloads(ModuleOp module, Fusion fusion,
                                   WinnerQuery *winners, WinnerQuery *scans) {
  if (failed(convertElementwiseToLinalg(module)))
    return failure();
  makeConcatsStatic(module);
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal()) {
      raiseVariances(function);
      formFunction(function, indexOf(fusion), winners, scans);
    }
  return success();
}

LogicalResult fastk::splitWorkloads(ModuleOp module, Fusion fusion,
                                    WinnerQuery &winners, Fusion smallest) {
  size_t mode = indexOf(fusion);
  auto smaller = ArrayRef(kModes).drop_front(mode + 1).take_while(
      [&](const FusionMode &each) { return each.fusion >= smallest; });
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      splitFunction(function, mode, smaller, winners);
  return success();
}
