//===- CarriedBuffers.cpp - Loops that a plan repeats, on memrefs ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"
#include "RepeatLoops.h"
#include "fastk/Analysis/PlanLoops.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;

/// Whether nothing uses `memref`, or a view of it, but the loop and what stands
/// before it in its block.
static bool endsAt(Value memref, scf::ForOp loop) {
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    if (user == loop)
      return true;
    Operation *ancestor = loop->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || !ancestor->isBeforeInBlock(loop))
      return false;
    return !isa<ViewLikeOpInterface>(user) || endsAt(user->getResult(0), loop);
  });
}

namespace {
/// Takes what one loop carries out of it.
class CarriedBuffers {
public:
  explicit CarriedBuffers(scf::ForOp loop)
      : loop(loop), builder(loop), loc(loop.getLoc()),
        trips(loop.getStaticTripCount()->getZExtValue()) {}

  LogicalResult place();

private:
  /// Two buffers for the value of that number, used alternately.
  void alternate(unsigned number);
  /// The place of `pair` at this byte, as the value's memref.
  Value at(Value pair, Value byte, MemRefType type) {
    return memref::ViewOp::create(builder, loc, type, pair, byte, ValueRange());
  }
  Value at(Value pair, int64_t byte, MemRefType type) {
    return at(pair, arith::ConstantIndexOp::create(builder, loc, byte), type);
  }
  /// The memory of both, where the first one begins with what comes in.
  Value makePair(OpOperand &init, int64_t slot, MemRefType type);
  void dropCarried();

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  int64_t trips;
  /// 0 in even iterations, 1 in odd ones.
  Value parity;
};
} // namespace

Value CarriedBuffers::makePair(OpOperand &init, int64_t slot, MemRefType type) {
  auto memory = MemRefType::get({2 * slot}, builder.getI8Type());
  auto alloc = init.get().getDefiningOp<memref::AllocOp>();
  bool isOwn = alloc && alloc->getBlock() == loop->getBlock() &&
               llvm::count(loop.getInits(), init.get()) == 1 &&
               endsAt(alloc, loop);
  builder.setInsertionPoint(isOwn ? alloc : loop);
  Value pair = memref::AllocOp::create(builder, loc, memory);
  Value first = at(pair, 0, type);
  if (isOwn) {
    alloc.replaceAllUsesWith(first);
    alloc.erase();
  } else {
    memref::CopyOp::create(builder, loc, init.get(), first);
  }
  return pair;
}

void CarriedBuffers::alternate(unsigned number) {
  BlockArgument before = loop.getRegionIterArg(number);
  auto type = cast<MemRefType>(before.getType());
  int64_t slot =
      llvm::alignTo(type.getNumElements() * elementBytes(type.getElementType()),
                    kWorkspaceAlignment);
  Value pair = makePair(loop.getInitsMutable()[number], slot, type);
  Block *body = loop.getBody();
  Operation *end = body->getTerminator();
  if (!parity) {
    builder.setInsertionPointToStart(body);
    Value two = arith::ConstantIndexOp::create(builder, loc, 2);
    parity = arith::RemUIOp::create(builder, loc, loop.getInductionVar(), two);
  }
  builder.setInsertionPointAfter(parity.getDefiningOp());
  Value bytes = arith::ConstantIndexOp::create(builder, loc, slot);
  Value here = arith::MulIOp::create(builder, loc, parity, bytes);
  Value there = arith::SubIOp::create(builder, loc, bytes, here);
  before.replaceAllUsesWith(at(pair, here, type));
  Value next = at(pair, there, type);
  Value made = end->getOperand(number);
  auto alloc = made.getDefiningOp<memref::AllocOp>();
  if (alloc && alloc->getBlock() == body && alloc.getType() == type) {
    alloc.replaceAllUsesWith(next);
    alloc.erase();
  } else {
    builder.setInsertionPoint(end);
    memref::CopyOp::create(builder, loc, made, next);
  }
  Value result = loop.getResult(number);
  if (result.use_empty())
    return;
  builder.setInsertionPointAfter(loop);
  result.replaceAllUsesWith(at(pair, trips % 2 * slot, type));
}

/// Makes a loop of the same body that carries nothing.
void CarriedBuffers::dropCarried() {
  builder.setInsertionPoint(loop);
  auto bare = scf::ForOp::create(builder, loc, loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep());
  Block *from = loop.getBody(), *to = bare.getBody();
  loop.getInductionVar().replaceAllUsesWith(bare.getInductionVar());
  from->getTerminator()->erase();
  to->getOperations().splice(to->begin(), from->getOperations());
  loop.erase();
}

LogicalResult CarriedBuffers::place() {
  for (auto [before, next, init, result] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues(),
                       loop.getInits(), loop.getResults())) {
    auto type = dyn_cast<MemRefType>(before.getType());
    if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
      return loop.emitError()
             << "carries " << before.getType()
             << ", for which a model for a GPU has no place: a loop of its "
                "plan "
                "carries contiguous tensors of static shape; compile with "
                "--target=host (required by 'fastk.repeat')";
    // Updated in place.
    if (next == before) {
      before.replaceAllUsesWith(init);
      result.replaceAllUsesWith(init);
    }
  }
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (!loop.getRegionIterArg(i).use_empty() || !loop.getResult(i).use_empty())
      alternate(i);
  dropCarried();
  return success();
}

LogicalResult fastk::placeCarriedBuffers(func::FuncOp func) {
  SmallVector<scf::ForOp> loops;
  // Inner ones first.
  func.walk([&](scf::ForOp loop) {
    if (isPlanLoop(loop) && loop.getNumResults() != 0)
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops)
    if (failed(CarriedBuffers(loop).place()))
      return failure();
  return success();
}
