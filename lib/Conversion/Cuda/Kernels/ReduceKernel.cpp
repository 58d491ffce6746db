//===- ReduceKernel.cpp - One reduction, shared by blocks -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums over the outer dimensions, statistics of channels: what a group of rows
// does not take. Threads lie along memory. Where that is a result's dimension
// each thread has columns of its own and the threads of a block share the rows;
// where it is a reduced one, a block works on one result. Either way several
// blocks share what one would take too long for, and a second kernel combines
// what they found.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "BlockReduce.h"
#include "OpAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

static constexpr int64_t kDefaultThreads = 256;
static constexpr int64_t kWarp = 32;
/// Blocks that are wanted, and the least steps of a thread that are worth one.
static constexpr int64_t kDefaultBlocks = 132 * 4;
static constexpr int64_t kMinSteps = 4;
/// Steps that are loaded together.
static constexpr int64_t kDefaultUnroll = 4;
/// Bytes of shared memory that a kernel may declare.
static constexpr int64_t kStaticShared = 48 * 1024;
/// Shorter reductions are left to single threads.
static constexpr int64_t kShortestReduction = 32;

namespace {
/// What is known of a reduction before anything is decided.
struct ReductionShape {
  OpAccess access;
  std::vector<Reduction> reductions = {};
  /// Threads side by side have results of their own.
  bool alongColumns = false;
};

/// What is decided.
struct ReductionNumbers {
  int64_t threads = kDefaultThreads, blocks = kDefaultBlocks,
          unroll = kDefaultUnroll;
};

class ReduceBuilder {
public:
  ReduceBuilder(gpu::GPUModuleOp module, const ReductionShape &shape,
                const ReductionNumbers &numbers)
      : module(module), access(shape.access), op(access.op),
        reductions(shape.reductions), alongColumns(shape.alongColumns),
        builder(module.getContext()), loc(op.getLoc()),
        wantedThreads(numbers.threads), wantedBlocks(numbers.blocks),
        unroll(numbers.unroll) {}

  KernelSequence build(unsigned firstNumber);

private:
  DeviceKernel begin(StringRef name, int64_t threads);
  DeviceKernel buildColumns(StringRef name);
  DeviceKernel buildRows(StringRef name);
  DeviceKernel buildLast(StringRef name);
  /// Adds what the op contributes at the chunk's lanes; one sum for each result
  /// and lane.
  void accumulate(PointEmitter &emit, ArrayRef<PointChunk> chunks,
                  MutableArrayRef<Value> sums);
  /// From `first` on, `count` steps of `stride`; both values of the kernel's
  /// index type. `chunkAt` makes the chunk of a step.
  SmallVector<Value>
  loop(PointEmitter &emit, Value first, Value end, int64_t stride, int64_t most,
       ValueRange sums,
       llvm::function_ref<PointChunk(Value number, Value inside)> chunkAt);
  /// Result `i` at a point: with what it was before.
  void finish(PointEmitter &emit, unsigned i, const PointChunk &chunk,
              ValueRange lanes);
  PointAccess partials(unsigned i);

  gpu::GPUModuleOp module;
  OpAccess access;
  linalg::GenericOp op;
  ArrayRef<Reduction> reductions;
  bool alongColumns;
  OpBuilder builder;
  Location loc;
  int64_t wantedThreads, wantedBlocks, unroll;
  /// Points of the results, points reduced, lanes of a chunk.
  int64_t results = 1, reduced = 1, width = 1;
  int64_t parts = 1;
  SmallVector<Value> operands;
  unsigned chunks = 0;
};
} // namespace

DeviceKernel ReduceBuilder::begin(StringRef name, int64_t threads) {
  SmallVector<Type> extra;
  if (parts > 1)
    for (const Reduction &each : reductions)
      extra.push_back(MemRefType::get({parts * results}, each.type));
  DeviceKernel kernel;
  kernel.name = name.str();
  kernel.threads = threads;
  kernel.operands =
      access.createFunction(builder, module, name, threads, extra);
  chunks = 0;
  return kernel;
}

PointAccess ReduceBuilder::partials(unsigned i) {
  PointAccess access;
  access.buffer = this->access.kernel.getArgument(
      this->access.kernel.getNumArguments() - reductions.size() + i);
  access.element = reductions[i].type;
  access.extents = {parts, results};
  access.coefficients = {results, 1};
  access.split = 1;
  return access;
}

void ReduceBuilder::accumulate(PointEmitter &emit, ArrayRef<PointChunk> several,
                               MutableArrayRef<Value> sums) {
  SmallVector<Operation *> combiners;
  SmallVector<Value> wanted;
  for (const Reduction &each : reductions) {
    combiners.push_back(each.combiner);
    wanted.push_back(each.contribution);
  }
  SmallVector<SmallVector<SmallVector<Value>>> values;
  for (const PointChunk &chunk : several) {
    auto &lanes = values.emplace_back();
    for (int64_t lane = 0; lane < chunk.width; ++lane)
      lanes.push_back(
          access.evaluate(emit, chunk, lane, {}, wanted, combiners));
  }
  for (auto [chunk, lanes] : llvm::zip_equal(several, values))
    for (auto [lane, mine] : llvm::enumerate(lanes))
      for (auto [i, each] : llvm::enumerate(reductions)) {
        Value value = each.widen(builder, mine[i]);
        if (chunk.inside)
          value = arith::SelectOp::create(builder, loc, chunk.inside, value,
                                          each.neutral(builder));
        Value &sum = sums[i * width + lane];
        sum = each.combine(builder, sum, value);
      }
}

SmallVector<Value>
ReduceBuilder::loop(PointEmitter &emit, Value first, Value end, int64_t stride,
                    int64_t most, ValueRange initial,
                    llvm::function_ref<PointChunk(Value, Value)> chunkAt) {
  SmallVector<Value> sums(initial);
  // Steps are clamped one by one: a thread's last group may be cut short.
  auto group = [&](Value number, MutableArrayRef<Value> sums) {
    SmallVector<PointChunk> several;
    for (int64_t i = 0; i < std::min(unroll, most); ++i) {
      Value mine = emit.add(number, emit.constant(i * stride));
      Value inside = emit.less(mine, end);
      several.push_back(chunkAt(
          arith::SelectOp::create(builder, loc, inside, mine, emit.constant(0)),
          inside));
    }
    accumulate(emit, several, sums);
  };
  if (most <= unroll) {
    group(first, sums);
    return sums;
  }
  auto trip = scf::ForOp::create(builder, loc, first, end,
                                 emit.constant(stride * unroll), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    PointEmitter::Scope scope(emit);
    builder.setInsertionPointToStart(trip.getBody());
    SmallVector<Value> next(trip.getRegionIterArgs());
    group(trip.getInductionVar(), next);
    scf::YieldOp::create(builder, loc, next);
  }
  return SmallVector<Value>(trip.getResults());
}

void ReduceBuilder::finish(PointEmitter &emit, unsigned i,
                           const PointChunk &chunk, ValueRange lanes) {
  const PointAccess &result = access.operands[op.getNumDpsInputs() + i];
  const Reduction &each = reductions[i];
  SmallVector<Value> stored;
  for (auto [lane, value] : llvm::enumerate(lanes)) {
    Value old = each.widen(builder, emit.load(result, chunk, lane));
    stored.push_back(each.narrow(builder, each.combine(builder, old, value)));
  }
  emit.store(result, chunk, stored);
}

/// Threads side by side have columns of their own; those above one another
/// share the rows of the block.
DeviceKernel ReduceBuilder::buildColumns(StringRef name) {
  int64_t vectors = results / width;
  int64_t across = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
  int64_t down = wantedThreads / across;
  int64_t columnBlocks = llvm::divideCeil(vectors, across);
  // Rows of a block: whole rounds of its threads.
  parts = std::min<int64_t>(llvm::divideCeil(wantedBlocks, columnBlocks),
                            std::max<int64_t>(1, reduced / (down * kMinSteps)));
  int64_t share = llvm::alignTo(llvm::divideCeil(reduced, parts), down);
  parts = llvm::divideCeil(reduced, share);

  DeviceKernel kernel = begin(name, wantedThreads);
  kernel.blocks = columnBlocks * parts;
  PointEmitter emit(builder, loc, access.isNarrow());
  Value block =
      emit.fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value thread =
      emit.fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value part = emit.divide(block, columnBlocks);
  Value vector =
      emit.add(emit.scale(emit.remainder(block, columnBlocks), across),
               emit.remainder(thread, across));
  Value line = emit.divide(thread, across);
  Value isColumn;
  if (vectors % across != 0) {
    isColumn = emit.less(vector, emit.constant(vectors));
    vector = emit.minimum(vector, emit.constant(vectors - 1));
  }
  Value column = emit.scale(vector, width);
  Value begin = emit.scale(part, share);
  Value end = emit.minimum(emit.add(begin, emit.constant(share)),
                           emit.constant(reduced));
  SmallVector<Value> sums;
  for (const Reduction &each : reductions)
    sums.append(width, each.neutral(builder));
  sums = loop(emit, emit.add(begin, line), end, down, share / down, sums,
              [&](Value number, Value inside) {
                PointChunk chunk;
                chunk.row = number;
                chunk.column = column;
                chunk.width = width;
                chunk.id = chunks++;
                chunk.inside = inside;
                return chunk;
              });
  // The lines of the block, in their order, halves to halves.
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  SmallVector<Value> shared;
  auto slot = [&](Value line, int64_t lane) {
    // Neighbours in neighbouring words, for each lane.
    return emit.toIndex(emit.add(emit.scale(line, across * width),
                                 emit.add(emit.remainder(thread, across),
                                          emit.constant(lane * across))));
  };
  for (const Reduction &each : reductions)
    shared.push_back(access.kernel.addWorkgroupAttribution(
        MemRefType::get({wantedThreads * width}, each.type,
                        MemRefLayoutAttrInterface(), space),
        loc));
  for (auto [i, each] : llvm::enumerate(reductions))
    for (int64_t lane = 0; lane < width; ++lane)
      memref::StoreOp::create(builder, loc, sums[i * width + lane], shared[i],
                              slot(line, lane));
  for (int64_t half = down / 2; half > 0; half /= 2) {
    gpu::BarrierOp::create(builder, loc);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder, loc, emit.less(line, emit.constant(half)),
                          false)
            .thenBlock());
    for (auto [i, each] : llvm::enumerate(reductions))
      for (int64_t lane = 0; lane < width; ++lane) {
        Value a =
            memref::LoadOp::create(builder, loc, shared[i], slot(line, lane));
        Value b = memref::LoadOp::create(
            builder, loc, shared[i],
            slot(emit.add(line, emit.constant(half)), lane));
        memref::StoreOp::create(builder, loc, each.combine(builder, a, b),
                                shared[i], slot(line, lane));
      }
  }
  Value writes = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       line, emit.constant(0));
  if (isColumn)
    writes = arith::AndIOp::create(builder, loc, writes, isColumn);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, loc, writes, false).thenBlock());
  PointChunk chunk;
  chunk.row = parts > 1 ? part : emit.constant(0);
  chunk.column = column;
  chunk.width = width;
  chunk.id = chunks++;
  for (auto [i, each] : llvm::enumerate(reductions)) {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < width; ++lane)
      lanes.push_back(
          memref::LoadOp::create(builder, loc, shared[i], slot(line, lane)));
    if (parts > 1)
      emit.store(partials(i), chunk, lanes);
    else
      finish(emit, i, chunk, lanes);
  }
  return kernel;
}

/// A block, or several, for one result.
DeviceKernel ReduceBuilder::buildRows(StringRef name) {
  int64_t vectors = reduced / width;
  int64_t threads = std::min<int64_t>(
      wantedThreads, std::max<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors)));
  parts =
      std::min<int64_t>(llvm::divideCeil(wantedBlocks, results),
                        std::max<int64_t>(1, vectors / (threads * kMinSteps)));
  int64_t share = llvm::alignTo(llvm::divideCeil(vectors, parts), threads);
  parts = llvm::divideCeil(vectors, share);
  DeviceKernel kernel = begin(name, threads);
  kernel.blocks = results * parts;
  PointEmitter emit(builder, loc, access.isNarrow());
  Value block =
      emit.fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value thread =
      emit.fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value row = emit.divide(block, parts);
  Value part = emit.remainder(block, parts);
  Value begin = emit.scale(part, share);
  Value end = emit.minimum(emit.add(begin, emit.constant(share)),
                           emit.constant(vectors));
  SmallVector<Value> sums;
  for (const Reduction &each : reductions)
    sums.append(width, each.neutral(builder));
  sums = loop(emit, emit.add(begin, thread), end, threads, share / threads,
              sums, [&](Value number, Value inside) {
                PointChunk chunk;
                chunk.row = row;
                chunk.column = emit.scale(number, width);
                chunk.width = width;
                chunk.id = chunks++;
                chunk.inside = inside;
                return chunk;
              });
  SmallVector<Reduced> values;
  for (auto [i, each] : llvm::enumerate(reductions)) {
    Value sum = sums[i * width];
    for (int64_t lane = 1; lane < width; ++lane)
      sum = each.combine(builder, sum, sums[i * width + lane]);
    values.push_back({sum, &each});
  }
  reduceInBlock(builder, loc, access.kernel, threads, threads, values);
  OpBuilder::InsertionGuard guard(builder);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, emit.constant(0));
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, loc, isFirst, false).thenBlock());
  PointChunk chunk;
  chunk.id = chunks++;
  chunk.row = parts > 1 ? part : row;
  chunk.column = parts > 1 ? row : emit.constant(0);
  for (auto [i, each] : llvm::enumerate(values))
    if (parts > 1)
      emit.store(partials(i), chunk, each.value);
    else
      finish(emit, i, chunk, each.value);
  return kernel;
}

/// What the parts found: a thread for every result, or a warp where they are
/// few.
DeviceKernel ReduceBuilder::buildLast(StringRef name) {
  int64_t threads = results < wantedBlocks * kWarp ? kWarp : 1;
  int64_t blockThreads = 128;
  DeviceKernel kernel = begin(name, blockThreads);
  kernel.blocks = llvm::divideCeil(results * threads, blockThreads);
  PointEmitter emit(builder, loc, access.isNarrow());
  Value block =
      emit.fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value thread =
      emit.fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value number = emit.add(emit.scale(block, blockThreads / threads),
                          emit.divide(thread, threads));
  Value lane = emit.remainder(thread, threads);
  Value isResult = emit.less(number, emit.constant(results));
  number = emit.minimum(number, emit.constant(results - 1));
  SmallVector<Reduced> values;
  for (auto [i, each] : llvm::enumerate(reductions)) {
    Value sum;
    for (int64_t first = 0; first < parts; first += threads) {
      PointChunk chunk;
      chunk.id = chunks++;
      chunk.row = emit.add(lane, emit.constant(first));
      chunk.column = number;
      bool mayLeave = first + threads > parts;
      Value inside = emit.less(chunk.row, emit.constant(parts));
      if (mayLeave)
        chunk.row = emit.minimum(chunk.row, emit.constant(parts - 1));
      Value value = emit.load(partials(i), chunk, 0);
      if (mayLeave)
        value = arith::SelectOp::create(builder, loc, inside, value,
                                        each.neutral(builder));
      sum = sum ? each.combine(builder, sum, value) : value;
    }
    values.push_back({sum, &each});
  }
  reduceInBlock(builder, loc, access.kernel, blockThreads, threads, values);
  Value writes = arith::AndIOp::create(
      builder, loc, isResult,
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                            emit.constant(0)));
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, loc, writes, false).thenBlock());
  PointChunk chunk;
  chunk.id = chunks++;
  chunk.row = alongColumns ? emit.constant(0) : number;
  chunk.column = alongColumns ? number : emit.constant(0);
  for (auto [i, each] : llvm::enumerate(values))
    finish(emit, i, chunk, each.value);
  return kernel;
}

KernelSequence ReduceBuilder::build(unsigned firstNumber) {
  results = alongColumns ? access.columns() : access.rows();
  reduced = alongColumns ? access.rows() : access.columns();
  width = access.widest();
  while (access.columns() % width != 0)
    width /= 2;
  std::string name = kernelName(firstNumber);
  KernelSequence made;
  made.kernels.push_back(alongColumns ? buildColumns(name) : buildRows(name));
  if (parts == 1)
    return made;
  made.kernels.push_back(buildLast(kernelName(firstNumber + 1)));
  for (size_t i = 0; i < reductions.size(); ++i) {
    made.scratch.push_back(made.scratchBytes);
    made.scratchBytes += llvm::alignTo(parts * results * 8, 256);
  }
  return made;
}

namespace {
class ReductionStrategy : public KernelStrategy {
public:
  explicit ReductionStrategy(ReductionShape shape) : shape(std::move(shape)) {}

  LogicalResult decide(KernelChoices &choices) override;
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override {
    return ReduceBuilder(module, shape, numbers).build(firstNumber);
  }

private:
  ReductionShape shape;
  ReductionNumbers numbers;
};
} // namespace

LogicalResult ReductionStrategy::decide(KernelChoices &choices) {
  // What a block exchanges in shared memory, all lanes of all results.
  int64_t lanes = 0;
  for (const Reduction &each : shape.reductions)
    lanes += shape.access.widest() * each.type.getIntOrFloatBitWidth() / 8;
  numbers.threads = choices.decide("reduce_threads", kDefaultThreads);
  if (choices.isGiven("reduce_threads") &&
      !choices.fits(
          lanes * numbers.threads, kStaticShared,
          "'fastk.reduce_threads': bytes of shared memory of a block"))
    return failure();
  numbers.blocks = choices.decide("reduce_blocks", kDefaultBlocks);
  numbers.unroll = choices.decide("reduce_unroll", kDefaultUnroll);
  return success();
}

/// Nothing when the reduction is short, not linear, combined by more than one
/// op, or reads its operands more than once.
static std::optional<ReductionShape> matchShape(linalg::GenericOp op) {
  std::optional<OpAccess> found = OpAccess::of(op);
  if (!found || op.getNumReductionLoops() == 0)
    return std::nullopt;
  ReductionShape shape{std::move(*found)};
  OpAccess &access = shape.access;
  int64_t points = access.columns();
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    if (!findCombiner(op, i).op)
      return std::nullopt;
    shape.reductions.emplace_back(op, i);
  }
  // Something is read once at every point: no contraction, no window.
  std::optional<unsigned> main;
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    auto type = dyn_cast<MemRefType>(op->getOperand(i).getType());
    if (type && type.getNumElements() == points && !main)
      main = i;
  }
  if (!main)
    return std::nullopt;
  // Which loops are the result's, and which of them all is along memory.
  const PointAccess &result = access.operands[op.getNumDpsInputs()];
  int64_t reduced = 1;
  std::optional<bool> alongColumns;
  unsigned resultLoops = 0;
  for (unsigned dim = 0; dim < access.extents.size(); ++dim) {
    bool isReduced =
        op.getIteratorTypesArray()[dim] == utils::IteratorType::reduction;
    if (isReduced)
      reduced *= access.extents[dim];
    // Loops of extent one move nothing and are sorted with the reduced ones.
    resultLoops += result.coefficients[dim] != 0;
    if (access.extents[dim] > 1 &&
        access.operands[*main].coefficients[dim] == 1)
      alongColumns = !isReduced;
  }
  if (!alongColumns || reduced < kShortestReduction)
    return std::nullopt;
  shape.alongColumns = *alongColumns;
  access.orderLoopsBy(op.getNumDpsInputs());
  unsigned loops = access.extents.size();
  if (*alongColumns) {
    access.splitAt(loops - resultLoops);
  } else {
    SmallVector<unsigned> order;
    for (unsigned i = loops - resultLoops; i < loops; ++i)
      order.push_back(i);
    for (unsigned i = 0; i < loops - resultLoops; ++i)
      order.push_back(i);
    access.reorder(order);
    access.splitAt(resultLoops);
  }
  return shape;
}

std::unique_ptr<KernelStrategy>
fastk::matchReduction(Operation *op, const KernelContext &context) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  // What begins or ends with other ops needs a kernel that computes them, too.
  if (!generic || context.folds.contains(op))
    return nullptr;
  std::optional<ReductionShape> shape = matchShape(generic);
  if (!shape)
    return nullptr;
  return std::make_unique<ReductionStrategy>(std::move(*shape));
}
