//===- ScalarGraph.h - A workload's scalar expressions ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a body computes, with the boundaries between its linalg ops forgotten: a
// decomposed softmax reads the same as five generics and as two. Casts, moves
// and reshapes vanish; a product summed over k is one node.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_SCALARGRAPH_H
#define FASTK_LIB_ANALYSIS_SCALARGRAPH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>
#include <optional>

namespace fastk {

struct ScalarNode {
  enum Kind {
    // Leaves.
    Input,
    Constant,
    Index,
    // Whole linalg ops.
    Contraction,
    Convolution,
    PoolMax,
    PoolSum,
    ReduceSum,
    ReduceMax,
    ReduceMin,
    ReduceOther,
    // Scalar ops.
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Max,
    Min,
    Compare,
    Select,
    Exp,
    Log,
    Sqrt,
    Rsqrt,
    Erf,
    Tanh,
    Power,
    Abs,
    Gather,
    Other
  };
  Kind kind = Other;
  /// The scalar op; null for leaves.
  mlir::Operation *op = nullptr;
  /// The linalg op it stands in; null for leaves and scalars of the block.
  mlir::Operation *owner = nullptr;
  llvm::SmallVector<ScalarNode *, 3> operands;
  llvm::SmallVector<ScalarNode *, 2> users;
  /// Operand number of the workload, for inputs.
  unsigned input = 0;
  std::optional<double> constant;
  /// Elements it takes different values at, at most.
  double elements = 1;
  /// Group of nodes that a name was found for; -1: none.
  int group = -1;

  bool isConstant() const { return kind == Constant; }
  bool isReduction() const {
    return kind >= Contraction && kind <= ReduceOther;
  }
};

class ScalarGraph {
public:
  explicit ScalarGraph(mlir::Block &block);

  /// In an order in which operands come first.
  std::deque<ScalarNode> nodes;
  /// What the block returns.
  llvm::SmallVector<ScalarNode *> results;
  llvm::SmallVector<ScalarNode *> inputs;

private:
  ScalarNode *add(ScalarNode::Kind kind, mlir::Operation *op,
                  mlir::Operation *owner, llvm::ArrayRef<ScalarNode *> operands,
                  double elements);
  ScalarNode *lookup(mlir::Value value);
  void visit(mlir::Operation *op);
  void visitLinalg(mlir::linalg::LinalgOp op);
  ScalarNode *visitScalar(mlir::Operation *scalar, mlir::Operation *owner,
                          llvm::ArrayRef<ScalarNode *> operands,
                          double elements);
  void removeDead();

  llvm::DenseMap<mlir::Value, ScalarNode *> values;
};

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_SCALARGRAPH_H
