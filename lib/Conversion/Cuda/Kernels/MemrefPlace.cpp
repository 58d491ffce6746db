//===- MemrefPlace.cpp - Where a memref begins ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemrefPlace.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fastk;

/// The bytes from the source of a slice to where it begins.
static std::optional<LoopNumber> shiftOf(memref::SubViewOp slice) {
  MemRefType type = slice.getSourceType();
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  LoopNumber bytes;
  for (auto [index, stride] :
       llvm::zip_equal(slice.getMixedOffsets(), strides)) {
    std::optional<LoopNumber> number = findLoopNumber(index);
    if (!number || ShapedType::isDynamic(stride))
      return std::nullopt;
    *number *= stride * elementBytes(type.getElementType());
    bytes += *number;
  }
  return bytes;
}

std::optional<MemrefPlace> fastk::findPlace(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  MemrefPlace place;
  // The offset of a view's type counts from the buffer it was cut from.
  bool isCounted = !ShapedType::isDynamic(offset);
  if (isCounted)
    place.bytes.constant = offset * elementBytes(type.getElementType());
  while (Operation *op = memref.getDefiningOp()) {
    if (!isa<ViewLikeOpInterface>(op))
      break;
    std::optional<LoopNumber> shift = LoopNumber();
    if (auto view = dyn_cast<memref::ViewOp>(op)) {
      shift = findLoopNumber(view.getByteShift());
      // What this one was cut from has no offset.
      isCounted = true;
    } else if (!isCounted) {
      if (auto slice = dyn_cast<memref::SubViewOp>(op))
        shift = shiftOf(slice);
      else if (isa<memref::ReinterpretCastOp>(op))
        shift = std::nullopt;
    }
    if (!shift)
      return std::nullopt;
    place.bytes += *shift;
    memref = op->getOperand(0);
  }
  place.buffer = memref;
  return place;
}

bool fastk::isContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0, expected = 1;
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)))
    return false;
  for (auto [extent, stride] :
       llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
    if (extent != 1 && stride != expected)
      return false;
    expected *= extent;
  }
  return true;
}
