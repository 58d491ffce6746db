//===- PackContraction.cpp - Operands copied into panels ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionEmitter.h"

using namespace mlir;
using namespace fastk;

/// Vectors of bits are packed, and elements in memory have bytes of their own.
static bool fillsBytes(const LinearAccess &access) {
  Type type = getElementTypeOrSelf(access.operand->get().getType());
  return !type.isIntOrFloat() || type.getIntOrFloatBitWidth() % 8 == 0;
}

/// The buffer as one row of elements, so that an address is one number.
void ContractionEmitter::flatten(LinearAccess &access) {
  Value source = access.operand->get();
  auto type = cast<MemRefType>(source.getType());
  auto metadata =
      memref::ExtractStridedMetadataOp::create(rewriter, loc, source);
  auto flatType = MemRefType::get(
      {ShapedType::kDynamic}, type.getElementType(),
      StridedLayoutAttr::get(rewriter.getContext(), ShapedType::kDynamic, {1}),
      type.getMemorySpace());
  // The length only bounds what is never asked: all addresses are in range.
  access.flat = memref::ReinterpretCastOp::create(
      rewriter, loc, flatType, metadata.getBaseBuffer(),
      OpFoldResult(metadata.getOffset()),
      ArrayRef<OpFoldResult>{OpFoldResult(index(int64_t(1) << 40))},
      ArrayRef<OpFoldResult>{OpFoldResult(rewriter.getIndexAttr(1))});
}

bool ContractionEmitter::isLinear(const LinearAccess &access,
                                  ArrayRef<unsigned> dims,
                                  int64_t &factor) const {
  factor = access.factors[dims.back()];
  int64_t expected = factor;
  for (unsigned i = dims.size(); i-- > 0;) {
    if (access.factors[dims[i]] != expected)
      return false;
    if (i > 0)
      expected *= sizes[dims[i]];
  }
  return true;
}

Value ContractionEmitter::offsetOf(const LinearAccess &access,
                                   ArrayRef<unsigned> dims, Value number) {
  int64_t factor;
  if (dims.empty())
    return index(0);
  if (isLinear(access, dims, factor))
    return mul(number, index(factor));
  Value offset = index(0);
  for (unsigned i = dims.size(); i-- > 0;) {
    Value digit = number;
    if (i > 0) {
      Value size = index(sizes[dims[i]]);
      digit = arith::RemUIOp::create(rewriter, loc, number, size);
      number = arith::DivUIOp::create(rewriter, loc, number, size);
    }
    if (access.factors[dims[i]])
      offset = add(offset, mul(digit, index(access.factors[dims[i]])));
  }
  return offset;
}

Value ContractionEmitter::batchOffset(const LinearAccess &access) {
  Value offset = index(access.constant);
  for (unsigned dim : batch)
    if (access.factors[dim])
      offset = add(offset, mul(batchIvs[dim], index(access.factors[dim])));
  return offset;
}

Value ContractionEmitter::compute(const Side &side, ArrayRef<Value> loaded,
                                  int64_t width) {
  IRMapping mapping;
  for (auto [access, value] : llvm::zip(side.accesses, loaded))
    mapping.map(op.getMatchingBlockArgument(access.operand), value);
  auto widen = [&](Value value) -> Value {
    if (width == 1 || isa<VectorType>(value.getType()))
      return value;
    return vector::BroadcastOp::create(
        rewriter, loc, VectorType::get({width}, value.getType()), value);
  };
  for (Operation *inner : side.body) {
    if (inner->hasTrait<OpTrait::ConstantLike>()) {
      mapping.map(inner->getResult(0), rewriter.clone(*inner)->getResult(0));
      continue;
    }
    OperationState state(loc, inner->getName());
    for (Value operand : inner->getOperands())
      state.addOperands(widen(mapping.lookupOrDefault(operand)));
    Type type = inner->getResult(0).getType();
    state.addTypes(width == 1 ? type : VectorType::get({width}, type));
    state.addAttributes(inner->getAttrs());
    mapping.map(inner->getResult(0), rewriter.create(state)->getResult(0));
  }
  return widen(mapping.lookupOrDefault(side.result));
}

/// Makes columns of rows: as many vectors as each has elements, a power of two.
/// Each step swaps the off-diagonal blocks of twice the size of the last.
static void transpose(OpBuilder &builder, Location loc,
                      MutableArrayRef<Value> rows) {
  auto lanes = static_cast<int64_t>(rows.size());
  for (int64_t step = 1; step < lanes; step *= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t j = 0; j < lanes; ++j) {
      upper.push_back(j & step ? lanes + j - step : j);
      lower.push_back(j & step ? lanes + j : j + step);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & step)
        continue;
      Value a = rows[i], b = rows[i + step];
      rows[i] = vector::ShuffleOp::create(builder, loc, a, b, upper);
      rows[i + step] = vector::ShuffleOp::create(builder, loc, a, b, lower);
    }
  }
}

SmallVector<Value> ContractionEmitter::offsetsAt(const Side &side,
                                                 ArrayRef<Value> from,
                                                 ArrayRef<unsigned> dims,
                                                 Value number) {
  SmallVector<Value> result;
  for (auto [access, base] : llvm::zip(side.accesses, from))
    result.push_back(add(base, offsetOf(access, dims, number)));
  return result;
}

SmallVector<Value> ContractionEmitter::atDepth(const Panel &panel,
                                               ArrayRef<Value> from, Value k) {
  SmallVector<Value> result;
  for (auto [access, table, base] :
       llvm::zip(panel.side.accesses, panel.side.depthTables, from)) {
    Value offset =
        table ? memref::LoadOp::create(rewriter, loc, table, k).getResult()
              : offsetOf(access, depth, add(panel.depthFirst, k));
    result.push_back(add(base, offset));
  }
  return result;
}

/// Computes one element at these addresses and stores it.
void ContractionEmitter::copyOne(const Panel &panel, ArrayRef<Value> offsets,
                                 Value target) {
  SmallVector<Value> loaded;
  for (auto [access, offset] : llvm::zip(panel.side.accesses, offsets))
    loaded.push_back(
        memref::LoadOp::create(rewriter, loc, access.flat, offset));
  memref::StoreOp::create(rewriter, loc, compute(panel.side, loaded, 1),
                          panel.buffer, target);
}

/// One slice of the panel at a time: what is next to each other is read
/// together. The tables hold the address of each column.
void ContractionEmitter::packByDepth(const Panel &panel) {
  loop(panel.zero, panel.valid, 1, [&](Value i) {
    auto offsets = offsetsAt(panel.side, panel.bases, panel.side.dims,
                             add(panel.number, i));
    for (auto [table, offset] : llvm::zip(panel.side.tables, offsets))
      memref::StoreOp::create(rewriter, loc, offset, table, i);
  });
  auto gather = [&](Value k, Value to, Value from, Value until) {
    SmallVector<Value> zeros(panel.side.accesses.size(), panel.zero);
    auto depthOffsets = atDepth(panel, zeros, k);
    loop(from, until, 1, [&](Value i) {
      SmallVector<Value> offsets;
      for (auto [table, offset] : llvm::zip(panel.side.tables, depthOffsets))
        offsets.push_back(
            add(memref::LoadOp::create(rewriter, loc, table, i), offset));
      copyOne(panel, offsets, add(to, i));
    });
  };
  loop(panel.zero, panel.depthCount, 1, [&](Value k) {
    Value to = add(panel.target, mul(k, index(panel.side.width)));
    branch(
        less(panel.valid, index(panel.side.width)),
        [&]() {
          gather(k, to, panel.zero, panel.valid);
          loop(panel.valid, index(panel.side.width), 1, [&](Value i) {
            memref::StoreOp::create(rewriter, loc, panel.zeroElement,
                                    panel.buffer, add(to, i));
          });
        },
        [&]() { gather(k, to, panel.zero, index(panel.side.width)); });
  });
}

/// A vector of `count` elements from `offset` on, each `step` behind the one
/// before: 0 or a power of two. Reads none beyond the last.
Value ContractionEmitter::loadSteps(const LinearAccess &access, Value offset,
                                    int64_t step, int64_t count) {
  Type element = getElementTypeOrSelf(access.flat.getType());
  if (step == 0)
    return memref::LoadOp::create(rewriter, loc, access.flat, offset);
  if (step == 1)
    return vector::LoadOp::create(
        rewriter, loc, VectorType::get({count}, element), access.flat, offset);
  Value low = loadSteps(access, offset, step / 2, count);
  Value high = loadSteps(access, add(offset, index((count - 1) * (step / 2))),
                         step / 2, count);
  SmallVector<int64_t> everySecond;
  for (int64_t lane = 0; lane < count; ++lane)
    everySecond.push_back(2 * lane < count ? 2 * lane : 2 * lane + 1);
  return vector::ShuffleOp::create(rewriter, loc, low, high, everySecond);
}

/// Vectors of `count` columns. Those of a vector are equal steps apart; or,
/// with a `run`, up to where one of so many columns ends, and from there on as
/// well.
void ContractionEmitter::packByVector(const Panel &panel, int64_t count,
                                      Value run) {
  struct Group {
    SmallVector<Value> low, high;
    Value isLow;
  };
  SmallVector<Group> groups;
  const Side &side = panel.side;
  int64_t width = side.width;
  auto maskType = VectorType::get({count}, rewriter.getI1Type());
  for (int64_t lane = 0; lane < width; lane += count) {
    Group &group = groups.emplace_back();
    Value number = add(panel.number, index(lane));
    group.low = offsetsAt(side, panel.bases, side.dims, number);
    if (!run)
      continue;
    // What comes behind the end of a run lies higher, so that nothing is read
    // that is below the first column or above the last.
    group.high =
        offsetsAt(side, panel.bases, side.dims, add(number, index(count - 1)));
    for (auto [access, high] : llvm::zip(side.accesses, group.high))
      high = sub(high, index((count - 1) * access.factors[side.dims.back()]));
    Value left =
        sub(run, rewriter.createOrFold<arith::RemUIOp>(loc, number, run));
    group.isLow = vector::CreateMaskOp::create(rewriter, loc, maskType,
                                               min(left, index(count)));
  }
  SmallVector<Value> zeros(side.accesses.size(), panel.zero);
  loop(panel.zero, panel.depthCount, 1, [&](Value k) {
    SmallVector<Value> depthOffsets = atDepth(panel, zeros, k);
    Value target = add(panel.target, mul(k, index(width)));
    for (const auto &[number, group] : llvm::enumerate(groups)) {
      SmallVector<Value> loaded;
      for (size_t i = 0; i < side.accesses.size(); ++i) {
        const LinearAccess &access = side.accesses[i];
        int64_t step = access.factors[side.dims.back()];
        Value value =
            loadSteps(access, add(group.low[i], depthOffsets[i]), step, count);
        if (run && step != 0)
          value = arith::SelectOp::create(
              rewriter, loc, group.isLow, value,
              loadSteps(access, add(group.high[i], depthOffsets[i]), step,
                        count));
        loaded.push_back(value);
      }
      vector::StoreOp::create(rewriter, loc, compute(side, loaded, count),
                              panel.buffer, add(target, index(number * count)));
    }
  });
}

/// How many columns are one run of equal steps, such as pixels of a row of an
/// image, or two, which lie behind each other: as many as a vector has lanes,
/// or half of them. 0: neither.
int64_t ContractionEmitter::runOf(const Side &side) const {
  if (side.width % lanes != 0 || side.dims.size() < 2)
    return 0;
  for (const LinearAccess &access : side.accesses) {
    int64_t step = access.factors[side.dims.back()];
    if (!fillsBytes(access) ||
        (step != 0 && !(step <= 4 && llvm::isPowerOf2_64(step))))
      return 0;
    for (size_t i = 1; i < side.dims.size(); ++i) {
      unsigned outer = side.dims[i - 1], inner = side.dims[i];
      // Where nothing is read by the columns of a run, anything goes.
      if (step == 0
              ? access.factors[outer] != 0
              : access.factors[outer] < access.factors[inner] * sizes[inner])
        return 0;
    }
  }
  for (int64_t count : {lanes, lanes / 2})
    if (count >= 2 && sizes[side.dims.back()] >= count - 1)
      return count;
  return 0;
}

/// Columns of which so many are one run, or two.
void ContractionEmitter::packByRuns(const Panel &panel, int64_t count) {
  int64_t width = panel.side.width;
  Value run = index(sizes[panel.side.dims.back()]);
  Value areWhole;
  for (int64_t lane = 0; lane < width; lane += count) {
    Value begin = arith::RemUIOp::create(rewriter, loc,
                                         add(panel.number, index(lane)), run);
    Value isWhole =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ule,
                              add(begin, index(count)), run);
    areWhole = lane == 0
                   ? isWhole
                   : arith::AndIOp::create(rewriter, loc, areWhole, isWhole)
                         .getResult();
  }
  branch(
      less(panel.valid, index(width)), [&]() { packByDepth(panel); },
      [&]() {
        branch(
            areWhole, [&]() { packByVector(panel, count, /*run=*/{}); },
            [&]() { packByVector(panel, count, run); });
      });
}

/// Along the depth, which is contiguous, with strided stores.
void ContractionEmitter::packByRow(const Panel &panel) {
  loop(panel.zero, panel.valid, 1, [&](Value i) {
    auto rowBases = offsetsAt(panel.side, panel.bases, panel.side.dims,
                              add(panel.number, i));
    Value to = add(panel.target, i);
    loop(panel.zero, panel.depthCount, 1, [&](Value k) {
      copyOne(panel, atDepth(panel, rowBases, k),
              add(to, mul(k, index(panel.side.width))));
    });
  });
  loop(panel.valid, index(panel.side.width), 1, [&](Value i) {
    Value to = add(panel.target, i);
    loop(panel.zero, panel.depthCount, 1, [&](Value k) {
      memref::StoreOp::create(rewriter, loc, panel.zeroElement, panel.buffer,
                              add(to, mul(k, index(panel.side.width))));
    });
  });
}

/// As by row, a square of lanes at a time.
void ContractionEmitter::packByTranspose(const Panel &panel) {
  Value whole = mul(rewriter.createOrFold<arith::DivUIOp>(loc, panel.depthCount,
                                                          index(lanes)),
                    index(lanes));
  for (int64_t group = 0; group < panel.side.width; group += lanes) {
    SmallVector<SmallVector<Value>> rowBases;
    for (int64_t i = 0; i < lanes; ++i)
      rowBases.push_back(offsetsAt(panel.side, panel.bases, panel.side.dims,
                                   add(panel.number, index(group + i))));
    Value to = add(panel.target, index(group));
    loop(panel.zero, whole, lanes, [&](Value k) {
      SmallVector<Value> rows;
      for (ArrayRef<Value> rowBase : rowBases) {
        SmallVector<Value> loaded;
        auto offsets =
            offsetsAt(panel.side, rowBase, depth, add(panel.depthFirst, k));
        for (auto [access, offset] : llvm::zip(panel.side.accesses, offsets)) {
          Type type = getElementTypeOrSelf(access.flat.getType());
          loaded.push_back(vector::LoadOp::create(
              rewriter, loc, VectorType::get({lanes}, type), access.flat,
              offset));
        }
        rows.push_back(compute(panel.side, loaded, lanes));
      }
      transpose(rewriter, loc, rows);
      for (auto [j, row] : llvm::enumerate(rows))
        vector::StoreOp::create(
            rewriter, loc, row, panel.buffer,
            add(to, mul(add(k, index(j)), index(panel.side.width))));
    });
    loop(whole, panel.depthCount, 1, [&](Value k) {
      for (int64_t i = 0; i < lanes; ++i)
        copyOne(
            panel,
            offsetsAt(panel.side, rowBases[i], depth, add(panel.depthFirst, k)),
            add(add(to, mul(k, index(panel.side.width))), index(i)));
    });
  }
}

/// Copies `count` rows (or columns) from `first` on and `depthCount` of the
/// depth into panels of side.width, depth by depth.
void ContractionEmitter::pack(const Side &side, Value buffer, Value first,
                              Value count, Value depthFirst, Value depthCount) {
  int64_t width = side.width;
  Panel panel{side, buffer, depthFirst, depthCount};
  bool contiguous = width % lanes == 0, depthContiguous = true;
  // Vectors along the depth may be turned in registers.
  bool depthLinear = width % lanes == 0 && llvm::isPowerOf2_64(lanes);
  for (const LinearAccess &access : side.accesses) {
    panel.bases.push_back(batchOffset(access));
    int64_t factor;
    if (!isLinear(access, side.dims, factor) || (factor != 1 && factor != 0))
      contiguous = false;
    depthContiguous &= access.factors[depth.back()] == 1;
    depthLinear &= isLinear(access, depth, factor) && factor == 1;
  }
  bool haveVectors = llvm::all_of(side.accesses, fillsBytes);
  contiguous &= haveVectors;
  depthLinear &= haveVectors;
  panel.zero = index(0);
  panel.zeroElement = arith::ConstantOp::create(
      rewriter, loc, rewriter.getFloatAttr(element, 0.0));
  Value panelSize = mul(depthCount, index(width));
  for (size_t i = 0; i < side.accesses.size(); ++i)
    if (Value table = side.depthTables[i])
      loop(panel.zero, depthCount, 1, [&](Value k) {
        Value at = offsetOf(side.accesses[i], depth, add(depthFirst, k));
        memref::StoreOp::create(rewriter, loc, at, table, k);
      });

  loop(panel.zero, ceilDiv(count, width), 1, [&](Value panelNumber) {
    Value start = mul(panelNumber, index(width));
    panel.valid = min(index(width), sub(count, start));
    panel.target = mul(panelNumber, panelSize);
    panel.number = add(first, start);
    auto byDepth = [&] { packByDepth(panel); };
    auto byVector = [&] { packByVector(panel, lanes, /*run=*/{}); };
    auto byRow = [&] { packByRow(panel); };
    auto byTranspose = [&] { packByTranspose(panel); };
    if (contiguous)
      branch(less(panel.valid, index(width)), byDepth, byVector);
    else if (depthContiguous && depthLinear)
      branch(less(panel.valid, index(width)), byRow, byTranspose);
    else if (int64_t run = runOf(side))
      packByRuns(panel, run);
    else if (depthContiguous)
      byRow();
    else
      byDepth();
  });
}
