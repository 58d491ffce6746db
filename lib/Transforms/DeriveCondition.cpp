//===- DeriveCondition.cpp - How far rounding may move a result -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside each op that rounds stands, in the end, one that computes the
// conditions of its results; the op itself stays for whoever needs its values.
//
//===----------------------------------------------------------------------===//

#include "TensorConditions.h"
#include "fastk/Protocol/Contract.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

namespace fastk {
#define GEN_PASS_DEF_FASTKDERIVECONDITIONPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

LogicalResult TensorConditions::noRule(Operation *op, const Twine &why) {
  return op->emitOpError() << why
                           << ", which has no rule of error analysis "
                              "(required by 'fastk-derive-condition')";
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value TensorConditions::zerosLike(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType().isInteger(1) ? type.getElementType()
                                                    : b.getF64Type();
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
  Value empty = tensor::EmptyOp::create(b, type.getShape(), element);
  return linalg::FillOp::create(b, zero, empty).getResult(0);
}

Value TensorConditions::map(ValueRange tensors, Body body) {
  auto type = cast<RankedTensorType>(tensors.front().getType());
  Value empty = tensor::EmptyOp::create(b, type.getShape(), b.getF64Type());
  SmallVector<AffineMap> maps(tensors.size() + 1,
                              b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, TypeRange{empty.getType()}, tensors, ValueRange{empty}, maps,
             iterators,
             [&](OpBuilder &builder, Location loc, ValueRange arguments) {
               ImplicitLocOpBuilder inner(loc, builder);
               linalg::YieldOp::create(inner, body(inner, arguments));
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

llvm::SetVector<Operation *> TensorConditions::scalarsOf(linalg::GenericOp op,
                                                         Value root) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> work = {root};
  while (!work.empty()) {
    Operation *scalar = work.pop_back_val().getDefiningOp();
    if (scalar && scalar->getBlock() == op.getBlock() && needed.insert(scalar))
      llvm::append_range(work, scalar->getOperands());
  }
  return needed;
}

void TensorConditions::listOperands(linalg::GenericOp op,
                                    SmallVectorImpl<unsigned> &known,
                                    SmallVectorImpl<Value> &inputs,
                                    SmallVectorImpl<AffineMap> &maps) const {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    inputs.push_back(operand->get());
    maps.push_back(op.getMatchingIndexingMap(operand));
  }
  for (unsigned i = 0, e = op.getNumDpsInputs(); i < e; ++i)
    if (Value condition = get(op.getInputs()[i])) {
      known.push_back(i);
      inputs.push_back(condition);
      maps.push_back(maps[i]);
    }
}

LogicalResult TensorConditions::analyzeBody(linalg::GenericOp op, Block *block,
                                            ArrayRef<unsigned> known,
                                            IRMapping &mapping,
                                            ScalarConditions &scalars,
                                            Value root) {
  unsigned inputs = op.getNumDpsInputs();
  for (unsigned i = 0; i < inputs; ++i)
    mapping.map(op.getBlock()->getArgument(i), block->getArgument(i));
  for (auto [k, input] : llvm::enumerate(known))
    scalars.set(block->getArgument(input), block->getArgument(inputs + k));
  llvm::SetVector<Operation *> needed;
  if (root)
    needed = scalarsOf(op, root);
  for (Operation &scalar : op.getBlock()->without_terminator()) {
    if (root && !needed.contains(&scalar))
      continue;
    Operation *copy = b.clone(scalar, mapping);
    // A table that rounding has made: its condition lies beside it.
    if (auto extract = dyn_cast<tensor::ExtractOp>(copy))
      if (Value table = get(extract.getTensor()))
        scalars.set(copy->getResult(0),
                    tensor::ExtractOp::create(b, table, extract.getIndices()));
    if (failed(scalars.visit(copy)))
      return failure();
  }
  return success();
}

/// The same op, with what it writes to among its operands: it may read that.
static linalg::GenericOp readInits(ImplicitLocOpBuilder &b,
                                   linalg::GenericOp op) {
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  llvm::append_range(inputs, op.getOutputs());
  maps.append(maps.begin() + op.getNumDpsInputs(), maps.end());
  auto same =
      linalg::GenericOp::create(b, op.getResultTypes(), inputs, op.getOutputs(),
                                maps, op.getIteratorTypesArray());
  same.getRegion().takeBody(op.getRegion());
  // What were results are the operands behind the others.
  for (Value output : op.getOutputs())
    same.getBlock()->addArgument(getElementTypeOrSelf(output.getType()),
                                 op.getLoc());
  op->replaceAllUsesWith(same);
  op->erase();
  return same;
}

LogicalResult TensorConditions::visitElementwise(linalg::GenericOp op) {
  if (llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
        return op.payloadUsesValueFromOperand(&init);
      })) {
    op = readInits(b, op);
    b.setInsertionPointAfter(op);
  }
  SmallVector<unsigned> known;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  listOperands(op, known, inputs, maps);
  // The body first: only then is known which results round.
  Region region;
  Block *block = &region.emplaceBlock();
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input.getType()), op.getLoc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);
  IRMapping mapping;
  ScalarConditions scalars(b, rounding);
  if (failed(analyzeBody(op, block, known, mapping, scalars)))
    return failure();
  SmallVector<Value> yielded;
  SmallVector<unsigned> results;
  Operation *terminator = op.getBlock()->getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (Value condition = scalars.get(mapping.lookupOrDefault(value))) {
      results.push_back(i);
      yielded.push_back(condition);
    }
  if (results.empty())
    return success();
  linalg::YieldOp::create(b, yielded);
  b.setInsertionPointAfter(op);
  SmallVector<Value> inits;
  SmallVector<Type> types;
  for (auto [i, value] : llvm::zip_equal(results, yielded)) {
    auto type = cast<RankedTensorType>(op.getResult(i).getType());
    inits.push_back(
        tensor::EmptyOp::create(b, type.getShape(), value.getType()));
    types.push_back(inits.back().getType());
    maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(i)));
    block->addArgument(value.getType(), op.getLoc());
  }
  auto generic = linalg::GenericOp::create(b, types, inputs, inits, maps,
                                           op.getIteratorTypesArray());
  generic.getRegion().takeBody(region);
  for (auto [k, i] : llvm::enumerate(results))
    conditions[op.getResult(i)] = generic.getResult(k);
  return success();
}

LogicalResult TensorConditions::visitGeneric(linalg::GenericOp op) {
  for (AffineMap map : op.getIndexingMapsArray())
    if (map.getNumSymbols() != 0)
      return noRule(op, "is indexed by symbols");
  return op.getNumReductionLoops() == 0 ? visitElementwise(op)
                                        : visitReduction(op);
}

/// What moves elements moves their conditions.
LogicalResult TensorConditions::visitMove(Operation *op) {
  bool any = llvm::any_of(op->getOperands(),
                          [&](Value operand) { return get(operand); });
  if (!any)
    return success();
  b.setInsertionPointAfter(op);
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      continue;
    Value condition = get(operand);
    mapping.map(operand, condition ? condition : zerosLike(operand));
  }
  Operation *copy = b.clone(*op, mapping);
  Type element;
  for (Value operand : copy->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      element = type.getElementType();
  for (OpResult result : copy->getResults())
    result.setType(cast<RankedTensorType>(result.getType()).clone(element));
  // What is added around a tensor is exact.
  if (auto pad = dyn_cast<tensor::PadOp>(copy)) {
    auto yield = cast<tensor::YieldOp>(pad.getBody()->getTerminator());
    b.setInsertionPoint(yield);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
    yield->setOperand(0, zero);
  }
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
    conditions[from] = to;
  return success();
}

LogicalResult TensorConditions::visit(Operation *op) {
  b.setLoc(op->getLoc());
  b.setInsertionPointAfter(op);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return visitGeneric(generic);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp,
          tensor::ConcatOp, tensor::CastOp, tensor::ReshapeOp>(op))
    return visitMove(op);
  bool any = llvm::any_of(op->getOperands(),
                          [&](Value operand) { return get(operand); });
  if (any)
    return noRule(op, "uses rounded values");
  // Exact operands make exact results, where nothing computes.
  if (isa<arith::ConstantOp, tensor::EmptyOp, tensor::SplatOp,
          tensor::FromElementsOp, tensor::DimOp, tensor::ExtractOp,
          linalg::FillOp>(op))
    return success();
  bool anyFloat = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
  if (anyFloat || op->getNumRegions() != 0)
    return noRule(op, "computes outside of linalg");
  return success();
}

LogicalResult TensorConditions::run() {
  Block &entry = func.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : entry.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(visit(op)))
      return failure();
  Operation *terminator = entry.getTerminator();
  b.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (!isa<FloatType>(getElementTypeOrSelf(operand.get().getType())))
      continue;
    Value condition = get(operand.get());
    operand.set(condition ? condition : zerosLike(operand.get()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether the result of an op is rounded to fewer digits than kernels compute
/// in: to a half, or f64 to f32.
static bool isKept(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Type type = op->getResult(0).getType();
  return isa<Float16Type, BFloat16Type>(type) ||
         (isa<arith::TruncFOp>(op) && isa<Float32Type>(type));
}

/// Notes on the ops of \p func which results are kept in a narrow type: the
/// promotion to f64 takes these types away.
static void noteStorage(func::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isKept(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    auto kept = TypeAttr::get(op->getResult(0).getType());
    if (isa<arith::TruncFOp>(op)) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Type type = op->getOperand(0).getType();
      Value one = arith::ConstantOp::create(b, FloatAttr::get(type, 1.0));
      auto rounded = arith::MulFOp::create(b, op->getOperand(0), one);
      rounded->setAttr(kRoundedToAttr, kept);
      rounded->setAttr(kConversionAttr, b.getUnitAttr());
      op->setOperand(0, rounded);
    } else if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(
                   op) ||
               op->getDialect()->getNamespace() ==
                   math::MathDialect::getDialectNamespace()) {
      op->setAttr(kRoundedToAttr, kept);
    }
  }
}

static KernelRounding roundingOf(bool allDouble, bool tf32) {
  double unit = allDouble ? 0x1p-53 : 0x1p-24;
  double bound = worker::contract::ieeeRoundoffs * unit;
  return {unit, tf32 ? bound + worker::contract::tf32Operands : bound};
}

namespace {
struct FastkDeriveConditionPass
    : fastk::impl::FastkDeriveConditionPassBase<FastkDeriveConditionPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    // Kernels compute in f32, or in f64 where nothing else is there.
    bool allDouble = true;
    func.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (isa<FloatType>(getElementTypeOrSelf(type)))
          allDouble &= getElementTypeOrSelf(type).isF64();
    });
    for (Type type : func.getArgumentTypes())
      if (isa<FloatType>(getElementTypeOrSelf(type)))
        allDouble &= getElementTypeOrSelf(type).isF64();

    SmallVector<linalg::SoftmaxOp> aggregates(func.getOps<linalg::SoftmaxOp>());
    for (linalg::SoftmaxOp softmax : aggregates) {
      OpBuilder builder(softmax);
      FailureOr<SmallVector<Value>> parts = softmax.decomposeOperation(builder);
      if (failed(parts))
        return signalPassFailure();
      softmax->replaceAllUsesWith(*parts);
      softmax->erase();
    }
    OpPassManager generalize(func::FuncOp::getOperationName());
    generalize.addPass(createLinalgGeneralizeNamedOpsPass());
    generalize.addPass(createLinalgInlineScalarOperandsPass());
    generalize.addPass(createCanonicalizerPass());
    if (failed(runPipeline(generalize, func)))
      return signalPassFailure();
    noteStorage(func);
    OpPassManager promote(func::FuncOp::getOperationName());
    promote.addPass(createFastkPromoteToF64Pass());
    if (failed(runPipeline(promote, func)) ||
        failed(TensorConditions(func, roundingOf(allDouble, tf32)).run()))
      return signalPassFailure();
    func.walk([](Operation *op) {
      op->removeAttr(kRoundedToAttr);
      op->removeAttr(kConversionAttr);
    });
    func.setFunctionType(FunctionType::get(
        func.getContext(), func.getArgumentTypes(),
        func.getBody().front().getTerminator()->getOperandTypes()));
    OpPassManager clean(func::FuncOp::getOperationName());
    clean.addPass(createCanonicalizerPass());
    clean.addPass(createCSEPass());
    if (failed(runPipeline(clean, func)))
      return signalPassFailure();
  }
};
} // namespace
