//===- HostPipeline.cpp - Memrefs to the LLVM dialect ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostPipeline.h"
#include "ApproximateMath.h"
#include "CallFrame.h"
#include "LowerGeneric.h"
#include "TMTensor/LowerTMTensor.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

/// A parallel region costs some 5 us of fork and join: below this many scalar
/// operations the loop stays on one thread.
static constexpr int64_t kParallelWork = 1 << 15;

/// Scalar operations of one execution of `op`, loops of known length counted.
static int64_t estimateWork(Operation *op) {
  // Whoever cut a loop into pieces knew what it does in all.
  if (auto work = op->getAttrOfType<IntegerAttr>(kWorkAttr))
    return work.getInt();
  int64_t inner = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &nested : block)
        inner += estimateWork(&nested);
  int64_t trips = 1;
  auto count = [&](Value lower, Value upper, Value step) {
    auto lb = getConstantIntValue(lower), ub = getConstantIntValue(upper),
         st = getConstantIntValue(step);
    // An unknown length is that of a tile.
    int64_t length =
        lb && ub && st && *st > 0
            ? llvm::divideCeil(std::max<int64_t>(*ub - *lb, 0), *st)
            : 16;
    trips = trips > (int64_t(1) << 40) ? trips : trips * length;
  };
  if (auto loop = dyn_cast<scf::ForOp>(op))
    count(loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
  else if (auto loop = dyn_cast<scf::ParallelOp>(op))
    for (auto [lower, upper, step] :
         llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep()))
      count(lower, upper, step);
  int64_t own = 1;
  for (Type type : op->getResultTypes())
    if (auto vector = dyn_cast<VectorType>(type))
      own = std::max(own, vector.getNumElements());
  if (op->getNumRegions())
    return trips * std::max<int64_t>(inner, 1);
  return own;
}

/// Copies between buffers of different layouts become loops: the library
/// function that upstream calls for them is not ours to have.
static void lowerStridedCopies(ModuleOp module) {
  SmallVector<memref::CopyOp> copies;
  module.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  IRRewriter rewriter(module.getContext());
  for (memref::CopyOp copy : copies) {
    auto source = dyn_cast<MemRefType>(copy.getSource().getType());
    auto target = dyn_cast<MemRefType>(copy.getTarget().getType());
    if (!source || !target)
      continue;
    if (source.getLayout().isIdentity() && target.getLayout().isIdentity())
      continue;
    rewriter.setInsertionPoint(copy);
    linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                             copy.getTarget());
    rewriter.eraseOp(copy);
  }
}

/// What no schedule has taken: packed contractions, and loops for the rest.
static LogicalResult lowerLinalg(ModuleOp module, const LoopOptions &options) {
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  IRRewriter rewriter(module.getContext());
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(*op);
    if (!generic) {
      FailureOr<linalg::GenericOp> made =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(made))
        return op->emitOpError() << "cannot be lowered to loops (required by "
                                    "'fastk.default_lowering')";
      generic = *made;
    }
    Location loc = generic.getLoc();
    if (lowerContraction(rewriter, generic, options)) {
      remark::passed(
          loc,
          remark::RemarkOpts::name("packed-contraction").category("fastk"));
      continue;
    }
    remark::passed(loc, remark::RemarkOpts::name("loops").category("fastk"));
    if (failed(lowerToLoops(rewriter, generic, options)))
      return failure();
  }
  return success();
}

/// Where how much a parallel loop does is known at run time only: makes two of
/// it, of which that decides. The other one is serial, for it is small.
static void decideAtRunTime(OpBuilder &builder, scf::ParallelOp op) {
  if (op->hasAttr(kWorkAttr) || !op.getInitVals().empty() ||
      estimateWork(op) >= kParallelWork)
    return;
  auto isKnown = [](Value value) { return getConstantIntValue(value); };
  if (llvm::all_of(op.getLowerBound(), isKnown) &&
      llvm::all_of(op.getUpperBound(), isKnown) &&
      llvm::all_of(op.getStep(), isKnown))
    return;
  int64_t inner = 0;
  for (Operation &nested : *op.getBody())
    inner += estimateWork(&nested);
  Location loc = op.getLoc();
  builder.setInsertionPoint(op);
  Value work = arith::ConstantIndexOp::create(builder, loc, inner);
  for (auto [lower, upper, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
    Value length = arith::SubIOp::create(builder, loc, upper, lower);
    length = arith::CeilDivSIOp::create(builder, loc, length, step);
    work = arith::MulIOp::create(builder, loc, work, length);
  }
  Value pays = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, work,
      arith::ConstantIndexOp::create(builder, loc, kParallelWork));
  auto branch = scf::IfOp::create(builder, loc, pays, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.elseBlock());
  builder.clone(*op);
  op->moveBefore(branch.thenBlock()->getTerminator());
  op->setAttr(kWorkAttr, builder.getI64IntegerAttr(kParallelWork));
}

/// One level of parallel loops, and only where it pays: which may be asked when
/// the code runs. Without threads it never does.
static LogicalResult decideParallelism(ModuleOp module, bool hasThreads,
                                       bool mayAsk) {
  IRRewriter rewriter(module.getContext());
  SmallVector<scf::ForallOp> foralls;
  module.walk([&](scf::ForallOp op) { foralls.push_back(op); });
  for (scf::ForallOp forall : foralls) {
    rewriter.setInsertionPoint(forall);
    if (failed(scf::forallToParallelLoop(rewriter, forall)))
      return failure();
  }
  SmallVector<scf::ParallelOp> serial, outermost;
  if (mayAsk && hasThreads)
    module.walk([&](scf::ParallelOp op) {
      if (!op->getParentOfType<scf::ParallelOp>())
        outermost.push_back(op);
    });
  for (scf::ParallelOp op : outermost)
    decideAtRunTime(rewriter, op);
  module.walk<WalkOrder::PreOrder>([&](scf::ParallelOp op) {
    bool nested = op->getParentOfType<scf::ParallelOp>();
    if (op.getInitVals().empty() &&
        (nested || !hasThreads || estimateWork(op) < kParallelWork))
      serial.push_back(op);
  });
  // Inner loops first: turning an outer one into loops moves its body.
  for (scf::ParallelOp op : llvm::reverse(serial)) {
    rewriter.setInsertionPoint(op);
    // This erases the op.
    if (failed(scf::parallelForToNestedFors(rewriter, op)))
      return failure();
  }
  return success();
}

namespace {
struct PlaceThreadBuffersPass
    : PassWrapper<PlaceThreadBuffersPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceThreadBuffersPass)
  void runOnOperation() override { placeThreadBuffers(getOperation()); }
};

/// Vector ops to those that have an LLVM counterpart.
struct LowerVectorsPass
    : PassWrapper<LowerVectorsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerVectorsPass)
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    vector::populateVectorMultiReductionLoweringPatterns(
        patterns, vector::VectorMultiReductionLowering::InnerReduction);
    vector::populateVectorContractLoweringPatterns(
        patterns, vector::VectorContractLowering::OuterProduct);
    vector::populateVectorOuterProductLoweringPatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::Shuffle1D);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

LogicalResult fastk::lowerToLLVMDialect(ModuleOp module,
                                        const HostTarget &target,
                                        bool approximate, ErrorTexts *errors) {
  MLIRContext *context = module.getContext();
  lowerTMTensor(module);
  lowerStridedCopies(module);
  LoopOptions loops;
  loops.vectorBytes = target.vectorBytes;
  loops.relaxed = approximate;
  loops.hasThreads = target.hasThreads;
  if (failed(lowerLinalg(module, loops)))
    return failure();
  {
    PassManager passes(context);
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    if (failed(runPasses(passes, module)))
      return failure();
  }
  if (failed(decideParallelism(module, target.hasThreads, /*mayAsk=*/errors)))
    return failure();
  {
    // Before the plan: an allocation in a serial loop moves out of it, but not
    // out of the parallel body, whose iterations need one each.
    PassManager passes(context);
    passes.addNestedPass<func::FuncOp>(
        bufferization::createBufferLoopHoistingPass());
    if (failed(runPasses(passes, module)))
      return failure();
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration() &&
        failed(errors ? planModelBuffers(func) : planBuffers(func)))
      return failure();

  guardDivisions(module);
  PassManager passes(context);
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(memref::createFoldMemRefAliasOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createConvertVectorToSCFPass(
      VectorTransferToSCFOptions().enableFullUnroll()));
  functions.addPass(std::make_unique<LowerVectorsPass>());
  if (approximate)
    functions.addPass(createApproximateMathPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertSCFToOpenMPPass());
  passes.addPass(std::make_unique<PlaceThreadBuffersPass>());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createSCFToControlFlowPass());
  if (errors)
    passes.addPass(createLowerAssertsPass(*errors));
  // The oracle's complex functions are the library's.
  if (!approximate)
    passes.addPass(createConvertComplexToLibm());
  passes.addPass(createConvertComplexToStandardPass());
  passes.addPass(createCallExactFunctionsPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertComplexToLLVMPass());
  FinalizeMemRefToLLVMConversionPassOptions memrefs;
  memrefs.useAlignedAlloc = true;
  passes.addPass(createFinalizeMemRefToLLVMConversionPass(memrefs));
  ConvertFuncToLLVMPassOptions functionsToLLVM;
  functionsToLLVM.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functionsToLLVM));
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertOpenMPToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return runPasses(passes, module);
}
