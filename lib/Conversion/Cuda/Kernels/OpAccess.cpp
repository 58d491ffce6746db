//===- OpAccess.cpp - One op on memrefs, as points of rows ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpAccess.h"
#include "Access.h"
#include "MemrefPlace.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk;

static bool isConstant(Value value) {
  Operation *definition = value.getDefiningOp();
  return definition && definition->hasTrait<OpTrait::ConstantLike>();
}

/// What the offset of a memref is a multiple of, in elements, where that is
/// another one in each iteration of a loop.
static std::optional<int64_t> offsetDivisor(Value memref) {
  std::optional<MemrefPlace> place = findPlace(memref);
  if (!place)
    return std::nullopt;
  return place->bytes.divisor() /
         elementBytes(cast<MemRefType>(memref.getType()).getElementType());
}

std::optional<OpAccess> OpAccess::of(linalg::GenericOp op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegion(), captured);
  if (!llvm::all_of(captured, isConstant))
    return std::nullopt;
  OpAccess result;
  result.op = op;
  result.extents = op.getStaticLoopRanges();
  for (unsigned i = 0; i < result.extents.size(); ++i)
    result.order.push_back(i);
  for (OpOperand &operand : op->getOpOperands()) {
    PointAccess access;
    int64_t span = 1, offset = 0;
    if (auto type = dyn_cast<MemRefType>(operand.get().getType())) {
      SmallVector<int64_t> strides;
      if (isConstantGlobal(operand.get()) ||
          failed(type.getStridesAndOffset(strides, offset)))
        return std::nullopt;
      if (ShapedType::isDynamic(offset)) {
        std::optional<int64_t> divisor = offsetDivisor(operand.get());
        if (!divisor)
          return std::nullopt;
        offset = *divisor;
      }
      auto coefficients = linearCoefficients(
          op.getMatchingIndexingMap(&operand), strides, result.extents);
      if (!coefficients ||
          llvm::any_of(*coefficients, [](int64_t step) { return step < 0; }))
        return std::nullopt;
      access.element = type.getElementType();
      access.extents = result.extents;
      access.coefficients = *coefficients;
      for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides))
        span += (extent - 1) * stride;
    } else if (!isConstant(operand.get())) {
      return std::nullopt;
    }
    result.operands.push_back(access);
    result.spans.push_back(span);
    result.offsets.push_back(offset);
  }
  return result;
}

void OpAccess::reorder(ArrayRef<unsigned> wanted) {
  auto permute = [&](auto &list) {
    auto old = list;
    for (auto [to, from] : llvm::enumerate(wanted))
      list[to] = old[from];
  };
  permute(extents);
  permute(order);
  for (PointAccess &access : operands)
    if (access.element) {
      permute(access.coefficients);
      access.extents = extents;
    }
}

void OpAccess::orderLoopsBy(unsigned operand) {
  SmallVector<unsigned> wanted;
  for (unsigned i = 0; i < extents.size(); ++i)
    wanted.push_back(i);
  ArrayRef<int64_t> steps = operands[operand].coefficients;
  llvm::sort(wanted, [&](unsigned a, unsigned b) {
    bool aMoves = steps[a] != 0, bMoves = steps[b] != 0;
    if (aMoves != bMoves)
      return bMoves;
    return steps[a] != steps[b] ? steps[a] > steps[b] : a < b;
  });
  reorder(wanted);
}

void OpAccess::mergeLoops() {
  if (!op.getBody()->getOps<linalg::IndexOp>().empty())
    return;
  for (unsigned dim = extents.size(); dim-- > 1;) {
    bool isOne = llvm::all_of(operands, [&](const PointAccess &access) {
      return !access.element || extents[dim] == 1 || extents[dim - 1] == 1 ||
             access.coefficients[dim - 1] ==
                 access.coefficients[dim] * extents[dim];
    });
    if (!isOne)
      continue;
    bool isOuter = extents[dim] == 1;
    extents[dim - 1] *= extents[dim];
    extents.erase(extents.begin() + dim);
    order.erase(order.begin() + dim);
    for (PointAccess &access : operands)
      if (access.element) {
        // The inner loop's step, unless it has only one.
        access.coefficients.erase(access.coefficients.begin() +
                                  (isOuter ? dim : dim - 1));
        access.extents = extents;
      }
  }
}

void OpAccess::splitAt(unsigned loops) {
  split = loops;
  for (PointAccess &access : operands)
    access.split = loops;
}

void OpAccess::splitLongestRow() {
  for (unsigned loops = 0; loops <= extents.size(); ++loops) {
    splitAt(loops);
    if (llvm::all_of(operands, [](const PointAccess &access) {
          return !access.element || access.columnStride();
        }))
      return;
  }
}

int64_t OpAccess::rows() const {
  int64_t count = 1;
  for (int64_t extent : ArrayRef(extents).take_front(split))
    count *= extent;
  return count;
}

int64_t OpAccess::columns() const {
  int64_t count = 1;
  for (int64_t extent : ArrayRef(extents).drop_front(split))
    count *= extent;
  return count;
}

int64_t OpAccess::widest() const {
  int64_t bits = 128;
  for (const PointAccess &access : operands)
    if (access.element && access.isVector(1))
      bits = std::min<int64_t>(
          bits, std::max(16u, access.element.getIntOrFloatBitWidth()));
  int64_t width = 128 / bits;
  while (width > 1 &&
         !llvm::all_of(llvm::zip_equal(operands, offsets), [&](auto pair) {
           auto &[access, offset] = pair;
           return !access.element || !access.isVector(1) ||
                  (access.isVector(width) && offset % width == 0);
         }))
    width /= 2;
  return width;
}

bool OpAccess::isNarrow() const {
  // Indices run a little beyond the last point before they are clamped.
  int64_t most = (int64_t(1) << 31) - (1 << 16);
  return rows() * columns() < most &&
         llvm::all_of(spans, [&](int64_t span) { return span < most; });
}

SmallVector<Value> OpAccess::createFunction(OpBuilder &builder,
                                            gpu::GPUModuleOp module,
                                            StringRef name, int64_t threads,
                                            TypeRange extra) {
  llvm::SetVector<Value> used;
  SmallVector<Type> types;
  for (auto [operand, span] : llvm::zip_equal(op->getOperands(), spans))
    if (auto type = dyn_cast<MemRefType>(operand.getType());
        type && used.insert(operand))
      types.push_back(MemRefType::get({span}, type.getElementType()));
  types.append(extra.begin(), extra.end());
  kernel = createKernel(builder, op.getLoc(), module, name, types, threads);
  for (auto [operand, access] : llvm::zip_equal(op->getOperands(), operands))
    if (access.element)
      access.buffer = kernel.getArgument(
          std::distance(used.begin(), llvm::find(used, operand)));
  return used.takeVector();
}

SmallVector<Value> OpAccess::evaluate(PointEmitter &emit,
                                      const PointChunk &chunk, unsigned lane,
                                      ValueRange given, ArrayRef<Value> wanted,
                                      ArrayRef<Operation *> skipped) {
  SmallVector<Value> results(op.getBlock()->getTerminator()->getOperands());
  if (wanted.empty())
    wanted = results;
  return emit.evaluate(
      op, wanted,
      [&](unsigned argument) -> Value {
        if (argument < given.size() && given[argument])
          return given[argument];
        if (!operands[argument].element)
          return emit.builder.clone(*op->getOperand(argument).getDefiningOp())
              ->getResult(0);
        return emit.load(operands[argument], chunk, lane);
      },
      [&](unsigned dim) {
        unsigned place = std::distance(order.begin(), llvm::find(order, dim));
        return emit.loopIndex(extents, split, place, chunk, lane);
      },
      skipped);
}
