//===- RooflineBuilder.cpp - Demand and counts, backwards -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RooflineBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace fastk {

//===----------------------------------------------------------------------===//
// Demand
//===----------------------------------------------------------------------===//

Demand Demand::all(ArrayRef<int64_t> shape) {
  Demand result;
  for (int64_t size : shape)
    result.box.push_back(DimSet::all(size));
  return result;
}

double Demand::points() const {
  llvm::BitVector dims(box.size(), true);
  return countPoints(box, constraints, dims) * fraction;
}

void mergeDemand(std::optional<Demand> &into, const Demand &use) {
  if (!into) {
    into = use;
    return;
  }
  // What one use may do without, another may need.
  double needed =
      std::max(into->points() * into->certain, use.points() * use.certain);
  llvm::scope_exit setCertain([&] {
    double points = into->points();
    into->certain = points > 0 ? std::min(1.0, needed / points) : 1;
  });
  bool intoSmaller = true, useSmaller = true;
  SmallVector<unsigned> different;
  for (unsigned d = 0; d < use.box.size(); ++d) {
    bool ab = into->box[d].isSubsetOf(use.box[d]);
    bool ba = use.box[d].isSubsetOf(into->box[d]);
    intoSmaller &= ab;
    useSmaller &= ba;
    if (!ab || !ba)
      different.push_back(d);
  }
  bool intoWhole = into->constraints.empty() && into->fraction == 1;
  bool useWhole = use.constraints.empty() && use.fraction == 1;
  if (useSmaller && intoWhole)
    return;
  if (intoSmaller && useWhole) {
    into = use;
    return;
  }
  if (different.size() == 1 && intoWhole && useWhole) {
    into->box[different.front()].unite(use.box[different.front()]);
    return;
  }
  if (use.points() > into->points())
    into = use;
}

void RooflineBuilder::demand(Value value, const Demand &use) {
  if (isa<RankedTensorType>(value.getType()))
    mergeDemand(demands[value], use);
  else if (!demands[value])
    demands[value] = Demand();
}

/// What the linear form takes as values over the box, as a subset of
/// [0, size).
static DimSet image(const LinearForm &form, const Box &box, int64_t size) {
  SmallVector<unsigned> dims;
  for (unsigned d = 0; d < box.size(); ++d)
    if (form.coefficients[d])
      dims.push_back(d);
  if (dims.size() == 1 && form.coefficients[dims[0]] == 1 &&
      form.constant == 0 && box[dims[0]].isAll() && box[dims[0]].size() == size)
    return DimSet::all(size);
  DimSet values = DimSet::none(size);
  SmallVector<int64_t> reached = {form.constant};
  for (unsigned d : dims) {
    SmallVector<int64_t> next;
    for (int64_t from : reached)
      for (int64_t i : box[d].members())
        next.push_back(from + form.coefficients[d] * i);
    llvm::sort(next);
    next.erase(llvm::unique(next), next.end());
    reached = std::move(next);
  }
  for (int64_t value : reached)
    values.insert(value);
  values.normalize();
  return values;
}

void RooflineBuilder::demandOperand(const Body &body, OpOperand &operand,
                                    const Demand &use) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type) {
    demand(operand.get(), Demand());
    return;
  }
  linalg::LinalgOp linalgOp = body.op;
  AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
  Box projected = use.box;
  project(projected, use.constraints);
  Demand result;
  result.fraction = use.fraction;
  result.certain = use.certain;
  llvm::BitVector involved(body.loops.size());
  SmallVector<int> position(body.loops.size(), -1);
  bool plain = true;
  for (auto [r, expr] : llvm::enumerate(map.getResults())) {
    int64_t size = type.getDimSize(r);
    auto form = LinearForm::ofExpr(expr, map.getNumDims());
    if (!form) {
      // Not known: one index.
      result.box.push_back(
          image(LinearForm::ofConstant(0, map.getNumDims()), projected, size));
      plain = false;
      continue;
    }
    result.box.push_back(image(*form, projected, size));
    for (unsigned d = 0; d < body.loops.size(); ++d)
      if (form->coefficients[d])
        involved.set(d);
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      position[dim.getPosition()] = r;
    else if (!form->isConstant())
      plain = false;
  }
  // No more elements than points of the loops that address them: a diagonal.
  double boxPoints = 1, loopPoints = 1;
  for (const DimSet &set : result.box)
    boxPoints *= set.count();
  for (int d : involved.set_bits())
    loopPoints *= projected[d].count();
  if (boxPoints > loopPoints)
    result.fraction *= loopPoints / boxPoints;
  if (plain)
    for (const LinearForm &form : use.constraints) {
      LinearForm moved = LinearForm::ofConstant(form.constant, type.getRank());
      bool whole = true;
      for (auto [d, coefficient] : llvm::enumerate(form.coefficients)) {
        if (!coefficient)
          continue;
        if (position[d] < 0)
          whole = false; // Its projection is in the box.
        else
          moved.coefficients[position[d]] = coefficient;
      }
      if (whole)
        result.constraints.push_back(moved);
    }
  demand(operand.get(), result);
}

void RooflineBuilder::demandReshaped(Value source, const Demand &use,
                                     ArrayRef<SmallVector<int64_t, 2>> groups,
                                     bool expands) {
  auto type = cast<RankedTensorType>(source.getType());
  unsigned dims = type.getRank();
  Demand result = Demand::all(type.getShape());
  SmallVector<std::optional<LinearForm>> forms(use.box.size());
  double usePoints = use.points();
  for (auto [i, group] : llvm::enumerate(groups)) {
    // `many` indexes the larger space, i the smaller.
    if (expands) {
      bool whole =
          llvm::all_of(group, [&](int64_t d) { return use.box[d].isAll(); });
      unsigned real = 0;
      for (int64_t d : group) {
        bool unit = use.box[d].size() == 1;
        real += !unit;
        forms[d] = unit ? std::optional(LinearForm::ofConstant(0, dims))
                        : std::optional<LinearForm>();
      }
      if (real == 1)
        for (int64_t d : group)
          if (use.box[d].size() != 1) {
            forms[d] = LinearForm::ofDim(i, dims);
            if (use.box[d].size() == result.box[i].size())
              result.box[i] = use.box[d];
          }
      if (whole || real <= 1)
        continue;
      LinearForm linear = LinearForm::ofConstant(0, use.box.size());
      int64_t stride = 1;
      for (int64_t d : llvm::reverse(group)) {
        linear.coefficients[d] = stride;
        stride *= use.box[d].size();
      }
      result.box[i] = image(linear, use.box, type.getDimSize(i));
      continue;
    }
    LinearForm form = LinearForm::ofConstant(0, dims);
    int64_t stride = 1;
    for (int64_t d : llvm::reverse(group)) {
      form.coefficients[d] = type.getDimSize(d) == 1 ? 0 : stride;
      stride *= type.getDimSize(d);
    }
    forms[i] = form;
    if (use.box[i].isAll())
      continue;
    for (int64_t d : group)
      result.box[d] = DimSet::none(type.getDimSize(d));
    for (int64_t value : use.box[i].members())
      for (int64_t d : llvm::reverse(group)) {
        result.box[d].insert(value % type.getDimSize(d));
        value /= type.getDimSize(d);
      }
  }
  result.fraction = use.fraction;
  result.certain = use.certain;
  bool exact = true;
  for (const LinearForm &form : use.constraints) {
    SmallVector<LinearForm> into;
    bool linear = true;
    for (auto [d, coefficient] : llvm::enumerate(form.coefficients)) {
      linear &= !coefficient || forms[d].has_value();
      into.push_back(forms[d] ? *forms[d] : LinearForm::ofConstant(0, dims));
    }
    if (linear)
      result.constraints.push_back(form.substitute(into, dims));
    else
      exact = false;
  }
  // A reshape keeps the number of elements; where the shape of the set cannot
  // be kept, its size is.
  double points = result.points();
  if ((!exact || points > usePoints) && points > 0)
    result.fraction *= usePoints / points;
  demand(source, result);
}

//===----------------------------------------------------------------------===//
// Scalar ops
//===----------------------------------------------------------------------===//

/// Through conversions that keep the value.
static Value skipExtensions(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static bool isAccumulator(linalg::LinalgOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == op.getBlock() &&
         argument.getArgNumber() >= op.getNumDpsInputs();
}

/// The multiplication whose product this op adds to an accumulator; null if it
/// is no such op.
static Operation *productOf(linalg::LinalgOp op, Operation *scalar) {
  if (!isa<arith::AddFOp, arith::SubFOp>(scalar) ||
      op.getNumReductionLoops() == 0)
    return nullptr;
  for (unsigned i : {0, 1}) {
    if (!isAccumulator(op, scalar->getOperand(i)))
      continue;
    auto multiply = scalar->getOperand(1 - i).getDefiningOp<arith::MulFOp>();
    if (multiply && multiply->hasOneUse())
      return multiply;
  }
  return nullptr;
}

void RooflineBuilder::count(const Body &body, Operation *scalar,
                            const Demand &use) {
  const Facts &facts = body.facts.find(scalar->getResult(0))->second;
  if (!facts.fromInputs)
    return; // Constants and index arithmetic.
  linalg::LinalgOp linalgOp = body.op;
  auto pointsOver = [&](const llvm::BitVector &dims) {
    return countPoints(use.box, use.constraints, dims) * use.fraction;
  };
  double points = pointsOver(facts.varies);
  SmallVector<const Facts *> operands;
  bool hasConstant = false;
  bool accumulates = false;
  for (Value operand : scalar->getOperands()) {
    auto it = body.facts.find(operand);
    operands.push_back(it == body.facts.end() ? nullptr : &it->second);
    hasConstant |= !operands.back() || operands.back()->isConstant();
    accumulates |= isAccumulator(linalgOp, operand);
  }
  if (accumulates && body.hasReduction && !productOf(linalgOp, scalar)) {
    // The first element of a sum that starts from a constant needs no add.
    double length = 1;
    SmallVector<unsigned> reduced;
    linalgOp.getReductionDims(reduced);
    for (unsigned d : reduced)
      length *= use.box[d].count();
    bool fromConstant = llvm::all_of(linalgOp.getDpsInits(), [&](Value init) {
      return !factsOf(init).fromInputs;
    });
    if (fromConstant && length > 0)
      points *= (length - 1) / length;
  }

  Type type = getElementTypeOrSelf(scalar->getOperand(0).getType());
  bool isDouble = type.isF64() || scalar->getResult(0).getType().isF64();
  // Packed 16-bit arithmetic does two at a time where there is any.
  double width = type.isF16() || type.isBF16() ? 0.5 : 1;
  enum Group { Add, Multiply, Compare };
  auto charge = [&](Group group, double slots) {
    elementwise[isDouble][group] += slots * width * use.certain;
  };
  OperationCounts &ops = result.ops;

  llvm::TypeSwitch<Operation *>(scalar)
      .Case<arith::AddFOp, arith::SubFOp>([&](Operation *) {
        if (Operation *product = productOf(linalgOp, scalar)) {
          ops.multiplyAdd += points;
          countContraction(body, product, points * use.certain);
        } else if (hasConstant && !accumulates) {
          ops.foldable += points;
        } else {
          ops.addSub += points;
          charge(Add, points);
        }
      })
      .Case([&](arith::MulFOp) {
        for (Operation *user : scalar->getUsers())
          if (productOf(linalgOp, user) == scalar)
            return; // Counted with its addition.
        if (hasConstant) {
          ops.foldable += points;
          return;
        }
        ops.multiply += points;
        charge(Multiply, points);
      })
      .Case([&](arith::DivFOp) {
        if (operands[1] && operands[1]->isConstant()) {
          ops.foldable += points;
          return;
        }
        double divisions = operands[1] ? pointsOver(operands[1]->varies) : 0;
        if (divisions < points) {
          ops.divide += divisions;
          ops.multiply += points;
          charge(Multiply, points);
        } else {
          ops.divide += points;
          charge(Multiply, points);
        }
      })
      .Case<arith::NegFOp, math::AbsFOp, math::CopySignOp>(
          [&](Operation *) { ops.foldable += points; })
      .Case<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
            arith::MinNumFOp>([&](Operation *) {
        ops.compare += points;
        charge(Compare, points);
      })
      .Case([&](arith::CmpFOp) {
        // A comparison that only feeds a select is one min, max or blend.
        bool selects = llvm::all_of(scalar->getUsers(), [](Operation *user) {
          return isa<arith::SelectOp>(user);
        });
        if (!selects) {
          ops.compare += points;
          charge(Compare, points);
        }
      })
      .Case([&](arith::SelectOp select) {
        // With a mask known ahead of time it is a choice of what to compute.
        const Facts *condition = operands[0];
        if (!condition || !condition->fromInputs ||
            !isa<FloatType>(select.getType()))
          return;
        ops.compare += points;
        charge(Compare, points);
      })
      .Case<math::SqrtOp, math::RsqrtOp>([&](Operation *) {
        ops.squareRoot += points;
        charge(Multiply, points);
      })
      .Case([&](math::FmaOp) {
        ops.multiplyAdd += points;
        charge(Multiply, points);
        charge(Add, points);
      })
      .Case<math::FPowIOp>([&](Operation *) {
        ops.multiply += points;
        charge(Multiply, points);
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::FPToSIOp, arith::FPToUIOp>(
          [&](Operation *) { ops.conversion += points; })
      .Default([&](Operation *) {
        bool isFloat = isa<FloatType>(scalar->getResult(0).getType());
        if (isa<math::MathDialect>(scalar->getDialect()) && isFloat) {
          if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
                  math::TruncOp>(scalar)) {
            ops.compare += points;
            charge(Compare, points);
            return;
          }
          ops.transcendental += points;
          // The shortest known ones take a reduction and a multiply-add.
          charge(Multiply, 2 * points);
        } else if (isa<arith::ArithDialect>(scalar->getDialect()) && !isFloat &&
                   scalar->getResult(0).getType().isIntOrIndex() &&
                   !isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
                        arith::IndexCastOp, arith::IndexCastUIOp>(scalar)) {
          ops.integer += points;
        }
      });
}

/// Multiplications that a fast convolution algorithm saves, as a factor >= 1:
/// F(4, r) along each window dimension of stride 1.
static double fastConvolutionFactor(linalg::LinalgOp op) {
  double factor = 1;
  auto iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  for (OpOperand *operand : op.getDpsInputOperands())
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
      auto form = LinearForm::ofExpr(expr, loops.size());
      if (!form || isa<AffineDimExpr>(expr))
        continue;
      int64_t window = 1, image = 1;
      bool unitStride = false;
      for (auto [d, coefficient] : llvm::enumerate(form->coefficients)) {
        if (!coefficient)
          continue;
        if (iterators[d] == utils::IteratorType::reduction) {
          window = loops[d];
        } else {
          unitStride = coefficient == 1;
          image = loops[d];
        }
      }
      if (!unitStride || window == 1)
        continue;
      double m = std::min<int64_t>(4, image);
      factor *= m * window / (m + window - 1);
    }
  return factor;
}

void RooflineBuilder::countContraction(const Body &body, Operation *multiply,
                                       double pairs) {
  if (reassociable.contains(body.op))
    return;
  pairs /= fastConvolutionFactor(body.op);
  // A constant factor (a mean as a matrix product) leaves additions.
  unsigned bits = 0;
  // One operand that holds 16-bit values suffices: the other may be rounded
  // (its error may vanish in the result's type), so one 16-bit product a pair
  // is all that is certain. Attention in f16 multiplies f32 weights by f16.
  bool brain = false, half = false;
  for (Value operand : multiply->getOperands()) {
    auto it = body.facts.find(operand);
    Type type = operand.getType();
    if (it != body.facts.end() &&
        isa_and_nonnull<FloatType>(it->second.storage))
      type = it->second.storage;
    bits = std::max(bits, type.getIntOrFloatBitWidth());
    brain |= type.isBF16();
    half |= type.isF16();
  }
  if (bits > 32)
    result.contraction64 += pairs;
  else if (brain)
    result.contractionB16 += pairs;
  else if (half)
    result.contraction16 += pairs;
  else
    result.contraction32 += pairs;
}

static bool isProduct(linalg::LinalgOp op) {
  return llvm::any_of(op.getBlock()->without_terminator(), [&](Operation &s) {
    Operation *product = productOf(op, &s);
    return product && skipExtensions(product->getOperand(0)) !=
                          skipExtensions(product->getOperand(1));
  });
}

/// True when the body is linear in the operands that `path` holds, together.
static bool isLinear(linalg::LinalgOp op, const DenseSet<Value> &operands) {
  DenseSet<Value> path;
  for (OpOperand &operand : op->getOpOperands())
    if (operands.contains(operand.get()) &&
        operand.getOperandNumber() < op.getBlock()->getNumArguments())
      path.insert(op.getMatchingBlockArgument(&operand));
  for (Operation &scalar : op.getBlock()->without_terminator()) {
    SmallVector<unsigned> on;
    for (OpOperand &use : scalar.getOpOperands())
      if (path.contains(use.get()))
        on.push_back(use.getOperandNumber());
    if (on.empty())
      continue;
    bool linear =
        isa<arith::AddFOp, arith::SubFOp, arith::ExtFOp, arith::TruncFOp,
            arith::NegFOp>(scalar) ||
        (isa<arith::MulFOp>(scalar) && on.size() == 1) ||
        (isa<arith::DivFOp>(scalar) && on.size() == 1 && on.front() == 0);
    if (!linear)
      return false;
    path.insert(scalar.getResult(0));
  }
  return true;
}

/// A product that is only ever summed again, by other products or by sums, may
/// be computed in another order, or not at all: (A·B)·C as A·(B·C), the sum of
/// A·B from the sums of A. Neither it nor what consumes it is charged.
void RooflineBuilder::findReassociable() {
  for (Operation &first : block.without_terminator()) {
    auto product = dyn_cast<linalg::LinalgOp>(first);
    if (!product || !isProduct(product))
      continue;
    DenseSet<Value> reached(first.result_begin(), first.result_end());
    SmallVector<Operation *> ends;
    bool linear = true;
    for (Operation *op = first.getNextNode(); op && linear;
         op = op->getNextNode()) {
      if (llvm::none_of(op->getOperands(),
                        [&](Value v) { return reached.contains(v); }))
        continue;
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (linalgOp) {
        linear = isLinear(linalgOp, reached);
        bool summed = llvm::any_of(linalgOp.getDpsInputOperands(),
                                   [&](OpOperand *operand) {
                                     return reached.contains(operand->get());
                                   });
        if (linalgOp.getNumReductionLoops() && summed)
          ends.push_back(op);
        else
          reached.insert(op->result_begin(), op->result_end());
        continue;
      }
      linear = isa<tensor::TensorDialect>(op->getDialect());
      reached.insert(op->result_begin(), op->result_end());
    }
    if (!linear || ends.empty())
      continue;
    reassociable.insert(&first);
    reassociable.insert(ends.begin(), ends.end());
  }
}

void RooflineBuilder::visitScalar(const Body &body, Operation *scalar,
                                  Demand use, Needs &needs) {
  linalg::LinalgOp linalgOp = body.op;
  Value value = scalar->getResult(0);
  const Facts &facts = body.facts.find(value)->second;
  auto restrict = [&](const Known &known) {
    addConstraints(use.constraints, known.keep);
    if (known.isByData)
      use.certain = 0;
  };
  if (facts.known)
    restrict(*facts.known);
  // Adding zero and taking the maximum with minus infinity leave an
  // accumulator as it was.
  if (scalar->getNumOperands() == 2)
    for (unsigned i : {0, 1}) {
      if (!isAccumulator(linalgOp, scalar->getOperand(i)))
        continue;
      auto it = body.facts.find(scalar->getOperand(1 - i));
      if (it == body.facts.end() || !it->second.known)
        continue;
      double known = it->second.known->value;
      bool neutral =
          (isa<arith::AddFOp, arith::SubFOp>(scalar) && known == 0) ||
          (isa<arith::MulFOp>(scalar) && known == 1) ||
          (isa<arith::MaximumFOp, arith::MaxNumFOp>(scalar) &&
           known == -INFINITY) ||
          (isa<arith::MinimumFOp, arith::MinNumFOp>(scalar) &&
           known == INFINITY);
      if (neutral)
        restrict(*it->second.known);
    }
  count(body, scalar, use);
  if (!facts.fromInputs)
    return;
  for (auto [i, operand] : llvm::enumerate(scalar->getOperands())) {
    Demand operandUse = use;
    if (isa<arith::SelectOp>(scalar) && i > 0) {
      // Of the body, or a scalar around it.
      auto scalarFacts = [&](Value value) {
        auto it = body.facts.find(value);
        return it == body.facts.end() ? factsOf(value) : it->second;
      };
      Facts condition = scalarFacts(scalar->getOperand(0));
      if (!condition.fromInputs && condition.predicate) {
        Predicate taken =
            i == 1 ? *condition.predicate : negate(*condition.predicate);
        if (!taken.exact)
          operandUse.constraints.push_back(never(body.loops.size()));
        addConstraints(operandUse.constraints, taken.holds);
      }
      // Data may choose the constant everywhere.
      Facts other = scalarFacts(scalar->getOperand(3 - i));
      if (condition.fromInputs && other.constant &&
          condition.isIndependentOf(scalarFacts(operand)))
        operandUse.certain = 0;
    }
    mergeDemand(needs[operand], operandUse);
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(scalar)) {
    // A gather: what is read depends on the data; rows at least once.
    Box projected = use.box;
    project(projected, use.constraints);
    Demand read;
    for (auto [index, size] :
         llvm::zip(extract.getIndices(),
                   cast<RankedTensorType>(extract.getTensor().getType())
                       .getShape())) {
      auto it = body.facts.find(index);
      LinearForm form = it != body.facts.end() && it->second.integer
                            ? *it->second.integer
                            : LinearForm::ofConstant(0, body.loops.size());
      read.box.push_back(image(form, projected, size));
    }
    read.fraction = use.fraction;
    read.certain = use.certain;
    needs.erase(extract.getTensor());
    demand(extract.getTensor(), read);
  }
}

void RooflineBuilder::visitLinalg(linalg::LinalgOp op) {
  Body body = analyzeBody(op);
  Needs needs;
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [i, value] : llvm::enumerate(op->getResults())) {
    auto it = demands.find(value);
    if (it == demands.end() || !it->second)
      continue;
    const Demand &use = *it->second;
    Demand loops = Demand::all(body.loops);
    loops.fraction = use.fraction;
    loops.certain = use.certain;
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
    SmallVector<LinearForm> forms;
    for (auto [r, expr] : llvm::enumerate(map.getResults())) {
      auto form = LinearForm::ofExpr(expr, body.loops.size());
      forms.push_back(form ? *form
                           : LinearForm::ofConstant(0, body.loops.size()));
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        loops.box[dim.getPosition()].intersect(use.box[r]);
    }
    for (const LinearForm &form : use.constraints)
      loops.constraints.push_back(form.substitute(forms, body.loops.size()));
    mergeDemand(needs[yield->getOperand(i)], loops);
  }
  for (Operation &scalar : llvm::reverse(op.getBlock()->without_terminator())) {
    std::optional<Demand> use;
    for (Value value : scalar.getResults())
      if (auto it = needs.find(value); it != needs.end() && it->second)
        mergeDemand(use, *it->second);
    if (use)
      visitScalar(body, &scalar, *use, needs);
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.getOperandNumber() >= op.getBlock()->getNumArguments())
      break;
    auto it =
        needs.find(op.getBlock()->getArgument(operand.getOperandNumber()));
    if (it != needs.end() && it->second)
      demandOperand(body, operand, *it->second);
  }
  // Scalars of the block that the body uses.
  for (auto &[value, use] : needs)
    if (use && value.getParentBlock() == &block &&
        !isa<ShapedType>(value.getType()))
      demand(value, Demand());
}

//===----------------------------------------------------------------------===//
// Tensor ops
//===----------------------------------------------------------------------===//

void RooflineBuilder::visitTensorOp(Operation *op, const Demand &use) {
  auto scale = [](Demand demand, double points) {
    double all = demand.points();
    if (all > points && all > 0)
      demand.fraction *= points / all;
    return demand;
  };
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::EmptyOp>([](Operation *) {})
      .Case([&](tensor::ExpandShapeOp reshape) {
        demandReshaped(reshape.getSrc(), use, reshape.getReassociationIndices(),
                       true);
      })
      .Case([&](tensor::CollapseShapeOp reshape) {
        demandReshaped(reshape.getSrc(), use, reshape.getReassociationIndices(),
                       false);
      })
      .Case([&](tensor::CastOp cast) { demand(cast.getSource(), use); })
      .Case([&](tensor::ExtractSliceOp slice) {
        Demand read = Demand::all(slice.getSourceType().getShape());
        read.certain = use.certain;
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        unsigned at = 0;
        for (unsigned d = 0; d < read.box.size(); ++d) {
          int64_t offset = slice.getStaticOffsets()[d];
          int64_t stride = slice.getStaticStrides()[d];
          // A dynamic offset: as many, somewhere.
          if (ShapedType::isDynamic(offset))
            offset = 0;
          if (ShapedType::isDynamic(stride))
            stride = 1;
          DimSet set = DimSet::none(read.box[d].size());
          if (dropped.test(d)) {
            set.insert(offset);
          } else {
            if (use.box[at].isAll() && stride == 1 && offset == 0 &&
                use.box[at].size() == set.size())
              set = DimSet::all(set.size());
            else
              for (int64_t i : use.box[at].members())
                set.insert(offset + stride * i);
            ++at;
          }
          read.box[d] = set;
        }
        demand(slice.getSource(), scale(read, use.points()));
      })
      .Case([&](tensor::InsertSliceOp insert) {
        // Inside the slice the source, outside the destination. The overlap
        // with the demand is exact for boxes.
        bool isStatic =
            insert.getStaticOffsets().size() == use.box.size() &&
            llvm::none_of(insert.getStaticOffsets(), ShapedType::isDynamic) &&
            llvm::none_of(insert.getStaticStrides(), ShapedType::isDynamic) &&
            insert.getSourceType().getRank() == insert.getType().getRank();
        if (!isStatic) {
          demand(insert.getSource(),
                 scale(Demand::all(shapeOf(insert.getSource())), 1));
          return;
        }
        Demand source = Demand::all(shapeOf(insert.getSource()));
        source.certain = use.certain;
        Demand rest = use;
        SmallVector<unsigned> partial;
        for (unsigned d = 0; d < use.box.size(); ++d) {
          DimSet set = DimSet::none(source.box[d].size());
          DimSet outside = DimSet::none(use.box[d].size());
          int64_t offset = insert.getStaticOffsets()[d];
          int64_t stride = insert.getStaticStrides()[d];
          for (int64_t i : use.box[d].members()) {
            int64_t at = i - offset;
            if (at >= 0 && at % stride == 0 && at / stride < set.size())
              set.insert(at / stride);
            else
              outside.insert(i);
          }
          source.box[d] = set;
          if (outside.count()) {
            partial.push_back(d);
            rest.box[d] = outside;
          }
        }
        if (source.points() > 0)
          demand(insert.getSource(), scale(source, use.points()));
        if (partial.empty())
          return;
        if (partial.size() > 1) {
          // Not a box: its size.
          double left = use.points() - source.points();
          rest = use;
          rest = scale(rest, left);
        }
        if (rest.points() > 0)
          demand(insert.getDest(), rest);
      })
      .Case([&](tensor::ConcatOp concat) {
        unsigned dim = concat.getDim();
        int64_t offset = 0;
        for (Value input : concat.getInputs()) {
          Demand read = use;
          int64_t size = shapeOf(input)[dim];
          DimSet set =
              use.box[dim].isAll() ? DimSet::all(size) : DimSet::none(size);
          for (int64_t i = 0;
               !set.isAll() && i < std::min(size, DimSet::kTracked); ++i)
            if (use.box[dim].contains(offset + i))
              set.insert(i);
          for (LinearForm &form : read.constraints)
            form.constant += form.coefficients[dim] * offset;
          read.box[dim] = set;
          offset += size;
          if (read.points() > 0)
            demand(input, read);
        }
      })
      .Case([&](tensor::PadOp pad) {
        Demand read = use;
        for (unsigned d = 0; d < use.box.size(); ++d) {
          int64_t low = pad.getStaticLow()[d];
          int64_t size = pad.getSourceType().getDimSize(d);
          if (ShapedType::isDynamic(low))
            low = 0;
          DimSet set =
              use.box[d].isAll() ? DimSet::all(size) : DimSet::none(size);
          for (int64_t i = 0;
               !set.isAll() && i < std::min(size, DimSet::kTracked); ++i)
            if (use.box[d].contains(i + low))
              set.insert(i);
          set.normalize();
          read.box[d] = set;
          for (LinearForm &form : read.constraints)
            form.constant += form.coefficients[d] * low;
        }
        demand(pad.getSource(), read);
      })
      .Case<tensor::ExtractOp>([&](tensor::ExtractOp extract) {
        Demand one = Demand::all(shapeOf(extract.getTensor()));
        for (DimSet &set : one.box) {
          set = DimSet::none(set.size());
          set.insert(0);
        }
        demand(extract.getTensor(), one);
      })
      .Case([&](tensor::FromElementsOp elements) {
        for (Value value : elements.getElements())
          demand(value, Demand());
      })
      .Case([&](tensor::SplatOp splat) { demand(splat.getInput(), Demand()); })
      .Case<linalg::PackOp, linalg::UnPackOp>([&](Operation *) {
        // A permutation of its elements, padding aside.
        Demand read = Demand::all(shapeOf(op->getOperand(0)));
        read.certain = use.certain;
        demand(op->getOperand(0), scale(read, use.points()));
      })
      .Default([&](Operation *) {
        bool scalar = llvm::none_of(op->getOperandTypes(), [](Type type) {
          return isa<ShapedType>(type);
        });
        if (op->hasTrait<OpTrait::ConstantLike>())
          return;
        if (scalar && !op->getNumRegions() &&
            !isa<ShapedType>(op->getResult(0).getType())) {
          for (Value operand : op->getOperands())
            demand(operand, Demand());
          return;
        }
        std::string name = op->getName().getStringRef().str();
        if (!llvm::is_contained(result.unmodelled, name))
          result.unmodelled.push_back(name);
      });
}

void RooflineBuilder::visit(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (llvm::any_of(op->getResults(), [&](Value value) {
          auto it = demands.find(value);
          return it != demands.end() && it->second;
        }))
      visitLinalg(linalgOp);
    return;
  }
  std::optional<Demand> use;
  for (Value value : op->getResults())
    if (auto it = demands.find(value); it != demands.end() && it->second) {
      use = it->second;
      break;
    }
  if (use)
    visitTensorOp(op, *use);
}

static double bytesOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isIndex())
    return 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bytesOf(complex.getElementType());
  if (!element.isIntOrFloat())
    return 0;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

Roofline RooflineBuilder::build() {
  for (Operation &op : block.without_terminator())
    computeFacts(&op);
  findReassociable();
  for (Value value : block.getTerminator()->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type) {
      result.writtenBytes += bytesOf(value.getType());
      demand(value, Demand());
      continue;
    }
    result.writtenBytes += type.getNumElements() * bytesOf(type);
    demand(value, Demand::all(type.getShape()));
  }
  for (Operation &op : llvm::reverse(block.without_terminator()))
    visit(&op);
  for (BlockArgument argument : block.getArguments()) {
    auto it = demands.find(argument);
    if (it == demands.end() || !it->second)
      continue;
    double points =
        isa<RankedTensorType>(argument.getType()) ? it->second->points() : 1;
    result.readBytes +=
        static_cast<int64_t>(points * bytesOf(argument.getType()));
  }
  auto largest = [](const double *groups) {
    return *std::max_element(groups, groups + 3);
  };
  result.elementwise32 = largest(elementwise[0]);
  result.elementwise64 = largest(elementwise[1]);
  return result;
}

} // namespace fastk
