//===- SmallWorkload.cpp - The same pattern with smaller sizes ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/SmallWorkload.h"
#include "SizeClasses.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;

/// Tried in turn: the first that is small enough tells the most. Below the last
/// windows would be larger than images.
static constexpr int64_t kLimits[] = {4096, 2048, 1024, 512, 256, 128,
                                      64,   32,   16,   8,   4,   2};

static constexpr int64_t kInfinite = INT64_MAX;

/// No product that counts is near it.
static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? kInfinite : product;
}
static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? kInfinite : sum;
}

WorkloadSize fastk::sizeOf(Region &pattern) {
  WorkloadSize size;
  auto count = [&](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      return;
    int64_t elements = 1;
    for (int64_t extent : shaped.getShape())
      elements = ShapedType::isDynamic(extent) ? kInfinite
                                               : multiply(elements, extent);
    size.elements = add(size.elements, elements);
  };
  for (BlockArgument argument : pattern.getArguments())
    count(argument.getType());
  for (Value result : pattern.front().getTerminator()->getOperands())
    count(result.getType());
  pattern.walk([&](linalg::LinalgOp op) {
    int64_t points = 1;
    for (int64_t range : op.getStaticLoopRanges())
      points =
          ShapedType::isDynamic(range) ? kInfinite : multiply(points, range);
    size.iterations = add(size.iterations, points);
  });
  return size;
}

static bool isWithin(const WorkloadSize &size, const WorkloadSize &largest) {
  return size.iterations <= largest.iterations &&
         size.elements <= largest.elements;
}

namespace {

/// The dimensions of all tensors of a pattern, and the loops over them.
class PatternSizes {
public:
  explicit PatternSizes(Region &pattern) : pattern(pattern) {
    for (BlockArgument argument : pattern.getArguments())
      know(argument);
    for (Operation &op : pattern.front())
      if (!op.hasTrait<OpTrait::IsTerminator>())
        visit(op);
  }
  void shrinkTo(int64_t limit) { classes.shrinkTo(limit); }
  /// Gives the pattern the sizes that were found.
  void apply();

private:
  static RankedTensorType typeOf(Value value) {
    return dyn_cast<RankedTensorType>(value.getType());
  }
  void know(Value value);
  /// The numbers of the dimensions of a tensor that is known.
  ArrayRef<unsigned> number(Value value) const {
    return numbers.find(value)->second;
  }
  SmallVector<int64_t> shapeOf(Value value);

  void visit(Operation &op);
  void visit(linalg::LinalgOp op);
  void visit(tensor::PadOp op);
  void visit(tensor::ExtractSliceOp op);
  void visit(tensor::InsertSliceOp op);
  void visit(tensor::ConcatOp op);
  void visitReshape(Value whole, Value parts,
                    ArrayRef<ReassociationIndices> groups);
  void visitExtracts(linalg::LinalgOp op, ArrayRef<unsigned> loops);
  /// Attributes that hold sizes follow the types.
  void resizeAttributes(Operation &op);
  void bindExpr(unsigned dimension, AffineExpr expr, unsigned numDims,
                ArrayRef<unsigned> loops);
  void uniteAll(Value a, Value b) {
    for (auto [x, y] : llvm::zip_equal(number(a), number(b)))
      classes.unite(x, y);
  }
  void keepAll(Value value) {
    for (unsigned dimension : number(value))
      classes.keep(dimension);
  }
  void keepAll(Operation &op) {
    for (Value value : op.getOperands())
      keepAll(value);
    for (Value value : op.getResults())
      keepAll(value);
  }

  Region &pattern;
  SizeClasses classes;
  DenseMap<Value, SmallVector<unsigned>> numbers;
  /// Of slices. Other sizes may not tell any more which these are.
  DenseMap<Operation *, llvm::SmallBitVector> droppedDims;
};

} // namespace

void PatternSizes::know(Value value) {
  auto [at, isNew] = numbers.try_emplace(value);
  if (RankedTensorType type = typeOf(value); isNew && type)
    for (int64_t extent : type.getShape())
      at->second.push_back(classes.add(extent));
}

SmallVector<int64_t> PatternSizes::shapeOf(Value value) {
  SmallVector<int64_t> shape;
  for (unsigned dimension : number(value))
    shape.push_back(classes.sizeOf(dimension));
  return shape;
}

void PatternSizes::visit(Operation &op) {
  // The map moves what it holds when it grows: all are there before.
  for (Value value : op.getOperands())
    know(value);
  for (Value value : op.getResults())
    know(value);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return visit(linalgOp);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return visit(pad);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return visit(slice);
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return visit(slice);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return visit(concat);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return visitReshape(expand.getSrc(), expand.getResult(),
                        expand.getReassociationIndices());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return visitReshape(collapse.getResult(), collapse.getSrc(),
                        collapse.getReassociationIndices());
  if (isa<tensor::EmptyOp>(op))
    return;
  // A number that is everywhere the same has every shape.
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (isa<SplatElementsAttr>(constant.getValue()))
      return;
  if (OpTrait::hasElementwiseMappableTraits(&op)) {
    Value first;
    for (Value value : llvm::concat<Value>(op.getOperands(), op.getResults()))
      if (typeOf(value)) {
        if (first)
          uniteAll(first, value);
        first = value;
      }
    return;
  }
  keepAll(op);
}

/// The size of a dimension that is accessed at `expr`: what is beyond the last
/// access stays.
void PatternSizes::bindExpr(unsigned dimension, AffineExpr expr,
                            unsigned numDims, ArrayRef<unsigned> loops) {
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    if (classes.sizeOf(dimension) == classes.sizeOf(loops[loop.getPosition()]))
      return classes.unite(dimension, loops[loop.getPosition()]);
  }
  SmallVector<int64_t> factors;
  bool isLinear =
      succeeded(getFlattenedAffineExpr(expr, numDims, 0, &factors)) &&
      factors.size() == numDims + 1;
  SmallVector<std::pair<unsigned, int64_t>> terms = {{dimension, -1}};
  for (unsigned i = 0; i < numDims; ++i) {
    if (isLinear && factors[i] >= 0) {
      if (factors[i] > 0)
        terms.emplace_back(loops[i], factors[i]);
    } else if (expr.isFunctionOfDim(i)) {
      classes.keep(loops[i]);
      classes.keep(dimension);
    }
  }
  if (terms.size() == 1)
    return classes.keep(dimension);
  classes.bind(terms);
}

/// What a body reads by coordinates of its own.
void PatternSizes::visitExtracts(linalg::LinalgOp op,
                                 ArrayRef<unsigned> loops) {
  op->walk([&](tensor::ExtractOp extract) {
    for (auto [dimension, index] :
         llvm::zip_equal(number(extract.getTensor()), extract.getIndices())) {
      if (auto loop = index.getDefiningOp<linalg::IndexOp>()) {
        classes.unite(dimension, loops[loop.getDim()]);
        continue;
      }
      // An operand's value is drawn for the size that the dimension has.
      auto cast = index.getDefiningOp<arith::IndexCastOp>();
      if (cast && isa<BlockArgument>(cast.getIn()))
        continue;
      classes.keep(dimension);
      for (unsigned loop : loops)
        classes.keep(loop);
    }
  });
}

void PatternSizes::visit(linalg::LinalgOp op) {
  SmallVector<unsigned> loops;
  for (int64_t range : op.getStaticLoopRanges())
    loops.push_back(classes.add(range));
  for (auto [operand, map] :
       llvm::zip_equal(op->getOpOperands(), op.getIndexingMapsArray()))
    for (auto [dimension, expr] :
         llvm::zip(number(operand.get()), map.getResults()))
      bindExpr(dimension, expr, map.getNumDims(), loops);
  for (OpResult result : op->getResults())
    uniteAll(op.getTiedOpOperand(result)->get(), result);
  op->walk([&](tensor::ExtractOp extract) { know(extract.getTensor()); });
  visitExtracts(op, loops);
}

void PatternSizes::visit(tensor::PadOp op) {
  bool isPlain = op.getConstantPaddingValue() && op.getLow().empty() &&
                 op.getHigh().empty();
  for (auto [source, result] :
       llvm::zip_equal(number(op.getSource()), number(op.getResult()))) {
    if (!isPlain) {
      classes.keep(source);
      classes.keep(result);
    } else if (classes.sizeOf(source) == classes.sizeOf(result)) {
      classes.unite(source, result);
    } else {
      classes.bind({{source, 1}, {result, -1}});
    }
  }
}

void PatternSizes::visit(tensor::ExtractSliceOp op) {
  bool isStatic = op.getOffsets().empty() && op.getSizes().empty() &&
                  op.getStrides().empty();
  const llvm::SmallBitVector &dropped = droppedDims[op] = op.getDroppedDims();
  ArrayRef<unsigned> results = number(op.getResult());
  size_t next = 0;
  for (auto [at, source] : llvm::enumerate(number(op.getSource()))) {
    if (!isStatic || dropped[at]) {
      classes.keep(source);
      if (!dropped[at])
        classes.keep(results[next++]);
      continue;
    }
    unsigned result = results[next++];
    if (classes.sizeOf(source) == classes.sizeOf(result))
      classes.unite(source, result);
    else
      classes.bind({{source, 1}, {result, -op.getStaticStrides()[at]}});
  }
}

void PatternSizes::visit(tensor::InsertSliceOp op) {
  uniteAll(op.getDest(), op.getResult());
  // What lies beside the slice is another slice's, or nobody's.
  const llvm::SmallBitVector &dropped = droppedDims[op] = op.getDroppedDims();
  ArrayRef<unsigned> sources = number(op.getSource());
  size_t next = 0;
  for (auto [at, dest] : llvm::enumerate(number(op.getDest()))) {
    if (dropped[at]) {
      classes.keep(dest);
      continue;
    }
    unsigned source = sources[next++];
    if (classes.sizeOf(source) == classes.sizeOf(dest)) {
      classes.unite(source, dest);
      continue;
    }
    classes.keep(source);
    classes.keep(dest);
  }
}

void PatternSizes::visit(tensor::ConcatOp op) {
  ArrayRef<unsigned> results = number(op.getResult());
  SmallVector<std::pair<unsigned, int64_t>> sum = {{results[op.getDim()], -1}};
  for (Value input : op.getInputs())
    for (auto [at, dimension] : llvm::enumerate(number(input)))
      if (at == op.getDim())
        sum.emplace_back(dimension, 1);
      else
        classes.unite(dimension, results[at]);
  classes.bind(sum);
}

void PatternSizes::visitReshape(Value whole, Value parts,
                                ArrayRef<ReassociationIndices> groups) {
  // Of rank 0 or from it: all extents are 1.
  if (groups.empty())
    return;
  for (auto [dimension, group] : llvm::zip_equal(number(whole), groups)) {
    SmallVector<unsigned> members;
    for (int64_t at : group)
      members.push_back(number(parts)[at]);
    classes.bindProduct(dimension, members);
  }
}

void PatternSizes::resizeAttributes(Operation &op) {
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  auto resize = [&](ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> resized(sizes);
    size_t next = 0;
    for (size_t at = 0; at < resized.size(); ++at)
      if (!droppedDims[&op][at])
        resized[at] = shape[next++];
    return resized;
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    slice.setStaticSizes(
        resize(slice.getStaticSizes(), shapeOf(slice.getResult())));
  else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    slice.setStaticSizes(
        resize(slice.getStaticSizes(), shapeOf(slice.getSource())));
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    expand.setStaticOutputShape(shapeOf(expand.getResult()));
  else if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(
          splat.resizeSplat(cast<ShapedType>(constant.getType())));
}

void PatternSizes::apply() {
  for (auto &[value, unused] : numbers)
    if (RankedTensorType type = typeOf(value))
      Value(value).setType(type.clone(shapeOf(value)));
  for (Operation &op : pattern.front())
    resizeAttributes(op);
}

/// A function around a workload with a copy of the pattern.
static std::pair<func::FuncOp, WorkloadOp>
wrapPattern(OpBuilder &builder, Region &pattern, StringRef name) {
  Location loc = pattern.getLoc();
  SmallVector<Type> inputs(pattern.getArgumentTypes()),
      results(pattern.front().getTerminator()->getOperandTypes());
  auto func = func::FuncOp::create(builder, loc, name,
                                   builder.getFunctionType(inputs, results));
  OpBuilder body = OpBuilder::atBlockBegin(func.addEntryBlock());
  auto workload = WorkloadOp::create(
      body, loc, results, builder.getStringAttr(name), func.getArguments());
  IRMapping mapping;
  pattern.cloneInto(&workload.getBody(), mapping);
  func::ReturnOp::create(body, loc, workload.getResults());
  return {func, workload};
}

/// Gives the function the types that the body of its workload has got.
static void retype(func::FuncOp func, WorkloadOp workload) {
  Block &body = workload.getBody().front();
  for (auto [argument, inner] :
       llvm::zip_equal(func.getArguments(), body.getArguments()))
    argument.setType(inner.getType());
  for (auto [result, inner] : llvm::zip_equal(
           workload.getResults(), body.getTerminator()->getOperands()))
    result.setType(inner.getType());
  func.setFunctionType(
      FunctionType::get(func.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

func::FuncOp fastk::buildSmallWorkload(OpBuilder &builder, Region &pattern,
                                       StringRef name,
                                       const WorkloadSize &largest) {
  if (isWithin(sizeOf(pattern), largest))
    return wrapPattern(builder, pattern, name).first;
  // What the verifier says of sizes that do not fit is no concern of users.
  ScopedDiagnosticHandler quiet(builder.getContext(),
                                [](Diagnostic &) { return success(); });
  for (int64_t limit : kLimits) {
    auto [func, workload] = wrapPattern(builder, pattern, name);
    PatternSizes sizes(workload.getBody());
    sizes.shrinkTo(limit);
    sizes.apply();
    retype(func, workload);
    if (isWithin(sizeOf(workload.getBody()), largest)) {
      if (succeeded(verify(func)))
        return func;
      func.erase();
      return nullptr;
    }
    func.erase();
  }
  return nullptr;
}
