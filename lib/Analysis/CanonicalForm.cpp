//===- CanonicalForm.cpp - The canonical form of a workload ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/CanonicalForm.h"
#include "CanonicalFormImpl.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace fastk;

void fastk::registerCanonicalFormDialects(DialectRegistry &registry) {
  registry.insert<FastkDialect, affine::AffineDialect, arith::ArithDialect,
                  func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                  tensor::TensorDialect, tm_tensor::TMTensorDialect>();
}

/// What has no canonical form is refused here, before anything is copied.
static LogicalResult checkBody(WorkloadOp workload) {
  WalkResult result = workload.getBody().walk([&](Operation *op) {
    if (!op->isRegistered()) {
      op->emitOpError() << "is not registered, so what it does is not known: "
                           "leave it outside the workload (required by "
                           "'fastk.canonical_form')";
      return WalkResult::interrupt();
    }
    if (!isMemoryEffectFree(op)) {
      op->emitOpError() << "has side effects: a workload computes tensors from "
                           "tensors (required by 'fastk.canonical_form')";
      return WalkResult::interrupt();
    }
    for (Region &region : op->getRegions()) {
      if (region.empty() || region.hasOneBlock())
        continue;
      op->emitOpError() << "has a region of several blocks: lift it to scf "
                           "(required by 'fastk.canonical_form')";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// A resource prints as its name, which says nothing of its bytes: it becomes
/// an ordinary constant.
static LogicalResult inlineResources(Region &pattern) {
  WalkResult result = pattern.walk([&](arith::ConstantOp op) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
    if (!resource)
      return WalkResult::advance();
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    bool isSplat = false;
    if (!blob || !DenseElementsAttr::isValidRawBuffer(
                     resource.getType(), blob->getData(), isSplat)) {
      op.emitOpError() << "has no bytes behind its resource: import the model "
                          "with its constants (required by "
                          "'fastk.canonical_form')";
      return WalkResult::interrupt();
    }
    op.setValueAttr(DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                                        blob->getData()));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Copies the body with one argument for each distinct operand. Returns which
/// operand each argument stands for.
static SmallVector<unsigned> cloneBody(WorkloadOp workload, Region &pattern) {
  SmallVector<unsigned> inputs;
  IRMapping mapping;
  workload.getBody().cloneInto(&pattern, mapping);
  Block &block = pattern.front();
  llvm::DenseMap<Value, BlockArgument> first;
  llvm::BitVector merged(block.getNumArguments());
  for (auto [index, operand] : llvm::enumerate(workload.getInputs())) {
    BlockArgument arg = block.getArgument(index);
    auto [it, inserted] = first.try_emplace(operand, arg);
    if (inserted) {
      inputs.push_back(index);
      continue;
    }
    arg.replaceAllUsesWith(it->second);
    merged.set(index);
  }
  block.eraseArguments(merged);
  // Locations stay until the end, for diagnostics.
  pattern.walk([](Operation *op) {
    op->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  });
  return inputs;
}

/// `order` was taken of a region whose own order relative to the workload is
/// `before`.
static void compose(SmallVector<unsigned> &before, ArrayRef<unsigned> order) {
  SmallVector<unsigned> result;
  for (unsigned index : order)
    result.push_back(before[index]);
  before = std::move(result);
}

static void reorder(Region &pattern, canonical::InputIdentity identity,
                    CanonicalForm &form) {
  Region ordered(pattern.getParentOp());
  canonical::Order order = canonical::emitInOrder(pattern, ordered, identity);
  pattern.takeBody(ordered);
  compose(form.inputOrder, order.inputs);
  compose(form.outputOrder, order.outputs);
}

/// Simplifies until nothing changes. Each step may make work for the others:
/// merging two computations leaves an op with one operand twice, and dropping
/// an operand leaves dead ones. Equal computations are equal text once they are
/// written in order, so CSE finds them all.
static void settle(CanonicalForm &form, canonical::DeadResults deadResults) {
  constexpr int kMaxRounds = 16;
  LoweringOp lowering = form.getLowering();
  Region &pattern = lowering.getPattern();
  bool merged = true;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = canonical::simplifyRegion(pattern);
    changed |= canonical::normalizeGenerics(pattern, deadResults);
    if (!changed && !merged)
      return;
    reorder(pattern, canonical::InputIdentity::Position, form);
    IRRewriter rewriter(form.module->getContext());
    DominanceInfo dominance;
    // It compares an op before it looks into its regions, so what it merged
    // inside two ops may make these equal only now.
    eliminateCommonSubExpressions(rewriter, dominance, lowering, &merged);
  }
}

FailureOr<CanonicalForm> fastk::computeCanonicalForm(WorkloadOp workload) {
  if (failed(checkBody(workload)))
    return failure();
  MLIRContext *context = workload.getContext();
  for (StringRef name : {"affine", "arith", "linalg", "math", "tensor"})
    context->getOrLoadDialect(name);

  CanonicalForm form;
  Location loc = UnknownLoc::get(context);
  form.module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(form.module->getBody());
  auto lowering = LoweringOp::create(
      builder, loc, /*sym_name=*/"", /*key=*/"", LoweringOp::kFormatVersion,
      /*target=*/"", Precision::ieee, Language::generic, /*file=*/{},
      /*digest=*/{}, /*seal=*/{}, /*source=*/{}, /*workspace=*/0,
      /*record=*/{});
  Region &pattern = lowering.getPattern();
  form.inputOrder = cloneBody(workload, pattern);
  form.outputOrder =
      llvm::to_vector(llvm::seq<unsigned>(0, workload.getNumResults()));
  if (failed(inlineResources(pattern)) ||
      failed(canonical::generalizeRegion(pattern)))
    return failure();

  // Results that nothing uses are dropped last: of two equal ops of which each
  // lends one result, merging leaves one op, dropping would leave two.
  settle(form, canonical::DeadResults::Keep);
  if (canonical::normalizeGenerics(pattern, canonical::DeadResults::Drop))
    settle(form, canonical::DeadResults::Drop);
  reorder(pattern, canonical::InputIdentity::Structure, form);

  form.key = computeKey(pattern);
  lowering.setKey(form.key);
  lowering.setSymName(LoweringOp::symbolForKey(form.key));
  return form;
}

bool fastk::isSamePattern(Region &a, Region &b) {
  return OperationEquivalence::isRegionEquivalentTo(
      &a, &b,
      OperationEquivalence::Flags::IgnoreLocations |
          OperationEquivalence::Flags::IgnoreDiscardableAttrs);
}

FailureOr<LoweringOp> fastk::buildDefaultLowering(OpBuilder &builder,
                                                  CanonicalForm &form,
                                                  StringRef target) {
  auto lowering = cast<LoweringOp>(builder.clone(*form.getLowering()));
  lowering.setTarget(target);
  if (succeeded(verify(lowering)))
    return lowering;
  lowering.erase();
  return failure();
}

func::FuncOp fastk::buildKernelFunc(OpBuilder &builder, LoweringOp lowering,
                                    StringRef name) {
  auto func = func::FuncOp::create(builder, lowering.getLoc(), name,
                                   lowering.getWorkloadType());
  IRMapping mapping;
  lowering.getPattern().cloneInto(&func.getBody(), mapping);
  Operation *yield = func.getBody().front().getTerminator();
  OpBuilder end(yield);
  func::ReturnOp::create(end, yield->getLoc(), yield->getOperands());
  yield->erase();
  return func;
}
