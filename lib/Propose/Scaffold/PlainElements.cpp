//===- PlainElements.cpp - Elements of values in a plain program ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::scaffold;
using llvm::Twine;

std::string scaffold::typeText(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool Elements::fail(const Twine &why) {
  if (problem.empty())
    problem = why.str();
  return false;
}

Text Elements::failed(const Twine &why) {
  fail(why);
  return {"0"};
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void Elements::beginStep() {
  names.clear();
  used.clear();
  written.clear();
  threadNumber = {};
  threadExtents.clear();
  threadIndices.clear();
  computed.clear();
}

std::string Elements::newName(const std::string &wanted) {
  std::string name = wanted;
  for (unsigned number = 2; !names.insert(name).second; ++number)
    name = wanted + "_" + std::to_string(number);
  return name;
}

void Elements::setThread(Text number, ArrayRef<int64_t> extents,
                         ArrayRef<Text> indices) {
  threadNumber = std::move(number);
  for (auto [extent, index] : llvm::zip_equal(extents, indices))
    if (extent != 1) {
      threadExtents.push_back(extent);
      threadIndices.push_back(index.str);
    }
}

void Elements::noteUse(const std::string &buffer, bool isWritten) {
  used.insert(buffer);
  if (isWritten)
    written.insert(buffer);
}

std::vector<std::string> Elements::usedBuffers() const {
  std::vector<std::string> ordered(used.begin(), used.end());
  auto place = [](StringRef name) {
    int kind = name.consume_front("in") ? 0 : name.consume_front("ws") ? 1 : 2;
    name.consume_front("out");
    unsigned number = 0;
    name.getAsInteger(10, number);
    return std::make_pair(kind, number);
  };
  llvm::sort(ordered, [&](const std::string &a, const std::string &b) {
    return place(a) < place(b);
  });
  return ordered;
}

/// Whether a text is a name or a number, which needs no other name.
static bool isWord(const Text &text) {
  return text.binding == Primary &&
         StringRef(text.str).find_first_of("[(") == StringRef::npos;
}

/// Longer expressions are hard to read.
static constexpr size_t kLongExpression = 72;

Text Elements::named(Lines &lines, Value value, Text text) {
  // What is yielded stands in an assignment of its own.
  bool isLong =
      text.str.size() > kLongExpression &&
      !(value.hasOneUse() &&
        value.getUses().begin()->getOwner()->hasTrait<OpTrait::IsTerminator>());
  if (isWord(text) || (value.hasOneUse() && !isLong) || conditions != 0)
    return text;
  std::optional<Elem> elem = elemOf(value.getType());
  if (!elem)
    return failed("a value of type " + typeText(value.getType()));
  std::string name = newName("x");
  lines.add("const " + language.registerType(*elem) + " " + name + " = " +
            text.str + ";");
  return {name};
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Text Elements::flatten(Value value, ArrayRef<Text> index) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> extents;
  SmallVector<std::string> texts;
  Text flat = indexOf(0);
  for (auto [extent, each] : llvm::zip_equal(shape, index)) {
    if (extent == 1)
      continue;
    extents.push_back(extent);
    texts.push_back(each.str);
    flat = addIndices(multiplyIndex(flat, extent), each);
  }
  bool isThread =
      !texts.empty() && texts == threadIndices && extents == threadExtents;
  return isThread ? threadNumber : flat;
}

/// Whether an expression of loops may be below zero, as far as is easily seen.
static bool maySubtract(AffineExpr expr) {
  bool does = false;
  expr.walk([&](AffineExpr each) {
    auto constant = dyn_cast<AffineConstantExpr>(each);
    does |= constant && constant.getValue() < 0;
  });
  return does;
}

Text Elements::expression(AffineExpr expr, ArrayRef<Text> loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return indexOf(constant.getValue());
  auto both = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!both)
    return failed("an index with a symbol");
  Text lhs = expression(both.getLHS(), loops);
  if (expr.getKind() == AffineExprKind::Add)
    return addIndices(lhs, expression(both.getRHS(), loops));
  auto constant = dyn_cast<AffineConstantExpr>(both.getRHS());
  if (!constant)
    return failed("an index that is a product of loops");
  int64_t value = constant.getValue();
  if (expr.getKind() == AffineExprKind::Mul)
    return multiplyIndex(lhs, value);
  if (maySubtract(both.getLHS()) || value <= 0)
    return failed("an index that divides what may be negative");
  if (expr.getKind() == AffineExprKind::Mod)
    return remainderOfIndex(lhs, value);
  if (expr.getKind() == AffineExprKind::CeilDiv)
    lhs = addIndices(lhs, indexOf(value - 1));
  return divideIndex(lhs, value);
}

SmallVector<Text> Elements::apply(AffineMap map, ArrayRef<Text> loops) {
  SmallVector<Text> index;
  for (AffineExpr each : map.getResults())
    index.push_back(expression(each, loops));
  return index;
}

//===----------------------------------------------------------------------===//
// Elements of tensors
//===----------------------------------------------------------------------===//

Text Elements::loadFrom(const Buffer &buffer, const Text &index) {
  noteUse(buffer.name);
  return language.load(buffer.name, index, buffer.elem);
}

Text Elements::at(Lines &lines, Value value, ArrayRef<Text> index,
                  bool computes) {
  if (hasFailed())
    return {"0"};
  auto buffer = buffers.find(value);
  if (buffer != buffers.end() && !computes)
    return loadFrom(buffer->second, flatten(value, index));
  Operation *op = value.getDefiningOp();
  if (!op)
    return failed("an operand that is no tensor");
  std::optional<Elem> elem = elemOf(value.getType());
  if (!elem)
    return failed("a tensor of " + typeText(value.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements)
      return failed("a constant whose elements are elsewhere");
    if (elements.isSplat())
      return language.number(elements.getSplatValue<Attribute>(), *elem);
    std::string &table = tables[value];
    if (table.empty())
      table = language.table(elements, *elem);
    return {table + "[" + flatten(value, index).str + "]"};
  }
  // What nobody wrote has any value.
  if (isa<tensor::EmptyOp>(op))
    return catalog::isFloat(*elem) ? Text{*elem == Elem::F64 ? "0.0" : "0.0f"}
                                   : Text{"0"};
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op))
    return atReshaped(lines, op, index);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return atSlice(lines, slice, index);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return atPad(lines, pad, index);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return atConcat(lines, concat, index);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return atInserted(lines, insert, index);
  if (isa<tensor::FromElementsOp, tensor::SplatOp>(op))
    return atScalars(lines, op, index);
  if (isa<linalg::GenericOp>(op))
    return atGeneric(lines, cast<OpResult>(value), index);
  return failed("'" + op->getName().getStringRef() + "'");
}

Text Elements::atReshaped(Lines &lines, Operation *reshape,
                          ArrayRef<Text> index) {
  Value value = reshape->getResult(0), from = withoutReshapes(value);
  if (auto buffer = buffers.find(from); buffer != buffers.end())
    return loadFrom(buffer->second, flatten(value, index));
  Value source = reshape->getOperand(0);
  if (isa<tensor::CastOp>(reshape))
    return at(lines, source, index);
  SmallVector<Text> there;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
    auto shape = cast<RankedTensorType>(value.getType()).getShape();
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      Text flat = indexOf(0);
      for (int64_t dim : group)
        if (shape[dim] != 1)
          flat = mixIndices(flat, shape[dim], index[dim]);
      there.push_back(flat);
    }
    return at(lines, source, there);
  }
  auto collapse = cast<tensor::CollapseShapeOp>(reshape);
  auto shape = cast<RankedTensorType>(source.getType()).getShape();
  for (auto [number, group] :
       llvm::enumerate(collapse.getReassociationIndices())) {
    int64_t inner = 1;
    for (int64_t dim : group)
      inner *= shape[dim];
    bool isFirst = true;
    for (int64_t dim : group) {
      inner /= shape[dim];
      Text each = divideIndex(index[number], inner);
      there.push_back(shape[dim] == 1 ? indexOf(0)
                      : isFirst       ? each
                                      : remainderOfIndex(each, shape[dim]));
      isFirst &= shape[dim] == 1;
    }
  }
  return at(lines, source, there);
}

Text Elements::atSlice(Lines &lines, tensor::ExtractSliceOp slice,
                       ArrayRef<Text> index) {
  if (ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
      ShapedType::isDynamicShape(slice.getStaticStrides()))
    return failed("a slice at a computed place");
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<Text> there;
  size_t next = 0;
  for (auto [dim, offset] : llvm::enumerate(slice.getStaticOffsets())) {
    Text place = dropped.test(dim) ? indexOf(0) : index[next++];
    place = multiplyIndex(place, slice.getStaticStrides()[dim]);
    there.push_back(addIndices(place, indexOf(offset)));
  }
  return at(lines, slice.getSource(), there);
}

/// All of the conditions; nothing where there is none.
static std::optional<Text> allOf(ArrayRef<Text> conditions) {
  if (conditions.empty())
    return std::nullopt;
  if (conditions.size() == 1)
    return conditions.front();
  std::string text;
  for (const Text &each : conditions)
    text += (text.empty() ? "" : " && ") + each.within(Equality);
  return Text{text, Logic};
}

Text Elements::atPad(Lines &lines, tensor::PadOp pad, ArrayRef<Text> index) {
  Value filler = pad.getConstantPaddingValue();
  if (!filler || ShapedType::isDynamicShape(pad.getStaticLow()) ||
      ShapedType::isDynamicShape(pad.getStaticHigh()))
    return failed("a padding that is computed");
  SmallVector<Text> there, within;
  auto shape = pad.getSourceType().getShape();
  for (auto [extent, low, high, place] :
       llvm::zip_equal(shape, pad.getStaticLow(), pad.getStaticHigh(), index)) {
    if (low > 0)
      within.push_back(binary(place, ">=", indexOf(low), Order));
    if (high > 0)
      within.push_back(binary(place, "<", indexOf(low + extent), Order));
    there.push_back(addIndices(place, indexOf(-low)));
  }
  std::optional<Text> condition = allOf(within);
  if (!condition)
    return at(lines, pad.getSource(), there);
  ++conditions;
  Text inside = at(lines, pad.getSource(), there);
  --conditions;
  return choice(*condition, inside, scalar(lines, filler));
}

Text Elements::atConcat(Lines &lines, tensor::ConcatOp concat,
                        ArrayRef<Text> index) {
  uint64_t dim = concat.getDim();
  std::optional<Text> chosen;
  int64_t begin = concat.getResultType().getDimSize(dim);
  ++conditions;
  // From behind: each is where the index is below what begins behind it.
  for (Value input : llvm::reverse(concat.getInputs())) {
    int64_t end = begin;
    begin -= cast<RankedTensorType>(input.getType()).getDimSize(dim);
    SmallVector<Text> there(index);
    there[dim] = addIndices(index[dim], indexOf(-begin));
    Text element = at(lines, input, there);
    chosen = chosen ? choice(binary(index[dim], "<", indexOf(end), Order),
                             element, *chosen)
                    : element;
  }
  --conditions;
  return *chosen;
}

Text Elements::atInserted(Lines &lines, tensor::InsertSliceOp insert,
                          ArrayRef<Text> index) {
  if (ShapedType::isDynamicShape(insert.getStaticOffsets()) ||
      ShapedType::isDynamicShape(insert.getStaticStrides()))
    return failed("an insertion at a computed place");
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  SmallVector<Text> there, within;
  for (auto [dim, extent] : llvm::enumerate(insert.getDestType().getShape())) {
    int64_t low = insert.getStaticOffset(dim), size = insert.getStaticSize(dim),
            stride = insert.getStaticStride(dim);
    if (low > 0)
      within.push_back(binary(index[dim], ">=", indexOf(low), Order));
    if (int64_t end = low + (size - 1) * stride + 1; end < extent)
      within.push_back(binary(index[dim], "<", indexOf(end), Order));
    Text place = addIndices(index[dim], indexOf(-low));
    if (stride != 1 && size != 1)
      within.push_back(
          binary(remainderOfIndex(place, stride), "==", {"0"}, Equality));
    if (!dropped.test(dim))
      there.push_back(divideIndex(place, stride));
  }
  std::optional<Text> condition = allOf(within);
  if (!condition)
    return at(lines, insert.getSource(), there);
  ++conditions;
  Text inside = at(lines, insert.getSource(), there),
       outside = at(lines, insert.getDest(), index);
  --conditions;
  return choice(*condition, inside, outside);
}

Text Elements::atScalars(Lines &lines, Operation *op, ArrayRef<Text> index) {
  std::optional<Text> chosen;
  Text flat = flatten(op->getResult(0), index);
  bool isSplat = isa<tensor::SplatOp>(op);
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    Text element = scalar(lines, operand);
    if (isSplat)
      return element;
    chosen = chosen ? choice(binary(flat, "<", indexOf(number), Order), *chosen,
                             element)
                    : element;
  }
  return *chosen;
}

Text Elements::atGeneric(Lines &lines, OpResult value, ArrayRef<Text> index) {
  auto op = cast<linalg::GenericOp>(value.getOwner());
  AffineMap map =
      op.getMatchingIndexingMap(op.getDpsInitOperand(value.getResultNumber()));
  SmallVector<Text> loops(op.getNumLoops(), indexOf(0));
  for (auto [expr, place] : llvm::zip_equal(map.getResults(), index)) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = place;
    else if (!isa<AffineConstantExpr>(expr))
      return failed("a result whose indices are no loops");
  }
  SmallVector<Text> results = evaluate(lines, op, std::move(loops));
  return hasFailed() ? Text{"0"} : results[value.getResultNumber()];
}

Text Elements::scalar(Lines &lines, Value value) {
  Operation *op = value.getDefiningOp();
  std::optional<Elem> elem = elemOf(value.getType());
  if (!op || !elem)
    return failed("a number of type " + typeText(value.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return language.number(constant.getValue(), *elem);
  // A rounded constant is another constant.
  FloatAttr number;
  if (isa<arith::TruncFOp>(op) &&
      matchPattern(op->getOperand(0), m_Constant(&number)))
    return language.number(number, *elem);
  SmallVector<Text> operands;
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  for (Value operand : extract ? extract.getIndices() : op->getOperands())
    operands.push_back(scalar(lines, operand));
  if (extract)
    return at(lines, extract.getTensor(), operands);
  auto results = writeScalarOp(language, op, operands);
  if (!results)
    return failed("'" + op->getName().getStringRef() + "' of " +
                  typeText(value.getType()));
  return (*results)[cast<OpResult>(value).getResultNumber()];
}
