//===- SearchExtremum.cpp - Where the extremum of a row is ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchExtremum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fastk;

/// Elements of a piece: few enough for the first cache, where they are when
/// they are searched, and many enough that joining vectors costs little.
static constexpr int64_t kPiece = 512;

namespace {
/// What such a loop does.
struct Search {
  /// The elements.
  memref::LoadOp load;
  /// Of the element and of what the loop carries, and the number of that.
  Operation *extremum = nullptr;
  unsigned number = 0;
  /// Asks whether an element is beyond what the loop carries.
  Operation *question = nullptr;
  /// All that carries something from one step to the next.
  DenseSet<Operation *> carriers;

  Value element() const { return load->getResult(0); }
  bool isFloat() const { return isa<FloatType>(element().getType()); }
};
} // namespace

/// Whether `op` asks if `element` is beyond `carried`, in the direction of
/// `extremum`.
static bool isBeyond(Operation *op, Operation *extremum, Value element,
                     Value carried) {
  auto isOf = [&](Value lhs, Value rhs, bool isSwapped) {
    return isSwapped ? lhs == carried && rhs == element
                     : lhs == element && rhs == carried;
  };
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    using P = arith::CmpFPredicate;
    bool isMost = isa<arith::MaximumFOp>(extremum);
    if (!isMost && !isa<arith::MinimumFOp>(extremum))
      return false;
    P predicate = compare.getPredicate();
    return (predicate == P::OGT || predicate == P::OLT) &&
           isOf(compare.getLhs(), compare.getRhs(),
                isMost != (predicate == P::OGT));
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return false;
  using P = arith::CmpIPredicate;
  P greater = isa<arith::MaxSIOp, arith::MinSIOp>(extremum) ? P::sgt : P::ugt;
  P less = isa<arith::MaxSIOp, arith::MinSIOp>(extremum) ? P::slt : P::ult;
  P predicate = compare.getPredicate();
  return (predicate == greater || predicate == less) &&
         isOf(compare.getLhs(), compare.getRhs(),
              isa<arith::MaxSIOp, arith::MaxUIOp>(extremum) !=
                  (predicate == greater));
}

/// Flags say what never happens; a piece begins with an infinity.
static bool hasFlags(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  return flags &&
         flags.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none;
}

/// Finds the extremum among what the loop yields.
static bool findExtremum(scf::ForOp loop, Search &search) {
  auto yielded = loop.getBody()->getTerminator()->getOperands();
  for (auto [i, value] : llvm::enumerate(yielded)) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp,
                         arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(op) ||
        op->getBlock() != loop.getBody() || !op->hasOneUse() || hasFlags(op) ||
        !isa<FloatType, IntegerType>(value.getType()))
      continue;
    Value carried = loop.getRegionIterArg(i);
    for (unsigned k : {0, 1}) {
      auto load = op->getOperand(k).getDefiningOp<memref::LoadOp>();
      if (op->getOperand(1 - k) != carried || !load ||
          load->getBlock() != loop.getBody())
        continue;
      search.load = load;
      search.extremum = op;
      search.number = i;
      search.carriers.insert(op);
      return true;
    }
  }
  return false;
}

/// Whether the elements lie beside each other, in the order of the steps.
static bool isContiguous(scf::ForOp loop, memref::LoadOp load) {
  if (load.getIndices().empty() ||
      load.getIndices().back() != loop.getInductionVar() ||
      !load.getMemRefType().isLastDimUnitStride())
    return false;
  return llvm::all_of(load.getIndices().drop_back(), [&](Value index) {
    return loop.isDefinedOutsideOfLoop(index);
  });
}

/// `loop` as a search for an extremum and what belongs to its first place.
static std::optional<Search> matchSearch(scf::ForOp loop) {
  Search search;
  if (getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1 ||
      loop.getNumRegionIterArgs() < 2 || !findExtremum(loop, search) ||
      !isContiguous(loop, search.load))
    return std::nullopt;
  for (Operation &op : loop.getBody()->without_terminator())
    if (op.getNumRegions() ||
        (!isa<memref::LoadOp>(op) && !isMemoryEffectFree(&op)))
      return std::nullopt;
  // What is carried goes nowhere but where the extremum decides.
  Value carried = loop.getRegionIterArg(search.number);
  for (Operation *user : carried.getUsers()) {
    if (user == search.extremum)
      continue;
    if (!isBeyond(user, search.extremum, search.element(), carried) ||
        hasFlags(user))
      return std::nullopt;
    search.question = user;
    search.carriers.insert(user);
  }
  if (!search.question)
    return std::nullopt;
  auto yielded = loop.getBody()->getTerminator()->getOperands();
  for (auto [i, value] : llvm::enumerate(yielded)) {
    if (i == search.number)
      continue;
    auto select = value.getDefiningOp<arith::SelectOp>();
    Value kept = loop.getRegionIterArg(i);
    if (!select || !select->hasOneUse() || !kept.hasOneUse() ||
        select.getFalseValue() != kept || select.getTrueValue() == kept ||
        !search.carriers.contains(select.getCondition().getDefiningOp()) ||
        search.carriers.contains(select.getTrueValue().getDefiningOp()))
      return std::nullopt;
    search.carriers.insert(select);
  }
  // Nothing else asks whether an element is the extremum so far.
  for (Operation *op : search.carriers)
    for (Operation *user : op->getUsers())
      if (user != loop.getBody()->getTerminator() &&
          !search.carriers.contains(user))
        return std::nullopt;
  return search;
}

namespace {
/// Writes the loop over pieces.
class SearchEmitter {
public:
  SearchEmitter(RewriterBase &rewriter, scf::ForOp loop, const Search &search)
      : rewriter(rewriter), loop(loop), search(search), loc(loop.getLoc()) {}

  scf::ForOp emit();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value yielded(unsigned number) {
    return loop.getBody()->getTerminator()->getOperand(number);
  }
  /// What a step computes without the steps before it, at `place`.
  IRMapping cloneStep(Value place);
  /// A loop over the piece that carries `init`.
  Value reduce(Value init,
               llvm::function_ref<Value(Value step, Value carried)> combine);
  Value extremumOfPiece();
  Value findFirst(Value extremum);
  SmallVector<Value> runAsItWas(ValueRange carried);
  SmallVector<Value> takePiece(Value extremum, ValueRange carried);
  SmallVector<Value> takeNumbers(Value extremum, ValueRange carried);
  /// `cond` decides between two ways to what the loop carries.
  SmallVector<Value>
  decide(Value cond, llvm::function_ref<SmallVector<Value>()> thenValues,
         llvm::function_ref<SmallVector<Value>()> elseValues);

  RewriterBase &rewriter;
  scf::ForOp loop;
  const Search &search;
  Location loc;
  /// Where the piece begins, and its elements.
  Value from, length;
};
} // namespace

IRMapping SearchEmitter::cloneStep(Value place) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), place);
  for (Operation &op : loop.getBody()->without_terminator())
    if (!search.carriers.contains(&op))
      rewriter.clone(op, mapping);
  return mapping;
}

Value SearchEmitter::reduce(
    Value init, llvm::function_ref<Value(Value step, Value carried)> combine) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto steps =
      scf::ForOp::create(rewriter, loc, index(0), length, index(1), init);
  rewriter.setInsertionPointToStart(steps.getBody());
  Value value = combine(steps.getInductionVar(), steps.getRegionIterArg(0));
  scf::YieldOp::create(rewriter, loc, value);
  return steps.getResult(0);
}

Value SearchEmitter::extremumOfPiece() {
  Value neutral = arith::ConstantOp::create(
      rewriter, loc, *arith::getNeutralElement(search.extremum));
  return reduce(neutral, [&](Value step, Value carried) {
    IRMapping mapping =
        cloneStep(arith::AddIOp::create(rewriter, loc, from, step));
    mapping.map(loop.getRegionIterArg(search.number), carried);
    return rewriter.clone(*search.extremum, mapping)->getResult(0);
  });
}

/// The first place of the piece that has `extremum`, which one of them has.
Value SearchEmitter::findFirst(Value extremum) {
  // As 32 bits, of which a vector has as many as of floats.
  Type type = rewriter.getI32Type();
  Value none = arith::ConstantIntOp::create(rewriter, loc, type, kPiece);
  Value first = reduce(none, [&](Value step, Value carried) -> Value {
    IRMapping mapping =
        cloneStep(arith::AddIOp::create(rewriter, loc, from, step));
    Value element = mapping.lookup(search.element());
    Value isIt;
    if (search.isFloat())
      isIt = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OEQ,
                                   element, extremum);
    else
      isIt = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                   element, extremum);
    Value number = arith::IndexCastUIOp::create(rewriter, loc, type, step);
    Value place = arith::SelectOp::create(rewriter, loc, isIt, number, none);
    return arith::MinUIOp::create(rewriter, loc, place, carried);
  });
  Value step = arith::IndexCastUIOp::create(rewriter, loc,
                                            rewriter.getIndexType(), first);
  return arith::AddIOp::create(rewriter, loc, from, step);
}

/// The loop as it was, over the piece.
SmallVector<Value> SearchEmitter::runAsItWas(ValueRange carried) {
  auto whole = cast<scf::ForOp>(rewriter.clone(*loop));
  whole.setLowerBound(from);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(whole);
  whole.setUpperBound(arith::AddIOp::create(rewriter, loc, from, length));
  whole.getInitArgsMutable().assign(carried);
  return whole.getResults();
}

SmallVector<Value>
SearchEmitter::decide(Value cond,
                      llvm::function_ref<SmallVector<Value>()> thenValues,
                      llvm::function_ref<SmallVector<Value>()> elseValues) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto branch = scf::IfOp::create(rewriter, loc, loop.getResultTypes(), cond,
                                  /*withElseRegion=*/true);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(rewriter, loc, thenValues());
  rewriter.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(rewriter, loc, elseValues());
  return branch.getResults();
}

/// The piece has no NaN.
SmallVector<Value> SearchEmitter::takeNumbers(Value extremum,
                                              ValueRange carried) {
  Value before = carried[search.number];
  // Beyond what came before, by the loop's own question.
  IRMapping asked;
  asked.map(search.element(), extremum);
  asked.map(loop.getRegionIterArg(search.number), before);
  Value isBeyond = rewriter.clone(*search.question, asked)->getResult(0);
  return decide(
      isBeyond,
      [&] {
        IRMapping mapping = cloneStep(findFirst(extremum));
        SmallVector<Value> values;
        for (unsigned i = 0, e = loop.getNumResults(); i < e; ++i)
          values.push_back(i == search.number
                               ? extremum
                               : mapping.lookupOrDefault(
                                     yielded(i)
                                         .getDefiningOp<arith::SelectOp>()
                                         .getTrueValue()));
        return values;
      },
      [&] {
        // Zeros of both signs are equal, and one of them is the larger.
        SmallVector<Value> values(carried);
        values[search.number] =
            rewriter.clone(*search.extremum, asked)->getResult(0);
        return values;
      });
}

SmallVector<Value> SearchEmitter::takePiece(Value extremum,
                                            ValueRange carried) {
  if (!search.isFloat())
    return takeNumbers(extremum, carried);
  Value isNaN = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO,
                                      extremum, extremum);
  return decide(
      isNaN, [&] { return runAsItWas(carried); },
      [&] { return takeNumbers(extremum, carried); });
}

scf::ForOp SearchEmitter::emit() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop);
  Value size = loop.getUpperBound();
  Value piece = index(kPiece);
  auto pieces = scf::ForOp::create(rewriter, loc, index(0), size, piece,
                                   loop.getInitArgs());
  rewriter.setInsertionPointToStart(pieces.getBody());
  from = pieces.getInductionVar();
  length = arith::MinUIOp::create(
      rewriter, loc, piece, arith::SubIOp::create(rewriter, loc, size, from));
  SmallVector<Value> values =
      takePiece(extremumOfPiece(), pieces.getRegionIterArgs());
  scf::YieldOp::create(rewriter, loc, values);
  rewriter.replaceOp(loop, pieces);
  return pieces;
}

scf::ForOp fastk::searchInPieces(RewriterBase &rewriter, scf::ForOp loop) {
  std::optional<Search> search = matchSearch(loop);
  return search ? SearchEmitter(rewriter, loop, *search).emit() : scf::ForOp();
}
