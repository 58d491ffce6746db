//===- Quotients.cpp - Divisions that need not be exact -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quotients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>

using namespace mlir;
using namespace fastk;

/// The block of all ops of a workload, of which \p op is one, or in the body of
/// one.
static Block &workloadOf(Operation *op) {
  Block *block = op->getBlock();
  // A pattern's block is in no op.
  while (auto generic =
             dyn_cast_if_present<linalg::LinalgOp>(block->getParentOp()))
    block = generic->getBlock();
  return *block;
}

/// Where a value goes as it is, or rounded to another type: through the end of
/// a body to those that read its result.
static void followUse(OpOperand &use, SmallVectorImpl<Value> &next) {
  Operation *user = use.getOwner();
  if (isa<linalg::YieldOp>(user)) {
    auto generic = dyn_cast<linalg::LinalgOp>(user->getParentOp());
    if (generic && use.getOperandNumber() < generic->getNumResults())
      next.push_back(generic->getResult(use.getOperandNumber()));
    return;
  }
  if (auto generic = dyn_cast<linalg::LinalgOp>(user))
    next.push_back(generic.getMatchingBlockArgument(&use));
  else if (isa<arith::TruncFOp, arith::ExtFOp>(user) ||
           isa<TensorType>(use.get().getType()))
    llvm::append_range(next, user->getResults());
}

/// Whether what a comparison of \p value decides is another number where the
/// value is a little off: not its sign, and not which of the two is less.
static bool isStep(arith::CmpFOp cmp, Value value) {
  Value other = cmp.getLhs() == value ? cmp.getRhs() : cmp.getLhs();
  if (matchPattern(other, m_AnyZeroFloat()))
    return false;
  return !llvm::all_of(cmp->getUsers(), [&](Operation *user) {
    auto select = dyn_cast<arith::SelectOp>(user);
    return select &&
           llvm::is_contained({value, other}, select.getTrueValue()) &&
           llvm::is_contained({value, other}, select.getFalseValue());
  });
}

/// Whether a step depends on \p value itself.
static bool isCompared(Value value) {
  SmallVector<Value> next = {value};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!next.empty()) {
    Value each = next.pop_back_val();
    if (!seen.insert(each.getAsOpaquePointer()).second)
      continue;
    for (OpOperand &use : each.getUses()) {
      auto cmp = dyn_cast<arith::CmpFOp>(use.getOwner());
      if (cmp && isStep(cmp, each))
        return true;
      followUse(use, next);
    }
  }
  return false;
}

bool families::mayBeInexact(Operation *quotient) {
  if (isCompared(quotient->getResult(0)))
    return false;
  auto visit = [](Operation *op) {
    return isa<math::FloorOp, math::CeilOp, math::TruncOp, math::RoundOp,
               math::RoundEvenOp, arith::FPToSIOp, arith::FPToUIOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return !workloadOf(quotient).walk(visit).wasInterrupted();
}

std::optional<float> families::inverseOf(Value divisor) {
  FloatAttr constant;
  if (!matchPattern(divisor, m_Constant(&constant)))
    return std::nullopt;
  auto inverse = static_cast<float>(1 / constant.getValueAsDouble());
  return std::isnormal(inverse) ? std::optional(inverse) : std::nullopt;
}
