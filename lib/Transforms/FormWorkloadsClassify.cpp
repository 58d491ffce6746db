//===- FormWorkloadsClassify.cpp - What each op may be part of ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormWorkloadsGraph.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::form;

/// A constant above this many elements is data, not meaning: it is passed as an
/// operand, so that layers that differ in their weights share a key. Tables
/// that a decomposition writes (permutations, masks of a window) are smaller.
static constexpr int64_t kLargestCopiedConstant = 64;

SmallVector<int64_t, 4> form::reductionDomain(Operation *op) {
  SmallVector<int64_t, 4> domain;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return domain;
  for (auto [size, type] : llvm::zip_equal(linalgOp.getStaticLoopRanges(),
                                           linalgOp.getIteratorTypesArray()))
    if (size != 1)
      domain.push_back(type == utils::IteratorType::reduction ? -size : size);
  return domain;
}

bool form::isReduction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() != 0;
}

int64_t form::iterationCount(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return 0;
  int64_t count = 1;
  for (int64_t size : linalgOp.getStaticLoopRanges())
    count *= size;
  return count;
}

/// Why a tensor of this type cannot be in a workload; empty when it can.
static StringRef refuseTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return isa<TensorType>(type) ? "has a tensor of unknown rank" : StringRef();
  if (!tensor.hasStaticShape())
    return "has a dynamic shape";
  if (tensor.getNumElements() == 0)
    return "has a tensor without elements";
  if (tensor.getEncoding())
    return "has a tensor with an encoding";
  return {};
}

static bool isConstant(Operation *op) {
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// A constant whose elements are data rather than part of the computation.
static bool isLargeConstant(Operation *op) {
  DenseElementsAttr dense;
  if (!isa<ShapedType>(op->getResult(0).getType()))
    return false;
  if (matchPattern(op, m_Constant(&dense)))
    return !dense.isSplat() && dense.getNumElements() > kLargestCopiedConstant;
  // Resources and other opaque elements have no text that a key could use.
  return true;
}

/// The body of an all-parallel op that only moves its one input.
static bool isCopyBody(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  return op.getNumDpsInputs() == 1 && op.getNumDpsInits() == 1 &&
         llvm::hasSingleElement(*body) &&
         body->getTerminator()->getOperand(0) == body->getArgument(0);
}

/// The body of an op that only converts its one input to a wider type.
static bool isWideningBody(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      body->getOperations().size() != 2)
    return false;
  Operation &cast = body->front();
  if (!isa<CastOpInterface>(cast) || cast.getNumOperands() != 1 ||
      cast.getOperand(0) != body->getArgument(0) ||
      body->getTerminator()->getOperand(0) != cast.getResult(0))
    return false;
  Type from = cast.getOperand(0).getType(), to = cast.getResult(0).getType();
  return from.isIntOrFloat() && to.isIntOrFloat() &&
         from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
}

/// Convolution-like ops that do not multiply are poolings.
static bool multiplies(linalg::LinalgOp op) {
  return llvm::any_of(*op.getBlock(), [](Operation &inner) {
    return isa<arith::MulFOp, arith::MulIOp, arith::AndIOp>(inner) ||
           inner.getName().getStringRef() == "complex.mul";
  });
}

static Kind kindOf(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() == 0) {
    if (isCopyBody(op) && op.getIndexingMapsArray()[0].isPermutation() &&
        op.getIndexingMapsArray()[1].isPermutation() &&
        op.getIndexingMapsArray()[0] != op.getIndexingMapsArray()[1])
      return Kind::Transpose;
    return Kind::Elementwise;
  }
  if (linalg::isaContractionOpInterface(op)) {
    auto dims = linalg::inferContractionDims(op);
    return succeeded(dims) && !dims->batch.empty() ? Kind::BatchContraction
                                                   : Kind::Contraction;
  }
  if (linalg::isaConvolutionOpInterface(op))
    return multiplies(op) ? Kind::Convolution : Kind::Pooling;
  return Kind::Reduction;
}

namespace {
/// Classifies the ops of a block in order; each sees the roles before it.
class Classifier {
public:
  Classifier(BlockGraph &graph, bool replicateCheap, bool takesScans)
      : graph(graph), replicateCheap(replicateCheap), takesScans(takesScans) {}

  void classify(Node &node) {
    Operation *op = node.op;
    if (op->hasTrait<OpTrait::IsTerminator>() || isa<WorkloadOp, CallOp>(op))
      return;
    if (isConstant(op)) {
      if (!isLargeConstant(op))
        replicate(node);
      return;
    }
    bool isLinalg = isa_and_nonnull<linalg::LinalgDialect>(op->getDialect());
    bool isScan = takesScans && isa<tm_tensor::ScanOp>(op);
    if ((isLinalg || isScan) &&
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>)) {
      node.reason = "works on buffers";
      return;
    }
    if (!isLinalg && !isScan && op->getNumRegions() != 0 &&
        !isa<tensor::PadOp>(op)) {
      node.reason = "is control flow or has a region of its own";
      return;
    }
    if (!isMemoryEffectFree(op)) {
      node.reason = op->isRegistered() ? "has side effects"
                                       : "is unknown and may have side effects";
      return;
    }
    bool anyTensor =
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
    if (!anyTensor) {
      // A scalar is recomputed where it is used, if it can be.
      if (op->getNumRegions() == 0 && usesAreAvailable(node))
        replicate(node);
      return;
    }
    SmallVector<Value> values(node.uses.begin(), node.uses.end());
    values.append(op->result_begin(), op->result_end());
    for (Value value : values)
      if (StringRef refusal = refuseTensor(value.getType()); !refusal.empty()) {
        node.reason = refusal.str();
        return;
      }
    if (!usesAreAvailable(node)) {
      node.reason = "takes a scalar that is known at run time only";
      return;
    }
    if (isScan) {
      node.role = Role::Compute;
      return;
    }
    if (isLinalg)
      return classifyLinalg(node);
    classifyTensor(node);
  }

private:
  /// True when a copy of the node could stand in a workload: all that it uses
  /// is a tensor or can be recomputed there.
  bool usesAreAvailable(const Node &node) {
    return llvm::all_of(node.uses, [&](Value value) {
      if (isa<RankedTensorType>(value.getType()))
        return refuseTensor(value.getType()).empty();
      if (isConstant(value.getDefiningOp()))
        return true;
      int def = graph.definition(value);
      return def >= 0 && graph.nodes[def].role == Role::Replicated;
    });
  }

  bool usesAreGenerated(const Node &node) {
    return llvm::all_of(node.uses, [&](Value value) {
      if (isConstant(value.getDefiningOp()))
        return !isLargeConstant(value.getDefiningOp());
      int def = graph.definition(value);
      return def >= 0 && graph.nodes[def].generated;
    });
  }

  void replicate(Node &node) {
    node.role = Role::Replicated;
    node.generated = usesAreGenerated(node);
  }

  void classifyLinalg(Node &node) {
    node.role = Role::Compute;
    auto op = dyn_cast<linalg::LinalgOp>(node.op);
    if (!op)
      return;
    node.kind = kindOf(op);
    if (isa<linalg::FillOp>(node.op))
      return replicate(node);
    if (!replicateCheap || op.getNumReductionLoops() != 0)
      return;
    // Masks and positions are cheaper to recompute than to read, unless they
    // take transcendental functions.
    bool transcendental = llvm::any_of(*op.getBlock(), [](Operation &inner) {
      return isa_and_nonnull<math::MathDialect>(inner.getDialect());
    });
    bool isBroadcast =
        isCopyBody(op) && !op.getIndexingMapsArray()[0].isPermutation();
    if ((!transcendental && usesAreGenerated(node)) || isBroadcast ||
        isWideningBody(op))
      replicate(node);
  }

  void classifyTensor(Node &node) {
    Operation *op = node.op;
    if (isa<tensor::EmptyOp, tensor::FromElementsOp, tensor::SplatOp>(op))
      return replicate(node);
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            op)) {
      node.role = Role::View;
      node.generated = usesAreGenerated(node);
      return;
    }
    if (isa<tensor::ExtractSliceOp, tensor::PadOp>(op)) {
      if (replicateCheap)
        replicate(node);
      return;
    }
    if (isa<tensor::ConcatOp, tensor::InsertSliceOp>(op)) {
      if (replicateCheap)
        node.role = Role::Joining;
      return;
    }
    node.reason = "is not an op that workloads are made of";
  }

  BlockGraph &graph;
  bool replicateCheap, takesScans;
};
} // namespace

BlockGraph::BlockGraph(Block &block, bool replicateCheap, bool takesScans)
    : block(block) {
  Classifier classifier(*this, replicateCheap, takesScans);
  int lastEffect = -1;
  for (Operation &op : block) {
    unsigned index = nodes.size();
    indices[&op] = index;
    Node node;
    node.op = &op;
    SetVector<Value> uses(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), uses);
    node.uses.assign(uses.begin(), uses.end());
    if (!isMemoryEffectFree(&op)) {
      node.previousEffect = lastEffect;
      lastEffect = index;
    }
    classifier.classify(node);
    nodes.push_back(std::move(node));
  }
}
