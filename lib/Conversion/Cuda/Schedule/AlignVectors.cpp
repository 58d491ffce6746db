//===- AlignVectors.cpp - How vector accesses are aligned -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlignVectors.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace fastk;

/// Of buffers, in global and in shared memory; no access needs more.
static constexpr int64_t kBufferBytes = 16;

static int64_t divisorOf(OpFoldResult number);

/// What the value of `expr` is a multiple of; 0 for zero itself.
static int64_t divisorOf(AffineExpr expr, ValueRange operands,
                         unsigned numDims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::abs(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return divisorOf(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return divisorOf(operands[numDims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = divisorOf(binary.getLHS(), operands, numDims),
          right = divisorOf(binary.getRHS(), operands, numDims);
  if (binary.getKind() == AffineExprKind::Mul)
    return left * right;
  if (binary.getKind() == AffineExprKind::Add ||
      binary.getKind() == AffineExprKind::Mod)
    return std::gcd(left, right);
  return 1;
}

static int64_t divisorOf(OpFoldResult number) {
  if (auto known = getConstantIntValue(number))
    return std::abs(*known);
  auto value = cast<Value>(number);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument == loop.getInductionVar())
      return std::gcd(divisorOf(loop.getLowerBound()),
                      divisorOf(loop.getStep()));
    return 1;
  }
  Operation *op = value.getDefiningOp();
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return divisorOf(apply.getAffineMap().getResult(0), apply.getOperands(),
                     apply.getAffineMap().getNumDims());
  if (isa<arith::MulIOp>(op))
    return divisorOf(op->getOperand(0)) * divisorOf(op->getOperand(1));
  if (isa<arith::AddIOp, arith::SubIOp, arith::RemUIOp>(op))
    return std::gcd(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
  return 1;
}

/// The same for the distance, in elements, from the buffer that `memref` is a
/// view of.
static int64_t offsetDivisor(Value memref) {
  Operation *op = memref.getDefiningOp();
  if (!op || isa<memref::ViewOp, memref::AllocaOp, memref::GetGlobalOp>(op))
    return 0;
  if (isa<memref::CastOp, memref::MemorySpaceCastOp, memref::ExpandShapeOp,
          memref::CollapseShapeOp>(op))
    return offsetDivisor(op->getOperand(0));
  auto subview = dyn_cast<memref::SubViewOp>(op);
  if (!subview)
    return 1;
  auto type = cast<MemRefType>(subview.getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return 1;
  int64_t divisor = offsetDivisor(subview.getSource());
  for (auto [index, stride] :
       llvm::zip_equal(subview.getMixedOffsets(), strides)) {
    int64_t step = ShapedType::isDynamic(stride) ? 1 : stride;
    divisor = std::gcd(divisor, divisorOf(index) * step);
  }
  return divisor;
}

template <typename Access>
static void align(Access access, Value memref, VectorType vector,
                  ValueRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  int64_t divisor = offsetDivisor(memref);
  if (failed(type.getStridesAndOffset(strides, offset)))
    divisor = 1;
  else
    for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
      int64_t step = ShapedType::isDynamic(stride) ? 1 : stride;
      divisor = std::gcd(divisor, divisorOf(index) * step);
    }
  Type element = type.getElementType();
  int64_t bytes = isa<IndexType>(element)
                      ? 8
                      : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  int64_t known = std::gcd(divisor * bytes, kBufferBytes);
  // A power of two; not more than the whole access is worth.
  while (known > bytes && known / 2 >= vector.getNumElements() * bytes)
    known /= 2;
  access.setAlignment(known);
}

void fastk::alignVectors(gpu::GPUFuncOp kernel) {
  kernel.walk([](Operation *op) {
    if (auto load = dyn_cast<vector::LoadOp>(op))
      align(load, load.getBase(), load.getVectorType(), load.getIndices());
    else if (auto store = dyn_cast<vector::StoreOp>(op))
      align(store, store.getBase(), store.getVectorType(), store.getIndices());
  });
}
