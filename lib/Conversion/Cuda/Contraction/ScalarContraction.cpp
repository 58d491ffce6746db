//===- ScalarContraction.cpp - Tiles by scalar arithmetic -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of the result in slices of the sum. Both factors of a
// slice lie in shared memory with the depth outermost, so that a thread reads
// its rows and its columns by 16-byte loads; while it multiplies one slice it
// has the next one's elements under way in registers, and two buffers make one
// barrier a slice enough.
//
// The threads of a warp stand 8 by 4, each with groups of 16 bytes of rows and
// columns that lie 8 (4) groups apart: neighbours read neighbouring banks.
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

/// Terms of the sum in a slice: 64 bytes of each row, unless it is given.
static int64_t depthOf(const Contraction &contraction) {
  return contraction.chosen("scalar_depth",
                            512 / contraction.element.getIntOrFloatBitWidth());
}
/// Bytes of shared memory that a kernel may declare, registers of a thread and
/// of a multiprocessor (CUDA C++ Programming Guide, compute capability 8.0 and
/// later), and registers for addresses.
static constexpr int64_t kStaticShared = 48 * 1024;
static constexpr int64_t kMaxRegisters = 255, kRegisters = 65536;
static constexpr int64_t kOtherRegisters = 24;
/// Threads of a warp along rows and columns.
static constexpr int64_t kLaneRows = 8, kLaneColumns = 4;
/// Warps that keep a multiprocessor busy.
static constexpr double kBusyWarps = 12;
/// What one multiprocessor of an H200 reached in f32.
static constexpr double kProductsPerSecond = 180e9;

namespace {
/// How the work of a tile is split.
struct ScalarTile {
  /// Warps of a block, rows and columns of a thread.
  int64_t warpRows, warpColumns, threadRows, threadColumns;
  /// Multiply-adds per time, relative to the best tile.
  double speed;
  /// Blocks that shall fit on a multiprocessor together.
  int64_t resident;

  int64_t rows() const { return warpRows * kLaneRows * threadRows; }
  int64_t columns() const { return warpColumns * kLaneColumns * threadColumns; }
  int64_t threads() const { return warpRows * warpColumns * 32; }
};
} // namespace

static constexpr ScalarTile kTiles32[] = {
    {2, 4, 8, 8, 1.0, 2},  // 128 x 128
    {2, 3, 8, 8, 1.0, 2},  // 128 x 96
    {2, 2, 8, 8, 0.9, 4},  // 128 x 64
    {1, 4, 8, 8, 0.9, 4},  // 64 x 128
    {2, 4, 4, 4, 0.65, 4}, // 64 x 64
    {1, 2, 4, 4, 0.35, 8}, // 32 x 32
};
/// An accumulator is two registers, a 16-byte group two elements.
static constexpr ScalarTile kTiles64[] = {
    {2, 4, 4, 8, 1.0, 2},  // 64 x 128
    {2, 4, 4, 4, 0.85, 2}, // 64 x 64
    {1, 2, 4, 4, 0.4, 8},  // 32 x 32
};

/// Products that the busiest multiprocessor makes, counted as time of the best
/// tile.
static double workOf(const Contraction &contraction, const ScalarTile &tile) {
  double blocks = double(llvm::divideCeil(contraction.m.size(), tile.rows())) *
                  llvm::divideCeil(contraction.n.size(), tile.columns()) *
                  contraction.batch.size();
  double here = std::ceil(blocks / contraction.device.multiprocessors);
  // Few warps wait for each other's loads.
  double warps = std::min(here, double(tile.resident)) * tile.threads() / 32;
  return here * tile.rows() * tile.columns() * contraction.k.size() /
         (tile.speed * std::min(1.0, warps / kBusyWarps));
}

static ScalarTile chooseTile(const Contraction &contraction) {
  ArrayRef<ScalarTile> tiles(kTiles32);
  if (contraction.element.isF64())
    tiles = kTiles64;
  ScalarTile best =
      *llvm::min_element(tiles, [&](const auto &a, const auto &b) {
        return workOf(contraction, a) < workOf(contraction, b);
      });
  best.warpRows = contraction.chosen("scalar_warp_rows", best.warpRows);
  best.warpColumns =
      contraction.chosen("scalar_warp_columns", best.warpColumns);
  best.threadRows = contraction.chosen("scalar_rows", best.threadRows);
  best.threadColumns = contraction.chosen("scalar_columns", best.threadColumns);
  best.resident = contraction.chosen("scalar_resident", best.resident);
  return best;
}

bool fastk::decideScalarTile(const Contraction &contraction) {
  ScalarTile tile = chooseTile(contraction);
  KernelChoices &choices = *contraction.choices;
  int64_t depth = depthOf(contraction);
  choices.decide("scalar_warp_rows", tile.warpRows);
  choices.decide("scalar_warp_columns", tile.warpColumns);
  choices.decide("scalar_rows", tile.threadRows);
  choices.decide("scalar_columns", tile.threadColumns);
  choices.decide("scalar_depth", depth);
  choices.decide("scalar_resident", tile.resident);
  if (!choices.hasAny("scalar_"))
    return true;
  int64_t bits = contraction.element.getIntOrFloatBitWidth();
  int64_t group = 128 / bits, words = bits / 32;
  for (StringRef name : {"scalar_rows", "scalar_columns", "scalar_depth"})
    if (int64_t value = contraction.chosen(name, group); value % group != 0) {
      choices.refuse("'fastk." + name + "' = " + Twine(value) +
                     " is no multiple of the " + Twine(group) +
                     " elements that are 16 bytes");
      return false;
    }
  int64_t sides = tile.rows() + tile.columns();
  int64_t registers =
      (tile.threadRows * tile.threadColumns + tile.threadRows +
       tile.threadColumns + llvm::divideCeil(sides * depth, tile.threads())) *
          words +
      kOtherRegisters;
  return choices.fits(tile.threads(), contraction.device.threadsPerBlock,
                      "'fastk.scalar_warp_rows' times "
                      "'fastk.scalar_warp_columns': threads of a block") &&
         choices.fits(2 * depth * (sides + 2 * group) * bits / 8, kStaticShared,
                      "two slices of a tile: bytes of shared memory") &&
         choices.fits(
             registers,
             std::min(kMaxRegisters,
                      kRegisters / (tile.threads() * tile.resident)),
             "'fastk.scalar_rows' times 'fastk.scalar_columns' in 'fastk."
             "scalar_resident' blocks: registers of a thread");
}

double fastk::estimateScalarContraction(const Contraction &contraction) {
  return workOf(contraction, chooseTile(contraction)) / kProductsPerSecond;
}

namespace {
/// Moves slices of one factor to shared memory.
class SliceMover {
public:
  SliceMover(TileEmitter &emit, const ContractionSide &side,
             const LoopGroup &space, Value first, int64_t extent,
             int64_t threads);

  /// The elements that this thread brings of the slice from term `first` on.
  SmallVector<Value> load(Value first);
  /// Puts them into buffer number `buffer`.
  void store(ArrayRef<Value> values, Value buffer);
  /// `count` neighbours of term `term`, from `position` of the tile on.
  SmallVector<Value> read(Value buffer, int64_t term, Value position,
                          int64_t count);

private:
  /// Rounds in which the threads move everything.
  int64_t rounds() const { return llvm::divideCeil(slots, threads); }

  TileEmitter &emit;
  const ContractionSide &side;
  const LoopGroup &space;
  int64_t threads;
  /// Terms of a slice.
  int64_t depth;
  /// Neighbours moved at once are neighbours in depth, or in space.
  bool alongDepth;
  int64_t width, slots;
  /// From one depth to the next in shared memory.
  int64_t pitch;
  TileOperand buffer;
  SmallVector<TileOperand> operands;
  /// Of each round: depth in the slice, position in the tile, whether the
  /// thread has work (null: it has), index in space, and for each operand the
  /// offset of that.
  SmallVector<Value> depths, positions, works, places;
  SmallVector<SmallVector<Value>> offsets;
};
} // namespace

SliceMover::SliceMover(TileEmitter &emit, const ContractionSide &side,
                       const LoopGroup &space, Value first, int64_t extent,
                       int64_t threads)
    : emit(emit), side(side), space(space), threads(threads),
      depth(depthOf(emit.contraction)) {
  const Contraction &contraction = emit.contraction;
  Type element = contraction.element;
  int64_t group = 128 / element.getIntOrFloatBitWidth();
  unsigned main = side.operands[0];
  bool depthVector = contraction.isVectorAccess(main, contraction.k, group);
  bool spaceVector = contraction.isVectorAccess(main, space, group);
  width = depthVector || spaceVector ? group : 1;
  alongDepth = depthVector || (!spaceVector && contraction.k.runsAlong(main));
  slots = extent * depth / width;
  // Threads that write one column would meet in one bank.
  pitch = extent + (alongDepth ? group : 0);
  buffer = emit.shared(element, 2 * depth * pitch);
  for (unsigned number : side.operands)
    operands.push_back(emit.operand(number));

  Value thread = emit.thread();
  int64_t fast = (alongDepth ? depth : extent) / width;
  for (int64_t round = 0; round < rounds(); ++round) {
    Value slot = emit.add(thread, round * threads);
    Value work;
    if ((round + 1) * threads > slots) {
      work = emit.less(slot, slots);
      slot = emit.min(slot, slots - 1);
    }
    Value quick, slow;
    if (threads % fast == 0 && !work) {
      // Apart, so that what all rounds share is seen.
      quick = emit.rem(thread, fast);
      slow = emit.add(emit.div(thread, fast), round * threads / fast);
    } else {
      quick = emit.rem(slot, fast);
      slow = emit.div(slot, fast);
    }
    quick = emit.mul(quick, width);
    Value position = alongDepth ? slow : quick;
    depths.push_back(alongDepth ? quick : slow);
    positions.push_back(position);
    works.push_back(work);
    // Beyond the edge the last ones are read again; nobody stores them.
    Value place = emit.add(first, position);
    if (space.size() % extent != 0)
      place = emit.min(place, space.size() - (alongDepth ? 1 : width));
    places.push_back(place);
    SmallVector<Value> &here = offsets.emplace_back();
    for (const TileOperand &operand : operands)
      here.push_back(emit.offset(space, place, operand));
  }
}

SmallVector<Value> SliceMover::load(Value first) {
  const Contraction &contraction = emit.contraction;
  const LoopGroup &along = alongDepth ? contraction.k : space;
  SmallVector<Value> results;
  for (int64_t round = 0; round < rounds(); ++round) {
    Value term = emit.add(first, depths[round]);
    Value inside;
    if (contraction.k.size() % depth != 0) {
      inside = emit.less(term, contraction.k.size());
      term = emit.select(inside, term, emit.number(0));
    }
    // By operand, then by neighbour.
    SmallVector<SmallVector<Value>> loaded;
    for (auto [operand, offset] : llvm::zip_equal(operands, offsets[round])) {
      Value place = emit.place(
          operand, {offset, emit.offset(contraction.k, term, operand)});
      if (width == 1 ||
          contraction.isVectorAccess(operand.number, along, width)) {
        loaded.push_back(emit.load(operand, place, width));
        continue;
      }
      SmallVector<Value> &values = loaded.emplace_back();
      if (!along.moves(operand.number)) {
        values.assign(width, emit.load(operand, place, 1)[0]);
        continue;
      }
      // A second operand that lies otherwise: one by one.
      for (int64_t i = 0; i < width; ++i) {
        Value each;
        if (alongDepth) {
          each = emit.place(
              operand,
              {offset, emit.offset(contraction.k, emit.add(term, i), operand)});
        } else {
          each = emit.place(
              operand, {emit.offset(space, emit.add(places[round], i), operand),
                        emit.offset(contraction.k, term, operand)});
        }
        values.push_back(emit.load(operand, each, 1)[0]);
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      SmallVector<Value> values;
      for (ArrayRef<Value> each : loaded)
        values.push_back(each[i]);
      Value result = emit.compute(side, values);
      if (inside)
        result = emit.select(inside, result, emit.zero(contraction.element));
      results.push_back(result);
    }
  }
  return results;
}

void SliceMover::store(ArrayRef<Value> values, Value number) {
  Value start = emit.mul(number, depth * pitch);
  for (int64_t round = 0; round < rounds(); ++round) {
    ArrayRef<Value> mine = values.slice(round * width, width);
    Value place = emit.add(
        start, emit.add(emit.mul(depths[round], pitch), positions[round]));
    emit.branch(works[round], [&] {
      if (!alongDepth) {
        emit.store(buffer, emit.toIndex(place), mine);
        return;
      }
      for (auto [i, value] : llvm::enumerate(mine))
        emit.store(buffer, emit.toIndex(emit.add(place, i * pitch)), value);
    });
  }
}

SmallVector<Value> SliceMover::read(Value number, int64_t term, Value position,
                                    int64_t count) {
  Value start = emit.add(emit.mul(number, depth * pitch), position);
  return emit.load(buffer, emit.toIndex(emit.add(start, term * pitch)), count);
}

DeviceKernel fastk::buildScalarContraction(gpu::GPUModuleOp module,
                                           const Contraction &contraction,
                                           StringRef name) {
  ScalarTile tile = chooseTile(contraction);
  int64_t threads = tile.threads();
  TileEmitter emit(module, contraction, name, threads);
  OpBuilder &builder = emit.builder;
  Location loc = emit.loc;
  // So many registers that this number of blocks runs at once.
  emit.func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                     builder.getI32IntegerAttr(tile.resident));
  DeviceKernel kernel;
  kernel.name = name.str();
  kernel.threads = threads;
  kernel.blocks = emit.countTiles(tile.rows(), tile.columns());
  kernel.operands = emit.body.operands;

  auto [firstRow, firstColumn] = emit.locateTile(tile.rows(), tile.columns());
  SliceMover a(emit, contraction.a, contraction.m, firstRow, tile.rows(),
               threads);
  SliceMover b(emit, contraction.b, contraction.n, firstColumn, tile.columns(),
               threads);

  // Neighbouring lanes differ in column and row in turn: whichever lanes the
  // hardware serves together read few different groups.
  Value thread = emit.thread();
  Value lane = emit.rem(thread, 32), warp = emit.div(thread, 32);
  Value laneRow = emit.rem(emit.div(lane, 2), kLaneRows);
  Value laneColumn =
      emit.add(emit.rem(lane, 2), emit.mul(emit.div(lane, 16), 2));
  int64_t group = 128 / contraction.element.getIntOrFloatBitWidth();
  Value rowStart = emit.add(
      emit.mul(emit.div(warp, tile.warpColumns), kLaneRows * tile.threadRows),
      emit.mul(laneRow, group));
  Value columnStart = emit.add(emit.mul(emit.rem(warp, tile.warpColumns),
                                        kLaneColumns * tile.threadColumns),
                               emit.mul(laneColumn, group));

  int64_t depth = depthOf(contraction);
  int64_t slices = llvm::divideCeil(contraction.k.size(), depth);
  a.store(a.load(emit.number(0)), emit.number(0));
  b.store(b.load(emit.number(0)), emit.number(0));
  emit.barrier();

  SmallVector<Value> sums(tile.threadRows * tile.threadColumns,
                          emit.zero(contraction.element));
  auto loop = scf::ForOp::create(builder, loc, emit.number(0),
                                 emit.number(slices), emit.number(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value slice = loop.getInductionVar();
    Value current = emit.rem(slice, 2);
    Value next = emit.add(slice, 1);
    // Loads are under way while this slice is multiplied.
    auto prefetch = [&](SliceMover &mover) {
      return mover.load(emit.mul(next, depth));
    };
    Value more = emit.less(next, slices);
    SmallVector<Value> nextA, nextB;
    auto fetch = scf::IfOp::create(
        builder, loc, more,
        [&](OpBuilder &inner, Location) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPoint(inner.getInsertionBlock(),
                                    inner.getInsertionPoint());
          nextA = prefetch(a);
          nextB = prefetch(b);
          SmallVector<Value> all(nextA);
          all.append(nextB);
          scf::YieldOp::create(builder, loc, all);
        },
        [&](OpBuilder &inner, Location) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPoint(inner.getInsertionBlock(),
                                    inner.getInsertionPoint());
          SmallVector<Value> all(nextA.size() + nextB.size(),
                                 emit.zero(contraction.element));
          scf::YieldOp::create(builder, loc, all);
        });
    SmallVector<Value> results(loop.getRegionIterArgs());
    for (int64_t term = 0; term < depth; ++term) {
      SmallVector<Value> rows, columns;
      for (int64_t i = 0; i < tile.threadRows; i += group)
        rows.append(
            a.read(current, term, emit.add(rowStart, i * kLaneRows), group));
      for (int64_t j = 0; j < tile.threadColumns; j += group)
        columns.append(b.read(current, term,
                              emit.add(columnStart, j * kLaneColumns), group));
      for (auto [i, row] : llvm::enumerate(rows))
        for (auto [j, column] : llvm::enumerate(columns)) {
          Value &sum = results[i * columns.size() + j];
          sum = LLVM::FMAOp::create(builder, loc, row, column, sum);
        }
    }
    emit.branch(more, [&] {
      ValueRange fetched = fetch.getResults();
      Value other = emit.rem(next, 2);
      a.store(SmallVector<Value>(fetched.take_front(nextA.size())), other);
      b.store(SmallVector<Value>(fetched.drop_front(nextA.size())), other);
    });
    emit.barrier();
    scf::YieldOp::create(builder, loc, results);
  }

  SmallVector<Value> rows, columns;
  for (int64_t i = 0; i < tile.threadRows; ++i)
    rows.push_back(emit.add(emit.add(firstRow, rowStart),
                            i / group * group * kLaneRows + i % group));
  for (int64_t j = 0; j < tile.threadColumns; ++j)
    columns.push_back(emit.add(emit.add(firstColumn, columnStart),
                               j / group * group * kLaneColumns + j % group));
  emit.storeResult(rows, columns, group, SmallVector<Value>(loop.getResults()));
  return kernel;
}
