//===- VectorKernel.cpp - Elementwise ops by vectors ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The innermost loops that every operand walks by one stride are one long row;
// a thread takes several vectors of it. Where all loops are one row, a point is
// its number in memory and nothing is divided.
//
//===----------------------------------------------------------------------===//

#include "OpAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

static constexpr int64_t kThreads = 256;
/// Vectors of a thread, when there are enough for every multiprocessor to have
/// several blocks.
static constexpr int64_t kMaxVectors = 4;
static constexpr int64_t kEnoughBlocks = 132 * 8;
/// Elements of a thread that fit its registers before anything is computed.
static constexpr int64_t kMaxLoaded = 256;

namespace {
class VectorStrategy : public KernelStrategy {
public:
  explicit VectorStrategy(OpAccess found);

  LogicalResult decide(KernelChoices &choices) override;
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override;

private:
  OpAccess access;
  linalg::GenericOp op;
  int64_t rows, columns;
  /// Elements of a vector, vectors of a thread, threads of a block.
  int64_t width = 1, vectors = 1, threads = 1;
  /// Vectors of a row, vectors of all, and elements that none of them holds.
  int64_t ofRow = 0, all = 0, rest = 0;
};
} // namespace

VectorStrategy::VectorStrategy(OpAccess found)
    : access(std::move(found)), op(access.op) {
  // Results in the order of their memory, then as few rows as possible.
  access.orderLoopsBy(op.getNumDpsInputs());
  access.splitLongestRow();
  rows = access.rows();
  columns = access.columns();
}

LogicalResult VectorStrategy::decide(KernelChoices &choices) {
  int64_t widest = access.widest();
  // What one element takes of the limit on what is loaded.
  int64_t loads = op.getNumDpsInputs();
  width = widest;
  while (width > 1 && width * loads > kMaxLoaded)
    width /= 2;
  width = choices.decide("vector_width", width);
  if (!choices.fits(width, widest,
                    "'fastk.vector_width' is wider than memory allows"))
    return failure();
  // What no vector holds is left to single threads, when there is one row.
  while (columns % width != 0 && (rows != 1 || columns < width))
    width /= 2;
  rest = columns % width;
  ofRow = columns / width;
  all = rows * ofRow;
  threads = std::min<int64_t>(choices.decide("vector_threads", kThreads),
                              llvm::alignTo(std::max(all, rest), 32));
  vectors = kMaxVectors;
  while (vectors > 1 && (all < kEnoughBlocks * threads * vectors ||
                         vectors * width * loads > kMaxLoaded))
    vectors /= 2;
  vectors = choices.decide("vector_count", vectors);
  // One element at a time is as few as there can be.
  if (vectors * width > 1 &&
      !choices.fits(vectors * width * loads, kMaxLoaded,
                    "'fastk.vector_count' loads too much at a time; elements "
                    "of a thread"))
    return failure();
  return success();
}

FailureOr<KernelSequence> VectorStrategy::emit(gpu::GPUModuleOp module,
                                               unsigned firstNumber) {
  DeviceKernel kernel;
  kernel.name = kernelName(firstNumber);
  kernel.threads = threads;
  kernel.blocks = llvm::divideCeil(all, kernel.threads * vectors);
  OpBuilder builder(op.getContext());
  kernel.operands =
      access.createFunction(builder, module, kernel.name, kernel.threads);
  Location loc = op.getLoc();
  PointEmitter emit(builder, loc, access.isNarrow());

  Value block =
      emit.fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value thread =
      emit.fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value first = emit.add(emit.scale(block, kernel.threads * vectors), thread);
  SmallVector<PointChunk> chunks;
  for (int64_t i = 0; i < vectors; ++i) {
    PointChunk chunk;
    chunk.width = width;
    chunk.id = chunks.size();
    Value number = emit.add(first, emit.constant(i * kernel.threads));
    if (all % (kernel.threads * vectors) != 0) {
      chunk.inside = emit.less(number, emit.constant(all));
      number = arith::SelectOp::create(builder, loc, chunk.inside, number,
                                       emit.constant(0));
    }
    chunk.row = rows == 1 ? emit.constant(0) : emit.divide(number, ofRow);
    chunk.column =
        emit.scale(rows == 1 ? number : emit.remainder(number, ofRow), width);
    chunks.push_back(chunk);
  }
  auto storeAll = [&](ArrayRef<PointChunk> chunks) {
    SmallVector<SmallVector<SmallVector<Value>>> values;
    for (const PointChunk &chunk : chunks) {
      auto &results = values.emplace_back(op.getNumDpsInits());
      for (int64_t lane = 0; lane < chunk.width; ++lane)
        for (auto [i, value] :
             llvm::enumerate(access.evaluate(emit, chunk, lane)))
          results[i].push_back(value);
    }
    for (auto [chunk, results] : llvm::zip_equal(chunks, values)) {
      OpBuilder::InsertionGuard guard(builder);
      if (chunk.inside)
        builder.setInsertionPointToStart(
            scf::IfOp::create(builder, loc, chunk.inside, false).thenBlock());
      for (auto [i, lanes] : llvm::enumerate(results))
        emit.store(access.operands[op.getNumDpsInputs() + i], chunk, lanes);
    }
  };
  storeAll(chunks);
  if (rest == 0)
    return KernelSequence(kernel);
  PointChunk last;
  last.id = chunks.size();
  last.row = emit.constant(0);
  last.column = emit.add(thread, emit.constant(columns - rest));
  Value isMine = arith::AndIOp::create(
      builder, loc,
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, block,
                            emit.constant(0)),
      emit.less(thread, emit.constant(rest)));
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, loc, isMine, false).thenBlock());
  storeAll(last);
  return KernelSequence(kernel);
}

std::unique_ptr<KernelStrategy> fastk::matchVectors(Operation *op,
                                                    const KernelContext &) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumReductionLoops() != 0)
    return nullptr;
  std::optional<OpAccess> access = OpAccess::of(generic);
  if (!access)
    return nullptr;
  return std::make_unique<VectorStrategy>(std::move(*access));
}
