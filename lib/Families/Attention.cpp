//===- Attention.cpp - Workloads that weigh values by keys ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Attention.h"
#include "CoreOperands.h"
#include "IndexSpace.h"
#include "Terms.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Attention;
using families::AttentionSide;
using families::collectVars;
using families::reductionsOf;
using families::Term;
using families::Terms;
using families::withoutCasts;

static bool isNumber(const Term *term, double number) {
  return term && term->number64() == number;
}

static bool isMinusInfinity(const Term *term) {
  return isNumber(withoutCasts(term), -std::numeric_limits<double>::infinity());
}

static bool isTrue(const Term *term) {
  auto value = term && term->kind == Term::Constant
                   ? dyn_cast<IntegerAttr>(term->attribute)
                   : IntegerAttr();
  return value && value.getValue().isOne();
}

namespace {
/// Finds the parts of attention, in the result's dimensions as they are or cut
/// where reshapes cut them.
class Matcher {
public:
  Matcher(Block &body, std::string &why, bool cuts)
      : body(body), why(why), cuts(cuts), terms(found.program) {
    found.program.dialect = Program::Dialect::Cuda;
  }

  std::optional<Attention> run() {
    if (!findResult() || !findValues() || !findWeights() || !findScores() ||
        !findKeys() || !groupVars())
      return std::nullopt;
    analyseScores();
    return std::move(found);
  }

private:
  bool fail(const Twine &reason) {
    why = reason.str();
    return false;
  }
  /// Whether there is a term; what has none is the reason.
  bool has(const Term *term) {
    if (!term)
      why = terms.failure;
    return term != nullptr;
  }

  bool findResult();
  void placeResult(ArrayRef<int64_t> shape);
  bool isSumOfProducts(const Term &reduce);
  bool placeSum(const Term &reduce, SmallVectorImpl<Lin> &loops, unsigned &var,
                int64_t &size, StringRef name);
  bool findValues();
  bool isDivided(const Term *term, const Term *product, const Term *divisor);
  const Term *elementOf(const Term &reduce);
  const Term *withoutRounding(const Term *term);
  bool findWeights();
  bool isMaskedRow(const Term *condition, const Term *scores);
  bool findScores();
  bool findKeys();
  bool describe(AttentionSide &side, linalg::GenericOp op, Value factor,
                ArrayRef<Lin> loops, const Term *term, bool folds);
  bool groupVars();
  std::optional<int64_t> reachOf(const Term *condition, bool isNegated) const;
  const Term *insideOf(const Term *term);
  std::optional<double> scaleOf(const Term *term);
  void analyseScores();

  Block &body;
  std::string &why;
  bool cuts;
  Attention found;
  Terms terms;
  unsigned resultVars = 0;
  const Term *root = nullptr, *values = nullptr, *weights = nullptr;
  const Term *valueTerm = nullptr, *queryTerm = nullptr, *keyTerm = nullptr;
  const Term *divisor = nullptr, *power = nullptr, *scores = nullptr;
  const Term *maskedRow = nullptr, *keys = nullptr;
};
} // namespace

bool Matcher::findResult() {
  found.result = families::floatResultOf(body, found.program, why);
  if (!found.result || !families::nameOperands(body, found.program, why))
    return false;
  auto type = cast<RankedTensorType>(found.result.getType());
  found.resultElem = *found.program.elemOf(type.getElementType());
  if (found.resultElem == Elem::F64)
    return fail("its result is of f64, which no family computes");
  if (type.getNumElements() == 0)
    return fail("its result has no elements");
  placeResult(type.getShape());
  root = terms.at(found.result, found.index);
  return has(root);
}

/// Variables of the result's dimensions. Where reshapes take dimensions apart,
/// heads into groups of heads, each part has its own.
void Matcher::placeResult(ArrayRef<int64_t> shape) {
  auto partsOf = [&](int64_t extent) {
    SmallVector<int64_t> parts(1, extent);
    if (!cuts)
      return parts;
    auto look = [&](ArrayRef<ReassociationIndices> groups,
                    ArrayRef<int64_t> expanded) {
      for (const ReassociationIndices &group : groups) {
        int64_t product = 1;
        SmallVector<int64_t> extents;
        for (int64_t d : group)
          if (expanded[d] != 1) {
            extents.push_back(expanded[d]);
            product *= expanded[d];
          }
        if (product == extent && extents.size() > parts.size())
          parts = extents;
      }
    };
    for (auto op : body.getOps<tensor::CollapseShapeOp>())
      look(op.getReassociationIndices(), op.getSrcType().getShape());
    for (auto op : body.getOps<tensor::ExpandShapeOp>())
      look(op.getReassociationIndices(), op.getResultType().getShape());
    return parts;
  };
  for (int64_t extent : shape) {
    Lin place;
    for (int64_t part : partsOf(extent)) {
      unsigned var =
          found.program.newVar("r" + Twine(found.program.vars.size()), part);
      place = place * part + Lin::ofVar(var);
    }
    found.index.push_back(place);
  }
  resultVars = found.program.vars.size();
}

bool Matcher::isSumOfProducts(const Term &reduce) {
  return matchSumOfProducts(reduce.reduction.op, reduce.reduction.result)
      .has_value();
}

/// Gives the one loop that is reduced a variable.
bool Matcher::placeSum(const Term &reduce, SmallVectorImpl<Lin> &loops,
                       unsigned &var, int64_t &size, StringRef name) {
  ArrayRef<unsigned> dims = reduce.reduction.reductionDims;
  if (dims.size() != 1)
    return fail("it sums over several loops");
  linalg::GenericOp op = reduce.reduction.op;
  if (reduce.type.isF64())
    return fail("it sums in f64, which no family does");
  size = op.getStaticLoopRanges()[dims[0]];
  if (size == 0)
    return fail("it sums nothing");
  if (!isNumber(terms.startOf(reduce), 0.0))
    return fail("a product is added to something");
  var = found.program.newVar(name, size);
  loops.assign(reduce.loops.begin(), reduce.loops.end());
  loops[dims[0]] = Lin::ofVar(var);
  return true;
}

/// The product that makes the result, and the sum that it is divided by where
/// weights are divided last.
bool Matcher::findValues() {
  for (const Term *each : reductionsOf(root)) {
    if (isSumOfProducts(*each)) {
      if (values)
        return fail("an element of the result needs several sums of products");
      values = each;
    } else if (each->reduction.kind == CombinerKind::Add && !divisor) {
      divisor = each;
    } else {
      return fail("its result is no function of a sum of products");
    }
  }
  if (!values)
    return fail("its result is no function of a sum of products");
  if (divisor && !isDivided(root, values, divisor))
    return fail("its result is no quotient of two sums");
  found.valuesOp = values->reduction.op;
  if (!placeSum(*values, found.valuesLoops, found.n, found.nSize, "n0"))
    return false;
  SumOfProducts sum =
      *matchSumOfProducts(found.valuesOp, values->reduction.result);
  const Term *left = terms.bodyAt(found.valuesOp, sum.lhs, found.valuesLoops);
  const Term *right = terms.bodyAt(found.valuesOp, sum.rhs, found.valuesLoops);
  if (!has(left) || !has(right))
    return false;
  bool isLeft = !reductionsOf(left).empty();
  if (isLeft == !reductionsOf(right).empty())
    return fail("of its last product no factor, or both, are reductions");
  weights = isLeft ? left : right;
  valueTerm = isLeft ? right : left;
  return describe(found.v, found.valuesOp, isLeft ? sum.rhs : sum.lhs,
                  found.valuesLoops, valueTerm, false);
}

/// Whether all that is used of the two sums is their quotient.
bool Matcher::isDivided(const Term *term, const Term *product,
                        const Term *divisor) {
  if (term == product || term == divisor)
    return false;
  if (term->is<arith::DivFOp>() && withoutCasts(term->operands[0]) == product &&
      withoutCasts(term->operands[1]) == divisor)
    return true;
  return llvm::all_of(term->operands, [&](const Term *each) {
    return isDivided(each, product, divisor);
  });
}

/// What a reduction over the keys reduces, at the same key as all else.
const Term *Matcher::elementOf(const Term &reduce) {
  Reduction reduction = reduce.reduction;
  if (reduction.reductionDims.size() != 1 ||
      reduction.op.getStaticLoopRanges()[reduction.reductionDims[0]] !=
          found.nSize)
    return nullptr;
  SmallVector<Lin> loops(reduce.loops);
  loops[reduction.reductionDims[0]] = Lin::ofVar(found.n);
  return terms.bodyAt(reduction.op, reduction.element, loops);
}

/// A weight without conversions; notes to what it is rounded.
const Term *Matcher::withoutRounding(const Term *term) {
  for (const Term *each = term; each != withoutCasts(term);
       each = each->operands[0])
    if (each->is<arith::TruncFOp>())
      found.weightElem =
          found.program.elemOf(each->type).value_or(found.weightElem);
  return withoutCasts(term);
}

/// The power that weights are before they are divided, and what divides it.
bool Matcher::findWeights() {
  const Term *weight = withoutRounding(weights);
  if (weight->is<arith::SelectOp>() &&
      isNumber(withoutCasts(weight->operands[1]), 0.0)) {
    maskedRow = weight->operands[0];
    weight = withoutRounding(weight->operands[2]);
  }
  power = weight;
  if (!divisor) {
    // A quotient, or a product with an inverse.
    auto sumOf = [&](const Term *term) {
      term = withoutCasts(term);
      return term->kind == Term::Reduce ? term : nullptr;
    };
    if (weight->is<arith::DivFOp>()) {
      power = withoutCasts(weight->operands[0]);
      divisor = sumOf(weight->operands[1]);
    } else if (weight->is<arith::MulFOp>()) {
      for (unsigned i : {0u, 1u}) {
        const Term *inverse = withoutCasts(weight->operands[i]);
        if (inverse->is<arith::DivFOp>() &&
            isNumber(withoutCasts(inverse->operands[0]), 1.0)) {
          power = withoutCasts(weight->operands[1 - i]);
          divisor = sumOf(inverse->operands[1]);
        }
      }
    }
    if (!divisor)
      return fail("its weights are not divided by a sum");
  } else {
    if (maskedRow)
      return fail("its weights are chosen before they are divided");
    found.divisor = divisor->reduced;
  }
  if (divisor->reduction.kind != CombinerKind::Add ||
      !isNumber(terms.startOf(*divisor), 0.0) ||
      withoutCasts(elementOf(*divisor)) != power)
    return fail("its weights are not divided by their sum");
  return true;
}

/// Whether the condition is that all scores of the row are minus infinity.
bool Matcher::isMaskedRow(const Term *condition, const Term *scores) {
  if (condition->kind != Term::Reduce ||
      condition->reduction.kind != CombinerKind::And ||
      !isTrue(terms.startOf(*condition)))
    return false;
  const Term *each = elementOf(*condition);
  if (!each || !each->is<arith::CmpFOp>() ||
      cast<arith::CmpFOp>(each->op).getPredicate() != arith::CmpFPredicate::OEQ)
    return false;
  for (unsigned i : {0u, 1u})
    if (withoutCasts(each->operands[i]) == withoutCasts(scores) &&
        isMinusInfinity(each->operands[1 - i]))
      return true;
  return false;
}

/// The scores: of what power is, less the row's maximum.
bool Matcher::findScores() {
  if (!power->is<math::ExpOp>())
    return fail("its weights are no exponentials");
  if (power->type.isF64() || divisor->type.isF64())
    return fail("its weights are computed in f64, which no family does");
  const Term *less = withoutCasts(power->operands[0]);
  if (!less->is<arith::SubFOp>())
    return fail("its scores are not less their maximum");
  const Term *most = withoutCasts(less->operands[1]);
  scores = less->operands[0];
  if (most->kind != Term::Reduce || !isFloatMaximum(most->reduction.kind) ||
      withoutCasts(elementOf(*most)) != withoutCasts(scores) ||
      !isMinusInfinity(terms.startOf(*most)))
    return fail("its scores are not less their maximum");
  if (maskedRow) {
    if (!isMaskedRow(maskedRow, scores))
      return fail("its weights are zero on a condition that is not known");
    found.hasZeroRows = true;
  }
  found.most = most->reduction;
  found.mostLoops.assign(most->loops.begin(), most->loops.end());
  found.mostLoops[found.most.reductionDims[0]] = Lin::ofVar(found.n);
  return true;
}

/// The product that scores are made of.
bool Matcher::findKeys() {
  auto reductions = reductionsOf(scores);
  if (reductions.size() != 1 || !isSumOfProducts(**reductions.begin()))
    return fail("its scores are no function of one sum of products");
  keys = *reductions.begin();
  found.keysOp = keys->reduction.op;
  if (!placeSum(*keys, found.keysLoops, found.d, found.dSize, "d0"))
    return false;
  SumOfProducts sum = *matchSumOfProducts(found.keysOp, keys->reduction.result);
  const Term *left = terms.bodyAt(found.keysOp, sum.lhs, found.keysLoops);
  const Term *right = terms.bodyAt(found.keysOp, sum.rhs, found.keysLoops);
  if (!has(left) || !has(right))
    return false;
  if (!reductionsOf(left).empty() || !reductionsOf(right).empty())
    return fail("its scores are products of reductions");
  llvm::SmallBitVector ofLeft(found.program.vars.size()),
      ofRight(found.program.vars.size());
  collectVars(left, ofLeft);
  collectVars(right, ofRight);
  if (ofLeft[found.n] == ofRight[found.n])
    return fail("no factor of its scores has all keys alone");
  bool isLeft = ofRight[found.n];
  queryTerm = isLeft ? left : right;
  keyTerm = isLeft ? right : left;
  return describe(found.q, found.keysOp, isLeft ? sum.lhs : sum.rhs,
                  found.keysLoops, queryTerm, true) &&
         describe(found.k, found.keysOp, isLeft ? sum.rhs : sum.lhs,
                  found.keysLoops, keyTerm, true);
}

bool Matcher::describe(AttentionSide &side, linalg::GenericOp op, Value factor,
                       ArrayRef<Lin> loops, const Term *term, bool folds) {
  while (auto wide = factor.getDefiningOp<arith::ExtFOp>())
    factor = wide.getIn();
  side.factor = factor;
  // What is widened has the narrow type's values.
  auto widened = [](const Term *term) {
    while (term->is<arith::ExtFOp>())
      term = term->operands[0];
    return term;
  };
  term = widened(term);
  if (folds && term->is<arith::MulFOp>() && term->type.isF32())
    for (unsigned i : {0u, 1u}) {
      std::optional<double> scale = term->operands[1 - i]->number64();
      const Term *scaled = widened(term->operands[i]);
      if (scale && std::isfinite(*scale) && *scale != 0 &&
          scaled->kind == Term::Load) {
        found.factorScale *= *scale;
        term = scaled;
        break;
      }
    }
  std::optional<Elem> elem = found.program.elemOf(term->type);
  if (!elem || !isFloat(*elem))
    return fail("a factor is of a type that has no C");
  if (*elem == Elem::F64)
    return fail("a factor is of f64, which no family multiplies");
  side.elem = *elem;
  if (term->kind != Term::Load)
    return true;
  side.isPlain = true;
  side.input = term->operand.getArgNumber();
  side.place = term->place;
  return true;
}

bool Matcher::groupVars() {
  unsigned count = found.program.vars.size();
  llvm::SmallBitVector inScores(count), inQueries(count), inKeys(count),
      inValues(count);
  collectVars(scores, inScores);
  collectVars(queryTerm, inQueries);
  collectVars(keyTerm, inKeys);
  collectVars(valueTerm, inValues);
  inScores |= inQueries;
  inScores |= inKeys;
  if (!inValues[found.n] || !inQueries[found.d] || !inKeys[found.d])
    return fail("a factor is the same for all that is summed");
  // Rows are along one variable that queries alone move with. Of several, heads
  // beside the rows of a head, one that a mask compares, or the longest.
  std::optional<unsigned> row;
  llvm::SmallBitVector compared(count);
  collectVars(scores, compared, Term::Index);
  auto rank = [&](unsigned var) {
    return std::make_pair(compared[var], found.program.vars[var].extent);
  };
  for (unsigned var = 0; var < resultVars; ++var)
    if (found.program.vars[var].extent > 1 && inQueries[var] && !inKeys[var] &&
        !inValues[var] && (!row || rank(var) >= rank(*row)))
      row = var;
  for (unsigned var = 0; var < resultVars; ++var)
    (var == row                        ? found.m
     : inValues[var] && !inScores[var] ? found.e
                                       : found.batch)
        .push_back(var);
  found.batchSize = families::sizeOf(found.program, found.batch);
  found.mSize = families::sizeOf(found.program, found.m);
  found.eSize = families::sizeOf(found.program, found.e);
  if (found.e.empty())
    return fail("its values have no columns");
  return true;
}

/// The offset of a condition that holds where n <= m + offset, and nowhere
/// else.
std::optional<int64_t> Matcher::reachOf(const Term *condition,
                                        bool isNegated) const {
  using P = arith::CmpIPredicate;
  if (found.m.empty() || !condition->is<arith::CmpIOp>() ||
      condition->operands[0]->kind != Term::Index ||
      condition->operands[1]->kind != Term::Index)
    return std::nullopt;
  P predicate = cast<arith::CmpIOp>(condition->op).getPredicate();
  if (isNegated)
    predicate = arith::invertPredicate(predicate);
  // As difference >= 0.
  Lin left = condition->operands[0]->place,
      right = condition->operands[1]->place;
  Lin difference;
  switch (predicate) {
  case P::sle:
    difference = right - left;
    break;
  case P::slt:
    difference = right - left - Lin(1);
    break;
  case P::sge:
    difference = left - right;
    break;
  case P::sgt:
    difference = left - right - Lin(1);
    break;
  default:
    return std::nullopt;
  }
  int64_t offset = difference.constant;
  if (difference == Lin::ofVar(found.m[0]) - Lin::ofVar(found.n) + Lin(offset))
    return offset;
  return std::nullopt;
}

/// The score where no causal mask hides it; notes the mask.
const Term *Matcher::insideOf(const Term *term) {
  term = withoutCasts(term);
  if (!term->is<arith::SelectOp>())
    return term;
  for (bool isNegated : {false, true}) {
    const Term *hidden = term->operands[isNegated ? 1 : 2];
    std::optional<int64_t> reach = reachOf(term->operands[0], isNegated);
    if (!reach || !isMinusInfinity(hidden))
      continue;
    found.causalOffset =
        found.causalOffset ? std::min(*found.causalOffset, *reach) : *reach;
    return insideOf(term->operands[isNegated ? 2 : 1]);
  }
  return term;
}

/// What the sum is multiplied by to be the term.
std::optional<double> Matcher::scaleOf(const Term *term) {
  term = withoutCasts(term);
  if (term == keys)
    return 1.0;
  std::optional<double> left, right;
  if (term->is<arith::MulFOp>() || term->is<arith::DivFOp>()) {
    left = term->operands[0]->number64();
    right = term->operands[1]->number64();
  }
  std::optional<double> rest;
  if (right && (rest = scaleOf(term->operands[0])))
    return term->is<arith::DivFOp>() ? *rest / *right : *rest * *right;
  if (left && term->is<arith::MulFOp>() && (rest = scaleOf(term->operands[1])))
    return *rest * *left;
  return std::nullopt;
}

void Matcher::analyseScores() {
  const Term *inside = insideOf(scores);
  std::optional<double> scale = scaleOf(inside);
  if (!scale)
    return;
  double whole = *scale * found.factorScale;
  float narrow = static_cast<float>(whole);
  if (narrow > 0 && std::isfinite(narrow))
    found.scoreScale = whole;
}

std::optional<Attention> families::matchAttention(Block &body,
                                                  std::string &why) {
  if (auto found = Matcher(body, why, /*cuts=*/false).run())
    return found;
  // Groups of heads may be parts of a dimension.
  std::string first = why;
  auto found = Matcher(body, why, /*cuts=*/true).run();
  if (!found)
    why = first;
  return found;
}
