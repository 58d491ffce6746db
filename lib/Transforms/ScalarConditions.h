//===- ScalarConditions.h - Rules of error analysis -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rule for each scalar operation: from the conditions of its operands to
// that of its result. fastk-derive-condition's description has the table, and
// docs/validation.md what it means for a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_SCALARCONDITIONS_H
#define FASTK_LIB_TRANSFORMS_SCALARCONDITIONS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace fastk {

/// On a float op: the narrow type that its result is kept in (TypeAttr).
inline constexpr llvm::StringLiteral kRoundedToAttr = "fastk.rounded_to";
/// On a product by one that stands for a conversion: it rounds nothing itself.
inline constexpr llvm::StringLiteral kConversionAttr = "fastk.conversion";

/// Of the arithmetic of the kernels that are judged.
struct KernelRounding {
  /// Unit round-off.
  double unit;
  /// What multiplies a condition to the bound of an error: 8 u, and more where
  /// operands may lose digits.
  double bound;
};

/// The conditions of the values of one body in f64. A value without one is
/// exact. That of an i1 is an i1: rounding may decide otherwise.
class ScalarConditions {
public:
  ScalarConditions(mlir::ImplicitLocOpBuilder &builder, KernelRounding rounding)
      : b(builder), rounding(rounding) {}

  void set(mlir::Value value, mlir::Value condition) {
    if (condition)
      conditions[value] = condition;
  }
  /// Null for what is exact.
  mlir::Value get(mlir::Value value) const { return conditions.lookup(value); }
  /// What arithmetic has to reckon with: the magnitude where an operand is
  /// exact; null for constants.
  mlir::Value effective(mlir::Value value);
  /// Emits, at the builder's place, the conditions of the results of \p op. An
  /// error where there is no rule.
  mlir::LogicalResult visit(mlir::Operation *op);

  /// \p condition and the round-off of the type that the result \p r of \p op
  /// is kept in, if it is kept in one.
  mlir::Value withStorage(mlir::Operation *op, mlir::Value r,
                          mlir::Value condition);

  /// Infinite where the result \p r of \p op, or \p size on the way to it, may
  /// be beyond the type it has.
  mlir::Value withRange(mlir::Operation *op, mlir::Value r,
                        mlir::Value condition, mlir::Value size = nullptr);
  /// What makes up for a result below the smallest normal number that a kernel
  /// flushes to zero.
  double flushed() const;
  double smallestNormal() const;

  mlir::Value constant(double value);
  mlir::Value magnitude(mlir::Value value);
  /// Null is 0 in these.
  mlir::Value sum(mlir::Value lhs, mlir::Value rhs);
  mlir::Value scaled(mlir::Value value, double factor);
  /// 0 where \p factor is 0, whatever the other.
  mlir::Value product(mlir::Value factor, mlir::Value condition);
  mlir::Value larger(mlir::Value lhs, mlir::Value rhs);
  /// How far a value with this condition may be off.
  mlir::Value reach(mlir::Value condition);
  /// The smallest magnitude that \p x may have, whose condition is \p ofX: 0
  /// where it may be zero.
  mlir::Value nearest(mlir::Value x, mlir::Value ofX);
  mlir::Value nearestToPole(mlir::Value x, mlir::Value ofX);

private:
  bool noteCoordinates(mlir::Operation *op);
  mlir::LogicalResult visitInexact(mlir::Operation *op);
  void visitArithmetic(mlir::Operation *op);
  mlir::LogicalResult visitChoice(mlir::Operation *op);
  mlir::LogicalResult visitConversion(mlir::Operation *op);
  void visitFlag(mlir::Operation *op);
  void visitStep(mlir::Operation *op);
  mlir::Value ofFactor(mlir::Value x, mlir::Value condition);
  /// Infinite where \p condition is, else \p otherwise.
  mlir::Value orBeyond(mlir::Value condition, mlir::Value otherwise);
  // Functions: DeriveConditionFunctions.cpp.
  mlir::Value ofFunction(mlir::Operation *op);
  mlir::Value clampedExp(mlir::Value exponent);
  mlir::Value leastExponential(mlir::Operation *op);
  mlir::Value orOverflow(mlir::Value most, mlir::Value x,
                         mlir::Value condition);
  mlir::Value ofRoot(mlir::Value x, mlir::Value r, mlir::Value ofX);
  mlir::Value ofPower(mlir::Value base, mlir::Value exponent, mlir::Value r,
                      mlir::Value ofBase, mlir::Value ofExponent);
  /// Whether a and b, with their conditions, may compare otherwise.
  mlir::Value isUnsure(mlir::Value x, mlir::Value y);
  mlir::Value ofChoice(mlir::Value isFirst, mlir::Value unsure, mlir::Value x,
                       mlir::Value y, bool jumps);
  /// What a wrong decision costs, as a condition.
  mlir::Value jump(mlir::Value distance);

  mlir::ImplicitLocOpBuilder &b;
  KernelRounding rounding;
  llvm::DenseMap<mlir::Value, mlir::Value> conditions;
  llvm::DenseSet<mlir::Value> coordinates;
};

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_SCALARCONDITIONS_H
