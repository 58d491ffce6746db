//===- TensorCoreContraction.cpp - Tiles on tensor cores ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync m16n8k16 with f32 sums, for sm_80 and later. Slices of both factors
// come to shared memory as they lie in global memory, several ahead of the one
// that is multiplied: by cp.async where 16 bytes can be moved at once, element
// by element elsewhere. ldmatrix turns them to fragments, transposed where the
// depth is not along memory. A row of shared memory is cut into chunks of 16
// bytes, and chunk c of row r lies at c xor (r mod 8): the eight rows of a
// matrix meet eight different groups of banks.
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fastk;

/// Terms of the sum in a slice: 128 bytes of a row.
static constexpr int64_t kDepth = 64;
/// Elements that are moved at once.
static constexpr int64_t kChunk = 8;
/// Registers of a thread and of a multiprocessor (CUDA C++ Programming Guide,
/// compute capability 8.0 and later), and those for addresses.
static constexpr int64_t kMaxRegisters = 255, kRegisters = 65536;
static constexpr int64_t kOtherRegisters = 40;
/// Warps that keep a multiprocessor busy.
static constexpr double kBusyWarps = 8;
/// What one multiprocessor of an H200 reached.
static constexpr double kProductsPerSecond = 1.3e12;

namespace {
struct TensorCoreTile {
  /// Warps of a block, rows and columns of a warp.
  int64_t warpRows, warpColumns, rowsOfWarp, columnsOfWarp;
  /// Slices in shared memory.
  int64_t stages;
  /// Products per time, relative to the best tile.
  double speed;
  /// Blocks that fit on a multiprocessor together.
  int64_t resident;

  int64_t rows() const { return warpRows * rowsOfWarp; }
  int64_t columns() const { return warpColumns * columnsOfWarp; }
  int64_t threads() const { return warpRows * warpColumns * 32; }
  int64_t stageElements() const { return (rows() + columns()) * kDepth; }
  int64_t sharedBytes() const { return stages * stageElements() * 2; }
};
} // namespace

/// The last fits every device.
static constexpr TensorCoreTile kTiles[] = {
    {2, 4, 64, 64, 3, 1.0, 1},  // 128 x 256
    {2, 2, 64, 64, 3, 0.85, 2}, // 128 x 128
    {2, 2, 32, 32, 3, 0.5, 4},  // 64 x 64
};

/// Products that the busiest multiprocessor makes, counted as time of the best
/// tile.
static double workOf(const Contraction &contraction,
                     const TensorCoreTile &tile) {
  double blocks = double(llvm::divideCeil(contraction.m.size(), tile.rows())) *
                  llvm::divideCeil(contraction.n.size(), tile.columns()) *
                  contraction.batch.size();
  double here = std::ceil(blocks / contraction.device.multiprocessors);
  // Few warps wait for each other's loads.
  double warps = std::min(here, double(tile.resident)) * tile.threads() / 32;
  return here * tile.rows() * tile.columns() * contraction.k.size() /
         (tile.speed * std::min(1.0, warps / kBusyWarps));
}

static TensorCoreTile chooseTile(const Contraction &contraction) {
  auto tiles = llvm::make_filter_range(kTiles, [&](const TensorCoreTile &tile) {
    return tile.sharedBytes() <= contraction.device.sharedBytes;
  });
  TensorCoreTile best = *tiles.begin();
  for (const TensorCoreTile &tile : tiles)
    if (workOf(contraction, tile) < workOf(contraction, best))
      best = tile;
  best.warpRows = contraction.chosen("tensor_warp_rows", best.warpRows);
  best.warpColumns =
      contraction.chosen("tensor_warp_columns", best.warpColumns);
  best.rowsOfWarp = contraction.chosen("tensor_rows", best.rowsOfWarp);
  best.columnsOfWarp = contraction.chosen("tensor_columns", best.columnsOfWarp);
  best.stages = contraction.chosen("tensor_stages", best.stages);
  best.resident = contraction.chosen("tensor_resident", best.resident);
  return best;
}

/// Refuses, too, what the threads cannot move in whole chunks.
bool fastk::decideTensorCoreTile(const Contraction &contraction) {
  TensorCoreTile tile = chooseTile(contraction);
  KernelChoices &choices = *contraction.choices;
  choices.decide("tensor_warp_rows", tile.warpRows);
  choices.decide("tensor_warp_columns", tile.warpColumns);
  choices.decide("tensor_rows", tile.rowsOfWarp);
  choices.decide("tensor_columns", tile.columnsOfWarp);
  choices.decide("tensor_stages", tile.stages);
  choices.decide("tensor_resident", tile.resident);
  if (!choices.hasAny("tensor_"))
    return true;
  for (int64_t extent : {tile.rows(), tile.columns()}) {
    // Chunks change places with those of the same eight.
    if (extent % (8 * kChunk) != 0)
      choices.refuse("a tile of " + Twine(tile.rows()) + " x " +
                     Twine(tile.columns()) + " is no multiple of " +
                     Twine(8 * kChunk) + " rows and columns");
    else if (extent * kDepth / kChunk % tile.threads() != 0)
      choices.refuse("a tile of " + Twine(tile.rows()) + " x " +
                     Twine(tile.columns()) +
                     " is not moved in whole rounds of its " +
                     Twine(tile.threads()) + " threads");
  }
  if (!choices.problem().empty())
    return false;
  // Only what was asked for has to fit together.
  int64_t resident = choices.isGiven("tensor_resident") ? tile.resident : 1;
  int64_t registers = tile.rowsOfWarp * tile.columnsOfWarp / 32 +
                      (tile.rowsOfWarp + tile.columnsOfWarp) / 4 +
                      kOtherRegisters;
  return choices.fits(tile.threads(), contraction.device.threadsPerBlock,
                      "'fastk.tensor_warp_rows' times "
                      "'fastk.tensor_warp_columns': threads of a block") &&
         choices.fits(tile.sharedBytes() * resident,
                      contraction.device.sharedBytes,
                      "'fastk.tensor_stages' slices of a tile in "
                      "'fastk.tensor_resident' blocks: bytes of shared "
                      "memory") &&
         choices.fits(
             registers,
             std::min(kMaxRegisters, kRegisters / (tile.threads() * resident)),
             "'fastk.tensor_rows' times 'fastk.tensor_columns' in 'fastk."
             "tensor_resident' blocks: registers of a thread");
}

double fastk::estimateTensorCoreContraction(const Contraction &contraction) {
  return workOf(contraction, chooseTile(contraction)) / kProductsPerSecond;
}

/// The 16-bit type that a factor is widened from; null where it is anything
/// else.
static Type narrowType(const Contraction &contraction,
                       const ContractionSide &side) {
  auto widened = side.result.getDefiningOp<arith::ExtFOp>();
  if (side.operands.size() != 1 || side.body.size() != 1 || !widened ||
      !isa<BlockArgument>(widened.getIn()))
    return nullptr;
  Type type = widened.getIn().getType();
  return type.isF16() || type.isBF16() ? type : nullptr;
}

bool fastk::fitsTensorCores(const Contraction &contraction) {
  Type a = narrowType(contraction, contraction.a);
  return a && a == narrowType(contraction, contraction.b) &&
         contraction.element.isF32();
}

namespace {
/// Moves slices of one factor to shared memory, and from there to fragments.
class FragmentMover {
public:
  /// The factor's part of a stage begins at element `start` of `stage`s of
  /// `stageElements`.
  FragmentMover(TileEmitter &emit, unsigned number, const LoopGroup &space,
                Value first, int64_t extent, int64_t threads,
                const TileOperand &memory, int64_t start,
                int64_t stageElements);

  /// Begins to move the slice from term `first` on into `stage`.
  void fetch(Value first, Value stage);
  /// The 16 x 16 elements from `position` of the tile and `term` of the slice
  /// on, as four registers. Rows or columns of the second eight come `apart`:
  /// as registers 1 and 3 (rows of a), or 2 and 3 (columns of b).
  SmallVector<Value> read(Value stage, Value position, int64_t term,
                          bool spaceFirst);

private:
  int64_t rounds() const { return extent * kDepth / kChunk / threads; }
  /// Place of a chunk in shared memory.
  Value swizzle(Value stage, Value row, Value chunk);
  void fetchOneByOne(int64_t round, Value term, Value place);

  TileEmitter &emit;
  const LoopGroup &space;
  int64_t extent, threads;
  TileOperand memory, operand;
  int64_t start, stageElements;
  bool alongDepth, byChunk;
  /// Of each round: depth in the slice, position in the tile, index in space,
  /// and its offset.
  SmallVector<Value> depths, positions, places, offsets;
};
} // namespace

FragmentMover::FragmentMover(TileEmitter &emit, unsigned number,
                             const LoopGroup &space, Value first,
                             int64_t extent, int64_t threads,
                             const TileOperand &memory, int64_t start,
                             int64_t stageElements)
    : emit(emit), space(space), extent(extent), threads(threads),
      memory(memory), operand(emit.operand(number)), start(start),
      stageElements(stageElements) {
  const Contraction &contraction = emit.contraction;
  bool depthChunks = contraction.isVectorAccess(number, contraction.k, kChunk);
  bool spaceChunks = contraction.isVectorAccess(number, space, kChunk);
  byChunk = depthChunks || spaceChunks;
  alongDepth = depthChunks || (!spaceChunks && contraction.k.runsAlong(number));
  if (byChunk)
    operand = emit.global(operand);
  Value thread = emit.thread();
  int64_t fast = (alongDepth ? kDepth : extent) / kChunk;
  for (int64_t round = 0; round < rounds(); ++round) {
    Value quick, slow;
    if (threads % fast == 0) {
      quick = emit.rem(thread, fast);
      slow = emit.add(emit.div(thread, fast), round * threads / fast);
    } else {
      Value slot = emit.add(thread, round * threads);
      quick = emit.rem(slot, fast);
      slow = emit.div(slot, fast);
    }
    quick = emit.mul(quick, kChunk);
    Value position = alongDepth ? slow : quick;
    depths.push_back(alongDepth ? quick : slow);
    positions.push_back(position);
    Value place = emit.add(first, position);
    // Beyond the edge the last ones are read again; nobody stores them.
    if (space.size() % extent != 0)
      place =
          emit.min(place, space.size() - (alongDepth || !byChunk ? 1 : kChunk));
    places.push_back(place);
    offsets.push_back(emit.offset(space, place, operand));
  }
}

Value FragmentMover::swizzle(Value stage, Value row, Value chunk) {
  int64_t rowElements = alongDepth ? kDepth : extent;
  Value moved = emit.bitXor(chunk, emit.rem(row, 8));
  Value inside = emit.add(emit.mul(row, rowElements), emit.mul(moved, kChunk));
  return emit.toIndex(
      emit.add(emit.add(emit.mul(stage, stageElements), inside), start));
}

void FragmentMover::fetch(Value first, Value stage) {
  const Contraction &contraction = emit.contraction;
  OpBuilder &builder = emit.builder;
  Location loc = emit.loc;
  for (int64_t round = 0; round < rounds(); ++round) {
    Value term = emit.add(first, depths[round]);
    Value row = alongDepth ? positions[round] : depths[round];
    Value chunk =
        emit.div(alongDepth ? depths[round] : positions[round], kChunk);
    Value target = swizzle(stage, row, chunk);
    if (!byChunk) {
      fetchOneByOne(round, term, target);
      continue;
    }
    Value bytes;
    if (contraction.k.size() % kDepth != 0) {
      // Zeros beyond the last term.
      Value inside = emit.less(term, contraction.k.size());
      term = emit.select(inside, term, emit.number(0));
      auto constant = [&](int32_t value) {
        return arith::ConstantOp::create(builder, loc,
                                         builder.getI32IntegerAttr(value));
      };
      bytes = emit.select(inside, constant(16), constant(0));
    }
    Value place = emit.place(
        operand, {offsets[round], emit.offset(contraction.k, term, operand)});
    NVVM::CpAsyncOp::create(
        builder, loc, emit.pointer(memory, target),
        emit.pointer(operand, place), builder.getI32IntegerAttr(16),
        NVVM::LoadCacheModifierKindAttr::get(builder.getContext(),
                                             NVVM::LoadCacheModifierKind::CG),
        bytes);
  }
}

void FragmentMover::fetchOneByOne(int64_t round, Value term, Value target) {
  const Contraction &contraction = emit.contraction;
  SmallVector<Value> values;
  for (int64_t i = 0; i < kChunk; ++i) {
    Value here = alongDepth ? emit.add(term, i) : term;
    Value offset = offsets[round];
    if (!alongDepth && i > 0) {
      Value place = emit.add(places[round], i);
      if (space.size() % kChunk != 0 || space.size() % extent != 0)
        place = emit.min(place, space.size() - 1);
      offset = emit.offset(space, place, operand);
    }
    Value inside;
    if (contraction.k.size() % kDepth != 0) {
      inside = emit.less(here, contraction.k.size());
      here = emit.select(inside, here, emit.number(0));
    }
    Value place = emit.place(
        operand, {offset, emit.offset(contraction.k, here, operand)});
    Value value = emit.load(operand, place, 1)[0];
    if (inside)
      value = emit.select(inside, value, emit.zero(operand.element));
    values.push_back(value);
  }
  emit.store(memory, target, values);
}

SmallVector<Value> FragmentMover::read(Value stage, Value position,
                                       int64_t term, bool spaceFirst) {
  OpBuilder &builder = emit.builder;
  Location loc = emit.loc;
  Value lane = emit.rem(emit.thread(), 32);
  Value low = emit.rem(lane, 8), matrix = emit.div(lane, 8);
  // Which of the four matrices a lane addresses a row of.
  Value even = emit.rem(matrix, 2), high = emit.div(matrix, 2);
  Value ofSpace = spaceFirst ? even : high, ofDepth = spaceFirst ? high : even;
  Value row, chunk;
  if (alongDepth) {
    row = emit.add(position, emit.add(emit.mul(ofSpace, 8), low));
    chunk = emit.add(ofDepth, term / kChunk);
  } else {
    row = emit.add(emit.add(emit.mul(ofDepth, 8), low), term);
    chunk = emit.add(emit.div(position, kChunk), ofSpace);
  }
  Type word = builder.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {word, word, word, word});
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc, type, emit.pointer(memory, swizzle(stage, row, chunk)), 4,
      alongDepth ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i) {
    Value each = LLVM::ExtractValueOp::create(builder, loc, loaded, i);
    // Pairs of bf16 are passed as words.
    if (operand.element.isF16())
      each = LLVM::BitcastOp::create(
          builder, loc, VectorType::get({2}, operand.element), each);
    words.push_back(each);
  }
  return words;
}

DeviceKernel fastk::buildTensorCoreContraction(gpu::GPUModuleOp module,
                                               const Contraction &contraction,
                                               StringRef name) {
  TensorCoreTile tile = chooseTile(contraction);
  int64_t threads = tile.threads();
  TileEmitter emit(module, contraction, name, threads);
  OpBuilder &builder = emit.builder;
  Location loc = emit.loc;
  if (contraction.choices->isGiven("tensor_resident"))
    emit.func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                       builder.getI32IntegerAttr(tile.resident));
  Type element = narrowType(contraction, contraction.a);
  DeviceKernel kernel;
  kernel.name = name.str();
  kernel.threads = threads;
  kernel.blocks = emit.countTiles(tile.rows(), tile.columns());
  kernel.operands = emit.body.operands;
  kernel.sharedBytes = tile.sharedBytes();

  auto [firstRow, firstColumn] = emit.locateTile(tile.rows(), tile.columns());
  TileOperand memory = emit.dynamicShared(element);
  FragmentMover a(emit, contraction.a.operands[0], contraction.m, firstRow,
                  tile.rows(), threads, memory, 0, tile.stageElements());
  FragmentMover b(emit, contraction.b.operands[0], contraction.n, firstColumn,
                  tile.columns(), threads, memory, tile.rows() * kDepth,
                  tile.stageElements());
  Value thread = emit.thread();
  Value lane = emit.rem(thread, 32), warp = emit.div(thread, 32);
  Value rowStart = emit.mul(emit.div(warp, tile.warpColumns), tile.rowsOfWarp);
  Value columnStart =
      emit.mul(emit.rem(warp, tile.warpColumns), tile.columnsOfWarp);

  int64_t slices = llvm::divideCeil(contraction.k.size(), kDepth);
  // A group per stage, empty or not, so that waiting counts right.
  auto fetch = [&](Value slice, Value stage) {
    Value first = emit.mul(slice, kDepth);
    a.fetch(first, stage);
    b.fetch(first, stage);
  };
  for (int64_t stage = 0; stage + 1 < tile.stages; ++stage) {
    if (stage < slices)
      fetch(emit.number(stage), emit.number(stage));
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  }

  int64_t rowBlocks = tile.rowsOfWarp / 16,
          columnBlocks = tile.columnsOfWarp / 8;
  Type sumType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(4, contraction.element));
  SmallVector<Value> start(rowBlocks * columnBlocks * 4,
                           emit.zero(contraction.element));
  // Behind the sums: the stage to multiply and the one to fill.
  start.push_back(emit.number(0));
  start.push_back(emit.number(tile.stages - 1));
  auto loop = scf::ForOp::create(builder, loc, emit.number(0),
                                 emit.number(slices), emit.number(1), start);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> sums(loop.getRegionIterArgs());
    Value filled = sums.pop_back_val(), current = sums.pop_back_val();
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, uint32_t(tile.stages - 2));
    emit.barrier();
    Value ahead = emit.add(loop.getInductionVar(), tile.stages - 1);
    emit.branch(emit.less(ahead, slices), [&] { fetch(ahead, filled); });
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
    for (int64_t term = 0; term < kDepth; term += 16) {
      SmallVector<SmallVector<Value>> rows, columns;
      for (int64_t i = 0; i < rowBlocks; ++i)
        rows.push_back(a.read(current, emit.add(rowStart, i * 16), term, true));
      for (int64_t j = 0; j < columnBlocks; j += 2)
        columns.push_back(
            b.read(current, emit.add(columnStart, j * 8), term, false));
      std::optional<std::array<NVVM::MMATypes, 2>> types;
      if (element.isBF16())
        types = {NVVM::MMATypes::bf16, NVVM::MMATypes::bf16};
      for (int64_t i = 0; i < rowBlocks; ++i)
        for (int64_t j = 0; j < columnBlocks; ++j) {
          ArrayRef<Value> column = columns[j / 2];
          auto sum =
              MutableArrayRef<Value>(sums).slice((i * columnBlocks + j) * 4, 4);
          Value product = NVVM::MmaOp::create(
              builder, loc, sumType, rows[i], column.slice(j % 2 * 2, 2), sum,
              {16, 8, 16}, std::nullopt, std::nullopt, types,
              std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                             NVVM::MMALayout::col});
          for (int64_t e = 0; e < 4; ++e)
            sum[e] = LLVM::ExtractValueOp::create(builder, loc, product, e);
        }
    }
    auto advance = [&](Value stage) {
      Value next = emit.add(stage, 1);
      return emit.select(emit.less(next, tile.stages), next, emit.number(0));
    };
    sums.push_back(advance(current));
    sums.push_back(advance(filled));
    scf::YieldOp::create(builder, loc, sums);
  }

  // Two rows and two columns of each 16 x 8 are this thread's.
  SmallVector<Value> rows, columns, sums;
  for (int64_t i = 0; i < rowBlocks * 2; ++i)
    rows.push_back(emit.add(emit.add(firstRow, rowStart),
                            emit.add(emit.div(lane, 4), i * 8)));
  Value pair = emit.mul(emit.rem(lane, 4), 2);
  for (int64_t j = 0; j < columnBlocks * 2; ++j)
    columns.push_back(emit.add(emit.add(firstColumn, columnStart),
                               emit.add(pair, j / 2 * 8 + j % 2)));
  for (int64_t i = 0; i < rowBlocks * 2; ++i)
    for (int64_t j = 0; j < columnBlocks * 2; ++j)
      sums.push_back(loop.getResult((i / 2 * columnBlocks + j / 2) * 4 +
                                    i % 2 * 2 + j % 2));
  emit.storeResult(rows, columns, 2, sums);
  return kernel;
}
