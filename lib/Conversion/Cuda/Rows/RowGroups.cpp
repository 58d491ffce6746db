//===- RowGroups.cpp - Ops that share their rows --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowGroups.h"
#include "Cuda/Kernels/Access.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk;

Value fastk::skipReshapes(Value value) {
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

namespace {
/// What an op of a group has a value of: every point, or every row.
enum class Extent { Full, Row };

struct Shape {
  int64_t rows, columns;
};
} // namespace

/// Scalars and constants apart, an op looks at nothing but its operands.
static bool isSelfContained(linalg::GenericOp op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegion(), captured);
  return llvm::all_of(captured, [](Value value) {
    Operation *definition = value.getDefiningOp();
    return definition && definition->hasTrait<OpTrait::ConstantLike>() &&
           !isa<ShapedType>(value.getType());
  });
}

static bool isCandidate(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumResults() == 0 ||
      !isSelfContained(op))
    return false;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() == 0 ||
        !type.getElementType().isIntOrFloat())
      return false;
    DenseElementsAttr constant;
    if (matchPattern(skipReshapes(operand), m_Constant(&constant)) &&
        !constant.isSplat())
      return false;
  }
  return true;
}

/// How loops move in an operand that is contiguous.
static std::optional<SmallVector<int64_t>> accessOf(linalg::GenericOp op,
                                                    OpOperand &operand) {
  auto type = cast<RankedTensorType>(operand.get().getType());
  return linearCoefficients(op.getMatchingIndexingMap(&operand),
                            rowMajorStrides(type.getShape()),
                            op.getStaticLoopRanges());
}

/// Whether the value at every point of a row is the same, and that of the row's
/// number.
static bool isRowAccess(ArrayRef<int64_t> coefficients,
                        ArrayRef<int64_t> extents, unsigned split) {
  auto row = collapsedStride(coefficients.take_front(split),
                             extents.take_front(split));
  auto column = collapsedStride(coefficients.drop_front(split),
                                extents.drop_front(split));
  return column == 0 &&
         (row == 1 || llvm::all_of(extents.take_front(split),
                                   [](int64_t e) { return e == 1; }));
}

/// An op with a result for every point, or every row, of the group.
static std::optional<Extent> extentOf(linalg::GenericOp op, Shape shape) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  int64_t points = 1;
  for (int64_t extent : extents)
    points *= extent;
  bool reduces = op.getNumReductionLoops() != 0;
  Extent result = reduces || points == shape.rows ? Extent::Row : Extent::Full;
  if (points != shape.rows * shape.columns && (reduces || points != shape.rows))
    return std::nullopt;
  std::optional<unsigned> split = splitLoops(extents, shape.rows);
  if (!split)
    return std::nullopt;
  if (reduces)
    for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
      if (extents[dim] != 1 &&
          (iterator == utils::IteratorType::parallel) != (dim < *split))
        return std::nullopt;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    auto coefficients = accessOf(op, init);
    if (!coefficients)
      return std::nullopt;
    if (result == Extent::Full ? collapsedStride(*coefficients, extents) != 1
                               : !isRowAccess(*coefficients, extents, *split))
      return std::nullopt;
  }
  if (!reduces)
    return result;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (!findCombiner(op, i).op)
      return std::nullopt;
  // Something is read along the row and once: no contraction, no window.
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto coefficients = accessOf(op, *input);
    if (coefficients &&
        cast<RankedTensorType>(input->get().getType()).getNumElements() ==
            points &&
        collapsedStride(ArrayRef(*coefficients).drop_front(*split),
                        ArrayRef(extents).drop_front(*split)) == 1)
      return result;
  }
  return std::nullopt;
}

/// The rows of a reduction along memory.
static std::optional<Shape> shapeOf(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0)
    return std::nullopt;
  Shape shape{1, 1};
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
    (iterator == utils::IteratorType::parallel ? shape.rows : shape.columns) *=
        extents[dim];
  if (shape.columns < 2 || !extentOf(op, shape))
    return std::nullopt;
  return shape;
}

/// Depends on nothing: made again wherever it is needed.
static bool isFree(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 0 &&
         llvm::none_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.payloadUsesValueFromOperand(&init);
         });
}

namespace {
/// Finds the groups of one shape.
struct Grouping {
  explicit Grouping(Shape shape) : shape(shape) {}

  Shape shape;
  /// What the ops of the group give.
  llvm::DenseMap<Operation *, Extent> members;

  /// Whether `op` reads the values of other members where they are its own.
  bool readsInPlace(linalg::GenericOp op) {
    SmallVector<int64_t> extents = op.getStaticLoopRanges();
    std::optional<unsigned> split = splitLoops(extents, shape.rows);
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = skipReshapes(operand.get()).getDefiningOp();
      auto found = members.find(producer);
      if (!producer || found == members.end() ||
          !op.payloadUsesValueFromOperand(&operand))
        continue;
      auto coefficients = accessOf(op, operand);
      if (!coefficients)
        return false;
      if (found->second == Extent::Full
              ? collapsedStride(*coefficients, extents) != 1
              : !isRowAccess(*coefficients, extents, *split))
        return false;
    }
    return true;
  }

  void collect(Block &block, const llvm::DenseSet<Operation *> &taken) {
    // Behind an op that is no member: joining would make a cycle.
    llvm::DenseSet<Operation *> behind;
    for (Operation &op : block.without_terminator()) {
      bool follows = false, reads = false;
      llvm::SetVector<Value> used;
      used.insert(op.operand_begin(), op.operand_end());
      for (Region &region : op.getRegions())
        getUsedValuesDefinedAbove(region, used);
      for (Value value : used)
        if (Operation *definition = value.getDefiningOp()) {
          follows |= behind.contains(definition);
          Operation *source = skipReshapes(value).getDefiningOp();
          auto generic = dyn_cast_or_null<linalg::GenericOp>(source);
          reads |= members.contains(source) && !(generic && isFree(generic));
        }
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (generic && !follows && !taken.contains(&op) && isCandidate(generic)) {
        std::optional<Extent> extent = extentOf(generic, shape);
        if (extent && readsInPlace(generic)) {
          members[&op] = *extent;
          continue;
        }
      }
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) && !follows)
        continue;
      if (follows || reads)
        behind.insert(&op);
    }
  }
};
} // namespace

void fastk::inlineCheapBroadcasts(func::FuncOp func) {
  auto pointsOf = [](linalg::GenericOp op) {
    int64_t points = 1;
    for (int64_t extent : op.getStaticLoopRanges())
      points *= extent;
    return points;
  };
  auto isCheap = [](linalg::GenericOp op) {
    return llvm::all_of(
        op.getBody()->without_terminator(), [](Operation &inner) {
          return isa<arith::ArithDialect>(inner.getDialect()) &&
                 !isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp,
                      arith::RemSIOp, arith::RemUIOp, arith::RemFOp>(inner);
        });
  };
  RewritePatternSet patterns(func.getContext());
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [&](OpOperand *operand) {
        auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
        auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
        return consumer && producer && producer.getNumResults() == 1 &&
               consumer.getNumReductionLoops() == 0 &&
               producer.getNumDpsInputs() == 1 &&
               pointsOf(producer) < pointsOf(consumer) && isCheap(producer) &&
               isa<BlockArgument>(skipReshapes(producer->getOperand(0)));
      });
  // Fewer launches is all that is lost when this gives up.
  (void)applyPatternsGreedily(func, std::move(patterns));
}

/// What a function needs of `ops` and their surroundings, in its order: they
/// and what is copied into it. Adds to `inputs` what comes from outside.
static SmallVector<Operation *>
collectBody(ArrayRef<Operation *> ops,
            const llvm::DenseSet<Operation *> &members,
            llvm::SetVector<Value> &inputs) {
  SmallVector<Operation *> body;
  llvm::DenseSet<Operation *> added;
  std::function<void(Value)> take = [&](Value value) {
    Operation *definition = value.getDefiningOp();
    Operation *source = skipReshapes(value).getDefiningOp();
    bool isOurs = source && members.contains(source);
    bool isCopied =
        definition && (isa<tensor::EmptyOp>(definition) ||
                       definition->hasTrait<OpTrait::ConstantLike>());
    if (isOurs ? definition == source : !isCopied) {
      if (!isOurs)
        inputs.insert(value);
      return;
    }
    if (!added.insert(definition).second)
      return;
    for (Value operand : definition->getOperands())
      take(operand);
    body.push_back(definition);
  };
  for (Operation *op : ops) {
    auto generic = cast<linalg::GenericOp>(op);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegion(0), captured);
    for (Value value : captured)
      take(value);
    for (OpOperand &operand : op->getOpOperands()) {
      // What is not read gives the shape only.
      if (operand.get().getDefiningOp<tensor::EmptyOp>() ||
          generic.payloadUsesValueFromOperand(&operand) ||
          members.contains(skipReshapes(operand.get()).getDefiningOp()))
        take(operand.get());
    }
    body.push_back(op);
  }
  return body;
}

/// A value leaves where an op that is no member reads it, reshaped or not.
static bool leaves(Value value, Block *block,
                   const llvm::DenseSet<Operation *> &members) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      return leaves(user->getResult(0), block, members);
    while (user->getBlock() != block)
      user = user->getParentOp();
    return !members.contains(user);
  });
}

/// A function of the ops in `body`, at the end of `groups`.
static func::FuncOp makeFunction(ArrayRef<Operation *> body,
                                 ArrayRef<Value> arguments,
                                 ArrayRef<Value> outputs, Shape shape,
                                 func::FuncOp caller, Location loc,
                                 ModuleOp groups) {
  OpBuilder builder(groups.getContext());
  builder.setInsertionPointToEnd(groups.getBody());
  size_t number = llvm::range_size(groups.getOps<func::FuncOp>());
  auto func = func::FuncOp::create(
      builder, loc, (caller.getName() + "_rows" + Twine(number)).str(),
      builder.getFunctionType(TypeRange(ValueRange(arguments)),
                              TypeRange(ValueRange(outputs))));
  func.setPrivate();
  func->setAttr(kRowsAttr, builder.getI64IntegerAttr(shape.rows));
  func->setAttr(kColumnsAttr, builder.getI64IntegerAttr(shape.columns));
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  mapping.map(arguments, entry->getArguments());
  for (Operation *op : body) {
    // Inits that are not read stay outside.
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand)) {
        auto type = cast<RankedTensorType>(operand.getType());
        mapping.map(operand,
                    tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType())
                        .getResult());
      }
    builder.clone(*op, mapping);
  }
  SmallVector<Value> returned;
  for (Value output : outputs)
    returned.push_back(mapping.lookup(output));
  func::ReturnOp::create(builder, loc, returned);
  return func;
}

/// What uses results of `ops` and stands before the last of them goes behind
/// it, in the same order; no member needs any of that.
static void moveUsersBehind(ArrayRef<Operation *> ops,
                            const llvm::DenseSet<Operation *> &members) {
  llvm::DenseSet<Operation *> later;
  SmallVector<Operation *> moved;
  for (Operation *op = ops.front(); op != ops.back(); op = op->getNextNode()) {
    bool follows = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *definition = operand.getDefiningOp();
        auto generic = dyn_cast_or_null<linalg::GenericOp>(definition);
        follows |= later.contains(definition) ||
                   (members.contains(definition) && !isFree(generic));
      }
    });
    if (!follows || members.contains(op))
      continue;
    later.insert(op);
    moved.push_back(op);
  }
  Operation *last = ops.back();
  for (Operation *op : moved) {
    op->moveAfter(last);
    last = op;
  }
}

/// Replaces `ops`, in their order, by a call of a function that holds them.
/// What is gone, or must join no other group, is added to `taken`.
static void outline(ArrayRef<Operation *> ops, Shape shape, ModuleOp groups,
                    llvm::DenseSet<Operation *> &taken) {
  llvm::DenseSet<Operation *> members(ops.begin(), ops.end());
  // What comes in, and what goes out.
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
  SmallVector<Operation *> body = collectBody(ops, members, inputs);
  for (Operation *op : ops)
    if (!isFree(cast<linalg::GenericOp>(op)))
      for (Value result : op->getResults())
        if (leaves(result, op->getBlock(), members))
          outputs.push_back(result);

  SmallVector<Value> arguments = inputs.takeVector();
  Location loc = ops.front()->getLoc();
  func::FuncOp func =
      makeFunction(body, arguments, outputs, shape,
                   ops.front()->getParentOfType<func::FuncOp>(), loc, groups);
  // The call stands where the last op does.
  moveUsersBehind(ops, members);
  OpBuilder builder(ops.back());
  auto call = CallOp::create(builder, loc, TypeRange(ValueRange(outputs)),
                             FlatSymbolRefAttr::get(func.getSymNameAttr()),
                             arguments, ValueRange());
  for (auto [output, result] : llvm::zip_equal(outputs, call.getOutputs()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      while (user->getBlock() != call->getBlock())
        user = user->getParentOp();
      return !members.contains(user);
    });
  for (Operation *op : llvm::reverse(ops)) {
    if (!isFree(cast<linalg::GenericOp>(op)) || op->use_empty())
      taken.insert(op);
    if (op->use_empty())
      op->erase();
  }
}

bool fastk::isRowGroup(func::FuncOp func) {
  auto rows = func->getAttrOfType<IntegerAttr>(kRowsAttr),
       columns = func->getAttrOfType<IntegerAttr>(kColumnsAttr);
  if (!rows || !columns || func.isDeclaration() ||
      !llvm::hasSingleElement(func.getBody()))
    return false;
  Shape shape{rows.getInt(), columns.getInt()};
  auto isOfGroup = [&](Operation &op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic)
      return isCandidate(generic) && extentOf(generic, shape).has_value();
    return isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
               func::ReturnOp>(op) ||
           op.hasTrait<OpTrait::ConstantLike>();
  };
  return shape.rows > 0 && shape.columns > 0 &&
         llvm::all_of(func.getBody().front(), isOfGroup);
}

void fastk::outlineRowGroups(func::FuncOp func, ModuleOp groups) {
  Block &block = func.getBody().front();
  llvm::DenseSet<Operation *> taken;
  SmallVector<Operation *> program;
  for (Operation &op : block.without_terminator())
    program.push_back(&op);
  for (Operation *first : program) {
    if (taken.contains(first))
      continue;
    auto reduction = dyn_cast<linalg::GenericOp>(first);
    if (!reduction || !isCandidate(reduction))
      continue;
    std::optional<Shape> shape = shapeOf(reduction);
    if (!shape)
      continue;
    Grouping grouping(*shape);
    grouping.collect(block, taken);
    // Of all that fits, what hangs together with this reduction.
    llvm::EquivalenceClasses<Operation *> together;
    for (auto [op, extent] : grouping.members) {
      together.insert(op);
      for (Value operand : op->getOperands()) {
        Operation *source = skipReshapes(operand).getDefiningOp();
        if (source && grouping.members.contains(source) &&
            !isFree(cast<linalg::GenericOp>(source)))
          together.unionSets(op, source);
      }
    }
    SmallVector<Operation *> ops;
    for (Operation *op : program) {
      if (taken.contains(op) || !grouping.members.contains(op))
        continue;
      bool isUsedFree =
          isFree(cast<linalg::GenericOp>(op)) &&
          llvm::any_of(op->getUsers(), [&](Operation *user) {
            if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
              return true;
            return grouping.members.contains(user) &&
                   together.isEquivalent(user, first);
          });
      if (together.isEquivalent(op, first) || isUsedFree)
        ops.push_back(op);
    }
    // The reduction stands behind what joining it would need.
    if (ops.empty())
      continue;
    outline(ops, *shape, groups, taken);
  }
}
