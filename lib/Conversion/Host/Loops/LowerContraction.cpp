//===- LowerContraction.cpp - Sums of products to packed loop nests -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classic blocking for caches (Goto and van de Geijn, 2008) on any linalg
// op that sums products u * v: each parallel dimension that only u has is a
// row, one that only v has a column, the reductions are the depth. Blocks of u
// and v are copied into panels as the kernel reads them, zero-padded, so that
// the kernel itself knows neither strides nor windows nor remainders:
//
//   for each batch
//     for jc in columns step kColumns, for pc in depth step kPackedDepth
//       pack v[pc.., jc..] into panels of nr columns
//       for ic in rows step mc
//         pack u[ic.., pc..] into panels of mr rows
//         for each panel of v, each panel of u
//           mr x nr accumulators += panel of u * panel of v
//
//===----------------------------------------------------------------------===//

#include "ContractionEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace fastk;

/// Rows packed at once: with kPackedDepth half of a 512 KB second cache.
static constexpr int64_t kRows = 192;
/// Columns packed at once: with kPackedDepth 2 MB of the last cache.
static constexpr int64_t kColumns = 2048;
/// So many batches are enough for any number of threads.
static constexpr int64_t kManyBatches = 512;

void ContractionEmitter::emitKernel(Value aPanel, Value bPanel, Value depthSize,
                                    Value row, Value column, Value rowsTo,
                                    Value columnsTo) {
  int64_t vectors = v.width / lanes;
  auto type = VectorType::get({lanes}, element);
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type));
  SmallVector<Value> init(u.width * vectors, zero);
  auto kernel =
      scf::ForOp::create(rewriter, loc, index(0), depthSize, index(1), init);
  disableUnrolling(kernel);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(kernel.getBody());
    Value k = kernel.getInductionVar();
    Value a = add(aPanel, mul(k, index(aDepthStep)));
    Value b = add(bPanel, mul(k, index(v.width)));
    SmallVector<Value> columns;
    for (int64_t j = 0; j < vectors; ++j)
      columns.push_back(vector::LoadOp::create(rewriter, loc, type, bBuffer,
                                               add(b, index(j * lanes))));
    SmallVector<Value> sums;
    for (int64_t i = 0; i < u.width; ++i) {
      Value scalar = memref::LoadOp::create(rewriter, loc, aBuffer,
                                            add(a, index(i * aRowStep)));
      Value wide = vector::BroadcastOp::create(rewriter, loc, type, scalar);
      for (int64_t j = 0; j < vectors; ++j)
        sums.push_back(
            vector::FMAOp::create(rewriter, loc, wide, columns[j],
                                  kernel.getRegionIterArg(i * vectors + j)));
    }
    scf::YieldOp::create(rewriter, loc, sums);
  }

  int64_t rowFactor, columnFactor;
  isLinear(c, u.dims, rowFactor);
  isLinear(c, v.dims, columnFactor);
  Value base = add(batchOffset(c), add(mul(row, index(rowFactor)), column));
  bool fromZero = op->hasAttr(kFromZeroAttr);
  Value rows = min(index(u.width), sub(rowsTo, row));
  Value columns = min(index(v.width), sub(columnsTo, column));
  Value whole = arith::AndIOp::create(
      rewriter, loc,
      arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, rows,
                            index(u.width)),
      arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, columns,
                            index(v.width)));
  branch(
      whole,
      [&]() {
        for (int64_t i = 0; i < u.width; ++i)
          for (int64_t j = 0; j < vectors; ++j) {
            Value at = add(base, index(i * rowFactor + j * lanes));
            Value sum = kernel.getResult(i * vectors + j);
            if (!fromZero) {
              Value old =
                  vector::LoadOp::create(rewriter, loc, type, c.flat, at);
              sum = arith::AddFOp::create(rewriter, loc, old, sum);
            }
            vector::StoreOp::create(rewriter, loc, sum, c.flat, at);
          }
      },
      [&]() {
        // At the edge: through a buffer, element by element.
        for (int64_t i = 0; i < u.width; ++i)
          for (int64_t j = 0; j < vectors; ++j)
            vector::StoreOp::create(rewriter, loc,
                                    kernel.getResult(i * vectors + j),
                                    tileBuffer, index(i * v.width + j * lanes));
        loop(index(0), rows, 1, [&](Value i) {
          loop(index(0), columns, 1, [&](Value j) {
            Value at = add(add(base, mul(i, index(rowFactor))), j);
            Value sum = memref::LoadOp::create(rewriter, loc, tileBuffer,
                                               add(mul(i, index(v.width)), j));
            if (!fromZero) {
              Value old = memref::LoadOp::create(rewriter, loc, c.flat, at);
              sum = arith::AddFOp::create(rewriter, loc, old, sum);
            }
            memref::StoreOp::create(rewriter, loc, sum, c.flat, at);
          });
        });
      });
}

Value ContractionEmitter::sizeOf(ArrayRef<unsigned> dims) {
  Value product = index(1);
  for (unsigned dim : dims)
    product = mul(product, sizeValues[dim]);
  return product;
}

/// All of the depth for the given rows and columns of one batch.
void ContractionEmitter::emitTile(Value rowsFrom, Value rowsTo,
                                  Value columnsFrom, Value columnsTo) {
  Value depthSize = sizeOf(depth);
  // Where the panels live: allocated per thread, planned later.
  auto allocate = [&](int64_t count) -> Value {
    return memref::AllocOp::create(rewriter, loc,
                                   MemRefType::get({count}, element));
  };
  auto roundUp = [](int64_t value, int64_t unit) {
    return static_cast<int64_t>(llvm::divideCeil(value, unit)) * unit;
  };
  if (rowsAreInPlace) {
    aBuffer = u.accesses.front().flat;
  } else {
    aBuffer = allocate(roundUp(blockRows, u.width) * blockDepth);
    aDepthStep = u.width;
  }
  bBuffer = allocate(roundUp(blockColumns, v.width) * blockDepth);
  tileBuffer = allocate(u.width * v.width);
  for (Side *side : {&u, &v}) {
    auto type = MemRefType::get({side->width}, rewriter.getIndexType());
    auto depthType = MemRefType::get({blockDepth}, rewriter.getIndexType());
    side->tables.clear();
    side->depthTables.clear();
    for (const LinearAccess &access : side->accesses) {
      int64_t step;
      side->tables.push_back(memref::AllocOp::create(rewriter, loc, type));
      side->depthTables.push_back(
          isLinear(access, depth, step)
              ? Value()
              : memref::AllocOp::create(rewriter, loc, depthType).getResult());
    }
  }
  loop(columnsFrom, columnsTo, blockColumns, [&](Value jc) {
    Value columns = min(index(blockColumns), sub(columnsTo, jc));
    loop(index(0), depthSize, blockDepth, [&](Value pc) {
      Value deep = min(index(blockDepth), sub(depthSize, pc));
      pack(v, bBuffer, jc, columns, pc, deep);
      loop(rowsFrom, rowsTo, blockRows, [&](Value ic) {
        Value rows = min(index(blockRows), sub(rowsTo, ic));
        if (!rowsAreInPlace)
          pack(u, aBuffer, ic, rows, pc, deep);
        loop(index(0), ceilDiv(columns, v.width), 1, [&](Value jr) {
          loop(index(0), ceilDiv(rows, u.width), 1, [&](Value ir) {
            Value row = add(ic, mul(ir, index(u.width)));
            Value a = mul(ir, mul(deep, index(u.width)));
            if (rowsAreInPlace)
              a = add(
                  batchOffset(u.accesses.front()),
                  add(mul(row, index(aRowStep)), mul(pc, index(aDepthStep))));
            emitKernel(a, mul(jr, mul(deep, index(v.width))), deep, row,
                       add(jc, mul(jr, index(v.width))), rowsTo, columnsTo);
          });
        });
      });
    });
  });
}

/// Into how many pieces the rows or columns of one batch are cut: as many as
/// there are threads, for each piece packs the other operand for itself; one
/// when the batches are enough for them all. Known when the kernel runs.
Value ContractionEmitter::countPieces(Value batches) {
  if (!options.hasThreads)
    return index(1);
  auto module = op->getParentOfType<ModuleOp>();
  static constexpr StringLiteral name = "omp_get_max_threads";
  if (!module.lookupSymbol(name)) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    func::FuncOp::create(builder, loc, name,
                         builder.getFunctionType({}, builder.getI32Type()))
        .setPrivate();
  }
  Value threads = func::CallOp::create(rewriter, loc, name,
                                       TypeRange(rewriter.getI32Type()))
                      .getResult(0);
  threads = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(),
                                         threads);
  Value enough = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge,
                                       batches, mul(threads, index(2)));
  return arith::SelectOp::create(rewriter, loc, enough, index(1), threads);
}

void ContractionEmitter::emit() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  for (Range range : cast<linalg::LinalgOp>(op.getOperation())
                         .createLoopRanges(rewriter, loc))
    sizeValues.push_back(
        getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
  for (Side *side : {&u, &v})
    for (LinearAccess &access : side->accesses)
      flatten(access);
  flatten(c);

  blockDepth = bounded(depth, kPackedDepth);
  // Equal blocks instead of a small last one.
  int64_t staticDepth = staticSize(depth);
  if (!ShapedType::isDynamic(staticDepth))
    blockDepth = llvm::divideCeil(staticDepth,
                                  llvm::divideCeil(staticDepth, kPackedDepth));
  blockRows = kRows / u.width * u.width;
  blockRows = std::max(u.width, bounded(u.dims, blockRows));
  blockRows = llvm::divideCeil(blockRows, u.width) * u.width;
  blockColumns = bounded(v.dims, kColumns / v.width * v.width);
  blockColumns = llvm::divideCeil(blockColumns, v.width) * v.width;

  Value rows = sizeOf(u.dims), columns = sizeOf(v.dims);
  bool nested = op->getParentOfType<scf::ParallelOp>() ||
                op->getParentOfType<scf::ForallOp>();
  int64_t batches = staticSize(batch);
  bool split =
      !nested && (ShapedType::isDynamic(batches) || batches < kManyBatches);
  // The larger side is cut, in whole panels.
  int64_t staticRows = staticSize(u.dims), staticColumns = staticSize(v.dims);
  bool splitRows =
      ShapedType::isDynamic(staticRows) ||
      (!ShapedType::isDynamic(staticColumns) && staticRows >= staticColumns);

  SmallVector<Value> lowers, uppers, steps;
  for (unsigned dim : batch) {
    lowers.push_back(index(0));
    uppers.push_back(sizeValues[dim]);
    steps.push_back(index(1));
  }
  Value piece;
  if (split) {
    int64_t width = splitRows ? u.width : v.width;
    Value panels = ceilDiv(splitRows ? rows : columns, width);
    piece = mul(rewriter.createOrFold<arith::CeilDivUIOp>(
                    loc, panels, countPieces(sizeOf(batch))),
                index(width));
    lowers.push_back(index(0));
    uppers.push_back(splitRows ? rows : columns);
    steps.push_back(piece);
  }
  auto body = [&](ValueRange ivs) {
    for (auto [i, dim] : llvm::enumerate(batch))
      batchIvs[dim] = ivs[i];
    Value zero = index(0);
    if (!split)
      return emitTile(zero, rows, zero, columns);
    Value from = ivs.back(), to = add(from, piece);
    if (splitRows)
      emitTile(from, min(to, rows), zero, columns);
    else
      emitTile(zero, rows, from, min(to, columns));
  };
  if (lowers.empty()) {
    body({});
  } else if (nested) {
    scf::LoopNest nest =
        scf::buildLoopNest(rewriter, loc, lowers, uppers, steps,
                           [&](OpBuilder &, Location, ValueRange) {});
    SmallVector<Value> ivs;
    for (scf::ForOp forOp : nest.loops)
      ivs.push_back(forOp.getInductionVar());
    rewriter.setInsertionPointToStart(nest.loops.back().getBody());
    body(ivs);
  } else {
    auto parallel =
        scf::ParallelOp::create(rewriter, loc, lowers, uppers, steps);
    int64_t work = 1;
    for (int64_t size : sizes)
      work = ShapedType::isDynamic(size) || work > (int64_t(1) << 40)
                 ? kManyBatches << 32
                 : work * size;
    parallel->setAttr(kWorkAttr, rewriter.getI64IntegerAttr(work));
    rewriter.setInsertionPointToStart(parallel.getBody());
    body(parallel.getInductionVars());
  }
  rewriter.eraseOp(op);
}

bool fastk::lowerContraction(RewriterBase &rewriter, linalg::GenericOp op,
                             const LoopOptions &options) {
  ContractionEmitter emitter(rewriter, op, options);
  if (!emitter.match())
    return false;
  emitter.emit();
  return true;
}
