//===- GuardDivision.cpp - Integer divisions that do not trap -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace mlir;
using namespace fastk;

static bool isSigned(Operation *op) {
  return isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp>(op);
}

/// The constant `value` of an integer or index type, or a vector of it.
static Value constant(OpBuilder &builder, Location loc, Type type,
                      const APInt &value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = builder.getIntegerAttr(element, value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, attr);
  return arith::ConstantOp::create(builder, loc, attr);
}

static void guard(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  Type type = divisor.getType();
  Type element = getElementTypeOrSelf(type);
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  auto equals = [&](Value value, const APInt &to) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 constant(builder, loc, type, to));
  };
  Value traps = equals(divisor, APInt::getZero(width));
  if (isSigned(op)) {
    Value overflows = arith::AndIOp::create(
        builder, loc, equals(divisor, APInt::getAllOnes(width)),
        equals(dividend, APInt::getSignedMinValue(width)));
    traps = arith::OrIOp::create(builder, loc, traps, overflows);
  }
  op->setOperand(
      1, arith::SelectOp::create(builder, loc, traps,
                                 constant(builder, loc, type, APInt(width, 1)),
                                 divisor));
}

static void guardArithDivisions(ModuleOp module) {
  SmallVector<Operation *> divisions;
  module.walk([&](Operation *op) {
    if (!isSigned(op) &&
        !isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
      return;
    APInt divisor;
    bool isSafe = matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
                  !divisor.isZero() && !divisor.isAllOnes();
    if (!isSafe)
      divisions.push_back(op);
  });
  for (Operation *op : divisions)
    guard(op);
}

static bool isSigned(const llvm::Instruction &instruction) {
  return instruction.getOpcode() == llvm::Instruction::SDiv ||
         instruction.getOpcode() == llvm::Instruction::SRem;
}

static void guard(llvm::Instruction &division) {
  llvm::IRBuilder<> builder(&division);
  llvm::Value *dividend = division.getOperand(0),
              *divisor = division.getOperand(1);
  llvm::Type *type = divisor->getType();
  auto constant = [&](const APInt &value) {
    return llvm::ConstantInt::get(type, value);
  };
  unsigned width = type->getScalarSizeInBits();
  llvm::Value *traps =
      builder.CreateICmpEQ(divisor, constant(APInt::getZero(width)));
  if (isSigned(division))
    traps = builder.CreateOr(
        traps,
        builder.CreateAnd(
            builder.CreateICmpEQ(divisor, constant(APInt::getAllOnes(width))),
            builder.CreateICmpEQ(dividend,
                                 constant(APInt::getSignedMinValue(width)))));
  division.setOperand(
      1, builder.CreateSelect(traps, constant(APInt(width, 1)), divisor));
}

void fastk::guardDivisions(llvm::Module &module) {
  SmallVector<llvm::Instruction *> divisions;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      if (!instruction.isIntDivRem())
        continue;
      const APInt *divisor;
      bool isSafe =
          llvm::PatternMatch::match(instruction.getOperand(1),
                                    llvm::PatternMatch::m_APInt(divisor)) &&
          !divisor->isZero() && !divisor->isAllOnes();
      if (!isSafe)
        divisions.push_back(&instruction);
    }
  for (llvm::Instruction *division : divisions)
    guard(*division);
}

namespace fastk {
#define GEN_PASS_DEF_FASTKGUARDDIVISIONSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkGuardDivisionsPass
    : impl::FastkGuardDivisionsPassBase<FastkGuardDivisionsPass> {
  using Base::Base;
  void runOnOperation() override { guardArithDivisions(getOperation()); }
};
} // namespace
} // namespace fastk
