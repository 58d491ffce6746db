//===- DeriveConditionSums.cpp - Conditions of reductions -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of n terms t rounds at each addition, in an order that nobody
// prescribes: one after another it errs, in the root mean square, by about
// u sqrt(n / 9) sum |t| where all terms have one sign (each of n roundings is
// uniform within u |s|, s growing evenly), and by less in any other order or
// with any other signs. sqrt(n) / 4 sum |t| times 8 u is six times that. Terms
// that are zero add no rounding: they do not count, which is why rows of few
// terms tell how exact products are.
//
//===----------------------------------------------------------------------===//

#include "TensorConditions.h"
#include "fastk/Dialect/Linalg/Fills.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace fastk;

/// Whether a tensor is made of constants: nobody splits these.
static bool isConstant(Value tensor) {
  Value fill = fillOf(tensor);
  return matchPattern(fill ? fill : tensor, m_Constant());
}

FailureOr<Value> TensorConditions::sumOver(
    linalg::GenericOp op, unsigned result, Value term,
    function_ref<Value(ScalarConditions &, Value, Value)> summand) {
  SmallVector<unsigned> known;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  listOperands(op, known, inputs, maps);
  Value init = zerosLike(op.getResult(result));
  inputs.push_back(op.getResult(result));
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  maps.append(2, map);
  auto generic = linalg::GenericOp::create(b, TypeRange{init.getType()}, inputs,
                                           ValueRange{init}, maps,
                                           op.getIteratorTypesArray());
  Block *block = &generic.getRegion().emplaceBlock();
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input.getType()), op.getLoc());
  block->addArgument(b.getF64Type(), op.getLoc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);
  IRMapping mapping;
  ScalarConditions scalars(b, rounding);
  if (failed(analyzeBody(op, block, known, mapping, scalars, term)))
    return failure();
  Value total = block->getArguments().back();
  Value whole = block->getArguments().drop_back().back();
  Value value = summand(scalars, mapping.lookupOrDefault(term), whole);
  if (value)
    total = arith::AddFOp::create(b, total, value);
  linalg::YieldOp::create(b, total);
  return generic.getResult(0);
}

Value TensorConditions::sumOfProducts(linalg::GenericOp op, unsigned result,
                                      unsigned lhs, Value lhsTensor,
                                      unsigned rhs, Value rhsTensor) {
  SmallVector<AffineMap> all = op.getIndexingMapsArray();
  AffineMap maps[] = {all[lhs], all[rhs],
                      op.getMatchingIndexingMap(op.getDpsInitOperand(result))};
  Value init = zerosLike(op.getResult(result));
  return linalg::GenericOp::create(
             b, TypeRange{init.getType()}, ValueRange{lhsTensor, rhsTensor},
             ValueRange{init}, ArrayRef<AffineMap>(maps),
             op.getIteratorTypesArray(),
             [](OpBuilder &builder, Location loc, ValueRange arguments) {
               Value product = arith::MulFOp::create(builder, loc, arguments[0],
                                                     arguments[1]);
               linalg::YieldOp::create(
                   builder, loc,
                   arith::AddFOp::create(builder, loc, arguments[2], product)
                       .getResult());
             })
      .getResult(0);
}

/// 1 where \p value is not 0.
static Value isNotZero(ImplicitLocOpBuilder &b, Value value) {
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0));
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  Value isZero =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value, zero);
  return arith::SelectOp::create(b, isZero, zero, one);
}

LogicalResult TensorConditions::visitSum(linalg::GenericOp op, unsigned result,
                                         Operation *combiner, Value term) {
  // The sums of conditions and of magnitudes, and how many terms there are.
  Value conditionSum, magnitudeSum, count;
  auto product = term.getDefiningOp<arith::MulFOp>();
  auto argumentOf = [&](Value value) -> std::optional<unsigned> {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != op.getBlock() ||
        argument.getArgNumber() >= op.getNumDpsInputs())
      return std::nullopt;
    return argument.getArgNumber();
  };
  std::optional<unsigned> lhs, rhs;
  if (product && !product->hasAttr(kRoundedToAttr)) {
    lhs = argumentOf(product.getLhs());
    rhs = argumentOf(product.getRhs());
  }
  if (lhs && rhs && *lhs != *rhs) {
    // Contractions stay contractions, of which kernels are made that are fast.
    Value x = op.getInputs()[*lhs], y = op.getInputs()[*rhs];
    auto sizeOf = [&](Value tensor) {
      bool isRounded = get(tensor) != nullptr;
      return map({tensor},
                 [&](ImplicitLocOpBuilder &inner, ValueRange v) -> Value {
                   ScalarConditions scalars(inner, rounding);
                   return isRounded ? scalars.magnitude(v[0])
                                    : scalars.effective(v[0]);
                 });
    };
    Value sizeX = sizeOf(x), sizeY = sizeOf(y);
    auto flags = [](ImplicitLocOpBuilder &inner, ValueRange v) -> Value {
      return isNotZero(inner, v[0]);
    };
    magnitudeSum = sumOfProducts(op, result, *lhs, sizeX, *rhs, sizeY);
    count =
        sumOfProducts(op, result, *lhs, map({x}, flags), *rhs, map({y}, flags));
    // Two for the product; one for each operand that is exact, else its own.
    double weight = 2 + (get(x) ? 0 : 1) + (get(y) ? 0 : 1);
    conditionSum = map({magnitudeSum},
                       [&](ImplicitLocOpBuilder &inner, ValueRange v) -> Value {
                         Value factor = arith::ConstantOp::create(
                             inner, inner.getF64FloatAttr(weight));
                         return arith::MulFOp::create(inner, v[0], factor);
                       });
    auto addSum = [&](Value more) {
      conditionSum =
          map({conditionSum, more},
              [](ImplicitLocOpBuilder &inner, ValueRange v) -> Value {
                return arith::AddFOp::create(inner, v[0], v[1]);
              });
    };
    if (Value ofX = get(x))
      addSum(sumOfProducts(op, result, *lhs, ofX, *rhs, sizeY));
    if (Value ofY = get(y))
      addSum(sumOfProducts(op, result, *lhs, sizeX, *rhs, ofY));
  } else {
    FailureOr<Value> sums[] = {
        sumOver(op, result, term,
                [](ScalarConditions &scalars, Value t, Value) {
                  return scalars.effective(t);
                }),
        sumOver(op, result, term,
                [](ScalarConditions &scalars, Value t, Value) {
                  return scalars.magnitude(t);
                }),
        sumOver(op, result, term, [&](ScalarConditions &, Value t, Value) {
          return isNotZero(b, t);
        })};
    for (FailureOr<Value> &each : sums)
      if (failed(each))
        return failure();
    conditionSum = *sums[0];
    magnitudeSum = *sums[1];
    count = *sums[2];
  }
  // What is added to is one term more.
  Value init = op.getDpsInitOperand(result)->get();
  SmallVector<Value> parts = {conditionSum, magnitudeSum, count,
                              op.getResult(result)};
  bool hasInit = !isZero(init), knowsInit = hasInit && get(init);
  if (hasInit)
    parts.push_back(init);
  if (knowsInit)
    parts.push_back(get(init));
  Value condition =
      map(parts, [&](ImplicitLocOpBuilder &inner, ValueRange v) -> Value {
        ScalarConditions scalars(inner, rounding);
        Value own = v[0], size = v[1], terms = v[2];
        if (hasInit) {
          Value sizeOfInit = scalars.magnitude(v[4]);
          own = scalars.sum(own, knowsInit ? v[5] : sizeOfInit);
          size = scalars.sum(size, sizeOfInit);
          terms = scalars.sum(terms, isNotZero(inner, v[4]));
        }
        Value one = scalars.constant(1);
        Value root = math::SqrtOp::create(inner, terms);
        Value growth = scalars.sum(one, scalars.scaled(root, 0.25));
        Value rounding = arith::MulFOp::create(inner, growth, size);
        Value several =
            arith::CmpFOp::create(inner, arith::CmpFPredicate::OGT, terms, one);
        Value added = arith::SelectOp::create(inner, several, rounding,
                                              scalars.constant(0));
        // Any term, or partial sum, may be flushed.
        own = scalars.sum(own, scalars.scaled(terms, scalars.flushed()));
        Value condition =
            scalars.withStorage(combiner, v[3], scalars.sum(own, added));
        // Partial sums reach, in some order, the sum of magnitudes.
        return scalars.withRange(combiner, v[3], condition, size);
      });
  conditions[op.getResult(result)] = condition;
  return success();
}

/// What a product r may lose where a partial one, in some order as small as
/// \p least, is below the normal numbers: it may be flushed, which loses r, or
/// rounded to a subnormal place. What follows multiplies that by \p most at
/// most. As a condition.
Value TensorConditions::lostBelow(ImplicitLocOpBuilder &inner,
                                  Operation *combiner, Value r, Value most,
                                  Value least) const {
  ScalarConditions scalars(inner, rounding);
  double perError = 1 / rounding.bound;
  double normal = scalars.smallestNormal();
  auto kept = combiner->getAttrOfType<TypeAttr>(kRoundedToAttr);
  if (kept) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(kept.getValue()).getFloatSemantics();
    normal = std::ldexp(1.0, APFloat::semanticsMinExponent(semantics));
  }
  Value lost = scalars.scaled(most, normal * perError);
  if (!kept) {
    Value ofPlace = scalars.scaled(most, 2 * rounding.unit * normal * perError);
    Value ofResult = scalars.scaled(scalars.magnitude(r), perError);
    lost =
        arith::MinimumFOp::create(inner, lost, scalars.sum(ofResult, ofPlace));
  }
  Value isBelow = arith::CmpFOp::create(inner, arith::CmpFPredicate::OLT, least,
                                        scalars.constant(normal));
  Value isZero = arith::CmpFOp::create(inner, arith::CmpFPredicate::OEQ, r,
                                       scalars.constant(0));
  Value none = scalars.constant(0);
  return arith::SelectOp::create(
      inner, isBelow, arith::SelectOp::create(inner, isZero, none, lost), none);
}

/// A product of many, whose condition is to first order the same in any order.
/// Value and condition go along, and the largest and the smallest that a
/// partial product is in some order.
LogicalResult TensorConditions::visitProduct(linalg::GenericOp op,
                                             unsigned result,
                                             Operation *combiner, Value term) {
  SmallVector<unsigned> known;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  listOperands(op, known, inputs, maps);
  // Of a factor: what it adds to products that grow, and to those that shrink.
  // Zero makes a product zero, of which nothing can be lost.
  auto growth = [](ScalarConditions &scalars, Value factor) {
    return scalars.larger(scalars.magnitude(factor), scalars.constant(1));
  };
  auto loss = [](ImplicitLocOpBuilder &inner, ScalarConditions &scalars,
                 Value factor) -> Value {
    Value one = scalars.constant(1);
    Value size =
        arith::MinimumFOp::create(inner, scalars.magnitude(factor), one);
    Value isZero = arith::CmpFOp::create(inner, arith::CmpFPredicate::OEQ,
                                         factor, scalars.constant(0));
    return arith::SelectOp::create(inner, isZero, one, size);
  };
  // What is multiplied by is a factor, too.
  Value init = op.getDpsInitOperand(result)->get(), ofInit = get(init);
  auto start = [&](auto value) {
    return map({init}, [&](ImplicitLocOpBuilder &inner, ValueRange v) -> Value {
      ScalarConditions scalars(inner, rounding);
      return value(inner, scalars, v[0]);
    });
  };
  if (!ofInit && !isConstant(init))
    ofInit = start([](auto &, ScalarConditions &scalars, Value v) {
      return scalars.effective(v);
    });
  Value inits[] = {init, ofInit ? ofInit : zerosLike(init),
                   start([&](auto &, ScalarConditions &scalars, Value v) {
                     return growth(scalars, v);
                   }),
                   start([&](auto &inner, ScalarConditions &scalars, Value v) {
                     return loss(inner, scalars, v);
                   })};
  maps.append(4, op.getMatchingIndexingMap(op.getDpsInitOperand(result)));
  auto generic =
      linalg::GenericOp::create(b, TypeRange(ValueRange(inits)), inputs, inits,
                                maps, op.getIteratorTypesArray());
  Block *block = &generic.getRegion().emplaceBlock();
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input.getType()), op.getLoc());
  SmallVector<Value> sofar;
  for (unsigned i = 0; i < 4; ++i)
    sofar.push_back(block->addArgument(b.getF64Type(), op.getLoc()));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    IRMapping mapping;
    ScalarConditions scalars(b, rounding);
    if (failed(analyzeBody(op, block, known, mapping, scalars, term)))
      return failure();
    Value factor = mapping.lookupOrDefault(term);
    Value value = arith::MulFOp::create(b, sofar[0], factor);
    Value condition =
        scalars.sum(scalars.product(scalars.magnitude(factor), sofar[1]),
                    scalars.product(scalars.magnitude(sofar[0]),
                                    scalars.effective(factor)));
    condition =
        scalars.sum(condition, scalars.scaled(scalars.magnitude(value), 2));
    Value largest = arith::MulFOp::create(b, sofar[2], growth(scalars, factor));
    Value least = arith::MulFOp::create(b, sofar[3], loss(b, scalars, factor));
    linalg::YieldOp::create(b, ValueRange{value, condition, largest, least});
  }
  Value parts[] = {op.getResult(result), generic.getResult(1),
                   generic.getResult(2), generic.getResult(3)};
  conditions[op.getResult(result)] =
      map(parts, [&](ImplicitLocOpBuilder &inner, ValueRange v) -> Value {
        ScalarConditions scalars(inner, rounding);
        Value own = scalars.withStorage(combiner, v[0], v[1]);
        own = scalars.sum(own, lostBelow(inner, combiner, v[0], v[2], v[3]));
        return scalars.withRange(combiner, v[0], own, v[2]);
      });
  return success();
}

/// The largest condition of all terms, less by how far each is from the one
/// that is taken: what is behind by more than it may be off is never taken.
LogicalResult TensorConditions::visitExtreme(linalg::GenericOp op,
                                             unsigned result, Value term) {
  bool anyKnown =
      llvm::any_of(op.getInputs(), [&](Value input) { return get(input); });
  if (!anyKnown && isa<BlockArgument>(term))
    return success();
  FailureOr<Value> largest = sumOver(
      op, result, term,
      [&](ScalarConditions &scalars, Value t, Value taken) -> Value {
        Value condition = scalars.get(t);
        if (!condition)
          return nullptr;
        Value behind = scalars.magnitude(arith::SubFOp::create(b, t, taken));
        Value left = arith::SubFOp::create(
            b, condition, scalars.scaled(behind, 1 / rounding.bound));
        // Of equal infinities the difference is NaN.
        Value isTaken =
            arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, t, taken);
        return arith::SelectOp::create(b, isTaken, condition, left);
      });
  if (failed(largest))
    return failure();
  // The same loops, with a maximum in place of the sum.
  auto generic = largest->getDefiningOp<linalg::GenericOp>();
  Operation *yield = generic.getBlock()->getTerminator();
  auto add = yield->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add) { // Every term is exact.
    generic->erase();
    return success();
  }
  OpBuilder builder(add);
  Value maximum = arith::MaximumFOp::create(builder, add.getLoc(), add.getLhs(),
                                            add.getRhs());
  add.replaceAllUsesWith(maximum);
  add->erase();
  conditions[op.getResult(result)] = *largest;
  return success();
}

/// A decision on several flags is unsure where one of them is.
LogicalResult TensorConditions::visitFlags(linalg::GenericOp op,
                                           unsigned result, Value term) {
  auto argument = dyn_cast<BlockArgument>(term);
  if (!argument)
    return noRule(op, "combines flags that it computes");
  OpOperand *input = op.getDpsInputOperand(argument.getArgNumber());
  Value flags = get(input->get());
  if (!flags)
    return success();
  Value init = zerosLike(op.getResult(result));
  AffineMap maps[] = {op.getMatchingIndexingMap(input),
                      op.getMatchingIndexingMap(op.getDpsInitOperand(result))};
  conditions[op.getResult(result)] =
      linalg::GenericOp::create(
          b, TypeRange{init.getType()}, ValueRange{flags}, ValueRange{init},
          ArrayRef<AffineMap>(maps), op.getIteratorTypesArray(),
          [](OpBuilder &builder, Location loc, ValueRange arguments) {
            linalg::YieldOp::create(
                builder, loc,
                arith::OrIOp::create(builder, loc, arguments[0], arguments[1])
                    .getResult());
          })
          .getResult(0);
  return success();
}

/// What result \p r of \p op is combined of, beside what it was; null where
/// that is not one value.
Value TensorConditions::termOf(linalg::GenericOp op, Operation *combiner,
                               unsigned r) {
  // A conversion of each partial result is no operation on two.
  if (!combiner || combiner->getNumOperands() != 2 ||
      combiner->hasAttr(kConversionAttr))
    return nullptr;
  unsigned first = op.getNumDpsInputs();
  Value accumulator = op.getBlock()->getArgument(first + r), term;
  for (unsigned i : {0, 1})
    if (combiner->getOperand(i) == accumulator)
      term = combiner->getOperand(1 - i);
  if (!term)
    return nullptr;
  auto isOfResult = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == op.getBlock() &&
           argument.getArgNumber() >= first;
  };
  bool dependsOnResults = isOfResult(term);
  for (Operation *scalar : scalarsOf(op, term))
    dependsOnResults |= llvm::any_of(scalar->getOperands(), isOfResult);
  return dependsOnResults ? Value() : term;
}

LogicalResult TensorConditions::visitReduction(linalg::GenericOp op) {
  Block *body = op.getBlock();
  bool anyKnown = llvm::any_of(op->getOperands(),
                               [&](Value operand) { return get(operand); });
  // What only moves, compares and selects exact values is exact.
  bool onlySelects =
      llvm::all_of(body->without_terminator(), [](Operation &scalar) {
        return isa<arith::CmpFOp, arith::SelectOp, arith::MaximumFOp,
                   arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                   arith::ConstantOp, linalg::IndexOp>(scalar) ||
               llvm::none_of(
                   llvm::concat<Value>(llvm::to_vector(scalar.getOperands()),
                                       llvm::to_vector(scalar.getResults())),
                   [](Value v) { return isa<FloatType>(v.getType()); });
      });
  if (!anyKnown && onlySelects)
    return success();
  for (unsigned r = 0, e = op->getNumResults(); r < e; ++r) {
    // The place of a maximum, of which only the value is used.
    if (op.getResult(r).use_empty())
      continue;
    Operation *combiner = body->getTerminator()->getOperand(r).getDefiningOp();
    Value term = termOf(op, combiner, r);
    if (!term)
      return noRule(op, "reduces by more than one operation");
    LogicalResult done = failure();
    if (isa<arith::AndIOp, arith::OrIOp>(combiner) &&
        getElementTypeOrSelf(op.getResult(r).getType()).isInteger(1))
      done = visitFlags(op, r, term);
    else if (isa<arith::AddFOp>(combiner))
      done = visitSum(op, r, combiner, term);
    else if (isa<arith::MulFOp>(combiner))
      done = visitProduct(op, r, combiner, term);
    else if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                 arith::MinNumFOp>(combiner))
      done = visitExtreme(op, r, term);
    else
      done = noRule(op, "reduces rounded values by '" +
                            combiner->getName().getStringRef() + "'");
    if (failed(done))
      return failure();
  }
  return success();
}
