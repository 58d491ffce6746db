//===- Pieces.cpp - C for elements of pads and concatenations -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of such a tensor is one of several, by where it lies. All of them
// are computed and one is chosen; what is loaded for one that is not there is
// under the guard that says where it is.
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
  return text;
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
  std::optional<CValue> chosen;
  int64_t begin = 0;
  for (Value input : concat.getInputs()) {
    int64_t extent = cast<RankedTensorType>(input.getType()).getDimSize(dim);
    Guard guard{index[dim], begin, begin + extent};
    begin += extent;
    if (extent == 0 || isNever(program, guard))
      continue;
    SmallVector<Lin> source(index);
    source[dim] = source[dim] - guard.low;
    CValue value = atWithin(guard, input, source);
    std::string where = guardText(guard);
    chosen = chosen && !where.empty()
                 ? define(value.elem, false,
                          where + " ? " + value.text + " : " + chosen->text)
                 : value;
  }
  return chosen.value_or(CValue());
}

CValue Scope::padded(Operation *op, ArrayRef<Lin> index) {
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
  std::string where;
  for (auto [extent, low, place] :
       llvm::zip_equal(shape, pad.getStaticLow(), index)) {
    source.push_back(place - low);
    within.push_back({place, low, low + extent});
    std::string text = guardText(within.back());
    if (!text.empty())
      where += (where.empty() ? "" : " && ") + text;
  }
  CValue outside = literal(constant.getValue(), constant.getType());
  if (llvm::any_of(within,
                   [&](const Guard &guard) { return isNever(program, guard); }))
    return outside;
  CValue inside = atWithin(within, pad.getSource(), source);
  if (where.empty())
    return inside;
  return define(inside.elem, false,
                where + " ? " + inside.text + " : " + outside.text);
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
