//===- RaiseVariances.cpp - Variances in the operand's type ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseVariances.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKRAISEVARIANCESPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using namespace mlir;
using namespace fastk;

namespace {

linalg::GenericOp genericOf(Value value) {
  return value ? value.getDefiningOp<linalg::GenericOp>() : linalg::GenericOp();
}

/// The op of a linalg.generic with one result that is one OpTy, or null.
template <class OpTy>
OpTy onlyOp(linalg::GenericOp generic) {
  if (!generic || generic->getNumResults() != 1 ||
      !llvm::hasNItems(*generic.getBody(), 2))
    return nullptr;
  auto op = dyn_cast<OpTy>(generic.getBody()->front());
  return op && op->getResult(0) ==
                     generic.getBody()->getTerminator()->getOperand(0)
             ? op
             : nullptr;
}

/// The tensor whose element is argument `value` of a body, or null.
Value tensorOf(linalg::GenericOp generic, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != generic.getBody())
    return nullptr;
  return generic->getOperand(argument.getArgNumber());
}

/// Elementwise: each element of the operand makes the one at its place.
bool isElementwise(linalg::GenericOp generic) {
  return generic.getNumLoops() == generic.getNumParallelLoops() &&
         llvm::all_of(generic.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

/// What is summed to 0, where that is all that `generic` does; or null.
Value matchSum(linalg::GenericOp generic) {
  auto add = onlyOp<arith::AddFOp>(generic);
  if (!add || generic.getNumReductionLoops() == 0 ||
      generic.getNumDpsInputs() != 1)
    return nullptr;
  auto fill = generic.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.value(), m_AnyZeroFloat()))
    return nullptr;
  Value in = generic.getBody()->getArgument(0);
  Value out = generic.getBody()->getArgument(1);
  bool addsUp = (add.getLhs() == in && add.getRhs() == out) ||
                (add.getLhs() == out && add.getRhs() == in);
  return addsUp ? generic.getDpsInputs()[0] : Value();
}

std::optional<APFloat> asFloat32(FloatAttr number) {
  APFloat value = number.getValue();
  bool losesInfo = false;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return losesInfo ? std::nullopt : std::optional<APFloat>(value);
}

/// The sum of what `mean` is the quotient of, by a number of f32; or null.
linalg::GenericOp matchQuotientOfSum(Value mean) {
  linalg::GenericOp generic = genericOf(mean);
  auto divide = onlyOp<arith::DivFOp>(generic);
  FloatAttr count;
  if (!divide || !isElementwise(generic) ||
      !matchPattern(divide.getRhs(), m_Constant(&count)) || !asFloat32(count))
    return nullptr;
  linalg::GenericOp sum = genericOf(tensorOf(generic, divide.getLhs()));
  return matchSum(sum) ? sum : linalg::GenericOp();
}

/// The tensor that the f64 values of a body of one op come from, or null.
Value matchWidened(Value value) {
  linalg::GenericOp generic = genericOf(value);
  auto widen = onlyOp<arith::ExtFOp>(generic);
  return widen && isElementwise(generic) && widen.getIn().getType().isF32()
             ? tensorOf(generic, widen.getIn())
             : Value();
}

/// Whether `x` is summed over the same elements in its own type, as the mean of
/// a norm is.
bool isSummedAsItIs(Value x, linalg::GenericOp wideSum) {
  return llvm::any_of(x.getUsers(), [&](Operation *user) {
    auto sum = dyn_cast<linalg::GenericOp>(user);
    return sum && matchSum(sum) == x &&
           sum.getIndexingMaps() == wideSum.getIndexingMaps() &&
           sum.getIteratorTypes() == wideSum.getIteratorTypes();
  });
}

/// Whether `narrow` rounds the variance, in f64, of a tensor of f32 whose mean
/// is computed in f32.
bool roundsVariance(linalg::GenericOp narrow) {
  auto round = onlyOp<arith::TruncFOp>(narrow);
  if (!round || !isElementwise(narrow) || !round.getType().isF32() ||
      !round.getIn().getType().isF64())
    return false;
  linalg::GenericOp sumOfSquares =
      matchQuotientOfSum(tensorOf(narrow, round.getIn()));
  if (!sumOfSquares)
    return false;

  linalg::GenericOp squares = genericOf(matchSum(sumOfSquares));
  auto square = onlyOp<arith::MulFOp>(squares);
  if (!square || !isElementwise(squares))
    return false;
  Value centred = tensorOf(squares, square.getLhs());
  if (!centred || centred != tensorOf(squares, square.getRhs()))
    return false;

  linalg::GenericOp centre = genericOf(centred);
  auto subtract = onlyOp<arith::SubFOp>(centre);
  if (!subtract)
    return false;
  Value wide = tensorOf(centre, subtract.getLhs());
  linalg::GenericOp sum =
      matchQuotientOfSum(tensorOf(centre, subtract.getRhs()));
  if (!wide || !sum || matchSum(sum) != wide)
    return false;
  Value x = matchWidened(wide);
  return x && isSummedAsItIs(x, sum);
}

/// Makes what is f64 in a matched variance anew in f32.
class Narrow {
public:
  Narrow(OpBuilder &builder) : builder(builder) {}

  Value value(Value wide) {
    if (Value known = made.lookup(wide))
      return known;
    Value x = matchWidened(wide);
    Value narrow = x ? x : make(wide);
    made[wide] = narrow;
    return narrow;
  }

private:
  Value make(Value wide) {
    Operation *op = wide.getDefiningOp();
    Location loc = op->getLoc();
    FloatAttr number;
    if (matchPattern(wide, m_Constant(&number)))
      return arith::ConstantOp::create(
          builder, loc,
          FloatAttr::get(builder.getF32Type(), *asFloat32(number)));
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return tensor::EmptyOp::create(builder, loc, empty.getMixedSizes(),
                                     builder.getF32Type());
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return linalg::FillOp::create(builder, loc, value(fill.value()),
                                    value(fill.output()))
          .getResult(0);
    return generic(cast<linalg::GenericOp>(op));
  }

  Value generic(linalg::GenericOp wide) {
    SmallVector<Value> inputs = llvm::map_to_vector(
        wide.getDpsInputs(), [&](Value each) { return value(each); });
    Value init = value(wide.getDpsInits()[0]);
    IRMapping mapping;
    Operation &only = wide.getBody()->front();
    for (Value operand : only.getOperands())
      if (!isa<BlockArgument>(operand))
        mapping.map(operand, value(operand));
    return linalg::GenericOp::create(
               builder, wide.getLoc(), init.getType(), inputs, init,
               wide.getIndexingMapsArray(), wide.getIteratorTypesArray(),
               [&](OpBuilder &nested, Location loc, ValueRange arguments) {
                 mapping.map(wide.getBody()->getArguments(), arguments);
                 Operation *op = nested.clone(only, mapping);
                 op->getResult(0).setType(nested.getF32Type());
                 linalg::YieldOp::create(nested, loc, op->getResult(0));
               })
        .getResult(0);
  }

  OpBuilder &builder;
  llvm::DenseMap<Value, Value> made;
};

} // namespace

void fastk::raiseVariances(FunctionOpInterface function) {
  SmallVector<linalg::GenericOp> roundings;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // What somebody has formed has a key that is asked for.
    if (isa<WorkloadOp>(op))
      return WalkResult::skip();
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      if (roundsVariance(generic))
        roundings.push_back(generic);
    return WalkResult::advance();
  });
  if (roundings.empty())
    return;
  IRRewriter rewriter(function.getContext());
  for (linalg::GenericOp rounding : roundings) {
    remark::passed(rounding.getLoc(), remark::RemarkOpts::name("raise-variance")
                                          .category("fastk")
                                          .function(function.getName()))
        << remark::reason("f32 instead of f64, as the mean is");
    rewriter.setInsertionPoint(rounding);
    rewriter.replaceOp(rounding,
                       Narrow(rewriter).value(rounding.getDpsInputs()[0]));
  }
  // What was wide has no use, and the mean and what it centres come twice.
  (void)runRegionDCE(rewriter, function->getRegions());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

namespace {
struct FastkRaiseVariancesPass
    : fastk::impl::FastkRaiseVariancesPassBase<FastkRaiseVariancesPass> {
  using Base::Base;

  void runOnOperation() override { raiseVariances(getOperation()); }
};
} // namespace
