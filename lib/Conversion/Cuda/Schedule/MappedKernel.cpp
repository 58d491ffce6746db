//===- MappedKernel.cpp - Loops of a schedule to a kernel -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedKernel.h"
#include "AlignVectors.h"
#include "Cuda/Kernels/KernelBody.h"
#include "SharedWork.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk;

static constexpr int64_t kWarp = 32;
/// Threads of a block when the schedule maps none.
static constexpr int64_t kDefaultThreads = 256;
/// Local memory of a thread at most: more belongs to a block.
static constexpr int64_t kThreadBytes = 16 * 1024;
/// Of buffers, so that every vector access is aligned.
static constexpr int64_t kAlignment = 16;

void fastk::keepMappedBuffers(func::FuncOp func) {
  SmallVector<memref::AllocOp> allocs;
  SmallVector<memref::DeallocOp> deallocs;
  func.walk([&](Operation *op) {
    if (!op->getParentOfType<scf::ForallOp>())
      return;
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      allocs.push_back(alloc);
    if (auto dealloc = dyn_cast<memref::DeallocOp>(op))
      deallocs.push_back(dealloc);
  });
  for (memref::DeallocOp dealloc : deallocs)
    dealloc.erase();
  for (memref::AllocOp alloc : allocs) {
    OpBuilder builder(alloc);
    auto kept = memref::AllocaOp::create(
        builder, alloc.getLoc(), alloc.getType(), alloc.getDynamicSizes(),
        alloc.getAlignmentAttr());
    alloc.replaceAllUsesWith(kept.getResult());
    alloc.erase();
  }
}

namespace {
/// Whose work a loop's iterations are.
enum class Level { None, Block, Warp, Thread };

/// Who works together on what stands in a block of ops.
struct Team {
  Level level;
  /// Number in the team, and how many there are.
  Value id;
  int64_t count;
};

class MappedKernel {
public:
  MappedKernel(gpu::GPUModuleOp module, scf::ForallOp forall, StringRef name,
               const worker::PlanLimits &limits)
      : module(module), forall(forall), name(name), limits(limits),
        rewriter(module.getContext()), loc(forall.getLoc()) {}

  FailureOr<DeviceKernel> build();

private:
  LogicalResult createFunction();
  LogicalResult countThreads(Operation *root, bool inWarp, int64_t &threads);
  /// Puts the body of the outermost loop into the kernel.
  LogicalResult placeBlocks(scf::ForallOp loop);
  LogicalResult share(Block &block, const Team &team);
  LogicalResult lowerThread(Block &block);
  /// The loop's iterations to the members of a team; the block that holds its
  /// body after.
  Block *distribute(scf::ForallOp loop, const Team &team);
  void synchronize(const Team &team);
  LogicalResult placeBuffers();
  FailureOr<int64_t> boundBytes(memref::AllocaOp alloca);
  LogicalResult lowerVectors();
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  gpu::GPUModuleOp module;
  scf::ForallOp forall;
  StringRef name;
  worker::PlanLimits limits;
  IRRewriter rewriter;
  Location loc;
  gpu::GPUFuncOp func;
  DeviceKernel kernel;
  IRMapping mapping;
  Value thread;
  /// Buffers of threads; all others are the block's.
  llvm::SetVector<Operation *> ofThread;
};
} // namespace

/// What a loop is mapped to; nothing when its dimensions disagree or are mapped
/// to what is not known here.
static std::optional<Level> levelOf(scf::ForallOp loop) {
  std::optional<ArrayAttr> attributes = loop.getMapping();
  if (!attributes || attributes->empty())
    return Level::None;
  std::optional<Level> level;
  for (Attribute attribute : *attributes) {
    std::optional<Level> each;
    if (isa<gpu::GPUBlockMappingAttr>(attribute))
      each = Level::Block;
    else if (isa<gpu::GPUWarpMappingAttr>(attribute))
      each = Level::Warp;
    else if (isa<gpu::GPUThreadMappingAttr, gpu::GPULaneMappingAttr>(attribute))
      each = Level::Thread;
    if (!each || (level && level != each))
      return std::nullopt;
    level = each;
  }
  return level;
}

static InFlightDiagnostic unknownMapping(scf::ForallOp loop) {
  return loop.emitOpError()
         << "is mapped to " << *loop.getMapping()
         << "; all dimensions of a loop are #gpu.block, #gpu.warp, or "
            "#gpu.thread (required by 'fastk.mapping')";
}

/// The loop's dimensions, the one whose neighbours run side by side first.
static SmallVector<unsigned> fastestFirst(scf::ForallOp loop) {
  unsigned rank = loop.getRank();
  std::optional<ArrayAttr> attributes = loop.getMapping();
  SmallVector<unsigned> order;
  for (unsigned dim = rank; dim-- > 0;)
    order.push_back(dim);
  if (attributes && attributes->size() == rank)
    llvm::sort(order, [&](unsigned a, unsigned b) {
      auto indexOf = [&](unsigned dim) {
        return cast<DeviceMappingAttrInterface>((*attributes)[dim])
            .getRelativeIndex();
      };
      return indexOf(a) < indexOf(b);
    });
  return order;
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
    std::optional<Level> level = levelOf(loop);
    if (!level) {
      unknownMapping(loop);
      return WalkResult::interrupt();
    }
    if (*level == Level::Block || (*level == Level::Warp && inWarp)) {
      loop.emitOpError() << "is mapped to "
                         << (*level == Level::Block
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
    int64_t members = *points * (*level == Level::Warp ? kWarp : 1);
    int64_t most = inWarp ? kWarp : limits.threadsPerBlock;
    if (*level != Level::None && members > most) {
      loop.emitOpError() << "asks for " << members << " threads of a "
                         << (inWarp ? "warp" : "block") << ", which has "
                         << most << " at most: larger tiles, or one more loop "
                         << "around it (required by 'fastk.mapping')";
      return WalkResult::interrupt();
    }
    if (!inWarp)
      threads = std::max(threads, std::min(members, most));
    if (*level == Level::Warp && failed(countThreads(loop, true, threads)))
      return WalkResult::interrupt();
    // What is inside belongs to a thread.
    return WalkResult::skip();
  });
  return failure(walk.wasInterrupted());
}

/// Number `index` of a dimension as its induction variable.
static Value toInduction(OpBuilder &builder, Location loc, Value index,
                         OpFoldResult lower, OpFoldResult step) {
  if (!isConstantIntValue(step, 1))
    index = arith::MulIOp::create(
        builder, loc, index,
        getValueOrCreateConstantIndexOp(builder, loc, step));
  if (!isConstantIntValue(lower, 0))
    index = arith::AddIOp::create(
        builder, loc, index,
        getValueOrCreateConstantIndexOp(builder, loc, lower));
  return index;
}

/// Moves the body of `loop` before `before`; the loop is gone after.
static void inlineBody(IRRewriter &rewriter, scf::ForallOp loop,
                       ArrayRef<Value> induction, Operation *before) {
  rewriter.eraseOp(loop.getTerminator());
  rewriter.inlineBlockBefore(loop.getBody(), before, induction);
  rewriter.eraseOp(loop);
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

Block *MappedKernel::distribute(scf::ForallOp loop, const Team &team) {
  rewriter.setInsertionPoint(loop);
  SmallVector<OpFoldResult> lowers = loop.getMixedLowerBound(),
                            uppers = loop.getMixedUpperBound(),
                            steps = loop.getMixedStep();
  SharedRange range(rewriter, loc);
  SmallVector<unsigned> order = fastestFirst(loop);
  for (unsigned dim : order)
    range.add(lowers[dim], uppers[dim], steps[dim]);
  Block *body = range.open(team.id, team.count);
  SmallVector<Value> indices = range.indices(), induction(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    induction[dim] =
        toInduction(rewriter, loc, indices[position], lowers[dim], steps[dim]);
  inlineBody(rewriter, loop, induction, range.end());
  return body;
}

void MappedKernel::synchronize(const Team &team) {
  if (team.level == Level::Block)
    gpu::BarrierOp::create(rewriter, loc);
  else
    NVVM::SyncWarpOp::create(
        rewriter, loc,
        arith::ConstantOp::create(rewriter, loc,
                                  rewriter.getI32IntegerAttr(-1)));
}

/// Whether anything is written, but not by ops inside of `op`.
static bool writes(Operation *op) {
  return !isa<memref::AllocaOp>(op) && op->getNumRegions() == 0 &&
         hasEffect<MemoryEffects::Write>(op);
}

LogicalResult MappedKernel::share(Block &block, const Team &team) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    rewriter.setInsertionPointAfter(op);
    if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      std::optional<Level> level = levelOf(loop);
      // Behind it, where everything has been written.
      synchronize(team);
      rewriter.setInsertionPoint(loop);
      if (level == Level::Warp) {
        Value warp =
            arith::DivUIOp::create(rewriter, loc, thread, constant(kWarp));
        Block *body = distribute(loop, {Level::Warp, warp, team.count / kWarp});
        rewriter.setInsertionPointToStart(body);
        Value lane =
            arith::RemUIOp::create(rewriter, loc, thread, constant(kWarp));
        if (failed(share(*body, {Level::Warp, lane, kWarp})))
          return failure();
      } else if (failed(lowerThread(*distribute(loop, team)))) {
        return failure();
      }
      continue;
    }
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      synchronize(team);
      rewriter.setInsertionPoint(op);
      linalg::GenericOp generic = linalg::makeMemRefCopyOp(
          rewriter, copy.getLoc(), copy.getSource(), copy.getTarget());
      rewriter.eraseOp(op);
      shareOp(rewriter, generic, func, team.id, team.count);
      continue;
    }
    if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      synchronize(team);
      rewriter.setInsertionPoint(op);
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (!generic) {
        FailureOr<linalg::GenericOp> made =
            linalg::generalizeNamedOp(rewriter, structured);
        if (failed(made))
          return op->emitOpError() << "cannot be written as linalg.generic "
                                      "(required by 'fastk.mapping')";
        generic = *made;
      }
      shareOp(rewriter, generic, func, team.id, team.count);
      continue;
    }
    if (writes(op)) {
      if (op->getNumResults())
        return op->emitOpError()
               << "writes memory outside of the loops that are mapped to "
                  "threads and has a result (required by 'fastk.mapping')";
      synchronize(team);
      rewriter.setInsertionPoint(op);
      synchronize(team);
      Value isFirst = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, team.id, constant(0));
      auto branch = scf::IfOp::create(rewriter, loc, isFirst, false);
      rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
      continue;
    }
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        if (failed(share(inner, team)))
          return failure();
  }
  return success();
}

LogicalResult MappedKernel::lowerThread(Block &block) {
  SmallVector<Operation *> ops;
  WalkResult walk =
      block.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (auto alloca = dyn_cast<memref::AllocaOp>(op))
          ofThread.insert(alloca);
        if (auto loop = dyn_cast<scf::ForallOp>(op))
          if (levelOf(loop) != Level::None) {
            loop.emitOpError()
                << "is mapped inside a loop that is mapped to threads "
                   "(required by 'fastk.mapping')";
            return WalkResult::interrupt();
          }
        if (isa<scf::ForallOp, linalg::LinalgOp, memref::CopyOp>(op))
          ops.push_back(op);
        return WalkResult::advance();
      });
  if (walk.wasInterrupted())
    return failure();
  // Inner loops first: an outer one moves them.
  for (Operation *op : llvm::reverse(ops)) {
    rewriter.setInsertionPoint(op);
    if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      if (failed(scf::forallToForLoop(rewriter, loop)))
        return op->emitOpError() << "could not become loops (required by "
                                    "'fastk.mapping')";
      continue;
    }
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      linalg::GenericOp generic = linalg::makeMemRefCopyOp(
          rewriter, copy.getLoc(), copy.getSource(), copy.getTarget());
      rewriter.eraseOp(op);
      op = generic;
    }
    rewriter.setInsertionPoint(op);
    if (failed(linalg::linalgOpToLoops(rewriter, cast<linalg::LinalgOp>(op))))
      return op->emitOpError() << "could not become loops (required by "
                                  "'fastk.mapping')";
    rewriter.eraseOp(op);
  }
  return success();
}

FailureOr<int64_t> MappedKernel::boundBytes(memref::AllocaOp alloca) {
  MemRefType type = alloca.getType();
  int64_t elements = 1;
  for (auto size : alloca.getMixedSizes()) {
    FailureOr<int64_t> bound = boundFromAbove(size);
    if (failed(bound))
      return alloca.emitOpError() << "has a size that is not bounded (required "
                                     "by 'fastk.mapping')";
    elements *= *bound;
  }
  int64_t bytes = isa<IndexType>(type.getElementType())
                      ? 8
                      : llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return elements * bytes;
}

LogicalResult MappedKernel::placeBuffers() {
  SmallVector<memref::AllocaOp> allocas;
  func.walk([&](memref::AllocaOp alloca) { allocas.push_back(alloca); });
  Block &entry = func.getBody().front();
  auto workgroup = gpu::AddressSpaceAttr::get(rewriter.getContext(),
                                              gpu::AddressSpace::Workgroup);
  Value shared;
  int64_t threadBytes = 0;
  for (memref::AllocaOp alloca : allocas) {
    FailureOr<int64_t> bytes = boundBytes(alloca);
    if (failed(bytes))
      return failure();
    MemRefType type = alloca.getType();
    bool isThread = ofThread.contains(alloca);
    if (type.getMemorySpace() &&
        (type.getMemorySpace() != workgroup || isThread))
      return alloca.emitOpError()
             << "is memory of space " << type.getMemorySpace()
             << (isThread ? " inside a loop that is mapped to threads"
                          : " in a block")
             << ": buffers of a block are in #gpu.address_space<workgroup> or "
                "in none, those of threads in none (required by "
                "'fastk.mapping')";
    rewriter.setInsertionPointToStart(&entry);
    Value memory, offset;
    if (isThread) {
      threadBytes += llvm::alignTo(*bytes, kAlignment);
      memory = memref::AllocaOp::create(
          rewriter, loc, MemRefType::get({*bytes}, rewriter.getI8Type()),
          rewriter.getI64IntegerAttr(kAlignment));
    } else {
      if (!shared)
        shared = gpu::DynamicSharedMemoryOp::create(
            rewriter, loc,
            MemRefType::get({ShapedType::kDynamic}, rewriter.getI8Type(),
                            MemRefLayoutAttrInterface(), workgroup));
      memory = shared;
    }
    rewriter.setInsertionPoint(alloca);
    offset = constant(isThread ? 0 : kernel.sharedBytes);
    if (!isThread)
      kernel.sharedBytes += llvm::alignTo(*bytes, kAlignment);
    auto viewType = MemRefType::get(
        type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(),
        isThread ? Attribute() : Attribute(workgroup));
    Value view = memref::ViewOp::create(rewriter, loc, viewType, memory, offset,
                                        alloca.getDynamicSizes());
    if (!isThread && !type.getMemorySpace())
      view = memref::MemorySpaceCastOp::create(
          rewriter, loc,
          MemRefType::get(type.getShape(), type.getElementType()), view);
    rewriter.replaceOp(alloca, view);
  }
  if (threadBytes > kThreadBytes)
    return func.emitOpError()
           << "keeps " << threadBytes << " bytes a thread, of at most "
           << kThreadBytes << ": smaller tiles (required by 'fastk.mapping')";
  if (kernel.sharedBytes > limits.sharedBytes)
    return func.emitOpError()
           << "keeps " << kernel.sharedBytes << " bytes a block, of at most "
           << limits.sharedBytes
           << " of shared memory: smaller tiles (required by 'fastk.mapping')";
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
  std::optional<Level> level = levelOf(forall);
  if (!level)
    return unknownMapping(forall);
  kernel.name = name.str();
  // Where the loop over blocks has one iteration it may be gone.
  bool hasBlocks = *level == Level::None || *level == Level::Block;
  int64_t threads = 0;
  if (!hasBlocks) {
    FailureOr<int64_t> points = boundPoints(forall);
    if (failed(points))
      return failure();
    threads = *points * (*level == Level::Warp ? kWarp : 1);
    if (threads > limits.threadsPerBlock)
      return forall.emitOpError()
             << "asks for " << threads << " threads of a block, which has "
             << limits.threadsPerBlock
             << " at most: larger tiles, or one more loop around it (required "
                "by 'fastk.mapping')";
  }
  if (failed(countThreads(forall, *level == Level::Warp, threads)))
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
  if (failed(share(entry, {Level::Block, thread, kernel.threads})))
    return failure();
  // Nobody waits for the end.
  while (auto barrier = dyn_cast_or_null<gpu::BarrierOp>(
             entry.getTerminator()->getPrevNode()))
    rewriter.eraseOp(barrier);
  if (failed(placeBuffers()) || failed(lowerVectors()))
    return failure();
  return std::move(kernel);
}

FailureOr<DeviceKernel>
fastk::buildMappedKernel(gpu::GPUModuleOp module, scf::ForallOp forall,
                         StringRef name, const worker::PlanLimits &limits) {
  return MappedKernel(module, forall, name, limits).build();
}
