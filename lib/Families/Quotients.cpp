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

bool families::mayBeInexact(Operation *quotient) {
  if (llvm::any_of(quotient->getUsers(), llvm::IsaPred<arith::CmpFOp>))
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
