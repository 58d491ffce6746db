//===- PlanBuffers.cpp - Where a function's temporaries live --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Temporaries of the function's own block share one allocation: each gets an
// offset that no other temporary alive at the same time overlaps. Temporaries
// of a parallel loop's body are made once for each thread, small ones on its
// stack.
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "Host/Model/CallFrame.h"
#include "fastk/Analysis/PlanLoops.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fastk;

/// A page-aligned temporary does not share cache lines with its neighbour.
static constexpr int64_t kAlignment = 64;
/// The temporaries of a parallel loop may use this much of each thread's stack
/// (OpenMP's default is 4 MB).
static constexpr int64_t kStackBytes = 256 * 1024;

static int64_t byteSize(MemRefType type) {
  Type element = type.getElementType();
  int64_t bytes;
  if (auto complex = dyn_cast<ComplexType>(element))
    bytes = 2 * llvm::divideCeil(
                    complex.getElementType().getIntOrFloatBitWidth(), 8);
  else if (isa<IndexType>(element))
    bytes = 8;
  else
    bytes = llvm::PowerOf2Ceil(
        llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
  return type.getNumElements() * bytes;
}

Operation *fastk::findLastUse(memref::AllocOp alloc) {
  Operation *last = alloc;
  SmallVector<Value> worklist = {alloc.getResult()};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return nullptr;
      // The address of a workspace, on its way into a call.
      if (isa<memref::ExtractAlignedPointerAsIndexOp, arith::IndexCastOp,
              LLVM::IntToPtrOp>(user))
        worklist.push_back(user->getResult(0));
      for (Value result : user->getResults())
        if (isa<BaseMemRefType>(result.getType())) {
          if (!isa<ViewLikeOpInterface>(user))
            return nullptr;
          worklist.push_back(result);
        }
      Operation *ancestor = alloc->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor)
        return nullptr;
      if (last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
  }
  return last;
}

namespace {
/// A temporary of one block.
struct Interval {
  memref::AllocOp alloc;
  Operation *last;
  int64_t size, offset;
};
} // namespace

/// The most bytes that are alive at one operation: what no plan can go below.
static int64_t largestLiveSet(ArrayRef<Interval> intervals) {
  int64_t largest = 0;
  // It is reached where some temporary begins.
  for (const Interval &at : intervals) {
    int64_t alive = 0;
    for (const Interval &other : intervals) {
      memref::AllocOp begin = other.alloc, now = at.alloc;
      if (begin == now ||
          (begin->isBeforeInBlock(now) && !other.last->isBeforeInBlock(now)))
        alive += other.size;
    }
    largest = std::max(largest, alive);
  }
  return largest;
}

/// The temporary that `alloc` is, if it can be told where it ends.
static FailureOr<Interval> intervalOf(memref::AllocOp alloc) {
  Operation *last = findLastUse(alloc);
  if (last && alloc.getDynamicSizes().empty())
    return Interval{alloc, last, byteSize(alloc.getType()), -1};
  alloc.emitError()
      << "cannot tell where this buffer ends: it has a dynamic size or "
         "leaves its block through control flow; fastk plans buffers of "
         "static size in structured code (required by "
         "'fastk.buffer_planning')";
  return failure();
}

/// Largest first, each at the lowest offset that is free while it lives. The
/// bytes of all.
static int64_t layOut(MutableArrayRef<Interval> intervals, int64_t alignment) {
  SmallVector<Interval *> order;
  for (Interval &interval : intervals)
    order.push_back(&interval);
  // Pointers into one vector: their order is that of the program.
  llvm::sort(order, [](Interval *a, Interval *b) {
    return std::make_pair(-a->size, a) < std::make_pair(-b->size, b);
  });
  int64_t total = 0;
  SmallVector<Interval *> placed;
  for (Interval *interval : order) {
    int64_t offset = 0;
    // `placed` is kept in the order of offsets.
    for (Interval *other : placed) {
      bool meet = !(interval->last->isBeforeInBlock(other->alloc) ||
                    other->last->isBeforeInBlock(interval->alloc));
      if (!meet)
        continue;
      if (offset + interval->size <= other->offset)
        break;
      offset = std::max(offset, static_cast<int64_t>(llvm::alignTo(
                                    other->offset + other->size, alignment)));
    }
    interval->offset = offset;
    total = std::max(total, offset + interval->size);
    placed.insert(llvm::upper_bound(placed, interval,
                                    [](Interval *a, Interval *b) {
                                      return a->offset < b->offset;
                                    }),
                  interval);
  }
  return total;
}

/// Makes views of `arena` of what was laid out in it.
static void replaceByViews(ArrayRef<Interval> intervals, Value arena) {
  for (Interval interval : intervals) {
    OpBuilder builder(interval.alloc);
    Value offset = arith::ConstantIndexOp::create(builder, arena.getLoc(),
                                                  interval.offset);
    auto view = memref::ViewOp::create(builder, interval.alloc.getLoc(),
                                       interval.alloc.getType(), arena, offset,
                                       ValueRange{});
    interval.alloc.replaceAllUsesWith(view.getResult());
    interval.alloc.erase();
  }
}

LogicalResult fastk::planLoopBuffers(func::FuncOp func, int64_t alignment) {
  SmallVector<scf::ForOp> loops;
  // Inner ones first: what they need is a temporary of the outer one.
  func.walk([&](scf::ForOp loop) {
    if (isPlanLoop(loop))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    SmallVector<Interval> intervals;
    for (auto alloc : llvm::make_early_inc_range(
             loop.getBody()->getOps<memref::AllocOp>())) {
      if (alloc.use_empty()) {
        alloc.erase();
        continue;
      }
      FailureOr<Interval> interval = intervalOf(alloc);
      if (failed(interval))
        return failure();
      intervals.push_back(*interval);
    }
    int64_t total = layOut(intervals, alignment);
    if (total == 0)
      continue;
    OpBuilder builder(loop);
    Value arena = memref::AllocOp::create(
        builder, loop.getLoc(), MemRefType::get({total}, builder.getI8Type()));
    replaceByViews(intervals, arena);
  }
  return success();
}

LogicalResult fastk::planBuffers(func::FuncOp func, int64_t alignment) {
  Block &entry = func.getBody().front();
  SmallVector<Interval> intervals;
  SmallVector<std::pair<memref::AllocOp, Operation *>> nested;
  WalkResult walk = func.walk([&](memref::AllocOp alloc) {
    if (alloc->hasAttr(kKeptAttr))
      return WalkResult::advance();
    if (alloc.use_empty()) {
      alloc.erase();
      return WalkResult::advance();
    }
    FailureOr<Interval> interval = intervalOf(alloc);
    if (failed(interval))
      return WalkResult::interrupt();
    if (alloc->getBlock() == &entry)
      intervals.push_back(*interval);
    else
      nested.push_back({alloc, interval->last});
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();

  OpBuilder builder(func.getContext());
  for (auto [alloc, last] : nested) {
    // A thread's own buffers are placed when it is known what a thread is.
    if (alloc->getParentOfType<scf::ParallelOp>())
      continue;
    alloc.setAlignment(alignment);
    builder.setInsertionPointAfter(last);
    memref::DeallocOp::create(builder, alloc.getLoc(), alloc);
  }

  int64_t total = layOut(intervals, alignment);
  if (intervals.empty() || total == 0)
    return success();

  Location loc = func.getLoc();
  remark::analysis(loc, remark::RemarkOpts::name("buffer-plan")
                            .category("fastk")
                            .function(func.getName()))
      << remark::metric("buffers", static_cast<int64_t>(intervals.size()))
      << remark::metric("bytes", total)
      << remark::metric("alive", largestLiveSet(intervals));
  builder.setInsertionPointToStart(&entry);
  auto arenaType = MemRefType::get({total}, builder.getI8Type());
  Value arena;
  if (func->hasAttr(kWorkspaceAttr)) {
    // Both are one pointer to the caller.
    BlockArgument workspace = entry.getArguments().back();
    workspace.setType(arenaType);
    func.setFunctionType(
        builder.getFunctionType(entry.getArgumentTypes(), TypeRange{}));
    func->setAttr(kWorkspaceAttr, builder.getI64IntegerAttr(total));
    arena = workspace;
  } else {
    arena = memref::AllocOp::create(builder, loc, arenaType, ValueRange{},
                                    builder.getI64IntegerAttr(alignment));
    builder.setInsertionPoint(entry.getTerminator());
    memref::DeallocOp::create(builder, loc, arena);
  }
  replaceByViews(intervals, arena);
  return success();
}

static void placeThreadBuffers(ModuleOp module) {
  OpBuilder builder(module.getContext());
  module.walk([&](omp::ParallelOp parallel) {
    SmallVector<memref::AllocOp> allocs;
    int64_t heap = 0;
    parallel.walk([&](memref::AllocOp alloc) {
      if (!alloc->hasAttr(kKeptAttr))
        allocs.push_back(alloc);
    });
    Block &entry = parallel.getRegion().front();
    int64_t stack = 0;
    for (memref::AllocOp alloc : allocs) {
      builder.setInsertionPointToStart(&entry);
      int64_t size = byteSize(alloc.getType());
      auto alignment = builder.getI64IntegerAttr(kAlignment);
      Value buffer;
      if (stack + size <= kStackBytes) {
        stack += size;
        buffer = memref::AllocaOp::create(builder, alloc.getLoc(),
                                          alloc.getType(), alignment);
      } else {
        heap += size;
        buffer = memref::AllocOp::create(
            builder, alloc.getLoc(), alloc.getType(), ValueRange{}, alignment);
        builder.setInsertionPoint(entry.getTerminator());
        memref::DeallocOp::create(builder, alloc.getLoc(), buffer);
      }
      alloc.replaceAllUsesWith(buffer);
      alloc.erase();
    }
    if (!allocs.empty())
      remark::analysis(
          parallel.getLoc(),
          remark::RemarkOpts::name("thread-buffers").category("fastk"))
          << remark::metric("stack", stack) << remark::metric("heap", heap);
  });
}

namespace fastk {
#define GEN_PASS_DEF_FASTKPLACETHREADBUFFERSPASS
#define GEN_PASS_DEF_FASTKPLANBUFFERSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkPlanBuffersPass
    : impl::FastkPlanBuffersPassBase<FastkPlanBuffersPass> {
  using Base::Base;
  void runOnOperation() override {
    if (!getOperation().isDeclaration() &&
        failed(planBuffers(getOperation(), alignment)))
      signalPassFailure();
  }
};

struct FastkPlaceThreadBuffersPass
    : impl::FastkPlaceThreadBuffersPassBase<FastkPlaceThreadBuffersPass> {
  using Base::Base;
  void runOnOperation() override { placeThreadBuffers(getOperation()); }
};
} // namespace
} // namespace fastk
