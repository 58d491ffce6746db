//===- MappedKernel.cpp - Loops of a schedule to a kernel -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedKernel.h"
#include "AlignVectors.h"
#include "MappedKernelBuilder.h"
#include "SharedWork.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fastk;

/// Threads of a block when the schedule maps none.
static constexpr int64_t kDefaultThreads = 256;

static InFlightDiagnostic unknownMapping(scf::ForallOp loop) {
  return loop.emitOpError()
         << "is mapped to " << *loop.getMapping()
         << "; all dimensions of a loop are #gpu.block, #gpu.warp, or "
            "#gpu.thread (required by 'fastk.mapping')";
}

/// How many iterations a dimension has at most.
static FailureOr<int64_t> boundTrips(OpFoldResult lower, OpFoldResult upper,
                                     OpFoldResult step) {
  auto first = getConstantIntValue(lower), by = getConstantIntValue(step);
  if (!first || !by || *by <= 0)
    return failure();
  FailureOr<int64_t> last = boundFromAbove(upper);
  if (failed(last))
    return failure();
  return int64_t(llvm::divideCeil(std::max<int64_t>(*last - *first, 0), *by));
}

static FailureOr<int64_t> boundPoints(scf::ForallOp loop) {
  int64_t points = 1;
  for (auto [lower, upper, step] :
       llvm::zip_equal(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                       loop.getMixedStep())) {
    FailureOr<int64_t> trips = boundTrips(lower, upper, step);
    if (failed(trips))
      return loop.emitOpError()
             << "has a number of iterations that is not bounded (required by "
                "'fastk.mapping')";
    points *= *trips;
  }
  return points;
}

/// The kernel's function, with what the loop takes from outside: buffers as
/// parameters, the rest made again.
LogicalResult MappedKernel::createFunction() {
  SmallVector<Operation *> copied;
  llvm::SetVector<Value> parameters;
  llvm::DenseSet<Operation *> seen;
  std::function<LogicalResult(Value)> take = [&](Value value) -> LogicalResult {
    Operation *definition = value.getDefiningOp();
    if (isa<MemRefType>(value.getType()) &&
        (!definition || isa<memref::ViewOp, memref::AllocOp>(definition))) {
      parameters.insert(value);
      return success();
    }
    if (!definition || definition->getNumRegions() ||
        !(isPure(definition) || isa<memref::GetGlobalOp>(definition)))
      return forall.emitOpError()
             << "uses a value of the function that is neither a buffer nor "
                "computed from constants (required by 'fastk.mapping')";
    if (!seen.insert(definition).second)
      return success();
    for (Value operand : definition->getOperands())
      if (failed(take(operand)))
        return failure();
    copied.push_back(definition);
    return success();
  };
  llvm::SetVector<Value> used;
  used.insert(forall->operand_begin(), forall->operand_end());
  getUsedValuesDefinedAbove(forall.getRegion(), used);
  for (Value value : used)
    if (failed(take(value)))
      return failure();
  SmallVector<Type> types;
  for (Value value : parameters)
    types.push_back(parameterType(cast<MemRefType>(value.getType())));
  rewriter.setInsertionPointToEnd(module.getBody());
  func = gpu::GPUFuncOp::create(rewriter, loc, name,
                                rewriter.getFunctionType(types, TypeRange()));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                rewriter.getUnitAttr());
  func.setKnownBlockSizeAttr(
      rewriter.getDenseI32ArrayAttr({int32_t(kernel.threads), 1, 1}));
  rewriter.setInsertionPointToStart(&func.getBody().front());
  rewriter.setInsertionPoint(gpu::ReturnOp::create(rewriter, loc));
  for (auto [value, argument] :
       llvm::zip_equal(parameters, func.getArguments())) {
    kernel.operands.push_back(value);
    mapping.map(value, argument);
  }
  SymbolTable hostSymbols(forall->getParentOfType<ModuleOp>());
  for (Operation *definition : copied) {
    rewriter.clone(*definition, mapping);
    auto get = dyn_cast<memref::GetGlobalOp>(definition);
    if (!get || module.lookupSymbol(get.getName()))
      continue;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    rewriter.clone(*hostSymbols.lookup(get.getName()));
  }
  return success();
}

/// Threads that the loops inside `root` ask for.
LogicalResult MappedKernel::countThreads(Operation *root, bool inWarp,
                                         int64_t &threads) {
  WalkResult walk = root->walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
    if (loop == root)
      return WalkResult::advance();
    std::optional<MappedLevel> level = levelOf(loop);
    if (!level) {
      unknownMapping(loop);
      return WalkResult::interrupt();
    }
    if (*level == MappedLevel::Block ||
        (*level == MappedLevel::Warp && inWarp)) {
      loop.emitOpError() << "is mapped to "
                         << (*level == MappedLevel::Block
                                 ? "blocks inside a loop that "
                                   "is mapped to blocks"
                                 : "warps inside a loop that "
                                   "is mapped to warps")
                         << " (required by 'fastk.mapping')";
      return WalkResult::interrupt();
    }
    FailureOr<int64_t> points = boundPoints(loop);
    if (failed(points))
      return WalkResult::interrupt();
    int64_t members = *points * (*level == MappedLevel::Warp ? kWarp : 1);
    int64_t most = inWarp ? kWarp : limits.threadsPerBlock;
    if (*level != MappedLevel::None && members > most) {
      loop.emitOpError() << "asks for " << members << " threads of a "
                         << (inWarp ? "warp" : "block") << ", which has "
                         << most << " at most: larger tiles, or one more loop "
                         << "around it (required by 'fastk.mapping')";
      return WalkResult::interrupt();
    }
    if (!inWarp)
      threads = std::max(threads, std::min(members, most));
    if (*level == MappedLevel::Warp &&
        failed(countThreads(loop, true, threads)))
      return WalkResult::interrupt();
    // What is inside belongs to a thread.
    return WalkResult::skip();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult MappedKernel::placeBlocks(scf::ForallOp loop) {
  SmallVector<OpFoldResult> lowers = loop.getMixedLowerBound(),
                            steps = loop.getMixedStep();
  SmallVector<int64_t> trips;
  for (auto [lower, upper, step] :
       llvm::zip_equal(lowers, loop.getMixedUpperBound(), steps)) {
    auto first = getConstantIntValue(lower), last = getConstantIntValue(upper),
         by = getConstantIntValue(step);
    if (!first || !last || !by)
      return loop.emitOpError() << "is mapped to blocks and has a number of "
                                   "iterations that is not known (required by "
                                   "'fastk.mapping')";
    trips.push_back(
        llvm::divideCeil(std::max<int64_t>(*last - *first, 0), *by));
  }
  SmallVector<unsigned> order = fastestFirst(loop);
  std::optional<ArrayAttr> attributes = loop.getMapping();
  bool linear =
      !attributes || attributes->size() != order.size() || order.size() > 3 ||
      llvm::any_of(*attributes, [](Attribute attribute) {
        return cast<DeviceMappingAttrInterface>(attribute).isLinearMapping();
      });
  SmallVector<Value> induction(trips.size());
  if (linear) {
    Value number = gpu::BlockIdOp::create(rewriter, loc, gpu::Dimension::x);
    kernel.blocks = 1;
    for (auto [position, dim] : llvm::enumerate(order)) {
      kernel.blocks *= trips[dim];
      Value index = number;
      if (position + 1 < order.size()) {
        index =
            arith::RemUIOp::create(rewriter, loc, number, constant(trips[dim]));
        number =
            arith::DivUIOp::create(rewriter, loc, number, constant(trips[dim]));
      }
      induction[dim] =
          toInduction(rewriter, loc, index, lowers[dim], steps[dim]);
    }
  } else {
    int64_t *along[] = {&kernel.blocks, &kernel.blocksY, &kernel.blocksZ};
    for (unsigned dim : order) {
      int64_t place = cast<DeviceMappingAttrInterface>((*attributes)[dim])
                          .getRelativeIndex();
      *along[place] = trips[dim];
      Value index =
          gpu::BlockIdOp::create(rewriter, loc, gpu::Dimension(place));
      induction[dim] =
          toInduction(rewriter, loc, index, lowers[dim], steps[dim]);
    }
  }
  inlineBody(rewriter, loop, induction, func.getBody().front().getTerminator());
  return success();
}

LogicalResult MappedKernel::lowerVectors() {
  MLIRContext *context = module.getContext();
  {
    RewritePatternSet patterns(context);
    vector::populateCastAwayVectorLeadingOneDimPatterns(patterns);
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
    if (failed(applyPatternsGreedily(func, std::move(patterns))))
      return failure();
  }
  RewritePatternSet patterns(context);
  VectorTransferToSCFOptions options;
  options.enableFullUnroll();
  options.enableLowerScalable(false);
  populateVectorToSCFConversionPatterns(patterns, options);
  vector::populateVectorTransferLoweringPatterns(patterns,
                                                 /*maxTransferRank=*/1);
  if (failed(applyPatternsGreedily(func, std::move(patterns))))
    return failure();
  alignVectors(func);
  return success();
}

FailureOr<DeviceKernel> MappedKernel::build() {
  if (forall.getNumResults())
    return forall.emitOpError() << "was not bufferized (required by "
                                   "'fastk.mapping')";
  std::optional<MappedLevel> level = levelOf(forall);
  if (!level)
    return unknownMapping(forall);
  kernel.name = name.str();
  // Where the loop over blocks has one iteration it may be gone.
  bool hasBlocks = *level == MappedLevel::None || *level == MappedLevel::Block;
  int64_t threads = 0;
  if (!hasBlocks) {
    FailureOr<int64_t> points = boundPoints(forall);
    if (failed(points))
      return failure();
    threads = *points * (*level == MappedLevel::Warp ? kWarp : 1);
    if (threads > limits.threadsPerBlock)
      return forall.emitOpError()
             << "asks for " << threads << " threads of a block, which has "
             << limits.threadsPerBlock
             << " at most: larger tiles, or one more loop around it (required "
                "by 'fastk.mapping')";
  }
  if (failed(countThreads(forall, *level == MappedLevel::Warp, threads)))
    return failure();
  // Whole warps, so that reductions can shuffle.
  kernel.threads = llvm::alignTo(threads ? threads : kDefaultThreads, kWarp);
  if (failed(createFunction()))
    return failure();
  Block &entry = func.getBody().front();
  rewriter.setInsertionPoint(entry.getTerminator());
  thread = gpu::ThreadIdOp::create(rewriter, loc, gpu::Dimension::x);
  auto copy = cast<scf::ForallOp>(rewriter.clone(*forall, mapping));
  rewriter.setInsertionPoint(copy);
  if (hasBlocks && failed(placeBlocks(copy)))
    return failure();
  if (failed(share(entry, {MappedLevel::Block, thread, kernel.threads})))
    return failure();
  // Nobody waits for the end.
  while (auto barrier = dyn_cast_or_null<gpu::BarrierOp>(
             entry.getTerminator()->getPrevNode()))
    rewriter.eraseOp(barrier);
  if (failed(placeBuffers()) || failed(lowerVectors()))
    return failure();
  return std::move(kernel);
}

namespace {
/// An outermost loop on memrefs. The schedule has decided; errors name what
/// cannot be mapped and what to do.
class MappedStrategy : public KernelStrategy {
public:
  MappedStrategy(scf::ForallOp forall, const worker::PlanLimits &limits)
      : forall(forall), limits(limits) {}

  LogicalResult decide(KernelChoices &) override { return success(); }
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override {
    std::string name = kernelName(firstNumber);
    FailureOr<DeviceKernel> kernel =
        MappedKernel(module, forall, name, limits).build();
    if (failed(kernel))
      return failure();
    return KernelSequence(std::move(*kernel));
  }

private:
  scf::ForallOp forall;
  worker::PlanLimits limits;
};
} // namespace

std::unique_ptr<KernelStrategy>
fastk::matchMappedLoop(Operation *op, const KernelContext &context) {
  auto forall = dyn_cast<scf::ForallOp>(op);
  if (!forall)
    return nullptr;
  return std::make_unique<MappedStrategy>(forall, context.limits);
}
