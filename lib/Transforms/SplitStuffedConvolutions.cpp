//===- SplitStuffedConvolutions.cpp - Zeros that nobody need read ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitStuffedConvolutions.h"
#include "fastk/Dialect/Linalg/Fills.h"
#include "fastk/Dialect/Linalg/LinearForm.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;

/// Each part is a kernel of its own, which has to be compiled.
static constexpr int64_t kMostParts = 16;

namespace {
/// A dimension of the tensor with zeros between: position output + tap.
struct StuffedDim {
  /// Of the tensor.
  unsigned dim;
  /// The loops.
  unsigned output, tap;
  /// From element to element, and of the first.
  int64_t stride, offset;
  /// Elements; and how many of the loops.
  int64_t elements, outputs, taps;
  /// Zeros before and behind the elements that some rest reads.
  int64_t before = 0, behind = 0;
};

/// Of one dimension, what is computed of the results at `first`, `first` +
/// stride and so on.
struct Rest {
  int64_t first, outputs;
  /// The taps that meet elements: from here on, in steps of the stride.
  int64_t firstTap, taps;
  /// The element that the first of each meet; negative: a zero before them.
  int64_t element;
};

/// What is taken of each dimension of a tensor.
struct Slice {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<int64_t> shape;
  void add(Builder &builder, int64_t offset, int64_t size, int64_t stride) {
    offsets.push_back(builder.getIndexAttr(offset));
    sizes.push_back(builder.getIndexAttr(size));
    strides.push_back(builder.getIndexAttr(stride));
    shape.push_back(size);
  }
};

class Splitter {
public:
  explicit Splitter(linalg::GenericOp op)
      : op(op), rewriter(op.getContext()), loc(op.getLoc()) {}
  bool match();
  void split();

private:
  bool isFactor(OpOperand &input, const SumOfProducts &sum);
  bool matchDims();
  bool matchDim(unsigned dim);
  bool readsPlainly(OpOperand &other);
  Rest restOf(const StuffedDim &stuffed, int64_t first) const;
  Value padElements();
  /// What a sum of these rests reads or writes of an operand.
  Slice sliceOf(OpOperand &operand, ArrayRef<Rest> rests);
  Slice sliceOfElements(ArrayRef<Rest> rests);
  Value extract(Value from, const Slice &slice);
  Value sumOfRests(ArrayRef<Rest> rests, Value results, Value elements);

  linalg::GenericOp op;
  IRRewriter rewriter;
  Location loc;
  OpOperand *operand = nullptr;
  tensor::InsertSliceOp stuffing;
  SmallVector<StuffedDim> dims;
  SmallVector<int64_t> loops;
};
} // namespace

/// All of the operand that has zeros between its elements.
bool Splitter::matchDims() {
  dims.clear();
  int64_t parts = 1;
  for (auto [dim, stride] : llvm::enumerate(stuffing.getStaticStrides())) {
    if (stride == 1)
      continue;
    if (stride < 1 || stride > kMostParts || !matchDim(dim))
      return false;
    parts *= stride;
  }
  return !dims.empty() && parts <= kMostParts &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &other) {
           return &other == operand || readsPlainly(other);
         });
}

bool Splitter::matchDim(unsigned dim) {
  AffineMap map = op.getMatchingIndexingMap(operand);
  std::optional<LinearForm> form =
      LinearForm::ofExpr(map.getResult(dim), map.getNumDims());
  if (!form || form->constant != 0)
    return false;
  SmallVector<unsigned> used;
  for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
    if (form->coefficients[loop] != 0) {
      if (form->coefficients[loop] != 1)
        return false;
      used.push_back(loop);
    }
  if (used.size() != 2)
    return false;
  auto iterators = op.getIteratorTypesArray();
  if (iterators[used[0]] == utils::IteratorType::reduction)
    std::swap(used[0], used[1]);
  if (iterators[used[0]] != utils::IteratorType::parallel ||
      iterators[used[1]] != utils::IteratorType::reduction)
    return false;
  // Nothing else of the tensor depends on them.
  for (unsigned other = 0; other < map.getNumResults(); ++other)
    if (other != dim && (map.getResult(other).isFunctionOfDim(used[0]) ||
                         map.getResult(other).isFunctionOfDim(used[1])))
      return false;
  StuffedDim found = {dim,
                      used[0],
                      used[1],
                      stuffing.getStaticStrides()[dim],
                      stuffing.getStaticOffsets()[dim],
                      stuffing.getSourceType().getDimSize(dim),
                      loops[used[0]],
                      loops[used[1]]};
  for (int64_t first = 0; first < std::min(found.stride, found.outputs);
       ++first) {
    Rest rest = restOf(found, first);
    if (rest.taps == 0)
      continue;
    int64_t last = rest.element + rest.outputs - 1 + rest.taps - 1;
    found.before = std::max(found.before, -rest.element);
    found.behind = std::max(found.behind, last - (found.elements - 1));
  }
  dims.push_back(found);
  return true;
}

/// The position of result first + stride * q and tap firstTap + stride * j is
/// offset + stride * (element + q + j).
Rest Splitter::restOf(const StuffedDim &stuffed, int64_t first) const {
  int64_t stride = stuffed.stride;
  int64_t firstTap = (stuffed.offset - first) % stride;
  if (firstTap < 0)
    firstTap += stride;
  auto steps = [&](int64_t from, int64_t until) -> int64_t {
    return from < until ? llvm::divideCeil(until - from, stride) : 0;
  };
  return {first, steps(first, stuffed.outputs), firstTap,
          steps(firstTap, stuffed.taps),
          (first + firstTap - stuffed.offset) / stride};
}

/// Whether the loops that are cut lead through an operand in steps of one, each
/// through a dimension of its own.
bool Splitter::readsPlainly(OpOperand &other) {
  AffineMap map = op.getMatchingIndexingMap(&other);
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    return isa<AffineDimExpr>(expr) ||
           llvm::none_of(dims, [&](const StuffedDim &each) {
             return expr.isFunctionOfDim(each.output) ||
                    expr.isFunctionOfDim(each.tap);
           });
  });
}

/// Whether one factor of each product is the element itself, or what is zero
/// where it is, and nothing else depends on it.
bool Splitter::isFactor(OpOperand &input, const SumOfProducts &sum) {
  Value value = op.getMatchingBlockArgument(&input);
  while (value.hasOneUse() && value != sum.lhs && value != sum.rhs) {
    Operation *user = *value.user_begin();
    if (!isa<arith::ExtFOp, arith::TruncFOp, arith::NegFOp>(user))
      return false;
    value = user->getResult(0);
  }
  return value.hasOneUse() && (value == sum.lhs) != (value == sum.rhs);
}

bool Splitter::match() {
  if (op.getNumDpsInits() != 1 || op.getNumResults() != 1 ||
      op.hasIndexSemantics() ||
      llvm::any_of(op->getOperandTypes(), [](Type type) {
        auto shaped = dyn_cast<RankedTensorType>(type);
        return !shaped || !shaped.hasStaticShape();
      }))
    return false;
  std::optional<SumOfProducts> sum = matchSumOfProducts(op);
  if (!sum)
    return false;
  loops = op.getStaticLoopRanges();
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto insert = input->get().getDefiningOp<tensor::InsertSliceOp>();
    if (!insert ||
        insert.getSourceType().getRank() != insert.getType().getRank())
      continue;
    auto isStatic = [](ArrayRef<int64_t> values) {
      return llvm::none_of(values, ShapedType::isDynamic);
    };
    if (!isStatic(insert.getStaticOffsets()) ||
        !isStatic(insert.getStaticStrides()) ||
        !insert.getSourceType().hasStaticShape() || !isZero(insert.getDest()) ||
        !isFactor(*input, *sum))
      continue;
    operand = input;
    stuffing = insert;
    if (matchDims())
      return true;
  }
  return false;
}

/// The elements with the zeros around them that are read.
Value Splitter::padElements() {
  Value source = stuffing.getSource();
  RankedTensorType type = stuffing.getType();
  SmallVector<int64_t> shape(type.getShape());
  Slice place;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const auto *stuffed = llvm::find_if(
        dims, [&](const StuffedDim &each) { return each.dim == dim; });
    int64_t size = stuffing.getSourceType().getDimSize(dim);
    int64_t offset = stuffing.getStaticOffsets()[dim];
    if (stuffed != dims.end()) {
      shape[dim] = stuffed->before + size + stuffed->behind;
      offset = stuffed->before;
    }
    place.add(rewriter, offset, size, 1);
  }
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
  Value zero = arith::ConstantOp::create(
      rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
  Value zeros = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
  return tensor::InsertSliceOp::create(
      rewriter, loc, source, zeros, place.offsets, place.sizes, place.strides);
}

Slice Splitter::sliceOf(OpOperand &other, ArrayRef<Rest> rests) {
  Slice slice;
  auto type = cast<RankedTensorType>(other.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&other);
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    int64_t offset = 0, size = type.getDimSize(dim), stride = 1;
    auto loop = dyn_cast<AffineDimExpr>(expr);
    for (auto [stuffed, rest] : llvm::zip(dims, rests)) {
      bool isOutput = loop && loop.getPosition() == stuffed.output;
      if (!isOutput && !(loop && loop.getPosition() == stuffed.tap))
        continue;
      offset = isOutput ? rest.first : rest.firstTap;
      size = isOutput ? rest.outputs : rest.taps;
      stride = stuffed.stride;
    }
    slice.add(rewriter, offset, size, stride);
  }
  return slice;
}

Slice Splitter::sliceOfElements(ArrayRef<Rest> rests) {
  Slice slice;
  RankedTensorType type = stuffing.getType();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t offset = 0, size = type.getDimSize(dim);
    for (auto [stuffed, rest] : llvm::zip(dims, rests))
      if (stuffed.dim == dim) {
        offset = stuffed.before + rest.element;
        size = rest.outputs + rest.taps - 1;
      }
    slice.add(rewriter, offset, size, 1);
  }
  return slice;
}

Value Splitter::extract(Value from, const Slice &slice) {
  auto type = cast<RankedTensorType>(from.getType());
  if (slice.shape == type.getShape())
    return from;
  return tensor::ExtractSliceOp::create(rewriter, loc, from, slice.offsets,
                                        slice.sizes, slice.strides);
}

/// `results` with what the sum of these rests gives in its place.
Value Splitter::sumOfRests(ArrayRef<Rest> rests, Value results,
                           Value elements) {
  SmallVector<Value> operands;
  for (OpOperand &each : op->getOpOperands())
    operands.push_back(&each == operand
                           ? extract(elements, sliceOfElements(rests))
                           : extract(each.get(), sliceOf(each, rests)));
  OpOperand *init = op.getDpsInitOperand(0);
  Slice place = sliceOf(*init, rests);
  // Next to each other, as vectors are stored.
  auto type = RankedTensorType::get(
      place.shape, getElementTypeOrSelf(init->get().getType()));
  operands.back() = bufferization::AllocTensorOp::create(
      rewriter, loc, type, /*dynamicSizes=*/ValueRange(), operands.back());
  Operation *sum = rewriter.clone(*op);
  sum->setOperands(operands);
  sum->getResult(0).setType(type);
  return tensor::InsertSliceOp::create(rewriter, loc, sum->getResult(0),
                                       results, place.offsets, place.sizes,
                                       place.strides);
}

void Splitter::split() {
  rewriter.setInsertionPoint(op);
  Value elements = padElements();
  Value results = op.getDpsInits()[0];
  SmallVector<int64_t> firsts(dims.size(), 0);
  for (;;) {
    SmallVector<Rest> rests;
    for (auto [stuffed, first] : llvm::zip(dims, firsts))
      rests.push_back(restOf(stuffed, first));
    if (llvm::all_of(rests, [](const Rest &rest) {
          return rest.outputs > 0 && rest.taps > 0;
        }))
      results = sumOfRests(rests, results, elements);
    // The next combination.
    size_t at = 0;
    while (at < dims.size() && ++firsts[at] == dims[at].stride)
      firsts[at++] = 0;
    if (at == dims.size())
      break;
  }
  rewriter.replaceOp(op, results);
}

void fastk::splitStuffedConvolutions(func::FuncOp func) {
  SmallVector<linalg::GenericOp> ops;
  func.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops) {
    Splitter splitter(op);
    if (splitter.match())
      splitter.split();
  }
}
