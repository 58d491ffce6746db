//===- RooflineBuilder.h - Counts what a block must do ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_ROOFLINEBUILDER_H
#define FASTK_LIB_ANALYSIS_ROOFLINEBUILDER_H

#include "Facts.h"
#include "fastk/Analysis/Roofline.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace fastk {

/// The part of a value, or of a linalg op's loops, that is needed: a box cut by
/// constraints. `fraction` is what is left of it where the rest has no such
/// form.
struct Demand {
  Box box;
  Constraints constraints;
  double fraction = 1;
  /// Of these, the share that no data can make needless.
  double certain = 1;

  static Demand all(llvm::ArrayRef<int64_t> shape);
  double points() const;
};

/// Adds another use. Two uses that are no subsets of one another, nor differ in
/// one dimension alone, leave the larger: never more than what is needed.
void mergeDemand(std::optional<Demand> &into, const Demand &use);

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
  void demandReshaped(mlir::Value source, const Demand &use,
                      llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> groups,
                      bool expands);
  void demandOperand(const Body &body, mlir::OpOperand &operand,
                     const Demand &use);
  void visitScalar(const Body &body, mlir::Operation *scalar, Demand use,
                   Needs &needs);
  void count(const Body &body, mlir::Operation *scalar, const Demand &use);
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
