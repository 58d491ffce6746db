//===- TileKernel.cpp - Elementwise ops that turn their operands ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes and permutes: what lies along one dimension is wanted along
// another. A block reads a square along the operand's memory, keeps it in
// shared memory and writes it along the result's.
//
//===----------------------------------------------------------------------===//

#include "OpAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

static constexpr int64_t kThreads = 256;
/// Shorter dimensions waste most of a square.
static constexpr int64_t kMinExtent = 16;
/// What squares of all operands may take: what every block has for certain.
static constexpr int64_t kSharedBytes = 40 * 1024;
/// Side of a square where a larger one does not fit or does not pay.
static constexpr int64_t kSmallSquare = 32;

namespace {
/// How operands are turned.
struct Turn {
  OpAccess access;
  /// The operands that are read along the last dimension but one, how many
  /// bytes a point of theirs has, and the widest of them.
  SmallVector<unsigned> operands = {};
  int64_t bytes = 0, widest = 1;

  /// Bytes of shared memory that squares of this side take.
  int64_t sharedBytes(int64_t tile) const { return tile * (tile + 1) * bytes; }
};

class TurnStrategy : public KernelStrategy {
public:
  explicit TurnStrategy(Turn turn) : turn(std::move(turn)) {}

  LogicalResult decide(KernelChoices &choices) override;
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override;

private:
  Turn turn;
  /// Side of a square, and the threads that work on it.
  int64_t tile = 0, threads = 0;
};
} // namespace

/// Orders the loops so that the last two span the squares; nothing where no
/// operand is turned.
static std::optional<Turn> matchTurn(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op.getNumDpsInits() != 1)
    return std::nullopt;
  std::optional<OpAccess> found = OpAccess::of(op);
  if (!found || found->extents.size() < 2)
    return std::nullopt;
  Turn turn{std::move(*found)};
  OpAccess &access = turn.access;
  unsigned inputs = op.getNumDpsInputs();
  access.orderLoopsBy(inputs);
  access.mergeLoops();
  unsigned last = access.extents.size() - 1;
  if (access.operands[inputs].coefficients[last] != 1)
    return std::nullopt;
  // The dimension along which operands are to be read.
  std::optional<unsigned> inner;
  auto isTurned = [&](const PointAccess &operand, unsigned dim) {
    return operand.element && operand.coefficients[dim] == 1 &&
           operand.coefficients[last] > 1;
  };
  for (unsigned dim = 0; dim < last && !inner; ++dim)
    for (unsigned i = 0; i < inputs; ++i)
      if (isTurned(access.operands[i], dim))
        inner = dim;
  if (!inner || access.extents[*inner] < kMinExtent ||
      access.extents[last] < kMinExtent)
    return std::nullopt;
  for (unsigned i = 0; i < inputs; ++i)
    if (isTurned(access.operands[i], *inner)) {
      Type type = access.operands[i].element;
      if (!type.isIntOrFloat())
        return std::nullopt;
      turn.operands.push_back(i);
      int64_t size = llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
      turn.bytes += size;
      turn.widest = std::max(turn.widest, size);
    }
  // Rows are all loops but the last; the dimension read along comes last there.
  SmallVector<unsigned> order;
  for (unsigned dim = 0; dim <= last; ++dim)
    if (dim != *inner && dim != last)
      order.push_back(dim);
  order.push_back(*inner);
  order.push_back(last);
  access.reorder(order);
  access.splitAt(last);
  return turn;
}

LogicalResult TurnStrategy::decide(KernelChoices &choices) {
  // Halves take twice the points for the same bytes of a line.
  tile = turn.widest <= 2 ? 64 : kSmallSquare;
  if (turn.sharedBytes(tile) > kSharedBytes)
    tile = kSmallSquare;
  tile = choices.decide("turn_square", tile);
  if (!choices.fits(turn.sharedBytes(tile), kSharedBytes,
                    "'fastk.turn_square': bytes of shared memory of a block"))
    return failure();
  threads = choices.decide("turn_threads", kThreads);
  return success(choices.fits(tile, threads,
                              "'fastk.turn_square' is more than the threads "
                              "of a block, 'fastk.turn_threads'") &&
                 choices.fits(threads, tile * tile,
                              "'fastk.turn_threads' is more than a square has "
                              "elements"));
}

FailureOr<KernelSequence> TurnStrategy::emit(gpu::GPUModuleOp module,
                                             unsigned firstNumber) {
  OpAccess &access = turn.access;
  linalg::GenericOp op = access.op;
  ArrayRef<unsigned> turned = turn.operands;
  unsigned inputs = op.getNumDpsInputs(), last = access.extents.size() - 1;
  int64_t across = access.extents[last], along = access.extents[last - 1];
  int64_t rest = access.rows() / along;
  int64_t lines = threads / tile;
  int64_t tilesAcross = llvm::divideCeil(across, tile);
  int64_t tilesAlong = llvm::divideCeil(along, tile);

  DeviceKernel kernel;
  kernel.name = kernelName(firstNumber);
  kernel.threads = threads;
  kernel.blocks = rest * tilesAcross * tilesAlong;
  OpBuilder builder(op.getContext());
  kernel.operands =
      access.createFunction(builder, module, kernel.name, threads);
  Location loc = op.getLoc();
  PointEmitter emit(builder, loc, access.isNarrow());
  Value block =
      emit.fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value thread =
      emit.fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value firstAcross = emit.scale(emit.remainder(block, tilesAcross), tile);
  Value rows = emit.divide(block, tilesAcross);
  Value firstAlong = emit.scale(emit.remainder(rows, tilesAlong), tile);
  Value firstRow = emit.scale(emit.divide(rows, tilesAlong), along);
  Value lane = emit.remainder(thread, tile);
  Value line = emit.divide(thread, tile);
  unsigned chunks = 0;
  auto pointAt = [&](Value alongIndex, Value acrossIndex) {
    PointChunk chunk;
    chunk.row = emit.add(firstRow, alongIndex);
    chunk.column = acrossIndex;
    chunk.id = chunks++;
    return chunk;
  };
  // One word more a line: columns fall on different banks.
  auto slot = [&](Value acrossPlace, Value alongPlace) {
    return emit.toIndex(
        emit.add(emit.scale(acrossPlace, tile + 1), alongPlace));
  };
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  SmallVector<Value> squares;
  for (unsigned i : turned)
    squares.push_back(access.kernel.addWorkgroupAttribution(
        MemRefType::get({tile * (tile + 1)}, access.operands[i].element,
                        MemRefLayoutAttrInterface(), space),
        loc));
  // Points outside repeat the last one inside, and are not written.
  SmallVector<SmallVector<Value>> loaded;
  for (int64_t step = 0; step < tile; step += lines) {
    Value mine = emit.add(line, emit.constant(step));
    PointChunk chunk = pointAt(
        emit.minimum(emit.add(firstAlong, lane), emit.constant(along - 1)),
        emit.minimum(emit.add(firstAcross, mine), emit.constant(across - 1)));
    auto &values = loaded.emplace_back();
    for (unsigned i : turned)
      values.push_back(emit.load(access.operands[i], chunk, 0));
  }
  for (int64_t step = 0; step < tile; step += lines) {
    Value mine = emit.add(line, emit.constant(step));
    for (auto [square, value] : llvm::zip_equal(squares, loaded[step / lines]))
      memref::StoreOp::create(builder, loc, value, square, slot(mine, lane));
  }
  gpu::BarrierOp::create(builder, loc);
  for (int64_t step = 0; step < tile; step += lines) {
    Value mine = emit.add(line, emit.constant(step));
    Value alongIndex = emit.add(firstAlong, mine);
    Value acrossIndex = emit.add(firstAcross, lane);
    OpBuilder::InsertionGuard guard(builder);
    if (across % tile != 0 || along % tile != 0) {
      Value inside = arith::AndIOp::create(
          builder, loc, emit.less(alongIndex, emit.constant(along)),
          emit.less(acrossIndex, emit.constant(across)));
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, loc, inside, false).thenBlock());
    }
    PointEmitter::Scope scope(emit);
    PointChunk chunk = pointAt(alongIndex, acrossIndex);
    SmallVector<Value> given(inputs);
    for (auto [i, square] : llvm::zip_equal(turned, squares))
      given[i] = memref::LoadOp::create(builder, loc, square, slot(lane, mine));
    emit.store(access.operands[inputs], chunk,
               access.evaluate(emit, chunk, 0, given));
  }
  return KernelSequence(kernel);
}

std::unique_ptr<KernelStrategy>
fastk::matchTurnedOperands(Operation *op, const KernelContext &) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  std::optional<Turn> turn = generic ? matchTurn(generic) : std::nullopt;
  if (!turn || turn->sharedBytes(kSmallSquare) > kSharedBytes)
    return nullptr;
  return std::make_unique<TurnStrategy>(std::move(*turn));
}
