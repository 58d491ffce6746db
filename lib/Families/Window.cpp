//===- Window.cpp - What windows move over --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Window.h"
#include "CudaText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::ConvolutionAxis;
using families::isZero;
using families::SummedProducts;
using families::WindowAxis;
using families::WindowSource;

namespace {
/// Walks from a tensor to what its elements are moved from.
class SourceWalk {
public:
  explicit SourceWalk(const Program &program) : program(program) {}

  /// The source below the last zeros on the way; else where it began.
  WindowSource run(Value tensor, ArrayRef<Lin> index) {
    at.tensor = tensor;
    at.index.assign(index.begin(), index.end());
    at.dilations.assign(index.size(), 1);
    WindowSource deepest = at;
    while (step())
      if (isBelowZeros) {
        deepest = at;
        isBelowZeros = false;
      }
    return deepest;
  }

private:
  bool step() {
    Operation *op = at.tensor.getDefiningOp();
    // Below elements that are spread there are no linear indices.
    if (!op || llvm::any_of(at.dilations, [](int64_t d) { return d != 1; }))
      return false;
    if (auto pad = dyn_cast<tensor::PadOp>(op))
      return stepPad(pad);
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      return stepInsert(insert);
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return move(op->getOperand(0), reshapeIndex(program, op, at.index));
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return move(slice.getSource(), sliceIndex(slice, at.index));
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return stepGeneric(generic);
    return false;
  }

  bool move(Value tensor, std::optional<SmallVector<Lin>> index) {
    if (!index)
      return false;
    at.tensor = tensor;
    at.index = std::move(*index);
    at.dilations.assign(at.index.size(), 1);
    return true;
  }

  bool stepPad(tensor::PadOp pad) {
    Value constant = pad.getConstantPaddingValue();
    auto low = pad.getStaticLow(), high = pad.getStaticHigh();
    auto isUnknown = [](int64_t size) { return size < 0; };
    if (!constant || !matchPattern(constant, m_AnyZeroFloat()) ||
        llvm::any_of(low, isUnknown) || llvm::any_of(high, isUnknown))
      return false;
    return surround(pad.getSource(), low);
  }

  bool stepInsert(tensor::InsertSliceOp insert) {
    auto offsets = insert.getStaticOffsets();
    auto strides = insert.getStaticStrides();
    if (insert.getSourceType().getRank() != insert.getDestType().getRank() ||
        llvm::any_of(offsets, ShapedType::isDynamic) ||
        llvm::any_of(strides, [](int64_t stride) { return stride < 1; }))
      return false;
    Program scratch = program;
    std::string text;
    Scope scope(scratch, text, 0);
    CValue value = scope.at(insert.getDest(), at.index);
    if (!scratch.failure.empty() || !isZero(value.text))
      return false;
    if (!surround(insert.getSource(), offsets))
      return false;
    at.dilations.assign(strides.begin(), strides.end());
    return true;
  }

  /// Goes on in what begins at `low` among zeros.
  bool surround(Value source, ArrayRef<int64_t> low) {
    at.tensor = source;
    for (auto [place, each] : llvm::zip_equal(at.index, low))
      place = place - Lin(each);
    at.isPadded = isBelowZeros = true;
    return true;
  }

  bool stepGeneric(linalg::GenericOp op) {
    auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
    unsigned result = cast<OpResult>(at.tensor).getResultNumber();
    auto argument = dyn_cast<BlockArgument>(yield.getOperand(result));
    if (!isElementwise(op) || !argument || argument.getOwner() != op.getBody())
      return false;
    Value operand = op->getOperand(argument.getArgNumber());
    auto loops = loopsAt(op, result, at.index);
    if (!loops || !isa<RankedTensorType>(operand.getType()))
      return false;
    SmallVector<Lin> index;
    for (AffineExpr expr :
         op.getIndexingMapsArray()[argument.getArgNumber()].getResults()) {
      std::optional<Lin> place = evaluateAffine(expr, *loops);
      if (!place)
        return false;
      index.push_back(*place);
    }
    return move(operand, std::move(index));
  }

  const Program &program;
  WindowSource at;
  bool isBelowZeros = false;
};

/// Finds the axes of a source.
class AxisFinder {
public:
  AxisFinder(const SummedProducts &products, const WindowSource &source,
             const llvm::SmallBitVector &own, const llvm::SmallBitVector &other,
             std::string &why)
      : products(products), source(source), own(own), other(other), why(why) {}

  std::optional<SmallVector<WindowAxis>> run() {
    SmallVector<WindowAxis> axes;
    for (unsigned d = 0; d < source.index.size(); ++d)
      if (isAxis(d) && !add(d, axes))
        return std::nullopt;
    llvm::sort(axes, [](const WindowAxis &a, const WindowAxis &b) {
      return *a.axis.var < *b.axis.var;
    });
    return axes;
  }

  std::optional<WindowAxis> runInnermost() {
    SmallVector<WindowAxis> found;
    for (unsigned var = products.resultVars; var-- > 0;)
      if (isOwn(var) && products.program.vars[var].extent > 1)
        for (unsigned d = 0; d < source.index.size(); ++d)
          if (source.index[d].coefficient(var) == 1 && add(d, found))
            return found.front();
    return std::nullopt;
  }

private:
  bool fail(const Twine &reason) {
    why = reason.str();
    return false;
  }

  int64_t extentOf(unsigned d) const {
    return cast<RankedTensorType>(source.tensor.getType()).getDimSize(d);
  }
  bool isSummed(unsigned var) const { return var >= products.resultVars; }
  /// A coordinate of the result that the other factor does not have.
  bool isOwn(unsigned var) const {
    return !isSummed(var) && own[var] && !other[var];
  }
  bool reachesZeros(unsigned d) const {
    auto [low, high] = products.program.range(source.index[d]);
    return low < 0 || high > (extentOf(d) - 1) * source.dilations[d];
  }

  bool isAxis(unsigned d) const {
    unsigned ownVars = 0, summedVars = 0, steps = 0;
    for (auto [var, coefficient] : source.index[d].terms) {
      ownVars += isOwn(var);
      summedVars += isSummed(var);
      steps += isOwn(var) && coefficient != 1;
    }
    bool isStrided = ownVars == 1 && steps == 1 && summedVars == 0;
    return (ownVars && summedVars) || isStrided || source.dilations[d] != 1 ||
           reachesZeros(d);
  }

  /// Whether a variable moves another dimension, too.
  bool isElsewhere(unsigned d, unsigned var) const {
    for (auto [other, place] : llvm::enumerate(source.index))
      if (other != d && place.coefficient(var) != 0)
        return true;
    return false;
  }

  bool add(unsigned d, SmallVectorImpl<WindowAxis> &axes) {
    const std::vector<Var> &vars = products.program.vars;
    WindowAxis found;
    ConvolutionAxis &axis = found.axis;
    found.dim = d;
    axis.in = extentOf(d);
    axis.inputDilation = source.dilations[d];
    axis.padding = -source.index[d].constant;
    for (auto [var, coefficient] : source.index[d].terms) {
      std::optional<unsigned> &role = isSummed(var) ? axis.kernelVar : axis.var;
      if (role || (!isSummed(var) && !isOwn(var)) || isElsewhere(d, var))
        return fail("a window is no dimension of its own");
      if (coefficient < 0)
        return fail("a window runs backwards");
      role = var;
      (isSummed(var) ? axis.kernel : axis.out) = vars[var].extent;
      if (vars[var].extent > 1)
        (isSummed(var) ? axis.dilation : axis.stride) = coefficient;
    }
    if (!axis.var)
      return fail("zeros are where no window moves");
    axes.push_back(found);
    return true;
  }

  const SummedProducts &products;
  const WindowSource &source;
  const llvm::SmallBitVector &own, &other;
  std::string &why;
};
} // namespace

std::optional<WindowSource> families::sourceOf(const SummedProducts &products,
                                               Value factor) {
  linalg::GenericOp op = products.op;
  auto argument = dyn_cast<BlockArgument>(factor);
  if (!argument)
    return std::nullopt;
  SmallVector<Lin> index;
  for (AffineExpr expr :
       op.getIndexingMapsArray()[argument.getArgNumber()].getResults()) {
    std::optional<Lin> place = evaluateAffine(expr, products.loops);
    if (!place)
      return std::nullopt;
    index.push_back(*place);
  }
  return SourceWalk(products.program)
      .run(op->getOperand(argument.getArgNumber()), index);
}

std::optional<SmallVector<WindowAxis>>
families::findAxes(const SummedProducts &products, const WindowSource &source,
                   const llvm::SmallBitVector &own,
                   const llvm::SmallBitVector &other, std::string &why) {
  return AxisFinder(products, source, own, other, why).run();
}

std::optional<WindowAxis> families::findRow(const SummedProducts &products,
                                            const WindowSource &source,
                                            const llvm::SmallBitVector &own,
                                            const llvm::SmallBitVector &other) {
  std::string why;
  return AxisFinder(products, source, own, other, why).runInnermost();
}
