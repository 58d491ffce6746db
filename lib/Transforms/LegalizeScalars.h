//===- LegalizeScalars.h - Scalar ops made of others ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H
#define FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fastk {

/// Builds arithmetic on scalar floats in front of an op.
class ScalarBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value constant(mlir::Type type, const llvm::APFloat &value) {
    return mlir::arith::ConstantOp::create(*this, getFloatAttr(type, value));
  }
  mlir::Value constant(mlir::Type type, double value) {
    return mlir::arith::ConstantOp::create(*this, getFloatAttr(type, value));
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
};

/// A function of complex numbers made of real ones; null when `op` is none
/// whose upstream expansion loses accuracy. With \p hasLibm also those are left
/// alone that C's library has.
mlir::Value lowerComplexFunction(ScalarBuilder &b, mlir::Operation *op,
                                 bool hasLibm);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H
