//===- CarriedBuffers.cpp - Loops that a plan repeats, on memrefs ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/DeviceKernels.h"
#include "Cuda/Kernels/MemrefPlace.h"
#include "RepeatLoops.h"
#include "fastk/Analysis/PlanLoops.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
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

/// Whether a use of a buffer leaves it as it is, and gives it to nobody else.
static bool isRead(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto call = dyn_cast<CallOp>(user))
    return !llvm::is_contained(call.getInits(), use.get());
  if (auto copy = dyn_cast<memref::CopyOp>(user))
    return use.get() != copy.getTarget();
  if (auto structured = dyn_cast<linalg::LinalgOp>(user))
    return structured.isDpsInput(&use);
  return false;
}

/// Whether all uses of a buffer and its views that `which` wants are reads.
static bool isOnlyRead(Value memref,
                       llvm::function_ref<bool(Operation *)> which) {
  return llvm::all_of(memref.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<ViewLikeOpInterface>(user))
      return isOnlyRead(user->getResult(0), which);
    return !which(user) || isRead(use);
  });
}

static int64_t bytesOf(MemRefType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}

namespace {
/// A tensor that a loop fills row by row with the values that it carries.
struct Rows {
  memref::AllocOp alloc;
  /// Of the next value to its row.
  memref::CopyOp copy;
  /// Whether the first iteration fills the first row, or the last one.
  bool isForward;
};

/// Takes what one loop carries out of it.
class CarriedBuffers {
public:
  explicit CarriedBuffers(scf::ForOp loop)
      : loop(loop), builder(loop), loc(loop.getLoc()),
        trips(loop.getStaticTripCount()->getZExtValue()) {}

  LogicalResult place();

private:
  /// Where the value of that number goes, row by row, if all of it does.
  std::optional<Rows> findRows(unsigned number);
  /// Lets the rows themselves be what is carried, with one more for the start.
  void shareRows(unsigned number, Rows rows);
  /// Two buffers for the value of that number, used alternately.
  void alternate(unsigned number);
  /// The place of `pair` at this byte, as the value's memref.
  Value at(Value pair, Value byte, MemRefType type) {
    return memref::ViewOp::create(builder, loc, type, pair, byte, ValueRange());
  }
  Value at(Value pair, int64_t byte, MemRefType type) {
    return at(pair, arith::ConstantIndexOp::create(builder, loc, byte), type);
  }
  /// The allocation of what comes in for the value of that number, where nobody
  /// but the loop needs it any more.
  memref::AllocOp findOwnStart(unsigned number);
  /// Lets what comes in be at `place`.
  void putStart(unsigned number, memref::AllocOp own, Value place);
  void dropCarried();

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  int64_t trips;
  /// 0 in even iterations, 1 in odd ones.
  Value parity;
};
} // namespace

memref::AllocOp CarriedBuffers::findOwnStart(unsigned number) {
  Value init = loop.getInits()[number];
  auto alloc = init.getDefiningOp<memref::AllocOp>();
  bool isOwn = alloc && alloc->getBlock() == loop->getBlock() &&
               llvm::count(loop.getInits(), init) == 1 && endsAt(alloc, loop);
  return isOwn ? alloc : nullptr;
}

void CarriedBuffers::putStart(unsigned number, memref::AllocOp own,
                              Value place) {
  if (!own) {
    builder.setInsertionPoint(loop);
    memref::CopyOp::create(builder, loc, loop.getInits()[number], place);
    return;
  }
  own.replaceAllUsesWith(place);
  own.erase();
}

void CarriedBuffers::alternate(unsigned number) {
  BlockArgument before = loop.getRegionIterArg(number);
  auto type = cast<MemRefType>(before.getType());
  int64_t slot = llvm::alignTo(bytesOf(type), kWorkspaceAlignment);
  memref::AllocOp start = findOwnStart(number);
  builder.setInsertionPoint(start ? start.getOperation() : loop);
  Value pair = memref::AllocOp::create(
      builder, loc, MemRefType::get({2 * slot}, builder.getI8Type()));
  putStart(number, start, at(pair, 0, type));
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

std::optional<Rows> CarriedBuffers::findRows(unsigned number) {
  BlockArgument before = loop.getRegionIterArg(number);
  auto type = cast<MemRefType>(before.getType());
  int64_t bytes = bytesOf(type);
  Block *body = loop.getBody();
  auto made = body->getTerminator()
                  ->getOperand(number)
                  .getDefiningOp<memref::AllocOp>();
  if (!made || made->getBlock() != body || made.getType() != type ||
      bytes % kOperandAlignment != 0 ||
      llvm::count(loop.getYieldedValues(), made.getResult()) != 1)
    return std::nullopt;
  Rows rows;
  for (Operation *user : made->getUsers())
    if (auto copy = dyn_cast<memref::CopyOp>(user);
        copy && copy->getBlock() == body && copy.getSource() == made)
      rows.copy = copy;
  if (!rows.copy)
    return std::nullopt;
  Value row = rows.copy.getTarget();
  std::optional<MemrefPlace> place = findPlace(row);
  if (!place || !isContiguous(cast<MemRefType>(row.getType())) ||
      place->bytes.terms.size() != 1 ||
      place->bytes.terms.front().loop != loop ||
      place->bytes.terms.front().odd != 0)
    return std::nullopt;
  rows.alloc = place->buffer.getDefiningOp<memref::AllocOp>();
  if (!rows.alloc || rows.alloc->getBlock() != loop->getBlock() ||
      !rows.alloc.getType().getLayout().isIdentity() ||
      bytesOf(rows.alloc.getType()) != trips * bytes)
    return std::nullopt;
  int64_t each = place->bytes.terms.front().each;
  rows.isForward = each == bytes;
  if (place->bytes.constant != (rows.isForward ? 0 : (trips - 1) * bytes) ||
      (!rows.isForward && each != -bytes))
    return std::nullopt;
  // In the loop the copy alone knows the rows, and later on nobody writes them,
  // the state that was in another buffer, or what was copied.
  auto isInLoop = [&](Operation *op) {
    return loop->isProperAncestor(op) && op != rows.copy;
  };
  auto isLater = [&](Operation *op) {
    Operation *ancestor = loop->getBlock()->findAncestorOpInBlock(*op);
    return !ancestor || loop->isBeforeInBlock(ancestor);
  };
  auto isBehindCopy = [&](Operation *op) {
    Operation *ancestor = body->findAncestorOpInBlock(*op);
    return op != body->getTerminator() &&
           (!ancestor || rows.copy->isBeforeInBlock(ancestor));
  };
  auto isNotEnd = [&](Operation *op) { return op != body->getTerminator(); };
  auto isAny = [](Operation *) { return true; };
  auto isUsed = [&](Value memref, auto &&self) -> bool {
    return llvm::any_of(memref.getUsers(), [&](Operation *user) {
      return isa<ViewLikeOpInterface>(user) ? self(user->getResult(0), self)
                                            : isInLoop(user);
    });
  };
  if (isUsed(rows.alloc, isUsed) || !isOnlyRead(rows.alloc, isLater) ||
      !isOnlyRead(made, isBehindCopy) || !isOnlyRead(before, isNotEnd) ||
      !isOnlyRead(loop.getResult(number), isAny))
    return std::nullopt;
  return rows;
}

void CarriedBuffers::shareRows(unsigned number, Rows rows) {
  BlockArgument before = loop.getRegionIterArg(number);
  auto type = cast<MemRefType>(before.getType());
  int64_t row = bytesOf(type), all = trips * row;
  memref::AllocOp start = findOwnStart(number);
  bool isEarlier = start && start->isBeforeInBlock(rows.alloc);
  builder.setInsertionPoint(isEarlier ? start : rows.alloc);
  Value memory = memref::AllocOp::create(
      builder, loc, MemRefType::get({all + row}, builder.getI8Type()));
  // What comes in is in front of the first row, or behind the last one.
  Value first = at(memory, rows.isForward ? 0 : all, type);
  rows.alloc.replaceAllUsesWith(
      at(memory, rows.isForward ? row : 0, rows.alloc.getType()));
  rows.alloc.erase();
  putStart(number, start, first);
  builder.setInsertionPointToStart(loop.getBody());
  Value bytes = arith::ConstantIndexOp::create(builder, loc, row);
  Value passed =
      arith::MulIOp::create(builder, loc, loop.getInductionVar(), bytes);
  Value here = passed, there;
  if (rows.isForward) {
    there = arith::AddIOp::create(builder, loc, here, bytes);
  } else {
    Value end = arith::ConstantIndexOp::create(builder, loc, all);
    here = arith::SubIOp::create(builder, loc, end, passed);
    there = arith::SubIOp::create(builder, loc, here, bytes);
  }
  before.replaceAllUsesWith(at(memory, here, type));
  auto made = rows.copy.getSource().getDefiningOp<memref::AllocOp>();
  Value next = at(memory, there, type);
  rows.copy.erase();
  made.replaceAllUsesWith(next);
  made.erase();
  Value result = loop.getResult(number);
  if (result.use_empty())
    return;
  builder.setInsertionPointAfter(loop);
  result.replaceAllUsesWith(at(memory, rows.isForward ? all : 0, type));
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
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    if (loop.getRegionIterArg(i).use_empty() && loop.getResult(i).use_empty())
      continue;
    if (std::optional<Rows> rows = findRows(i))
      shareRows(i, *rows);
    else
      alternate(i);
  }
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
