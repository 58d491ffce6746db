//===- Causal.cpp - Keys that a mask leaves out ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proves from the IR that the weights of attention vanish for all keys beyond
// the row. What is proved of weight (m, k) with k > m + offset: it is zero, or
// all weights of the row are NaN, whatever the scores hold there. The proof
// follows
//
//   s = select(k <= m + offset, anything, -inf)
//   e = exp(s - max(s))
//   w = e / sum(e)
//
// If max(s) is -inf or NaN, all of e is NaN; if sum(e) is zero or NaN, all of w
// is NaN; otherwise e and w are zero where s is -inf. Anything else is unknown,
// and nothing is skipped. (NaN and infinity in the values that the weights
// multiply are not looked at here: zero times those is NaN.)
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// What is known of an element at (m, k), k > m + offset.
struct Fact {
  enum Kind {
    Unknown,
    Constant,  ///< `number`.
    Index,     ///< `lin`.
    False,     ///< A condition.
    True,      ///< A condition.
    Vanishing, ///< -inf, or NaN with all of its row.
    Zero,      ///< 0, or NaN with all of its row.
    Max,       ///< At least the maximum of the row of tensor `of`.
    Sum        ///< The sum of the row of tensor `of`.
  } kind = Unknown;
  double number = 0;
  Lin lin;
  /// Where it was read, or what was reduced: a tensor and the index.
  Value of;
  SmallVector<Lin> at;
};

class Prover {
public:
  Prover(const Program &program, unsigned mVar, unsigned kVar)
      : program(program), mVar(mVar), kVar(kVar) {}

  Fact tensorAt(Value value, SmallVector<Lin> index, unsigned depth);
  std::optional<int64_t> offset;

private:
  Fact bodyAt(linalg::GenericOp op, Value value, ArrayRef<Lin> loops,
              unsigned depth);
  Fact constant(Attribute attribute);
  Fact compare(arith::CmpIPredicate predicate, const Lin &a, const Lin &b);
  bool peel(Value &value, SmallVector<Lin> &index);
  bool isRowOf(const Fact &element, const Fact &reduced) {
    return element.of && element.of == reduced.of && element.at == reduced.at;
  }

  const Program &program;
  unsigned mVar, kVar;
};
} // namespace

/// Looks through reshapes.
bool Prover::peel(Value &value, SmallVector<Lin> &index) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(def))
      return true;
    auto source = reshapeIndex(program, def, index);
    if (!source)
      return false;
    index = *source;
    value = def->getOperand(0);
  }
  return true;
}

Fact Prover::constant(Attribute attribute) {
  Fact fact;
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  if (auto f = dyn_cast<FloatAttr>(attribute)) {
    fact.kind = Fact::Constant;
    fact.number = f.getValueAsDouble();
  } else if (auto i = dyn_cast<IntegerAttr>(attribute)) {
    fact.kind = Fact::Index;
    fact.lin = Lin(i.getValue().getSExtValue());
  }
  return fact;
}

Fact Prover::compare(arith::CmpIPredicate predicate, const Lin &a,
                     const Lin &b) {
  using P = arith::CmpIPredicate;
  Lin d = b - a;
  if (d.coefficient(kVar) == 1) {
    d = a - b;
    switch (predicate) {
    case P::sle:
      predicate = P::sge;
      break;
    case P::slt:
      predicate = P::sgt;
      break;
    case P::sge:
      predicate = P::sle;
      break;
    case P::sgt:
      predicate = P::slt;
      break;
    default:
      return {};
    }
  }
  // d = m - k + reach, and the condition is about its sign.
  int64_t reach = d.constant;
  if (!(d == Lin::ofVar(mVar) - Lin::ofVar(kVar) + Lin(reach)))
    return {};
  Fact fact;
  if (predicate == P::sle || predicate == P::slt)
    fact.kind = Fact::False;
  else if (predicate == P::sge || predicate == P::sgt)
    fact.kind = Fact::True;
  else
    return {};
  if (predicate == P::slt || predicate == P::sge)
    --reach;
  // Beyond the farthest of all conditions each of them is decided.
  offset = std::max(offset.value_or(reach), reach);
  return fact;
}

Fact Prover::tensorAt(Value value, SmallVector<Lin> index, unsigned depth) {
  if (depth > 64 || !peel(value, index))
    return {};
  Fact fact;
  Attribute attribute;
  if (matchPattern(value, m_Constant(&attribute))) {
    fact = constant(attribute);
  } else if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
    if (matchPattern(fill.getInputs()[0], m_Constant(&attribute)))
      fact = constant(attribute);
  } else if (auto op = value.getDefiningOp<linalg::GenericOp>()) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    auto loops = loopsAt(op, result, index);
    if (!loops)
      return {};
    if (isElementwise(op)) {
      fact = bodyAt(op, op.getBody()->getTerminator()->getOperand(result),
                    *loops, depth + 1);
    } else if (auto reduction = matchReduction(value)) {
      auto argument = dyn_cast<BlockArgument>(reduction->element);
      if (!argument || argument.getOwner() != op.getBody() ||
          argument.getArgNumber() >= op.getNumDpsInputs() ||
          reduction->reductionDims.size() != 1 ||
          op.getStaticLoopRanges()[reduction->reductionDims[0]] !=
              program.vars[kVar].extent)
        return {};
      (*loops)[reduction->reductionDims[0]] = Lin::ofVar(kVar);
      Fact reduced;
      reduced.of = op->getOperand(argument.getArgNumber());
      for (AffineExpr expr :
           op.getIndexingMapsArray()[argument.getArgNumber()].getResults()) {
        auto lin = evaluateAffine(expr, *loops);
        if (!lin)
          return {};
        reduced.at.push_back(*lin);
      }
      if (!peel(reduced.of, reduced.at))
        return {};
      if (isFloatMaximum(reduction->kind)) {
        reduced.kind = Fact::Max;
      } else if (reduction->kind == CombinerKind::Add) {
        Fact initial = tensorAt(op.getDpsInits()[result], index, depth + 1);
        if (initial.kind == Fact::Constant && initial.number == 0)
          reduced.kind = Fact::Sum;
      }
      return reduced;
    }
  }
  // A reduction keeps what it reduced; all else is known by where it was read.
  if (fact.kind != Fact::Max && fact.kind != Fact::Sum) {
    fact.of = value;
    fact.at = index;
  }
  return fact;
}

Fact Prover::bodyAt(linalg::GenericOp op, Value value, ArrayRef<Lin> loops,
                    unsigned depth) {
  if (depth > 64)
    return {};
  Attribute attribute;
  if (matchPattern(value, m_Constant(&attribute)))
    return constant(attribute);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBody() ||
        argument.getArgNumber() >= op.getNumDpsInputs())
      return {};
    Value operand = op->getOperand(argument.getArgNumber());
    if (!isa<RankedTensorType>(operand.getType()))
      return matchPattern(operand, m_Constant(&attribute)) ? constant(attribute)
                                                           : Fact();
    SmallVector<Lin> index;
    for (AffineExpr expr :
         op.getIndexingMapsArray()[argument.getArgNumber()].getResults()) {
      auto lin = evaluateAffine(expr, loops);
      if (!lin)
        return {};
      index.push_back(*lin);
    }
    return tensorAt(operand, index, depth + 1);
  }
  Operation *def = value.getDefiningOp();
  if (def->getBlock() != op.getBody())
    return {};
  Fact fact;
  auto operand = [&](unsigned i) {
    return bodyAt(op, def->getOperand(i), loops, depth + 1);
  };
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    fact.kind = Fact::Index;
    fact.lin = loops[index.getDim()];
  } else if (isa<arith::IndexCastOp, arith::ExtSIOp>(def)) {
    Fact from = operand(0);
    Type type = def->getResult(0).getType();
    // A condition that is extended is not an index, and a narrow one wraps.
    if (from.kind == Fact::Index &&
        (type.isIndex() || type.getIntOrFloatBitWidth() >= 32))
      return from;
  } else if (isa<arith::AddIOp>(def)) {
    Fact a = operand(0), b = operand(1);
    if (a.kind == Fact::Index && b.kind == Fact::Index) {
      fact.kind = Fact::Index;
      fact.lin = a.lin + b.lin;
    }
  } else if (auto cmp = dyn_cast<arith::CmpIOp>(def)) {
    Fact a = operand(0), b = operand(1);
    if (a.kind == Fact::Index && b.kind == Fact::Index)
      return compare(cmp.getPredicate(), a.lin, b.lin);
  } else if (isa<arith::SelectOp>(def)) {
    Fact condition = operand(0);
    if (condition.kind == Fact::False || condition.kind == Fact::True)
      fact = operand(condition.kind == Fact::True ? 1 : 2);
    // The row of what was selected from is not the row of the selection.
    fact.of = Value();
    fact.at.clear();
  } else if (isa<arith::SubFOp>(def)) {
    Fact a = operand(0), b = operand(1);
    if (a.kind == Fact::Constant && b.kind == Fact::Max &&
        a.number == -std::numeric_limits<double>::infinity() && isRowOf(a, b))
      fact.kind = Fact::Vanishing;
  } else if (isa<math::ExpOp>(def)) {
    if (operand(0).kind == Fact::Vanishing)
      fact.kind = Fact::Zero;
  } else if (isa<arith::DivFOp>(def)) {
    Fact a = operand(0), b = operand(1);
    if (a.kind == Fact::Zero && b.kind == Fact::Sum && isRowOf(a, b))
      fact.kind = Fact::Zero;
  } else if (isa<arith::ExtFOp, arith::TruncFOp>(def)) {
    Fact from = operand(0);
    if (from.kind == Fact::Zero)
      fact.kind = Fact::Zero;
  }
  return fact;
}

std::optional<int64_t> catalog::causalOffset(const Program &program,
                                             Value weights, ArrayRef<Lin> index,
                                             unsigned mVar, unsigned kVar) {
  Prover prover(program, mVar, kVar);
  Fact fact = prover.tensorAt(weights, SmallVector<Lin>(index), 0);
  return fact.kind == Fact::Zero ? prover.offset : std::nullopt;
}
