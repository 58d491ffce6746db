//===- Pieces.cpp - C for elements of pads and concatenations -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of such a tensor is one of several, by where it lies. All of them
// are computed and one is chosen; what is loaded for one that is not there is
// under the guard that says where it is: nothing, or in CUDA element 0, which
// every tensor of a workload has.
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Whether a guard holds everywhere, or nowhere.
static bool isAlways(const Program &program, const Guard &guard) {
  auto [low, high] = program.range(guard.index);
  return low >= guard.low && high < guard.high;
}
static bool isNever(const Program &program, const Guard &guard) {
  auto [low, high] = program.range(guard.index);
  return high < guard.low || low >= guard.high;
}

SmallVector<Guard> Scope::mergedGuards() {
  SmallVector<Guard> list;
  for (const Guard &guard : guards)
    list.push_back({mergeVars(guard.index), guard.low, guard.high});
  return list;
}

std::string Scope::guardText(const Guard &guard) {
  if (isAlways(program, guard))
    return "";
  Lin index = mergeVars(guard.index);
  if (onIndex)
    onIndex(index);
  auto [low, high] = program.range(index);
  std::string text, place = program.linText(index);
  if (low < guard.low)
    text = place + " >= " + std::to_string(guard.low);
  if (high >= guard.high)
    text += (text.empty() ? "" : " && ") + place + " < " +
            std::to_string(guard.high);
  if (!text.empty() && vectorVar && index.coefficient(*vectorVar))
    program.fail("lanes are of several pieces");
  return text;
}

/// What all of some guards say; empty: they always hold.
static std::string conditionOf(Scope &scope, ArrayRef<Guard> guards) {
  std::string all;
  for (const Guard &guard : guards) {
    std::string text = scope.guardText(guard);
    if (!text.empty())
      all += (all.empty() ? "" : " && ") + text;
  }
  return all;
}

std::string Scope::loadCondition() { return conditionOf(*this, guards); }

bool Scope::isNowhere(const Guard &guard) {
  return isNever(program, guard) ||
         (!merged.empty() && !isAlways(program, guard) &&
          isNever(program, {mergeVars(guard.index), guard.low, guard.high}));
}

CValue Scope::chosen(const std::string &where, const CValue &yes,
                     const CValue &no) {
  bool vector = yes.vector || no.vector;
  CValue a = unify(yes, vector), b = unify(no, vector);
  return define(yes.elem, vector, where + " ? " + a.text + " : " + b.text);
}

CValue Scope::atWithin(ArrayRef<Guard> within, Value value,
                       ArrayRef<Lin> index) {
  size_t outer = guards.size();
  for (const Guard &guard : within)
    if (!isAlways(program, guard) && !llvm::is_contained(guards, guard))
      guards.push_back(guard);
  CValue result = at(value, index);
  guards.truncate(outer);
  return result;
}

CValue Scope::concatenated(Operation *op, ArrayRef<Lin> index) {
  auto concat = cast<tensor::ConcatOp>(op);
  uint64_t dim = concat.getDim();
  std::optional<CValue> result;
  int64_t begin = 0;
  for (Value input : concat.getInputs()) {
    int64_t extent = cast<RankedTensorType>(input.getType()).getDimSize(dim);
    Guard guard{index[dim], begin, begin + extent};
    begin += extent;
    if (extent == 0 || isNowhere(guard))
      continue;
    SmallVector<Lin> source(index);
    source[dim] = source[dim] - guard.low;
    CValue value = atWithin(guard, input, source);
    std::string where = guardText(guard);
    result = result && !where.empty() ? chosen(where, value, *result) : value;
  }
  return result.value_or(CValue());
}

/// Where an index of a tensor is one of a slice that was inserted; nothing: the
/// slice is at no known place, or its elements are not neighbours.
static std::optional<SmallVector<Lin>>
insertedIndex(tensor::InsertSliceOp insert, ArrayRef<Lin> index,
              SmallVectorImpl<Guard> &within) {
  auto dropped = insert.getDroppedDims();
  SmallVector<Lin> source;
  for (size_t d = 0; d < index.size(); ++d) {
    int64_t offset = insert.getStaticOffsets()[d];
    int64_t size = insert.getStaticSizes()[d];
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
        (insert.getStaticStrides()[d] != 1 && size != 1))
      return std::nullopt;
    within.push_back({index[d], offset, offset + size});
    if (!dropped.test(d))
      source.push_back(index[d] - offset);
  }
  return source;
}

CValue Scope::padded(Operation *op, ArrayRef<Lin> index) {
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    SmallVector<Guard> within;
    auto place = insertedIndex(insert, index, within);
    if (!place) {
      program.fail("a slice is inserted at no known place");
      return {};
    }
    auto isOutside = [&](const Guard &guard) { return isNowhere(guard); };
    if (llvm::any_of(within, isOutside))
      return at(insert.getDest(), index);
    std::string where = conditionOf(*this, within);
    CValue inside = atWithin(within, insert.getSource(), *place);
    // What is around it may be there for its type alone.
    if (where.empty() || insert.getDest().getDefiningOp<tensor::EmptyOp>())
      return inside;
    return chosen(where, inside, at(insert.getDest(), index));
  }
  auto pad = cast<tensor::PadOp>(op);
  Value filler = pad.getConstantPaddingValue();
  auto constant =
      filler ? filler.getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
  if (!constant || ShapedType::isDynamicShape(pad.getStaticLow())) {
    program.fail("a pad that is no constant at a known place");
    return {};
  }
  auto shape = pad.getSourceType().getShape();
  SmallVector<Guard> within;
  SmallVector<Lin> source;
  for (auto [extent, low, place] :
       llvm::zip_equal(shape, pad.getStaticLow(), index)) {
    source.push_back(place - low);
    within.push_back({place, low, low + extent});
  }
  CValue outside = literal(constant.getValue(), constant.getType());
  if (llvm::any_of(within,
                   [&](const Guard &guard) { return isNowhere(guard); }))
    return outside;
  std::string where = conditionOf(*this, within);
  CValue inside = atWithin(within, pad.getSource(), source);
  if (where.empty())
    return inside;
  return chosen(where, inside, outside);
}

/// A value of a body as a sum of its loops, where it is one.
static std::optional<Lin> linOf(Value value, ArrayRef<Lin> loops) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return loops[index.getDim()];
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    return number ? std::optional(Lin(number.getValue().getSExtValue()))
                  : std::nullopt;
  }
  if (isa<arith::IndexCastOp>(op))
    return linOf(op->getOperand(0), loops);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<Lin> a = linOf(op->getOperand(0), loops),
                     b = linOf(op->getOperand(1), loops);
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *a + *b;
  if (isa<arith::SubIOp>(op))
    return *a - *b;
  if (b->terms.empty())
    return *a * b->constant;
  return a->terms.empty() ? std::optional(*b * a->constant) : std::nullopt;
}

CValue Scope::valueOf(const ComputedIndex &index) {
  guards = index.guards;
  return bodyAt(index.op, index.value, index.loops);
}

CValue Scope::extracted(linalg::GenericOp op, tensor::ExtractOp extract,
                        ArrayRef<Lin> loops) {
  SmallVector<Lin> index;
  auto shape = extract.getTensor().getType().getShape();
  for (auto [extent, each] : llvm::zip_equal(shape, extract.getIndices())) {
    std::optional<Lin> place;
    if (choosesPieces)
      place = linOf(each, loops);
    if (!place && onComputedIndex)
      place = onComputedIndex(
          *this, {op, each, SmallVector<Lin>(loops), guards, extent});
    if (!place) {
      program.fail("an element is gathered from a place that is computed");
      return {};
    }
    index.push_back(*place);
  }
  return at(extract.getTensor(), index);
}
