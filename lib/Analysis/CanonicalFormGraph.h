//===- CanonicalFormGraph.h - A pattern as a coloured graph -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Colours decide the order of things and nothing else: the key is made of the
// text that comes out. A collision of colours can therefore cost a match but
// never make one.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_CANONICALFORMGRAPH_H
#define FASTK_LIB_ANALYSIS_CANONICALFORMGRAPH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace fastk::canonical {

/// A hash that is the same in every process and on every machine.
using Colour = uint64_t;

/// True for an arith.constant and its like: no operand, one result, a value
/// known at compile time.
bool isConstant(mlir::Operation *op);

/// True when the order of the op's operands has no meaning: the commutative ops
/// and comparisons with a symmetric predicate.
bool hasUnorderedOperands(mlir::Operation *op);

/// The values and ops of a region, as a DAG. An edge goes from a user to what
/// it uses; its label tells ordered operands apart, and edges without an order
/// share one label. A linalg.generic is spread over several nodes, one for each
/// block argument, output and result, so that neither the order of its inputs
/// nor that of its outputs is part of the graph.
class PatternGraph {
public:
  explicit PatternGraph(mlir::Region &region);

  /// One colour for each argument of the region, all different, that follow
  /// from the structure alone. Starts from Weisfeiler-Lehman colours, forward
  /// and backward along the DAG, and individualises what they leave equal.
  llvm::SmallVector<Colour> colourInputs() const;

  /// Gives each argument its colour and each other value the hash of the
  /// computation that produces it: values of equal colour are equal
  /// computations.
  void setInputColours(llvm::ArrayRef<Colour> inputs);

  /// Valid after setInputColours.
  Colour colourOf(mlir::Value value) const;
  /// Colour of output k of a generic, before it becomes result k.
  Colour colourOfOutput(mlir::linalg::GenericOp op, unsigned k) const;
  /// Length of the longest chain of nodes below the value.
  unsigned depthOf(mlir::Value value) const;

private:
  struct Edge {
    unsigned target;
    Colour label;
  };
  struct Node {
    Colour label;
    unsigned depth;
    llvm::SmallVector<Edge, 4> edges;
  };

  unsigned addNode(Colour label, llvm::ArrayRef<Edge> edges = {});
  unsigned nodeOf(mlir::Value value) const { return valueNodes.lookup(value); }
  void addBlock(mlir::Block &block);
  void addOp(mlir::Operation &op);
  void addGeneric(mlir::linalg::GenericOp op);
  Colour hashAttr(mlir::Attribute attr);
  Colour hashType(mlir::Type type);

  void refineForward(std::vector<Colour> &colours) const;
  void refineBackward(std::vector<Colour> &colours) const;
  void refine(std::vector<Colour> &colours) const;

  /// In an order such that edges go to earlier nodes.
  std::vector<Node> nodes;
  std::vector<llvm::SmallVector<Edge, 4>> users;
  std::vector<Colour> colours;
  llvm::SmallVector<unsigned> inputNodes;
  llvm::DenseMap<mlir::Value, unsigned> valueNodes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 2>> outputNodes;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, unsigned> constants;
  llvm::DenseMap<const void *, Colour> textHashes;
};

} // namespace fastk::canonical

#endif // FASTK_LIB_ANALYSIS_CANONICALFORMGRAPH_H
