//===- ScalarGraph.cpp - A workload's scalar expressions ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fastk {

using Kind = ScalarNode::Kind;

static double elementsOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasStaticShape()
             ? static_cast<double>(shaped.getNumElements())
             : 1;
}

static std::optional<double> constantOf(Operation *op) {
  Attribute attr;
  if (!matchPattern(op, m_Constant(&attr)))
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (!dense.isSplat() || !dense.getElementType().isIntOrIndexOrFloat())
      return std::nullopt;
    attr = dense.getSplatValue<Attribute>();
  }
  if (auto floating = dyn_cast<FloatAttr>(attr))
    return floating.getValueAsDouble();
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    if (integer.getValue().getSignificantBits() <= 63)
      return static_cast<double>(integer.getValue().getSExtValue());
  return std::nullopt;
}

static Kind kindOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](Operation *) { return Kind::Add; })
      .Case<arith::SubFOp, arith::SubIOp>([](Operation *) { return Kind::Sub; })
      .Case<arith::MulFOp, arith::MulIOp>([](Operation *) { return Kind::Mul; })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(
          [](Operation *) { return Kind::Div; })
      .Case<arith::NegFOp>([](Operation *) { return Kind::Neg; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp,
            arith::MaxUIOp>([](Operation *) { return Kind::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp,
            arith::MinUIOp>([](Operation *) { return Kind::Min; })
      .Case<arith::CmpFOp, arith::CmpIOp>(
          [](Operation *) { return Kind::Compare; })
      .Case<arith::SelectOp>([](Operation *) { return Kind::Select; })
      .Case<math::ExpOp, math::Exp2Op, math::ExpM1Op>(
          [](Operation *) { return Kind::Exp; })
      .Case<math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp>(
          [](Operation *) { return Kind::Log; })
      .Case<math::SqrtOp>([](Operation *) { return Kind::Sqrt; })
      .Case<math::RsqrtOp>([](Operation *) { return Kind::Rsqrt; })
      .Case<math::ErfOp>([](Operation *) { return Kind::Erf; })
      .Case<math::TanhOp>([](Operation *) { return Kind::Tanh; })
      .Case<math::PowFOp, math::FPowIOp>(
          [](Operation *) { return Kind::Power; })
      .Case<math::AbsFOp, math::AbsIOp>([](Operation *) { return Kind::Abs; })
      .Case<tensor::ExtractOp>([](Operation *) { return Kind::Gather; })
      .Default([](Operation *) { return Kind::Other; });
}

static bool isCast(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp,
             arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp,
             arith::BitcastOp>(op);
}

ScalarNode *ScalarGraph::add(Kind kind, Operation *op, Operation *owner,
                             ArrayRef<ScalarNode *> operands, double elements) {
  nodes.emplace_back();
  ScalarNode *node = &nodes.back();
  node->kind = kind;
  node->op = op;
  node->owner = owner;
  node->operands.assign(operands.begin(), operands.end());
  node->elements = elements;
  for (ScalarNode *operand : operands)
    if (!llvm::is_contained(operand->users, node))
      operand->users.push_back(node);
  return node;
}

ScalarNode *ScalarGraph::lookup(Value value) {
  ScalarNode *&node = values[value];
  if (!node)
    node = add(Kind::Other, value.getDefiningOp(), nullptr, {},
               elementsOf(value.getType()));
  return node;
}

ScalarNode *ScalarGraph::visitScalar(Operation *scalar, Operation *owner,
                                     ArrayRef<ScalarNode *> operands,
                                     double elements) {
  if (isCast(scalar))
    return operands.front();
  if (isa<linalg::IndexOp>(scalar))
    return add(Kind::Index, scalar, owner, {}, elements);
  if (auto constant = constantOf(scalar)) {
    ScalarNode *node = add(Kind::Constant, scalar, owner, {}, 1);
    node->constant = constant;
    return node;
  }
  double varies = 1;
  for (ScalarNode *operand : operands)
    varies = std::max(varies, operand->elements);
  if (isa<tensor::ExtractOp>(scalar))
    varies = elements;
  return add(kindOf(scalar), scalar, owner, operands,
             std::min(varies, elements));
}

ScalarGraph::ScalarGraph(Block &block) {
  for (BlockArgument argument : block.getArguments()) {
    ScalarNode *node =
        add(Kind::Input, nullptr, nullptr, {}, elementsOf(argument.getType()));
    node->input = argument.getArgNumber();
    values[argument] = node;
    inputs.push_back(node);
  }
  for (Operation &op : block.without_terminator())
    visit(&op);
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(lookup(value));
  removeDead();
}

/// Index results of a maximum, and the like, that nothing reads.
void ScalarGraph::removeDead() {
  llvm::DenseSet<ScalarNode *> live;
  SmallVector<ScalarNode *> work(results.begin(), results.end());
  while (!work.empty()) {
    ScalarNode *node = work.pop_back_val();
    if (live.insert(node).second)
      work.append(node->operands.begin(), node->operands.end());
  }
  for (ScalarNode &node : nodes) {
    llvm::erase_if(node.users,
                   [&](ScalarNode *user) { return !live.contains(user); });
    if (!live.contains(&node)) {
      node.operands.clear();
      if (node.kind != Kind::Input)
        node.kind = Kind::Constant; // Of no interest.
    }
  }
}

void ScalarGraph::visit(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    visitLinalg(linalgOp);
    return;
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          tensor::ExtractSliceOp, tensor::PadOp, linalg::PackOp,
          linalg::UnPackOp>(op)) {
    values[op->getResult(0)] = lookup(op->getOperand(0));
    return;
  }
  if (isa<tensor::InsertSliceOp, tensor::ConcatOp>(op)) {
    SmallVector<ScalarNode *> operands;
    for (Value operand : op->getOperands())
      if (isa<ShapedType>(operand.getType()))
        operands.push_back(lookup(operand));
    values[op->getResult(0)] = add(Kind::Other, op, nullptr, operands,
                                   elementsOf(op->getResult(0).getType()));
    return;
  }
  SmallVector<ScalarNode *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lookup(operand));
  if (op->getNumResults() == 1 && operands.empty() && constantOf(op)) {
    values[op->getResult(0)] = visitScalar(op, nullptr, {}, 1);
    return;
  }
  if (op->getNumResults() == 1 && isCast(op)) {
    values[op->getResult(0)] = operands.front();
    return;
  }
  if (isa<tensor::EmptyOp>(op)) {
    values[op->getResult(0)] = add(Kind::Constant, op, nullptr, {}, 1);
    return;
  }
  for (Value result : op->getResults())
    values[result] =
        add(kindOf(op), op, nullptr, operands, elementsOf(result.getType()));
}

/// The kind of a reduction whose body folds into accumulator `index`.
static Kind reductionKind(linalg::LinalgOp op, unsigned index,
                          Operation *&combiner, Value &folded) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(index);
  BlockArgument accumulator = op.getRegionOutputArgs()[index];
  combiner = yielded.getDefiningOp();
  // max(x, y) may also be written as a comparison and a select.
  if (!combiner || !llvm::is_contained(combiner->getOperands(), accumulator))
    return Kind::ReduceOther;
  for (Value operand : combiner->getOperands())
    if (operand != accumulator && !operand.getType().isInteger(1))
      folded = operand;
  switch (kindOf(combiner)) {
  case Kind::Add:
    return Kind::ReduceSum;
  case Kind::Max:
  case Kind::Select:
    return Kind::ReduceMax;
  case Kind::Min:
    return Kind::ReduceMin;
  default:
    return Kind::ReduceOther;
  }
}

void ScalarGraph::visitLinalg(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  double domain = 1;
  for (int64_t size : op.getStaticLoopRanges())
    domain *= size;
  llvm::DenseMap<Value, ScalarNode *> scalars;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.getOperandNumber() < body->getNumArguments())
      scalars[body->getArgument(operand.getOperandNumber())] =
          lookup(operand.get());

  bool reduces = op.getNumReductionLoops() > 0;
  if (reduces && op.getNumDpsInits() == 1) {
    // A product summed up is one node over its factors and its start.
    Operation *combiner = nullptr;
    Value folded;
    bool isSum = reductionKind(op, 0, combiner, folded) == Kind::ReduceSum;
    bool windowed = llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
      return !map.isProjectedPermutation(true);
    });
    Operation *product = isSum ? folded.getDefiningOp() : nullptr;
    while (product && isCast(product))
      product = product->getOperand(0).getDefiningOp();
    if (product && kindOf(product) == Kind::Mul) {
      SmallVector<ScalarNode *> operands;
      for (OpOperand *operand : op.getDpsInputOperands())
        operands.push_back(lookup(operand->get()));
      bool square =
          operands.size() == 1 ||
          (operands.size() == 2 && operands[0] == operands[1] &&
           op.getIndexingMapsArray()[0] == op.getIndexingMapsArray()[1]);
      if (!square && operands.size() >= 2) {
        operands.push_back(lookup(op.getDpsInits()[0]));
        values[op->getResult(0)] =
            add(windowed ? Kind::Convolution : Kind::Contraction, op, op,
                operands, elementsOf(op->getResult(0).getType()));
        return;
      }
    }
    if (windowed && folded) {
      values[op->getResult(0)] =
          add(isSum ? Kind::PoolSum : Kind::PoolMax, op, op,
              {lookup(op.getDpsInputOperand(0)->get())},
              elementsOf(op->getResult(0).getType()));
      return;
    }
  }

  llvm::DenseSet<Operation *> combiners;
  SmallVector<std::tuple<Kind, Operation *, Value>> reductions;
  if (reduces)
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Operation *combiner = nullptr;
      Value folded;
      Kind kind = reductionKind(op, i, combiner, folded);
      reductions.emplace_back(kind, combiner, folded);
    }
  auto scalarOf = [&](Value value) {
    auto it = scalars.find(value);
    return it != scalars.end() ? it->second : lookup(value);
  };
  for (Operation &scalar : body->without_terminator()) {
    SmallVector<ScalarNode *> operands;
    for (Value operand : scalar.getOperands())
      operands.push_back(scalarOf(operand));
    ScalarNode *node = visitScalar(&scalar, op, operands, domain);
    for (Value result : scalar.getResults())
      scalars[result] = node;
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    ScalarNode *yielded = scalarOf(body->getTerminator()->getOperand(i));
    if (!reduces) {
      values[result] = yielded;
      continue;
    }
    auto [kind, combiner, folded] = reductions[i];
    SmallVector<ScalarNode *> operands = {folded ? scalarOf(folded) : yielded};
    values[result] = add(kind, op, op, operands, elementsOf(result.getType()));
  }
}

} // namespace fastk
