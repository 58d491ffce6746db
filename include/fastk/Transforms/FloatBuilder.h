//===- FloatBuilder.h - Arithmetic on floats in few words -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_FLOATBUILDER_H
#define FASTK_TRANSFORMS_FLOATBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fastk {

/// Builds arithmetic on floats, scalars or vectors of them, in front of an op.
class FloatBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// Of a vector type a splat.
  mlir::Value constant(mlir::Type type, const llvm::APFloat &value) {
    return constant(type,
                    getFloatAttr(mlir::getElementTypeOrSelf(type), value));
  }
  mlir::Value constant(mlir::Type type, double value) {
    return constant(type,
                    getFloatAttr(mlir::getElementTypeOrSelf(type), value));
  }
  mlir::Value constant(mlir::Type type, int64_t value) {
    return constant(type,
                    getIntegerAttr(mlir::getElementTypeOrSelf(type), value));
  }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::AddFOp::create(*this, lhs, rhs);
  }
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::SubFOp::create(*this, lhs, rhs);
  }
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::MulFOp::create(*this, lhs, rhs);
  }
  mlir::Value div(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::DivFOp::create(*this, lhs, rhs);
  }
  mlir::Value negate(mlir::Value value) {
    return mlir::arith::NegFOp::create(*this, value);
  }
  mlir::Value abs(mlir::Value value) {
    return mlir::math::AbsFOp::create(*this, value);
  }
  /// Whether `lhs` < `rhs`; not where one of them is NaN.
  mlir::Value less(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OLT,
                                       lhs, rhs);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return mlir::arith::SelectOp::create(*this, condition, yes, no);
  }
  mlir::Value logicalAnd(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::AndIOp::create(*this, lhs, rhs);
  }
  mlir::Value logicalOr(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::OrIOp::create(*this, lhs, rhs);
  }
  /// `value` as a float of another width.
  mlir::Value convert(mlir::Value value, mlir::Type type) {
    unsigned from = value.getType().getIntOrFloatBitWidth();
    unsigned to = type.getIntOrFloatBitWidth();
    if (value.getType() == type)
      return value;
    assert(from != to && "floats of one width are not converted");
    if (from < to)
      return mlir::arith::ExtFOp::create(*this, type, value);
    return mlir::arith::TruncFOp::create(*this, type, value);
  }

private:
  mlir::Value constant(mlir::Type type, mlir::TypedAttr value) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(*this, value);
  }
};

} // namespace fastk

#endif // FASTK_TRANSFORMS_FLOATBUILDER_H
