//===- RooflineBuilder.h - Counts what a block must do ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_ROOFLINEBUILDER_H
#define FASTK_LIB_ANALYSIS_ROOFLINEBUILDER_H

#include "Demand.h"
#include "Facts.h"
#include "fastk/Analysis/Roofline.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace fastk {

/// Whether the value is what a reduction has summed up so far.
bool isAccumulator(mlir::linalg::LinalgOp op, mlir::Value value);

/// The multiplication whose product this op adds to an accumulator; null if it
/// is no such op.
mlir::Operation *productOf(mlir::linalg::LinalgOp op, mlir::Operation *scalar);

/// Facts go forwards (RooflineFacts.cpp), demand goes backwards through tensor
/// ops (RooflineTensorOps.cpp) and linalg ops (RooflineBuilder.cpp), whose
/// scalars are counted (RooflineCounts.cpp).
class RooflineBuilder {
public:
  explicit RooflineBuilder(mlir::Block &block) : block(block) {}
  Roofline build();

private:
  /// A linalg op's loops and what is known of each scalar of its body.
  struct Body {
    mlir::linalg::LinalgOp op;
    llvm::SmallVector<int64_t> loops;
    bool hasReduction = false;
    llvm::DenseMap<mlir::Value, Facts> facts;
  };
  using Needs = llvm::DenseMap<mlir::Value, std::optional<Demand>>;

  // Forwards: facts.
  Facts factsOf(mlir::Value value) const;
  void computeFacts(mlir::Operation *op);
  Body analyzeBody(mlir::linalg::LinalgOp op) const;
  void computeReshapeFacts(mlir::Operation *op, mlir::Value source,
                           llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> groups,
                           bool expands);

  // Backwards: demand and counts.
  void demand(mlir::Value value, const Demand &use);
  void visit(mlir::Operation *op);
  void visitLinalg(mlir::linalg::LinalgOp op);
  void visitTensorOp(mlir::Operation *op, const Demand &use);
  void visitSlice(mlir::tensor::ExtractSliceOp slice, const Demand &use);
  void visitInsertion(mlir::tensor::InsertSliceOp insert, const Demand &use);
  void visitConcat(mlir::tensor::ConcatOp concat, const Demand &use);
  void visitPad(mlir::tensor::PadOp pad, const Demand &use);
  void visitOther(mlir::Operation *op);
  void demandReshaped(mlir::Value source, const Demand &use,
                      llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> groups,
                      bool expands);
  void demandOperand(const Body &body, mlir::OpOperand &operand,
                     const Demand &use);
  void visitScalar(const Body &body, mlir::Operation *scalar, Demand use,
                   Needs &needs);
  void count(const Body &body, mlir::Operation *scalar, const Demand &use);
  void countArithmetic(const Body &body, mlir::Operation *scalar,
                       const Demand &use, double points);
  void countFunction(mlir::Operation *scalar, const Demand &use, double points);
  /// Elementwise arithmetic of one kind: a machine does the kinds side by side.
  enum Group { Add, Multiply, Compare };
  void charge(mlir::Operation *scalar, const Demand &use, Group group,
              double slots);
  void countContraction(const Body &body, mlir::Operation *multiply,
                        double pairs);

  void findReassociable();

  mlir::Block &block;
  llvm::DenseMap<mlir::Value, Facts> tensorFacts;
  llvm::DenseMap<mlir::Value, std::optional<Demand>> demands;
  /// Products whose order of summation a kernel may choose.
  llvm::DenseSet<mlir::Operation *> reassociable;
  Roofline result;
  double elementwise[2][3] = {{0, 0, 0}, {0, 0, 0}};
};

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_ROOFLINEBUILDER_H
