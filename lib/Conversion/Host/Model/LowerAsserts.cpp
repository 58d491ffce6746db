//===- LowerAsserts.cpp - cf.assert becomes an error number ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's lowering calls abort(). Here a function's own asserts branch to
// where it frees its memory and returns. Inside of an OpenMP loop one leaves
// its number in the function's status and ends the iteration; the status is
// looked at after the parallel region.
//
//===----------------------------------------------------------------------===//

#include "CallFrame.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"

using namespace mlir;
using namespace fastk;

namespace {
/// Rewrites one function.
class AssertLowering {
public:
  AssertLowering(func::FuncOp func, ErrorTexts &errors)
      : func(func), errors(errors), builder(func.getContext()),
        number(builder.getI32Type()) {}

  LogicalResult run();

private:
  /// The block that frees what the function holds and returns its argument.
  void makeExit();
  void returnIf(cf::AssertOp op);
  LogicalResult leaveIteration(cf::AssertOp op);
  void checkAfter(omp::ParallelOp op);
  Value constant(Location loc, int32_t value) {
    return LLVM::ConstantOp::create(builder, loc, number, value);
  }
  /// Splits the block at `op`; the second half.
  static Block *splitAt(Operation *op) {
    return op->getBlock()->splitBlock(op);
  }

  func::FuncOp func;
  ErrorTexts &errors;
  OpBuilder builder;
  Type number;
  Block *exit = nullptr;
  Value status;
  DenseMap<Region *, Block *> iterationEnds;
};
} // namespace

void AssertLowering::makeExit() {
  func::ReturnOp ret;
  for (Block &block : func.getBody())
    if ((ret = dyn_cast<func::ReturnOp>(block.getTerminator())))
      break;
  // What frees memory is last.
  Operation *first = ret;
  auto frees = [](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      return call.getCallee() == "fastk.frame.end";
    return isa<memref::DeallocOp>(op);
  };
  while (Operation *before = first->getPrevNode()) {
    if (!frees(before))
      break;
    first = before;
  }
  Block *before = first->getBlock();
  exit = splitAt(first);
  Location loc = ret.getLoc();
  BlockArgument code = exit->addArgument(number, loc);
  builder.setInsertionPoint(ret);
  func::ReturnOp::create(builder, loc, ValueRange(code));
  ret.erase();
  builder.setInsertionPointToEnd(before);
  Value done = constant(loc, 0);
  cf::BranchOp::create(builder, loc, exit, done);
}

void AssertLowering::returnIf(cf::AssertOp op) {
  Location loc = op.getLoc();
  int32_t code = errors.numberOf(op.getMsg());
  Value holds = op.getArg();
  Block *before = op->getBlock(), *after = splitAt(op);
  op.erase();
  builder.setInsertionPointToEnd(before);
  Value failed = constant(loc, code);
  cf::CondBranchOp::create(builder, loc, holds, after, ValueRange(), exit,
                           ValueRange(failed));
}

LogicalResult AssertLowering::leaveIteration(cf::AssertOp op) {
  Region *region = op->getParentRegion();
  if (!isa<omp::LoopNestOp>(region->getParentOp()))
    return op.emitError()
           << "stands in " << region->getParentOp()->getName()
           << ", where fastk cannot report an error at run time (required by "
              "'fastk.assert')";
  Location loc = op.getLoc();
  if (!status) {
    builder.setInsertionPointToStart(&func.getBody().front());
    Value one = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), 1);
    status = LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(func.getContext()), number,
        one);
    LLVM::StoreOp::create(builder, loc, constant(loc, 0), status);
  }
  Block *&end = iterationEnds[region];
  if (!end) {
    end = builder.createBlock(region, region->end());
    omp::YieldOp::create(builder, loc, ValueRange());
  }
  int32_t code = errors.numberOf(op.getMsg());
  Value holds = op.getArg();
  Block *before = op->getBlock(), *after = splitAt(op);
  op.erase();
  Block *report = builder.createBlock(end);
  // Whichever thread is last: any of the errors will do.
  LLVM::StoreOp::create(builder, loc, constant(loc, code), status,
                        /*alignment=*/4, /*isVolatile=*/false,
                        /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::monotonic);
  cf::BranchOp::create(builder, loc, end);
  builder.setInsertionPointToEnd(before);
  cf::CondBranchOp::create(builder, loc, holds, after, ValueRange(), report,
                           ValueRange());
  return success();
}

void AssertLowering::checkAfter(omp::ParallelOp op) {
  Location loc = op.getLoc();
  Block *before = op->getBlock(), *after = splitAt(op->getNextNode());
  builder.setInsertionPointToEnd(before);
  Value code = LLVM::LoadOp::create(builder, loc, number, status,
                                    /*alignment=*/4);
  Value good = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, code,
                                    constant(loc, 0));
  cf::CondBranchOp::create(builder, loc, good, after, ValueRange(), exit,
                           ValueRange(code));
}

LogicalResult AssertLowering::run() {
  SmallVector<cf::AssertOp> asserts;
  func.walk([&](cf::AssertOp op) { asserts.push_back(op); });
  makeExit();
  SetVector<omp::ParallelOp> regions;
  for (cf::AssertOp op : asserts) {
    if (op->getParentOp() == func) {
      returnIf(op);
      continue;
    }
    omp::ParallelOp outermost;
    for (Operation *parent = op->getParentOp(); parent != func;
         parent = parent->getParentOp())
      if (auto parallel = dyn_cast<omp::ParallelOp>(parent))
        outermost = parallel;
    if (failed(leaveIteration(op)))
      return failure();
    regions.insert(outermost);
  }
  for (omp::ParallelOp op : regions)
    checkAfter(op);
  func.setFunctionType(
      builder.getFunctionType(func.getArgumentTypes(), number));
  return success();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKLOWERASSERTSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkLowerAssertsPass
    : impl::FastkLowerAssertsPassBase<FastkLowerAssertsPass> {
  using Base::Base;
  void runOnOperation() override {
    ErrorTexts errors;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && failed(AssertLowering(func, errors).run()))
        return signalPassFailure();
    errors.attachTo(getOperation());
  }
};
} // namespace
} // namespace fastk
