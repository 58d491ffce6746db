//===- CanonicalFormOrder.cpp - Writing a pattern in canonical order ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CanonicalFormGraph.h"
#include "CanonicalFormImpl.h"
#include "CanonicalFormMaps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk::canonical;

namespace {

/// The order in which one linalg.generic is written.
struct GenericPlan {
  SmallVector<unsigned> inputs;  // position to old input
  SmallVector<unsigned> outputs; // position to old output
  SmallVector<Operation *> body; // without the terminator
};

class OrderedEmitter {
public:
  OrderedEmitter(Region &from, Region &to, PatternGraph &graph)
      : from(from), to(to), graph(graph), builder(from.getContext()),
        unknown(UnknownLoc::get(from.getContext())) {}

  Order run();

private:
  /// Ops of the block that the roots need, each after what it uses, in the
  /// order in which the roots come to them.
  SmallVector<Operation *> planBlock(Block &block, ArrayRef<Value> roots);
  const GenericPlan &planGeneric(linalg::GenericOp op);
  /// What the op uses, its regions included, in canonical order.
  SmallVector<Value> usesOf(Operation *op);
  /// What a region uses from outside, in canonical order.
  void collectCaptures(Operation *op, llvm::SetVector<Value> &captures);
  SmallVector<Value> orderedOperands(Operation *op);
  SmallVector<Operation *> planNested(Block &block);

  Value lookup(Value value);
  Value emitConstant(Operation *constant);
  void emit(ArrayRef<Operation *> ops);
  void emitOp(Operation *op);
  void emitGeneric(linalg::GenericOp op);
  void emitRegion(Region &source, Region &target);

  Region &from;
  Region &to;
  PatternGraph &graph;
  OpBuilder builder;
  Location unknown;
  IRMapping mapping;
  Operation *lastConstant = nullptr;
  llvm::DenseMap<std::pair<Attribute, Type>, Value> constants;
  llvm::DenseMap<Operation *, GenericPlan> generics;
  Order order;
};

} // namespace

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

SmallVector<Value> OrderedEmitter::orderedOperands(Operation *op) {
  SmallVector<Value> operands(op->getOperands());
  if (!hasUnorderedOperands(op))
    return operands;
  // The way people write it: what was computed, inputs in the order of their
  // maps, the accumulator, and constants last, as upstream's folds have them.
  auto describe = [](Value value) -> std::pair<int, AffineMap> {
    if (Operation *def = value.getDefiningOp())
      return {isConstant(def) ? 3 : 0, AffineMap()};
    auto arg = cast<BlockArgument>(value);
    auto generic = dyn_cast<linalg::GenericOp>(arg.getOwner()->getParentOp());
    if (!generic)
      return {0, AffineMap()};
    return {arg.getArgNumber() < generic.getNumDpsInputs() ? 1 : 2,
            generic.getIndexingMapsArray()[arg.getArgNumber()]};
  };
  llvm::sort(operands, [&](Value a, Value b) {
    auto [kindA, mapA] = describe(a);
    auto [kindB, mapB] = describe(b);
    if (kindA != kindB)
      return kindA < kindB;
    if (mapA && mapB)
      if (int maps = compareMaps(mapA, mapB))
        return maps < 0;
    return graph.colourOf(a) < graph.colourOf(b);
  });
  return operands;
}

SmallVector<Operation *> OrderedEmitter::planNested(Block &block) {
  if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>())
    return planBlock(block, {});
  return planBlock(block, SmallVector<Value>(block.back().getOperands()));
}

void OrderedEmitter::collectCaptures(Operation *op,
                                     llvm::SetVector<Value> &captures) {
  auto add = [&](Value value) {
    if (!op->isAncestor(value.getParentBlock()->getParentOp()))
      captures.insert(value);
  };
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    const GenericPlan &plan = planGeneric(generic);
    for (Operation *inner : plan.body)
      for (Value value : usesOf(inner))
        add(value);
    for (unsigned k : plan.outputs)
      add(generic.getBody()->getTerminator()->getOperand(k));
    return;
  }
  for (Region &region : op->getRegions()) {
    for (Block &block : region) {
      for (Operation *inner : planNested(block))
        for (Value value : usesOf(inner))
          add(value);
      for (Value value : block.back().getOperands())
        add(value);
    }
  }
}

SmallVector<Value> OrderedEmitter::usesOf(Operation *op) {
  llvm::SetVector<Value> uses;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    const GenericPlan &plan = planGeneric(generic);
    for (unsigned j : plan.inputs)
      uses.insert(generic.getDpsInputOperand(j)->get());
    for (unsigned k : plan.outputs)
      uses.insert(generic.getDpsInitOperand(k)->get());
  } else {
    uses.insert_range(orderedOperands(op));
  }
  if (op->getNumRegions())
    collectCaptures(op, uses);
  return uses.takeVector();
}

SmallVector<Operation *> OrderedEmitter::planBlock(Block &block,
                                                   ArrayRef<Value> roots) {
  SmallVector<Operation *> result;
  llvm::SmallPtrSet<Operation *, 32> seen;
  struct Frame {
    Operation *op;
    SmallVector<Value> uses;
    size_t next;
  };
  // Without recursion: a model's chain of ops may be thousands long.
  std::vector<Frame> stack;
  auto enter = [&](Value value) {
    Operation *def = value.getDefiningOp();
    Operation *op = def ? block.findAncestorOpInBlock(*def) : nullptr;
    if (op && !isConstant(op) && seen.insert(op).second)
      stack.push_back({op, usesOf(op), 0});
  };
  for (Value root : roots) {
    enter(root);
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.next < frame.uses.size()) {
        enter(frame.uses[frame.next++]);
        continue;
      }
      result.push_back(frame.op);
      stack.pop_back();
    }
  }
  return result;
}

const GenericPlan &OrderedEmitter::planGeneric(linalg::GenericOp op) {
  if (auto it = generics.find(op); it != generics.end())
    return it->second;
  GenericPlan plan;
  plan.outputs = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumDpsInits()));
  llvm::sort(plan.outputs, [&](unsigned k, unsigned l) {
    OpOperand *a = op.getDpsInitOperand(k), *b = op.getDpsInitOperand(l);
    if (int maps = compareMaps(op.getMatchingIndexingMap(a),
                               op.getMatchingIndexingMap(b)))
      return maps < 0;
    return std::make_pair(graph.colourOfOutput(op, k), k) <
           std::make_pair(graph.colourOfOutput(op, l), l);
  });
  SmallVector<Value> roots;
  for (unsigned k : plan.outputs)
    roots.push_back(op.getBody()->getTerminator()->getOperand(k));
  plan.body = planBlock(*op.getBody(), roots);

  // Inputs that look alike come in the order in which the body uses them.
  llvm::SetVector<Value> uses;
  for (Operation *inner : plan.body)
    uses.insert_range(usesOf(inner));
  uses.insert_range(roots);
  llvm::DenseMap<Value, unsigned> position;
  for (auto [index, value] : llvm::enumerate(uses))
    position[value] = index;
  plan.inputs = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumDpsInputs()));
  llvm::sort(plan.inputs, [&](unsigned i, unsigned j) {
    OpOperand *a = op.getDpsInputOperand(i), *b = op.getDpsInputOperand(j);
    if (int maps = compareMaps(op.getMatchingIndexingMap(a),
                               op.getMatchingIndexingMap(b)))
      return maps < 0;
    auto rank = [&](OpOperand *operand) {
      auto it = position.find(op.getMatchingBlockArgument(operand));
      return std::make_tuple(it == position.end() ? uses.size() : it->second,
                             graph.colourOf(operand->get()),
                             operand->getOperandNumber());
    };
    return rank(a) < rank(b);
  });
  return generics[op] = std::move(plan);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value OrderedEmitter::emitConstant(Operation *constant) {
  Attribute properties = constant->getPropertiesAsAttribute();
  Value &known = constants[{properties, constant->getResult(0).getType()}];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  if (lastConstant)
    builder.setInsertionPointAfter(lastConstant);
  else
    builder.setInsertionPointToStart(&to.front());
  lastConstant = builder.clone(*constant);
  lastConstant->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  lastConstant->setLoc(unknown);
  return known = lastConstant->getResult(0);
}

Value OrderedEmitter::lookup(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Value fresh;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    // Arguments are numbered in the order of their first use.
    assert(arg.getOwner() == &from.front() && "argument of an unknown block");
    order.inputs.push_back(arg.getArgNumber());
    fresh = to.front().addArgument(arg.getType(), unknown);
  } else {
    assert(isConstant(value.getDefiningOp()) && "value used before its op");
    fresh = emitConstant(value.getDefiningOp());
  }
  mapping.map(value, fresh);
  return fresh;
}

void OrderedEmitter::emit(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    emitOp(op);
}

void OrderedEmitter::emitRegion(Region &source, Region &target) {
  for (Block &block : source) {
    Block &copy = target.emplaceBlock();
    for (BlockArgument arg : block.getArguments())
      mapping.map(arg, copy.addArgument(arg.getType(), unknown));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&copy);
    emit(planNested(block));
    if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
      emitOp(&block.back());
  }
}

void OrderedEmitter::emitOp(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return emitGeneric(generic);
  SmallVector<Value> operands;
  for (Value value : orderedOperands(op))
    operands.push_back(lookup(value));
  Operation *copy = op->cloneWithoutRegions(mapping);
  copy->setOperands(operands);
  copy->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  copy->setLoc(unknown);
  builder.insert(copy);
  for (auto [source, target] :
       llvm::zip_equal(op->getRegions(), copy->getRegions()))
    emitRegion(source, target);
}

void OrderedEmitter::emitGeneric(linalg::GenericOp op) {
  const GenericPlan plan = planGeneric(op);
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  SmallVector<BlockArgument> args;
  auto take = [&](OpOperand *operand, SmallVector<Value> &values) {
    values.push_back(lookup(operand->get()));
    maps.push_back(op.getMatchingIndexingMap(operand));
    args.push_back(op.getMatchingBlockArgument(operand));
  };
  for (unsigned j : plan.inputs)
    take(op.getDpsInputOperand(j), ins);
  for (unsigned k : plan.outputs) {
    take(op.getDpsInitOperand(k), outs);
    if (op.getNumResults())
      types.push_back(op.getResult(k).getType());
  }
  auto copy = linalg::GenericOp::create(builder, unknown, types, ins, outs,
                                        maps, op.getIteratorTypesArray());
  if (op.getNumResults())
    for (auto [k, result] : llvm::zip_equal(plan.outputs, copy.getResults()))
      mapping.map(op.getResult(k), result);
  Region &region = copy.getRegion();
  Block &body = region.empty() ? region.emplaceBlock() : region.front();
  for (BlockArgument arg : args)
    mapping.map(arg, body.addArgument(arg.getType(), unknown));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  emit(plan.body);
  SmallVector<Value> yielded;
  for (unsigned k : plan.outputs)
    yielded.push_back(lookup(op.getBody()->getTerminator()->getOperand(k)));
  linalg::YieldOp::create(builder, unknown, yielded);
}

Order OrderedEmitter::run() {
  Block &block = from.front();
  Operation *terminator = block.getTerminator();
  order.outputs =
      llvm::to_vector(llvm::seq<unsigned>(0, terminator->getNumOperands()));
  // What is computed first is returned first.
  llvm::sort(order.outputs, [&](unsigned i, unsigned j) {
    auto rank = [&](unsigned index) {
      Value value = terminator->getOperand(index);
      return std::make_tuple(graph.depthOf(value), graph.colourOf(value),
                             index);
    };
    return rank(i) < rank(j);
  });
  SmallVector<Value> roots;
  for (unsigned index : order.outputs)
    roots.push_back(terminator->getOperand(index));

  Block &target = to.emplaceBlock();
  builder.setInsertionPointToEnd(&target);
  emit(planBlock(block, roots));
  SmallVector<Value> yielded;
  for (Value root : roots)
    yielded.push_back(lookup(root));
  OperationState state(unknown, terminator->getName());
  state.addOperands(yielded);
  builder.create(state);
  return order;
}

Order fastk::canonical::emitInOrder(Region &from, Region &to,
                                    InputIdentity identity) {
  PatternGraph graph(from);
  SmallVector<Colour> inputs;
  if (identity == InputIdentity::Structure)
    inputs = graph.colourInputs();
  else
    inputs.append(llvm::seq<Colour>(0, from.getNumArguments()).begin(),
                  llvm::seq<Colour>(0, from.getNumArguments()).end());
  graph.setInputColours(inputs);
  return OrderedEmitter(from, to, graph).run();
}
