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
//     for jc in columns step kColumns, for pc in depth step kDepth
//       pack v[pc.., jc..] into panels of nr columns
//       for ic in rows step mc
//         pack u[ic.., pc..] into panels of mr rows
//         for each panel of v, each panel of u
//           mr x nr accumulators += panel of u * panel of v
//
//===----------------------------------------------------------------------===//

#include "LowerGeneric.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fastk;

/// A panel of nr columns and this depth stays in the first cache (32 KB).
static constexpr int64_t kDepth = 256;
/// Rows packed at once: with kDepth half of a 512 KB second cache.
static constexpr int64_t kRows = 192;
/// Columns packed at once: with kDepth 2 MB of the last cache.
static constexpr int64_t kColumns = 2048;
/// So many batches are enough for any number of threads.
static constexpr int64_t kManyBatches = 512;

namespace {
/// Which way an operand lies in memory: address = base + sum of c_d * dim_d.
struct LinearAccess {
  OpOperand *operand = nullptr;
  /// Elements of the operand, as a 1-D buffer that begins at its base.
  Value flat;
  /// Strides of each loop dimension; 0 where it does not matter.
  SmallVector<int64_t> factors;
  int64_t constant = 0;
};

/// One factor of the product: what it reads and how the values become it.
struct Side {
  SmallVector<LinearAccess> accesses;
  SmallVector<Operation *> body;
  Value result;
  /// The dimensions that make up a row (or column) number, outermost first.
  SmallVector<unsigned> dims;
  /// Width of a panel.
  int64_t width = 0;
  /// For each access, the addresses of a panel's rows (or columns).
  SmallVector<Value> tables;
};

class ContractionEmitter {
public:
  ContractionEmitter(RewriterBase &rewriter, linalg::GenericOp op,
                     const LoopOptions &options)
      : rewriter(rewriter), op(op), options(options), loc(op.getLoc()) {}
  bool match();
  void emit();

private:
  bool matchBody();
  bool collectAccess(OpOperand *operand, LinearAccess &access);
  bool matchDims();
  void chooseWidths();
  void flatten(LinearAccess &access);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value add(Value a, Value b) {
    return rewriter.createOrFold<arith::AddIOp>(loc, a, b);
  }
  Value mul(Value a, Value b) {
    return rewriter.createOrFold<arith::MulIOp>(loc, a, b);
  }
  Value sub(Value a, Value b) {
    return rewriter.createOrFold<arith::SubIOp>(loc, a, b);
  }
  Value min(Value a, Value b) {
    return rewriter.createOrFold<arith::MinUIOp>(loc, a, b);
  }
  Value ceilDiv(Value a, int64_t b) {
    return rewriter.createOrFold<arith::DivUIOp>(loc, add(a, index(b - 1)),
                                                 index(b));
  }
  /// A loop from `from` to `to`; `body` is emitted inside.
  void loop(Value from, Value to, int64_t step,
            llvm::function_ref<void(Value)> body) {
    auto forOp = scf::ForOp::create(rewriter, loc, from, to, index(step));
    disableUnrolling(forOp);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(forOp.getBody());
    body(forOp.getInductionVar());
  }
  /// The blocking is the unrolling. LLVM would unroll the copies of a panel as
  /// well, and spend seconds on a convolution.
  void disableUnrolling(scf::ForOp forOp) {
    MLIRContext *context = rewriter.getContext();
    auto unroll = LLVM::LoopUnrollAttr::get(
        context, /*disable=*/rewriter.getBoolAttr(true), /*count=*/{},
        /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
        /*followupRemainder=*/{}, /*followupAll=*/{});
    forOp->setDiscardableAttr(
        "loop_annotation",
        LLVM::LoopAnnotationAttr::get(
            context, /*disableNonforced=*/{}, /*vectorize=*/{},
            /*interleave=*/{}, unroll, /*unrollAndJam=*/{}, /*licm=*/{},
            /*distribute=*/{}, /*pipeline=*/{}, /*peeled=*/{},
            /*unswitch=*/{}, /*mustProgress=*/{}, /*isVectorized=*/{},
            /*startLoc=*/{}, /*endLoc=*/{}, /*parallelAccesses=*/{}));
  }
  void branch(Value condition, llvm::function_ref<void()> yes,
              llvm::function_ref<void()> no) {
    auto ifOp = scf::IfOp::create(rewriter, loc, condition,
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(ifOp.thenBlock());
    yes();
    rewriter.setInsertionPointToStart(ifOp.elseBlock());
    no();
  }
  Value less(Value a, Value b) {
    return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, a,
                                 b);
  }
  /// Address part of the flattened index `number` over `dims`.
  Value offsetOf(const LinearAccess &access, ArrayRef<unsigned> dims,
                 Value number);
  /// True when consecutive numbers over `dims` are `factor` elements apart.
  bool isLinear(const LinearAccess &access, ArrayRef<unsigned> dims,
                int64_t &factor) const;
  Value batchOffset(const LinearAccess &access);
  /// Values of `side` from its loaded operands, scalars or vectors.
  Value compute(const Side &side, ArrayRef<Value> loaded, int64_t lanes);
  void pack(const Side &side, Value buffer, Value first, Value count,
            Value depthFirst, Value depthCount);
  void emitTile(Value rowsFrom, Value rowsTo, Value columnsFrom,
                Value columnsTo);
  void emitKernel(Value aPanel, Value bPanel, Value depth, Value row,
                  Value column, Value rowsTo, Value columnsTo);
  Value sizeOf(ArrayRef<unsigned> dims);
  Value countPieces(Value batches);
  int64_t staticSize(ArrayRef<unsigned> dims) const {
    int64_t product = 1;
    for (unsigned dim : dims) {
      if (ShapedType::isDynamic(sizes[dim]))
        return ShapedType::kDynamic;
      product *= sizes[dim];
    }
    return product;
  }
  int64_t bounded(ArrayRef<unsigned> dims, int64_t limit) const {
    int64_t size = staticSize(dims);
    return ShapedType::isDynamic(size) ? limit : std::min(size, limit);
  }

  RewriterBase &rewriter;
  linalg::GenericOp op;
  const LoopOptions &options;
  Location loc;
  SmallVector<int64_t> sizes;
  SmallVector<Value> sizeValues;
  Side u, v;
  LinearAccess c;
  SmallVector<unsigned> batch, depth;
  DenseMap<unsigned, Value> batchIvs;
  FloatType element;
  int64_t lanes = 0;
  Value aBuffer, bBuffer, tileBuffer;
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;
};
} // namespace

/// Adds the factors of the linear expression `expr`, times `scale`.
static bool addFactors(AffineExpr expr, int64_t scale,
                       SmallVectorImpl<int64_t> &factors, int64_t &constant) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    factors[dim.getPosition()] += scale;
    return true;
  }
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant += scale * number.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addFactors(binary.getLHS(), scale, factors, constant) &&
           addFactors(binary.getRHS(), scale, factors, constant);
  if (binary.getKind() == AffineExprKind::Mul)
    if (auto number = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      return addFactors(binary.getLHS(), scale * number.getValue(), factors,
                        constant);
  return false;
}

bool ContractionEmitter::collectAccess(OpOperand *operand,
                                       LinearAccess &access) {
  access.operand = operand;
  access.factors.assign(op.getNumLoops(), 0);
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  if (!type)
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  AffineMap map = op.getMatchingIndexingMap(operand);
  for (auto [expr, stride] : llvm::zip(map.getResults(), strides))
    if (ShapedType::isDynamic(stride) ||
        !addFactors(expr, stride, access.factors, access.constant))
      return false;
  return true;
}

/// The ops of the body that `value` is computed by, in order, and the arguments
/// they read. False when something other than element arithmetic is among them.
static bool collectSlice(Value value, Block *body,
                         llvm::SetVector<Operation *> &ops,
                         llvm::SetVector<BlockArgument> &arguments) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == body)
      arguments.insert(argument);
    return true;
  }
  Operation *producer = value.getDefiningOp();
  if (producer->getBlock() != body)
    return true;
  if (producer->getNumRegions() || producer->getNumResults() != 1 ||
      !OpTrait::hasElementwiseMappableTraits(producer))
    return producer->hasTrait<OpTrait::ConstantLike>() &&
           (ops.insert(producer), true);
  for (Value operand : producer->getOperands())
    if (!collectSlice(operand, body, ops, arguments))
      return false;
  ops.insert(producer);
  return true;
}

bool ContractionEmitter::matchBody() {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return false;
  Block *body = op.getBody();
  BlockArgument accumulator = op.getRegionOutputArgs()[0];
  element = dyn_cast<FloatType>(accumulator.getType());
  if (!element || !(element.isF32() || element.isF64()) ||
      !accumulator.hasOneUse())
    return false;
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  auto sum = yield.getValues()[0].getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value product = sum.getLhs() == accumulator   ? sum.getRhs()
                  : sum.getRhs() == accumulator ? sum.getLhs()
                                                : Value();
  auto times = product ? product.getDefiningOp<arith::MulFOp>() : nullptr;
  if (!times || !times->hasOneUse() || times->getBlock() != body)
    return false;
  auto collect = [&](Value value, Side &side) {
    llvm::SetVector<Operation *> ops;
    llvm::SetVector<BlockArgument> arguments;
    if (!collectSlice(value, body, ops, arguments))
      return false;
    side.result = value;
    side.body.assign(ops.begin(), ops.end());
    for (BlockArgument argument : arguments) {
      if (argument == accumulator)
        return false;
      LinearAccess access;
      OpOperand *operand = &op->getOpOperand(argument.getArgNumber());
      if (!collectAccess(operand, access))
        return false;
      side.accesses.push_back(access);
    }
    return !side.accesses.empty();
  };
  return collect(times.getLhs(), u) && collect(times.getRhs(), v) &&
         collectAccess(op.getDpsInitOperand(0), c);
}

bool ContractionEmitter::matchDims() {
  sizes = op.getStaticLoopRanges();
  auto iterators = op.getIteratorTypesArray();
  auto uses = [&](const Side &side, unsigned dim) {
    return llvm::any_of(side.accesses, [&](const LinearAccess &access) {
      return op.getMatchingIndexingMap(access.operand).isFunctionOfDim(dim);
    });
  };
  AffineMap cMap = op.getMatchingIndexingMap(c.operand);
  if (!cMap.isProjectedPermutation() || cMap.getNumResults() == 0)
    return false;
  unsigned last = cast<AffineDimExpr>(cMap.getResults().back()).getPosition();
  // The columns are what lies next to each other in the result.
  if (uses(u, last) && !uses(v, last))
    std::swap(u, v);
  if (uses(u, last) || !uses(v, last) || c.factors[last] != 1)
    return false;

  // Rows and columns, in the order of the result; of each the innermost group
  // that is one run of equal steps in the result. The others become batches.
  SmallVector<unsigned> rows, columns;
  for (AffineExpr expr : llvm::reverse(cMap.getResults())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    bool inU = uses(u, dim), inV = uses(v, dim);
    if (!inU && !inV)
      return false;
    SmallVector<unsigned> &group = inU ? rows : columns;
    bool joins =
        inU != inV &&
        (group.empty() ||
         (!ShapedType::isDynamic(sizes[group.back()]) &&
          c.factors[dim] == c.factors[group.back()] * sizes[group.back()]));
    if (joins)
      group.push_back(dim);
    else
      batch.push_back(dim);
  }
  std::reverse(rows.begin(), rows.end());
  std::reverse(columns.begin(), columns.end());
  std::reverse(batch.begin(), batch.end());
  u.dims = rows;
  v.dims = columns;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    if (iterators[dim] == utils::IteratorType::reduction)
      depth.push_back(dim);
    else if (!cMap.isFunctionOfDim(dim))
      return false;
  }
  // Only the outermost of several dimensions may be of unknown length: the
  // others are divided by.
  for (ArrayRef<unsigned> dims :
       {ArrayRef<unsigned>(rows), ArrayRef<unsigned>(columns),
        ArrayRef<unsigned>(depth)})
    for (unsigned dim : dims.drop_front(dims.empty() ? 0 : 1))
      if (ShapedType::isDynamic(sizes[dim]))
        return false;
  if (rows.empty() || columns.empty())
    return false;
  // Too little to reuse: packing would cost more than it saves.
  auto tooSmall = [&](ArrayRef<unsigned> dims, int64_t least) {
    int64_t size = staticSize(dims);
    return !ShapedType::isDynamic(size) && size < least;
  };
  return !tooSmall(rows, 4) && !tooSmall(columns, 8) && !tooSmall(depth, 4);
}

void ContractionEmitter::chooseWidths() {
  lanes = options.vectorBytes * 8 / element.getWidth();
  // 32 registers with AVX-512, 16 otherwise: two columns of vectors, and as
  // many rows as leave room for the operands. Of the heights that fit, the one
  // that wastes the fewest rows; the highest of equals.
  int64_t highest = options.vectorBytes >= 64 ? 14 : 6;
  int64_t lowest = options.vectorBytes >= 64 ? 8 : 4;
  int64_t columns = staticSize(v.dims), rows = staticSize(u.dims);
  v.width = 2 * lanes;
  if (!ShapedType::isDynamic(columns) && columns <= lanes)
    v.width = lanes;
  u.width = highest;
  if (ShapedType::isDynamic(rows))
    return;
  if (rows < highest) {
    u.width = rows;
    return;
  }
  double best = 0;
  for (int64_t height = highest; height >= lowest; --height) {
    int64_t padded = llvm::divideCeil(rows, height) * height;
    // A kernel of fewer rows loads more for each product.
    double quality = double(rows) / padded * (0.8 + 0.2 * height / highest);
    if (quality > best) {
      best = quality;
      u.width = height;
    }
  }
}

bool ContractionEmitter::match() {
  if (!op.hasPureBufferSemantics() || !matchBody() || !matchDims())
    return false;
  chooseWidths();
  return true;
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

/// Copies `count` rows (or columns) from `first` on and `depthCount` of the
/// depth into panels of side.width, depth by depth.
void ContractionEmitter::pack(const Side &side, Value buffer, Value first,
                              Value count, Value depthFirst, Value depthCount) {
  int64_t width = side.width;
  SmallVector<Value> bases;
  bool contiguous = width % lanes == 0, depthContiguous = true;
  for (const LinearAccess &access : side.accesses) {
    bases.push_back(batchOffset(access));
    int64_t factor;
    if (!isLinear(access, side.dims, factor) || (factor != 1 && factor != 0))
      contiguous = false;
    depthContiguous &= access.factors[depth.back()] == 1;
  }
  bool isI1 = llvm::any_of(side.accesses, [](const LinearAccess &access) {
    return getElementTypeOrSelf(access.operand->get().getType()).isInteger(1);
  });
  contiguous &= !isI1;
  Value zero = index(0);
  Value zeroElement = arith::ConstantOp::create(
      rewriter, loc, rewriter.getFloatAttr(element, 0.0));
  Value panelSize = mul(depthCount, index(width));

  auto copyOne = [&](ArrayRef<Value> offsets, Value target) {
    SmallVector<Value> loaded;
    for (auto [access, offset] : llvm::zip(side.accesses, offsets))
      loaded.push_back(
          memref::LoadOp::create(rewriter, loc, access.flat, offset));
    memref::StoreOp::create(rewriter, loc, compute(side, loaded, 1), buffer,
                            target);
  };
  auto offsetsAt = [&](ArrayRef<Value> from, ArrayRef<unsigned> dims,
                       Value number) {
    SmallVector<Value> result;
    for (auto [access, base] : llvm::zip(side.accesses, from))
      result.push_back(add(base, offsetOf(access, dims, number)));
    return result;
  };

  loop(zero, ceilDiv(count, width), 1, [&](Value panel) {
    Value start = mul(panel, index(width));
    Value valid = min(index(width), sub(count, start));
    Value target = mul(panel, panelSize);
    Value number = add(first, start);

    auto byDepth = [&]() {
      // One slice of the panel at a time: what is next to each other is read
      // together. The tables hold the address of each column.
      loop(zero, valid, 1, [&](Value i) {
        auto offsets = offsetsAt(bases, side.dims, add(number, i));
        for (auto [table, offset] : llvm::zip(side.tables, offsets))
          memref::StoreOp::create(rewriter, loc, offset, table, i);
      });
      auto gather = [&](Value depthNumber, Value to, Value from, Value until) {
        SmallVector<Value> zeros(side.accesses.size(), zero);
        auto depthOffsets = offsetsAt(zeros, depth, depthNumber);
        loop(from, until, 1, [&](Value i) {
          SmallVector<Value> offsets;
          for (auto [table, offset] : llvm::zip(side.tables, depthOffsets))
            offsets.push_back(
                add(memref::LoadOp::create(rewriter, loc, table, i), offset));
          copyOne(offsets, add(to, i));
        });
      };
      loop(zero, depthCount, 1, [&](Value k) {
        Value to = add(target, mul(k, index(width)));
        Value depthNumber = add(depthFirst, k);
        branch(
            less(valid, index(width)),
            [&]() {
              gather(depthNumber, to, zero, valid);
              loop(valid, index(width), 1, [&](Value i) {
                memref::StoreOp::create(rewriter, loc, zeroElement, buffer,
                                        add(to, i));
              });
            },
            [&]() { gather(depthNumber, to, zero, index(width)); });
      });
    };
    auto byVector = [&]() {
      auto rowBases = offsetsAt(bases, side.dims, number);
      loop(zero, depthCount, 1, [&](Value k) {
        auto offsets = offsetsAt(rowBases, depth, add(depthFirst, k));
        Value to = add(target, mul(k, index(width)));
        for (int64_t lane = 0; lane < width; lane += lanes) {
          SmallVector<Value> loaded;
          for (auto [access, offset] : llvm::zip(side.accesses, offsets)) {
            int64_t factor;
            isLinear(access, side.dims, factor);
            Type type = getElementTypeOrSelf(access.flat.getType());
            if (factor == 0)
              loaded.push_back(
                  memref::LoadOp::create(rewriter, loc, access.flat, offset));
            else
              loaded.push_back(vector::LoadOp::create(
                  rewriter, loc, VectorType::get({lanes}, type), access.flat,
                  add(offset, index(lane))));
          }
          vector::StoreOp::create(rewriter, loc, compute(side, loaded, lanes),
                                  buffer, add(to, index(lane)));
        }
      });
    };
    auto byRow = [&]() {
      // Along the depth, which is contiguous, with strided stores.
      loop(zero, valid, 1, [&](Value i) {
        auto rowBases = offsetsAt(bases, side.dims, add(number, i));
        Value to = add(target, i);
        loop(zero, depthCount, 1, [&](Value k) {
          copyOne(offsetsAt(rowBases, depth, add(depthFirst, k)),
                  add(to, mul(k, index(width))));
        });
      });
      loop(valid, index(width), 1, [&](Value i) {
        Value to = add(target, i);
        loop(zero, depthCount, 1, [&](Value k) {
          memref::StoreOp::create(rewriter, loc, zeroElement, buffer,
                                  add(to, mul(k, index(width))));
        });
      });
    };
    if (contiguous)
      branch(less(valid, index(width)), byDepth, byVector);
    else if (depthContiguous)
      byRow();
    else
      byDepth();
  });
}

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
    Value a = add(aPanel, mul(k, index(u.width)));
    Value b = add(bPanel, mul(k, index(v.width)));
    SmallVector<Value> columns;
    for (int64_t j = 0; j < vectors; ++j)
      columns.push_back(vector::LoadOp::create(rewriter, loc, type, bBuffer,
                                               add(b, index(j * lanes))));
    SmallVector<Value> sums;
    for (int64_t i = 0; i < u.width; ++i) {
      Value scalar =
          memref::LoadOp::create(rewriter, loc, aBuffer, add(a, index(i)));
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
            Value old = vector::LoadOp::create(rewriter, loc, type, c.flat, at);
            Value sum = arith::AddFOp::create(
                rewriter, loc, old, kernel.getResult(i * vectors + j));
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
            Value old = memref::LoadOp::create(rewriter, loc, c.flat, at);
            Value sum = memref::LoadOp::create(rewriter, loc, tileBuffer,
                                               add(mul(i, index(v.width)), j));
            sum = arith::AddFOp::create(rewriter, loc, old, sum);
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
  aBuffer = allocate(roundUp(blockRows, u.width) * blockDepth);
  bBuffer = allocate(roundUp(blockColumns, v.width) * blockDepth);
  tileBuffer = allocate(u.width * v.width);
  for (Side *side : {&u, &v}) {
    auto type = MemRefType::get({side->width}, rewriter.getIndexType());
    side->tables.clear();
    for (size_t i = 0; i < side->accesses.size(); ++i)
      side->tables.push_back(memref::AllocOp::create(rewriter, loc, type));
  }
  loop(columnsFrom, columnsTo, blockColumns, [&](Value jc) {
    Value columns = min(index(blockColumns), sub(columnsTo, jc));
    loop(index(0), depthSize, blockDepth, [&](Value pc) {
      Value deep = min(index(blockDepth), sub(depthSize, pc));
      pack(v, bBuffer, jc, columns, pc, deep);
      loop(rowsFrom, rowsTo, blockRows, [&](Value ic) {
        Value rows = min(index(blockRows), sub(rowsTo, ic));
        pack(u, aBuffer, ic, rows, pc, deep);
        loop(index(0), ceilDiv(columns, v.width), 1, [&](Value jr) {
          loop(index(0), ceilDiv(rows, u.width), 1, [&](Value ir) {
            emitKernel(mul(ir, mul(deep, index(u.width))),
                       mul(jr, mul(deep, index(v.width))), deep,
                       add(ic, mul(ir, index(u.width))),
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

  blockDepth = bounded(depth, kDepth);
  // Equal blocks instead of a small last one.
  int64_t staticDepth = staticSize(depth);
  if (!ShapedType::isDynamic(staticDepth))
    blockDepth =
        llvm::divideCeil(staticDepth, llvm::divideCeil(staticDepth, kDepth));
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
