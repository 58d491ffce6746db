//===- Facts.cpp - What is known of a value before it is computed ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace fastk {

Facts Facts::ofInput(Type type) {
  Facts facts;
  facts.fromInputs = true;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    facts.varies.resize(shaped.getRank());
    for (auto [d, size] : llvm::enumerate(shaped.getShape()))
      if (size != 1)
        facts.varies.set(d);
  }
  facts.storage = getElementTypeOrSelf(type);
  return facts;
}

Facts Facts::ofConstant(unsigned dims) {
  Facts facts;
  facts.varies.resize(dims);
  return facts;
}

void Facts::addSources(const Facts &other) {
  if (sources.size() < other.sources.size())
    sources.resize(other.sources.size());
  sources |= other.sources;
}

bool Facts::isIndependentOf(const Facts &other) const {
  return !sources.anyCommon(other.sources);
}

Facts Facts::substitute(ArrayRef<std::optional<LinearForm>> forms,
                        unsigned newDims) const {
  Facts result;
  result.varies.resize(newDims);
  result.fromInputs = fromInputs;
  result.sources = sources;
  result.constant = constant;
  result.storage = storage;
  for (int d : varies.set_bits()) {
    if (!forms[d]) {
      result.varies.set();
      continue;
    }
    for (unsigned n = 0; n < newDims; ++n)
      if (forms[d]->coefficients[n])
        result.varies.set(n);
  }
  auto translate = [&](const LinearForm &form) -> std::optional<LinearForm> {
    SmallVector<LinearForm> into;
    for (auto [coefficient, to] : llvm::zip(form.coefficients, forms)) {
      if (coefficient && !to)
        return std::nullopt;
      into.push_back(to ? *to : LinearForm::ofConstant(0, newDims));
    }
    return form.substitute(into, newDims);
  };
  if (integer)
    result.integer = translate(*integer);
  if (predicate) {
    result.predicate.emplace();
    result.predicate->exact = predicate->exact;
    for (const LinearForm &form : predicate->holds) {
      if (auto translated = translate(form))
        result.predicate->holds.push_back(*translated);
      else
        result.predicate->exact = false;
    }
  }
  if (known) {
    result.known.emplace();
    result.known->value = known->value;
    result.known->isByData = known->isByData;
    for (const LinearForm &form : known->keep) {
      auto translated = translate(form);
      // Where the mask cannot be followed, all of it may be masked.
      result.known->keep.push_back(translated ? *translated : never(newDims));
    }
  }
  return result;
}

Predicate negate(const Predicate &predicate) {
  Predicate result;
  if (!predicate.exact || predicate.holds.size() != 1) {
    result.exact = false;
    return result;
  }
  LinearForm opposite = predicate.holds.front().scaled(-1);
  opposite.constant -= 1;
  result.holds.push_back(opposite);
  return result;
}

static Predicate compare(arith::CmpIPredicate kind, const LinearForm &a,
                         const LinearForm &b) {
  using P = arith::CmpIPredicate;
  Predicate result;
  auto atLeast = [&](const LinearForm &x, const LinearForm &y, int64_t slack) {
    LinearForm form = x.plus(y, -1);
    form.constant -= slack;
    result.holds.push_back(form);
  };
  switch (kind) {
  case P::sle:
  case P::ule:
    atLeast(b, a, 0);
    break;
  case P::slt:
  case P::ult:
    atLeast(b, a, 1);
    break;
  case P::sge:
  case P::uge:
    atLeast(a, b, 0);
    break;
  case P::sgt:
  case P::ugt:
    atLeast(a, b, 1);
    break;
  case P::eq:
    atLeast(a, b, 0);
    atLeast(b, a, 0);
    break;
  case P::ne:
    result.exact = false;
    break;
  }
  return result;
}

/// The op's result when operand `index` is `value` and the others are `others`
/// where they are constants.
static std::optional<double>
evaluateAt(Operation *op, unsigned index, double value,
           ArrayRef<std::optional<double>> others) {
  auto other = [&]() -> std::optional<double> {
    return op->getNumOperands() == 2 ? others[1 - index] : std::nullopt;
  };
  // Infinity and zero win over any finite value; inputs are taken as finite.
  double x = value;
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtUIOp, arith::ExtSIOp,
            arith::TruncIOp, arith::UIToFPOp, arith::SIToFPOp>(
          [&](Operation *) { return x; })
      .Case([&](arith::NegFOp) { return -x; })
      .Case([&](math::ExpOp) { return std::exp(x); })
      .Case([&](math::Exp2Op) { return std::exp2(x); })
      .Case([&](math::AbsFOp) { return std::fabs(x); })
      .Case([&](math::TanhOp) { return std::tanh(x); })
      .Case([&](math::ErfOp) { return std::erf(x); })
      .Case([&](arith::AddFOp) -> std::optional<double> {
        if (other())
          return x + *other();
        return std::isinf(x) ? std::optional(x) : std::nullopt;
      })
      .Case([&](arith::SubFOp) -> std::optional<double> {
        if (other())
          return index == 0 ? x - *other() : *other() - x;
        if (std::isinf(x))
          return index == 0 ? x : -x;
        return std::nullopt;
      })
      .Case([&](arith::MulFOp) -> std::optional<double> {
        if (other())
          return x * *other();
        return x == 0 ? std::optional(0.0) : std::nullopt;
      })
      .Case([&](arith::DivFOp) -> std::optional<double> {
        if (other())
          return index == 0 ? x / *other() : *other() / x;
        return index == 0 && x == 0 ? std::optional(0.0) : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<double> constantOf(Operation *op) {
  FloatAttr floating;
  IntegerAttr integer;
  Attribute attr;
  if (!matchPattern(op, m_Constant(&attr)))
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (!dense.isSplat() || !dense.getElementType().isIntOrIndexOrFloat())
      return std::nullopt;
    attr = dense.getSplatValue<Attribute>();
  }
  if ((floating = dyn_cast<FloatAttr>(attr)))
    return floating.getValueAsDouble();
  if ((integer = dyn_cast<IntegerAttr>(attr)) &&
      integer.getValue().getSignificantBits() <= 63) {
    // True is 1; all else has a sign.
    if (integer.getType().isInteger(1))
      return integer.getValue().isZero() ? 0 : 1;
    return static_cast<double>(integer.getValue().getSExtValue());
  }
  return std::nullopt;
}

/// Facts of a constant, tensors included.
static Facts constantFacts(Operation *op) {
  Type type = op->getResult(0).getType();
  auto shaped = dyn_cast<ShapedType>(type);
  unsigned dims = shaped ? shaped.getRank() : 0;
  Facts facts = Facts::ofConstant(dims);
  facts.constant = constantOf(op);
  Type element = getElementTypeOrSelf(type);
  if (facts.constant && element.isIntOrIndex())
    facts.integer =
        LinearForm::ofConstant(static_cast<int64_t>(*facts.constant), dims);
  if (facts.constant || !shaped)
    return facts;
  facts.varies.set();
  // A mask that was written out as a literal: any part of it may be false.
  if (element.isInteger(1)) {
    facts.predicate.emplace();
    facts.predicate->exact = false;
  }
  return facts;
}

static Facts evaluateSelect(Facts result, ArrayRef<Facts> operands,
                            unsigned dims) {
  const Facts &condition = operands[0];
  const Facts &yes = operands[1], &no = operands[2];
  // Zeros of the masked part need no 16 bits more.
  if (yes.storage == no.storage || no.constant == 0.0)
    result.storage = yes.storage;
  else if (yes.constant == 0.0)
    result.storage = no.storage;
  if (condition.fromInputs) {
    // A mask of the caller's. What is selected by its own value (relu) has to
    // be computed to tell.
    const Facts &filled = no.constant ? no : yes;
    const Facts &selected = no.constant ? yes : no;
    if (filled.constant && condition.isIndependentOf(selected))
      result.known = Known{{}, *filled.constant, /*isByData=*/true};
    return result;
  }
  auto restrict = [&](const Predicate &predicate, double value) {
    Known known;
    known.value = value;
    known.keep = predicate.holds;
    if (!predicate.exact)
      known.keep.push_back(never(dims));
    result.known = known;
  };
  Predicate inexact;
  inexact.exact = false;
  const Predicate &holds = condition.predicate ? *condition.predicate : inexact;
  if (operands[2].constant)
    restrict(holds, *operands[2].constant);
  else if (operands[1].constant)
    restrict(negate(holds), *operands[1].constant);
  return result;
}

/// Integers, and what becomes one of them or a float.
static void evaluateConversion(Operation *op, const Facts &operand,
                               unsigned dims, Facts &result) {
  bool toInteger = op->getResult(0).getType().isIntOrIndex();
  if (toInteger && !op->getResult(0).getType().isInteger(1))
    result.integer = operand.integer;
  result.constant = operand.constant;
  result.known = operand.known;
  if (operand.predicate) {
    result.integer.reset();
    Known known;
    known.keep = operand.predicate->holds;
    if (!operand.predicate->exact)
      known.keep.push_back(never(dims));
    result.known = known;
  }
}

/// Sums, products and comparisons of linear forms.
static void evaluateInteger(Operation *op, ArrayRef<Facts> operands,
                            Facts &result) {
  auto integers = [&](unsigned n) {
    return operands.size() == n && llvm::all_of(operands, [](const Facts &f) {
             return f.integer.has_value();
           });
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](arith::AddIOp) {
        if (integers(2))
          result.integer = operands[0].integer->plus(*operands[1].integer);
      })
      .Case([&](arith::SubIOp) {
        if (integers(2))
          result.integer = operands[0].integer->plus(*operands[1].integer, -1);
      })
      .Case([&](arith::MulIOp) {
        if (!integers(2))
          return;
        for (unsigned i : {0, 1})
          if (operands[i].integer->isConstant())
            result.integer =
                operands[1 - i].integer->scaled(operands[i].integer->constant);
      })
      .Case([&](arith::CmpIOp compareOp) {
        if (result.fromInputs)
          return;
        result.predicate.emplace();
        result.predicate->exact = false;
        if (integers(2))
          result.predicate =
              compare(compareOp.getPredicate(), *operands[0].integer,
                      *operands[1].integer);
      });
}

/// Padding and masks go through elementwise ops.
static void propagateKnown(Operation *op, ArrayRef<Facts> operands,
                           Facts &result) {
  SmallVector<std::optional<double>> constants;
  for (const Facts &operand : operands)
    constants.push_back(operand.constant);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (!operand.known)
      continue;
    auto value = evaluateAt(op, i, operand.known->value, constants);
    if (!value || std::isnan(*value))
      continue;
    if (!result.known) {
      result.known =
          Known{operand.known->keep, *value, operand.known->isByData};
    } else if (result.known->value == *value) {
      addConstraints(result.known->keep, operand.known->keep);
      result.known->isByData |= operand.known->isByData;
    }
  }
}

Facts evaluateScalarOp(Operation *op, ArrayRef<Facts> operands, unsigned dims) {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return constantFacts(op);
  Facts result = Facts::ofConstant(dims);
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    result.varies.set(index.getDim());
    result.integer = LinearForm::ofDim(index.getDim(), dims);
    return result;
  }
  for (const Facts &operand : operands) {
    result.varies |= operand.varies;
    result.fromInputs |= operand.fromInputs;
    result.addSources(operand);
  }
  if (operands.empty())
    result.fromInputs = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp>(
          [&](Operation *) {
            evaluateConversion(op, operands[0], dims, result);
          })
      .Case([&](arith::ExtFOp) {
        result.constant = operands[0].constant;
        result.storage =
            operands[0].storage
                ? operands[0].storage
                : getElementTypeOrSelf(op->getOperand(0).getType());
      })
      .Case([&](arith::TruncFOp) {
        result.constant = operands[0].constant;
        result.storage = op->getResult(0).getType();
      })
      .Case<arith::NegFOp, math::AbsFOp>(
          [&](Operation *) { result.storage = operands[0].storage; })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::CmpIOp>(
          [&](Operation *) { evaluateInteger(op, operands, result); })
      .Case([&](arith::AndIOp) {
        if (!operands[0].predicate || !operands[1].predicate)
          return;
        result.predicate = operands[0].predicate;
        result.predicate->exact &= operands[1].predicate->exact;
        addConstraints(result.predicate->holds, operands[1].predicate->holds);
      })
      .Case([&](arith::XOrIOp) {
        for (unsigned i : {0, 1})
          if (operands[i].predicate && operands[1 - i].constant &&
              *operands[1 - i].constant == 1)
            result.predicate = negate(*operands[i].predicate);
      })
      .Case([&](arith::SelectOp) {
        result = evaluateSelect(result, operands, dims);
      })
      .Default([](Operation *) {});
  if (!result.fromInputs && result.varies.any() && !result.predicate &&
      op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1)) {
    result.predicate.emplace();
    result.predicate->exact = false;
  }
  if (result.known || result.constant)
    return result;
  propagateKnown(op, operands, result);
  return result;
}

} // namespace fastk
