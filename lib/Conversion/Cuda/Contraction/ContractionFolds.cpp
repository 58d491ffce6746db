//===- ContractionFolds.cpp - What a contraction computes besides ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fill or the broadcast bias that sums begin with, and the chain of
// elementwise ops behind them, cost a pass over memory each, or none in the
// kernel of the contraction.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fastk;

/// Whether the op computes one result point by point, from its inputs and
/// constants alone.
static bool isElementwise(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation())
    return false;
  for (Operation &each : op.getBlock()->without_terminator())
    if (!each.hasTrait<OpTrait::ConstantLike>() &&
        (each.getNumRegions() || each.getNumResults() != 1 ||
         !OpTrait::hasElementwiseMappableTraits(&each)))
      return false;
  auto isKnown = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == op.getBlock();
    return value.getParentBlock() == op.getBlock() ||
           value.getDefiningOp()->hasTrait<OpTrait::ConstantLike>();
  };
  for (Operation &each : *op.getBlock())
    if (!llvm::all_of(each.getOperands(), isKnown))
      return false;
  return llvm::all_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>);
}

namespace {
class FoldFinder {
public:
  FoldFinder(function_ref<std::optional<ByteRange>(Value)> rangeOf)
      : rangeOf(rangeOf) {}
  ContractionFold find(linalg::GenericOp op);

private:
  linalg::GenericOp findStart(linalg::GenericOp op);
  linalg::GenericOp findEnd(linalg::GenericOp op);
  /// Whether two memrefs share no byte; false where that is not known.
  bool areApart(Value a, Value b);
  /// Whether no op between the two touches `memref`: neither writes it nor,
  /// with `reads`, reads it.
  bool isUntouched(Value memref, Operation *from, Operation *to, bool reads);

  function_ref<std::optional<ByteRange>(Value)> rangeOf;
  /// Collects the ops that use `memref` or a view of it. False when one of them
  /// is elsewhere.
  bool collectUsers(Value memref, Block *block, bool isView);

  /// In the order of the block.
  SmallVector<Operation *> users;
  /// Those that use a view.
  llvm::SmallPtrSet<Operation *, 8> viewUsers;
};
} // namespace

bool FoldFinder::areApart(Value a, Value b) {
  auto first = rangeOf(a), second = rangeOf(b);
  return first && second && !first->overlaps(*second);
}

bool FoldFinder::isUntouched(Value memref, Operation *from, Operation *to,
                             bool reads) {
  for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode()) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured) {
      if (isMemoryEffectFree(op) || isa<memref::AllocOp>(op))
        continue;
      return false;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()) &&
          (reads || structured.isDpsInit(&operand)) &&
          !areApart(operand.get(), memref))
        return false;
  }
  return true;
}

linalg::GenericOp FoldFinder::findStart(linalg::GenericOp op) {
  auto *self = llvm::find(users, op);
  if (self == users.begin() || viewUsers.contains(*std::prev(self)))
    return nullptr;
  auto start = dyn_cast<linalg::GenericOp>(*std::prev(self));
  Value sum = op.getDpsInits()[0];
  if (!start || !isElementwise(start) || start.getDpsInits()[0] != sum ||
      llvm::is_contained(start.getDpsInputs(), sum))
    return nullptr;
  for (Value input : start.getDpsInputs())
    if (!isUntouched(input, start, op, /*reads=*/false) ||
        !areApart(input, sum))
      return nullptr;
  return start;
}

linalg::GenericOp FoldFinder::findEnd(linalg::GenericOp op) {
  auto *next = std::next(llvm::find(users, op));
  if (next == users.end() || viewUsers.contains(*next))
    return nullptr;
  auto end = dyn_cast<linalg::GenericOp>(*next);
  if (!end || !isElementwise(end))
    return nullptr;
  Value sum = op.getDpsInits()[0], result = end.getDpsInits()[0];
  if (llvm::count(end.getDpsInputs(), sum) != 1)
    return nullptr;
  // Nobody may look for the sums themselves.
  if (result != sum &&
      (std::next(next) != users.end() || isa<BlockArgument>(sum)))
    return nullptr;
  for (OpOperand *input : end.getDpsInputOperands()) {
    AffineMap map = end.getMatchingIndexingMap(input);
    if (input->get() == sum) {
      // In place only where each point replaces itself.
      if (!map.isPermutation() ||
          (result == sum &&
           map != end.getMatchingIndexingMap(end.getDpsInitOperand(0))))
        return nullptr;
      continue;
    }
    if (!isUntouched(input->get(), op, end, /*reads=*/false) ||
        !areApart(input->get(), result))
      return nullptr;
  }
  if (!isUntouched(result, op, end, /*reads=*/true))
    return nullptr;
  // The result is written while other blocks still read.
  for (Value input : op.getDpsInputs())
    if (!areApart(input, result))
      return nullptr;
  return end;
}

bool FoldFinder::collectUsers(Value memref, Block *block, bool isView) {
  for (Operation *user : memref.getUsers()) {
    if (isa<memref::DeallocOp>(user))
      continue;
    if (user->getBlock() != block)
      return false;
    if (isa<ViewLikeOpInterface>(user)) {
      if (!collectUsers(user->getResult(0), block, /*isView=*/true))
        return false;
      continue;
    }
    if (isView)
      viewUsers.insert(user);
    if (!llvm::is_contained(users, user))
      users.push_back(user);
  }
  return true;
}

ContractionFold FoldFinder::find(linalg::GenericOp op) {
  Value sum = op.getDpsInits()[0];
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  // It is no view of something else: the users of this one are all.
  Operation *definition = sum.getDefiningOp();
  if (!map.isProjectedPermutation() ||
      (definition && !isa<memref::ViewOp, memref::AllocOp>(definition)))
    return {};
  users.clear();
  viewUsers.clear();
  if (!collectUsers(sum, op->getBlock(), /*isView=*/false) ||
      viewUsers.contains(op))
    return {};
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  ContractionFold fold;
  fold.start = findStart(op);
  fold.end = findEnd(op);
  // What the sums begin with is read when the end is written.
  if (fold.start && fold.end)
    for (Value input : fold.start.getDpsInputs())
      if (!areApart(input, fold.end.getDpsInits()[0]))
        fold.start = nullptr;
  return fold;
}

DenseMap<Operation *, ContractionFold> fastk::findContractionFolds(
    func::FuncOp func, function_ref<std::optional<ByteRange>(Value)> rangeOf) {
  DenseMap<Operation *, ContractionFold> folds;
  FoldFinder finder(rangeOf);
  DenseSet<Operation *> taken;
  for (auto op : func.getBody().front().getOps<linalg::GenericOp>()) {
    if (!matchContraction(op))
      continue;
    ContractionFold fold = finder.find(op);
    // An op that is folded belongs to one contraction.
    if (fold.start && taken.contains(fold.start))
      fold.start = nullptr;
    if (fold.end && taken.contains(fold.end))
      fold.end = nullptr;
    if ((!fold.start && !fold.end) || !matchContraction(op, fold))
      continue;
    if (fold.start)
      taken.insert(fold.start);
    if (fold.end)
      taken.insert(fold.end);
    folds[op] = fold;
  }
  return folds;
}
