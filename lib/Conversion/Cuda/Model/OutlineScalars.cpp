//===- OutlineScalars.cpp - Numbers between kernels -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutlineScalars.h"
#include "Cuda/TMTensor/LowerTMTensorForDevice.h"
#include "fastk/Analysis/PlanLoops.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fastk;

/// What becomes a launch by itself.
static bool isLaunched(Operation *op) {
  return isa<linalg::LinalgOp, memref::CopyOp, CallOp, scf::ForallOp,
             scf::ParallelOp, tm_tensor::ScanOp>(op);
}

/// What is only a place.
static bool isPlace(Operation *op) {
  return isa<ViewLikeOpInterface, memref::AllocOp, memref::GetGlobalOp,
             memref::DeallocOp>(op);
}

namespace {
class Outliner {
public:
  explicit Outliner(func::FuncOp func)
      : func(func), builder(func.getContext()) {}

  LogicalResult run();

private:
  /// Finds the numbers of a block, and of the loops in it.
  LogicalResult collect(Block &block);
  bool isNumber(Value value) const {
    return value.getDefiningOp() && numbers.contains(value.getDefiningOp());
  }
  /// Makes a loop of one point of `group`, before the first op behind it.
  void outline(ArrayRef<Operation *> group, Operation *before);
  /// Lets `op` read numbers out of memory; what it is then.
  FailureOr<Operation *> readFromMemory(linalg::LinalgOp op);
  Value memoryOf(Value number);

  func::FuncOp func;
  OpBuilder builder;
  /// Ops that compute numbers.
  llvm::SmallPtrSet<Operation *, 16> numbers;
  /// Those between two launches, and the op behind each of these groups.
  SmallVector<SmallVector<Operation *>> groups{1};
  SmallVector<Operation *> ends;
  SmallVector<linalg::LinalgOp> readers;
  llvm::DenseMap<Value, Value> memory;
};
} // namespace

Value Outliner::memoryOf(Value number) {
  Value &place = memory[number];
  if (!place) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&func.getBody().front());
    place = memref::AllocOp::create(builder, number.getLoc(),
                                    MemRefType::get({}, number.getType()));
  }
  return place;
}

FailureOr<Operation *> Outliner::readFromMemory(linalg::LinalgOp op) {
  IRRewriter rewriter(op);
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic) {
    FailureOr<linalg::GenericOp> made = linalg::generalizeNamedOp(rewriter, op);
    if (failed(made)) {
      op.emitError() << "cannot be written as linalg.generic (required by "
                        "'fastk.device_kernels')";
      return failure();
    }
    // From here on there is no `op`.
    generic = *made;
    rewriter.setInsertionPoint(generic);
  }
  for (OpOperand *input : generic.getDpsInputOperands())
    if (isNumber(input->get()))
      input->set(memoryOf(input->get()));
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(generic.getRegion(), captured);
  captured.remove_if([&](Value value) { return !isNumber(value); });
  if (captured.empty())
    return generic.getOperation();
  // What the body names becomes an input more.
  SmallVector<Value> inputs(generic.getInputs());
  SmallVector<AffineMap> maps(generic.getIndexingMapsArray());
  unsigned first = inputs.size();
  for (auto [i, value] : llvm::enumerate(captured)) {
    inputs.push_back(memoryOf(value));
    maps.insert(maps.begin() + first + i,
                AffineMap::get(generic.getNumLoops(), 0, generic.getContext()));
    BlockArgument argument = generic.getBody()->insertArgument(
        first + i, value.getType(), value.getLoc());
    replaceAllUsesInRegionWith(value, argument, generic.getRegion());
  }
  auto wider = linalg::GenericOp::create(
      rewriter, generic.getLoc(), TypeRange(), inputs, generic.getOutputs(),
      maps, generic.getIteratorTypesArray());
  wider.getRegion().takeBody(generic.getRegion());
  rewriter.eraseOp(generic);
  return wider.getOperation();
}

void Outliner::outline(ArrayRef<Operation *> group, Operation *before) {
  builder.setInsertionPoint(before);
  llvm::SmallPtrSet<Operation *, 8> members(group.begin(), group.end());
  emitParallel(builder, group.front()->getLoc(), {}, [&](ValueRange) {
    // Numbers of earlier groups come out of memory.
    llvm::DenseMap<Value, Value> loaded;
    Block *body = builder.getInsertionBlock();
    for (Operation *op : group) {
      op->moveBefore(body->getTerminator());
      builder.setInsertionPoint(op);
      op->walk([&](Operation *nested) {
        for (OpOperand &operand : nested->getOpOperands()) {
          Value value = operand.get();
          Operation *definition = value.getDefiningOp();
          if (!definition || !isNumber(value) || members.contains(definition))
            continue;
          Value &copy = loaded[value];
          if (!copy)
            copy = memref::LoadOp::create(builder, value.getLoc(),
                                          memoryOf(value), ValueRange());
          operand.set(copy);
        }
      });
    }
  });
}

LogicalResult Outliner::collect(Block &block) {
  for (Operation &op : block) {
    bool isLoop = isPlanLoop(&op);
    if (isLaunched(&op) || isLoop || op.hasTrait<OpTrait::IsTerminator>()) {
      if (!groups.back().empty()) {
        ends.push_back(&op);
        groups.emplace_back();
      }
      if (auto structured = dyn_cast<linalg::LinalgOp>(op))
        readers.push_back(structured);
      if (isLoop && failed(collect(*cast<scf::ForOp>(op).getBody())))
        return failure();
      continue;
    }
    if (op.hasTrait<OpTrait::ConstantLike>() || isPlaceArithmetic(&op))
      continue;
    if (!isPlace(&op)) {
      numbers.insert(&op);
      groups.back().push_back(&op);
      continue;
    }
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return isNumber(value); }))
      return op.emitError()
             << "is at a place that depends on data: a model for a GPU is one "
                "plan, made before it runs; compile with --target=host, or "
                "import the model with numbers in place of such values "
                "(required by 'fastk.static_control_flow')";
  }
  return success();
}

LogicalResult Outliner::run() {
  if (failed(collect(func.getBody().front())))
    return failure();
  groups.pop_back();
  if (groups.empty())
    return success();
  for (linalg::LinalgOp op : readers) {
    Operation *before = op;
    FailureOr<Operation *> after = readFromMemory(op);
    if (failed(after))
      return failure();
    llvm::replace(ends, before, *after);
  }
  for (auto [group, end] : llvm::zip_equal(groups, ends))
    outline(group, end);
  for (auto [number, place] : memory) {
    builder.setInsertionPointAfter(number.getDefiningOp());
    memref::StoreOp::create(builder, number.getLoc(), number, place,
                            ValueRange());
  }
  return success();
}

LogicalResult fastk::outlineScalars(func::FuncOp func) {
  return Outliner(func).run();
}
