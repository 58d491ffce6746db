//===- SummedProducts.cpp - Workloads that sum products once --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/SummedProducts.h"
#include "CoreOperands.h"
#include "CudaText.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::OperandPlace;
using families::SummedProducts;

static Value narrow(Value value) {
  while (auto wide = value.getDefiningOp<arith::ExtFOp>())
    value = wide.getIn();
  return value;
}

/// What the elements of a tensor are moved from, one op before it, and widened
/// where that is asked for. Null: they are computed, or an operand's.
static Value movedFrom(Value tensor, bool isWidened) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return {};
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp>(op))
    return op->getOperand(0);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !isElementwise(generic) || generic.getNumDpsInputs() != 1)
    return {};
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  Value made = yield.getOperand(cast<OpResult>(tensor).getResultNumber());
  if (isWidened)
    made = narrow(made);
  return made == generic.getBody()->getArgument(0) ? generic->getOperand(0)
                                                   : Value();
}

/// Whether the tensor's elements are those of an operand, moved at most, and
/// widened where that is asked for.
static bool isMoved(Value tensor, bool isWidened) {
  while (Value source = movedFrom(tensor, isWidened))
    tensor = source;
  return !tensor.getDefiningOp();
}

/// The type of a factor before tensors are made of it that differ by places and
/// exact widening alone.
static Type narrowestOf(linalg::GenericOp op, Value factor) {
  Type type = factor.getType();
  auto argument = dyn_cast<BlockArgument>(factor);
  if (!argument || argument.getOwner() != op.getBody())
    return type;
  Value tensor = op->getOperand(argument.getArgNumber());
  while (Value source = movedFrom(tensor, /*isWidened=*/true))
    tensor = source;
  return getElementTypeOrSelf(tensor.getType());
}

/// Inputs of `op` that a value of its body is computed from. False: something
/// else, too.
static bool collectInputs(linalg::GenericOp op, Value value,
                          SmallVectorImpl<unsigned> &inputs) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBody() ||
        argument.getArgNumber() >= op.getNumDpsInputs())
      return false;
    inputs.push_back(argument.getArgNumber());
    return true;
  }
  Operation *producer = value.getDefiningOp();
  return producer->getBlock() != op.getBody() ||
         llvm::all_of(producer->getOperands(), [&](Value operand) {
           return collectInputs(op, operand, inputs);
         });
}

namespace {
/// Finds the op and places its loops.
class Matcher {
public:
  Matcher(Block &body, SummedProducts &found, std::string &why)
      : body(body), found(found), why(why) {}

  bool run() {
    found.program.dialect = Program::Dialect::Cuda;
    return findOp() && families::nameOperands(body, found.program, why) &&
           placeLoops();
  }

private:
  bool fail(const Twine &reason) {
    why = reason.str();
    return false;
  }

  bool findOp() {
    found.result = families::floatResultOf(body, found.program, why);
    if (!found.result)
      return false;
    found.resultElem =
        *found.program.elemOf(getElementTypeOrSelf(found.result.getType()));
    for (auto op : body.getOps<linalg::GenericOp>()) {
      if (op.getNumReductionLoops() == 0)
        continue;
      if (found.op)
        return fail("it reduces more than once");
      found.op = op;
    }
    if (!found.op)
      return fail("it reduces nothing");
    std::optional<SumOfProducts> sum = matchSumOfProducts(found.op);
    if (found.op->getNumResults() != 1 || !sum)
      return fail("what it reduces is no sum of products");
    if (getElementTypeOrSelf(found.op->getResult(0).getType()).isF64())
      return fail("it sums in f64, which no family does");
    found.lhs = narrow(sum->lhs);
    found.rhs = narrow(sum->rhs);
    setTypes();
    return true;
  }

  /// An op may be imported with factors that another op has widened: half
  /// precision that is summed in f32. Both are of one narrow type then.
  void setTypes() {
    Type lhs = narrowestOf(found.op, found.lhs);
    found.isWidened = lhs == narrowestOf(found.op, found.rhs) &&
                      lhs.isFloat() && lhs.getIntOrFloatBitWidth() == 16;
    auto elem = [&](Value factor) {
      return found.program.elemOf(found.isWidened ? lhs : factor.getType())
          .value_or(Elem::F32);
    };
    found.lhsElem = elem(found.lhs);
    found.rhsElem = elem(found.rhs);
  }

  /// Variables for the result's dimensions and for what is summed; from these
  /// the op's loops, as the result's elements demand them.
  bool placeLoops() {
    auto shape = cast<RankedTensorType>(found.result.getType()).getShape();
    for (int64_t extent : shape) {
      if (extent == 0)
        return fail("its result has no elements");
      parts.push_back({extent});
    }
    do
      makeResultVars();
    while ((!demandLoops() || areFactorsCut()) && splitVars());
    if (!found.program.failure.empty())
      return fail(found.program.failure);
    if (demands == 0)
      return fail("its result does not depend on what it reduces");
    auto ranges = found.op.getStaticLoopRanges();
    auto iterators = found.op.getIteratorTypesArray();
    for (auto [d, range] : llvm::enumerate(ranges)) {
      if (range == 0)
        return fail("it sums nothing");
      if (iterators[d] != utils::IteratorType::reduction)
        continue;
      unsigned var = found.program.newVar("k" + Twine(d), range);
      found.loops[d] = Lin::ofVar(var);
      found.summed.push_back(var);
    }
    // Each sum is one element of the result, and the other way round.
    int64_t sums = 1, elements = 1;
    for (auto [d, range] : llvm::enumerate(ranges))
      if (iterators[d] != utils::IteratorType::reduction)
        sums *= range;
    for (int64_t extent : shape)
      elements *= extent;
    if (sums != elements)
      return fail("its result has " + Twine(elements) + " elements, of " +
                  Twine(sums) + " sums");
    return true;
  }

  /// A variable for each part of each of the result's dimensions.
  void makeResultVars() {
    found.program.vars.clear();
    found.program.failure.clear();
    found.index.clear();
    for (auto [d, extents] : llvm::enumerate(parts)) {
      Lin place;
      for (auto [part, extent] : llvm::enumerate(extents)) {
        std::string name = "r" + std::to_string(d);
        if (extents.size() > 1)
          name += "_" + std::to_string(part);
        place = place * extent + Lin::ofVar(found.program.newVar(name, extent));
      }
      found.index.push_back(place);
    }
    found.resultVars = found.program.vars.size();
  }

  /// The loops that an element of the result needs. False: `failure` says why
  /// not, `cut` has what a reshape cuts into several dimensions.
  bool demandLoops() {
    Program &program = found.program;
    std::string text;
    Scope scope(program, text, 0);
    demands = 0;
    cut.clear();
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) -> CValue {
      if (value != found.op->getResult(0)) {
        noteCut(value, index);
        program.fail("what surrounds it is not elementwise");
        return {};
      }
      auto loops = loopsAt(found.op, 0, index);
      if (!loops) {
        program.fail("its sums are stored in another order than computed");
        return {};
      }
      if (demands++ && *loops != found.loops)
        program.fail("an element of the result needs several sums");
      found.loops = *loops;
      return {"acc", Elem::F32, false};
    };
    scope.at(found.result, found.index);
    return program.failure.empty();
  }

  /// Whether a reshape cuts a dimension of the result where a factor is made:
  /// rows that lie in another order, which are one dimension before the sum.
  bool areFactorsCut() {
    // What this adds to the program is of no use to it.
    Program program = found.program;
    SmallVector<Lin> loops = found.loops;
    auto iterators = found.op.getIteratorTypesArray();
    for (auto [d, range] : llvm::enumerate(found.op.getStaticLoopRanges()))
      if (iterators[d] == utils::IteratorType::reduction)
        loops[d] = Lin::ofVar(program.newVar("k" + Twine(d), range));
    std::string text;
    Scope scope(program, text, 0);
    cut.clear();
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) -> CValue {
      noteCut(value, index);
      program.fail("a factor is cut, or is not elementwise");
      return {};
    };
    auto maps = found.op.getIndexingMapsArray();
    for (auto [number, input] : llvm::enumerate(found.op.getDpsInputs())) {
      SmallVector<Lin> index;
      for (AffineExpr expr : maps[number].getResults())
        if (std::optional<Lin> lin = evaluateAffine(expr, loops))
          index.push_back(*lin);
      program.failure.clear();
      if (index.size() == maps[number].getNumResults())
        scope.at(input, index);
    }
    return !cut.empty();
  }

  /// Variables of the result that a collapse_shape makes of several dimensions.
  void noteCut(Value value, ArrayRef<Lin> index) {
    auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse)
      return;
    auto shape = collapse.getSrcType().getShape();
    for (auto [place, group] :
         llvm::zip_equal(index, collapse.getReassociationIndices())) {
      if (place.constant != 0)
        continue;
      for (auto [var, stride] : place.terms)
        if (var < found.resultVars)
          noteCut(var, stride, shape, group);
    }
  }

  /// What of the dimensions `group` the variable walks over, whose step is
  /// `stride` of their elements.
  void noteCut(unsigned var, int64_t stride, ArrayRef<int64_t> shape,
               ArrayRef<int64_t> group) {
    int64_t extent = found.program.vars[var].extent;
    SmallVector<int64_t> extents;
    int64_t size = 1, inner = 1;
    for (int64_t d : llvm::reverse(group)) {
      if (inner >= stride && inner * shape[d] <= stride * extent &&
          shape[d] != 1) {
        extents.insert(extents.begin(), shape[d]);
        size *= shape[d];
      }
      inner *= shape[d];
    }
    if (extents.size() > 1 && size == extent)
      cut[var] = extents;
  }

  /// Makes parts of what is cut. False: nothing is.
  bool splitVars() {
    unsigned var = 0;
    for (SmallVector<int64_t> &extents : parts) {
      SmallVector<int64_t> finer;
      for (int64_t extent : extents) {
        auto found = cut.find(var++);
        if (found == cut.end())
          finer.push_back(extent);
        else
          finer.append(found->second);
      }
      extents = finer;
    }
    return !cut.empty();
  }

  Block &body;
  SummedProducts &found;
  std::string &why;
  /// Of each dimension of the result: the extents of its variables.
  SmallVector<SmallVector<int64_t>> parts;
  std::map<unsigned, SmallVector<int64_t>> cut;
  unsigned demands = 0;
};
} // namespace

bool families::matchSummedProducts(Block &body, SummedProducts &found,
                                   std::string &why) {
  return Matcher(body, found, why).run();
}

std::optional<llvm::SmallBitVector>
families::varsOf(const SummedProducts &products, Value factor,
                 std::string &why) {
  linalg::GenericOp op = products.op;
  SmallVector<unsigned> inputs;
  if (!collectInputs(op, factor, inputs)) {
    why = "a factor depends on a sum";
    return std::nullopt;
  }
  llvm::SmallBitVector vars(products.program.vars.size());
  for (unsigned input : inputs)
    for (AffineExpr expr : op.getIndexingMapsArray()[input].getResults()) {
      std::optional<Lin> lin = evaluateAffine(expr, products.loops);
      if (!lin) {
        why = "an indexing map is not linear";
        return std::nullopt;
      }
      for (auto [var, coefficient] : lin->terms)
        if (coefficient != 0)
          vars.set(var);
    }
  return vars;
}

std::optional<OperandPlace>
families::placeOf(const Program &program, Value tensor,
                  llvm::function_ref<void(Scope &)> compute, bool isWidened) {
  if (!isMoved(tensor, isWidened))
    return std::nullopt;
  Program scratch = program;
  std::string text;
  Scope scope(scratch, text, 0);
  std::optional<OperandPlace> place;
  scope.onLoad = [&](const Buffer &buffer, const Lin &linear) {
    place = OperandPlace{0, linear};
    StringRef(buffer.pointer).drop_front(2).getAsInteger(10, place->input);
  };
  compute(scope);
  return scratch.failure.empty() ? place : std::nullopt;
}

std::optional<OperandPlace> families::placeOf(const SummedProducts &products,
                                              Value factor) {
  linalg::GenericOp op = products.op;
  auto argument = dyn_cast<BlockArgument>(factor);
  if (!argument)
    return std::nullopt;
  return placeOf(
      products.program, op->getOperand(argument.getArgNumber()),
      [&](Scope &scope) { scope.bodyAt(op, factor, products.loops); },
      products.isWidened);
}

std::optional<int64_t> families::strideOf(const Program &program,
                                          ArrayRef<unsigned> group,
                                          const Lin &linear) {
  std::optional<int64_t> stride;
  int64_t expected = 0;
  for (unsigned var : llvm::reverse(group)) {
    int64_t extent = program.vars[var].extent;
    if (extent == 1)
      continue;
    int64_t coefficient = linear.coefficient(var);
    if (!stride)
      stride = coefficient;
    else if (coefficient != expected)
      return std::nullopt;
    expected = coefficient * extent;
  }
  return stride.value_or(0);
}

CValue families::sumWithStart(const SummedProducts &products, Scope &scope,
                              bool isVector) {
  linalg::GenericOp op = products.op;
  CValue value =
      startOf(*matchReduction(op->getResult(0)), products.loops, scope);
  const CValue sum{"acc", Elem::F32, isVector};
  if (isZero(value.text))
    return sum;
  if (isVector)
    return scope.combine(CombinerKind::Add, sum,
                         scope.convert(value, Elem::F32));
  return scope.define(Elem::F32, false, "acc + (float)" + value.text);
}
