//===- TensorConditions.h - Error analysis of ops on tensors ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conditions of tensors, as tensors of f64 (of i1 for flags). Sums are in
// DeriveConditionSums.cpp, all else in DeriveCondition.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_TENSORCONDITIONS_H
#define FASTK_LIB_TRANSFORMS_TENSORCONDITIONS_H

#include "ScalarConditions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace fastk {

class TensorConditions {
public:
  TensorConditions(mlir::func::FuncOp func, KernelRounding rounding)
      : func(func), b(func.getLoc(), func.getContext()), rounding(rounding) {}

  /// Makes the function return conditions. Its ops are generic, in f64.
  mlir::LogicalResult run();

private:
  using Body = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                              mlir::ValueRange)>;

  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitGeneric(mlir::linalg::GenericOp op);
  mlir::LogicalResult visitElementwise(mlir::linalg::GenericOp op);
  mlir::LogicalResult visitReduction(mlir::linalg::GenericOp op);
  mlir::LogicalResult visitSum(mlir::linalg::GenericOp op, unsigned result,
                               mlir::Operation *combiner, mlir::Value term);
  mlir::LogicalResult visitProduct(mlir::linalg::GenericOp op, unsigned result,
                                   mlir::Operation *combiner, mlir::Value term);
  mlir::Value lostBelow(mlir::ImplicitLocOpBuilder &inner,
                        mlir::Operation *combiner, mlir::Value r,
                        mlir::Value most, mlir::Value least) const;
  mlir::LogicalResult visitFlags(mlir::linalg::GenericOp op, unsigned result,
                                 mlir::Value term);
  mlir::LogicalResult visitExtreme(mlir::linalg::GenericOp op, unsigned result,
                                   mlir::Value term);
  static mlir::Value termOf(mlir::linalg::GenericOp op,
                            mlir::Operation *combiner, unsigned r);
  mlir::LogicalResult visitMove(mlir::Operation *op);

  /// The sum of \p term over the loops of \p op, whose body it is cloned from
  /// with its condition; as \p summand makes it of the term and the result.
  mlir::FailureOr<mlir::Value>
  sumOver(mlir::linalg::GenericOp op, unsigned result, mlir::Value term,
          llvm::function_ref<mlir::Value(ScalarConditions &, mlir::Value,
                                         mlir::Value)>
              summand);
  /// The sum of the products of two tensors that \p op multiplies.
  mlir::Value sumOfProducts(mlir::linalg::GenericOp op, unsigned result,
                            unsigned lhs, mlir::Value lhsTensor, unsigned rhs,
                            mlir::Value rhsTensor);
  /// An op of one result whose loops are those of a tensor.
  mlir::Value map(mlir::ValueRange tensors, Body body);
  mlir::Value zerosLike(mlir::Value tensor);
  mlir::Value get(mlir::Value tensor) const {
    return conditions.lookup(tensor);
  }
  /// The operands of \p op, behind them the conditions of those that have one,
  /// each with its map, and the numbers of these operands.
  void listOperands(mlir::linalg::GenericOp op,
                    llvm::SmallVectorImpl<unsigned> &known,
                    llvm::SmallVectorImpl<mlir::Value> &inputs,
                    llvm::SmallVectorImpl<mlir::AffineMap> &maps) const;
  /// Clones the body of \p op for the analysis of its scalars: arguments are
  /// those of \p block, after them the conditions \p known. With \p root only
  /// what that is made of.
  mlir::LogicalResult
  analyzeBody(mlir::linalg::GenericOp op, mlir::Block *block,
              llvm::ArrayRef<unsigned> known, mlir::IRMapping &mapping,
              ScalarConditions &scalars, mlir::Value root = nullptr);
  /// The ops in the body of \p op that \p root is made of.
  static llvm::SetVector<mlir::Operation *>
  scalarsOf(mlir::linalg::GenericOp op, mlir::Value root);
  mlir::LogicalResult noRule(mlir::Operation *op, const llvm::Twine &why);

  mlir::func::FuncOp func;
  mlir::ImplicitLocOpBuilder b;
  KernelRounding rounding;
  llvm::DenseMap<mlir::Value, mlir::Value> conditions;
};

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_TENSORCONDITIONS_H
