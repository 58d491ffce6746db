//===- Facts.h - What is known of a value before it is computed -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts of a tensor speak of its dimensions, facts of a scalar in the body of a
// linalg op of the op's loops.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_FACTS_H
#define FASTK_LIB_ANALYSIS_FACTS_H

#include "IndexSet.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallBitVector.h"

namespace fastk {

/// A truth value that depends on indices alone.
struct Predicate {
  /// False when its condition is no conjunction of linear inequalities.
  bool exact = true;
  Constraints holds;
};

/// Elements outside of `keep` equal `value` (padding, masked scores).
struct Known {
  Constraints keep;
  double value = 0;
  /// Data says where: an operand that is a mask. It may be everywhere.
  bool isByData = false;
};

struct Facts {
  /// Dimensions along which the value may differ.
  llvm::BitVector varies;
  /// False for what follows from constants and indices alone.
  bool fromInputs = false;
  /// The arguments of the block that it follows from, by number.
  llvm::SmallBitVector sources;
  std::optional<double> constant;
  std::optional<LinearForm> integer;
  std::optional<Predicate> predicate;
  std::optional<Known> known;
  /// The float type that the value was extended from without change; null
  /// where it was computed.
  mlir::Type storage;

  /// Counts also what `other` follows from.
  void addSources(const Facts &other);
  /// True when the two follow from no argument together.
  bool isIndependentOf(const Facts &other) const;

  unsigned dims() const { return varies.size(); }
  bool isConstant() const { return !fromInputs && varies.none(); }

  static Facts ofInput(mlir::Type type);
  static Facts ofConstant(unsigned dims);
  /// The same facts in another index space: dimension i becomes forms[i];
  /// nothing where it is no linear form.
  Facts substitute(llvm::ArrayRef<std::optional<LinearForm>> forms,
                   unsigned dims) const;
};

/// The opposite, where one inequality says it; otherwise inexact.
Predicate negate(const Predicate &predicate);

/// Facts of the single result of a scalar op (arith, math) from those of its
/// operands, in an index space of `dims` dimensions.
Facts evaluateScalarOp(mlir::Operation *op, llvm::ArrayRef<Facts> operands,
                       unsigned dims);

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_FACTS_H
