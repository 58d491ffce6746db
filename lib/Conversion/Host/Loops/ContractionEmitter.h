//===- ContractionEmitter.h - One packed contraction ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the three parts of the packed lowering share: what is matched
// (MatchContraction.cpp), how panels are packed (PackContraction.cpp) and the
// loops around them (LowerContraction.cpp, which has the whole picture).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_LOOPS_CONTRACTIONEMITTER_H
#define FASTK_LIB_CONVERSION_HOST_LOOPS_CONTRACTIONEMITTER_H

#include "LowerGeneric.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fastk {

/// Which way an operand lies in memory: address = base + sum of c_d * dim_d.
struct LinearAccess {
  mlir::OpOperand *operand = nullptr;
  /// Elements of the operand, as a 1-D buffer that begins at its base.
  mlir::Value flat;
  /// Strides of each loop dimension; 0 where it does not matter.
  mlir::SmallVector<int64_t> factors;
  int64_t constant = 0;
};

/// One factor of the product: what it reads and how the values become it.
struct Side {
  mlir::SmallVector<LinearAccess> accesses;
  mlir::SmallVector<mlir::Operation *> body;
  mlir::Value result;
  /// The dimensions that make up a row (or column) number, outermost first.
  mlir::SmallVector<unsigned> dims;
  /// Width of a panel.
  int64_t width = 0;
  /// For each access, the addresses of a panel's rows (or columns).
  mlir::SmallVector<mlir::Value> tables;
  /// For each access, where the depth of a block is in memory; null where equal
  /// steps lead through it.
  mlir::SmallVector<mlir::Value> depthTables;
};

/// Lowers one op, if match() takes it.
class ContractionEmitter {
public:
  ContractionEmitter(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op,
                     const LoopOptions &options)
      : rewriter(rewriter), op(op), options(options), loc(op.getLoc()) {}
  bool match();
  void emit();

private:
  bool matchBody();
  bool collectAccess(mlir::OpOperand *operand, LinearAccess &access);
  bool matchDims();
  void chooseWidths();
  bool readsRowsInPlace(int64_t lowest, int64_t highest);
  void flatten(LinearAccess &access);

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return rewriter.createOrFold<mlir::arith::AddIOp>(loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return rewriter.createOrFold<mlir::arith::MulIOp>(loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return rewriter.createOrFold<mlir::arith::SubIOp>(loc, a, b);
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return rewriter.createOrFold<mlir::arith::MinUIOp>(loc, a, b);
  }
  mlir::Value ceilDiv(mlir::Value a, int64_t b) {
    return rewriter.createOrFold<mlir::arith::DivUIOp>(
        loc, add(a, index(b - 1)), index(b));
  }
  /// A loop from `from` to `to`; `body` is emitted inside.
  void loop(mlir::Value from, mlir::Value to, int64_t step,
            llvm::function_ref<void(mlir::Value)> body) {
    auto forOp = mlir::scf::ForOp::create(rewriter, loc, from, to, index(step));
    disableUnrolling(forOp);
    mlir::OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(forOp.getBody());
    body(forOp.getInductionVar());
  }
  /// The blocking is the unrolling. LLVM would unroll the copies of a panel as
  /// well, and spend seconds on a convolution.
  void disableUnrolling(mlir::scf::ForOp forOp) {
    mlir::MLIRContext *context = rewriter.getContext();
    auto unroll = mlir::LLVM::LoopUnrollAttr::get(
        context, /*disable=*/rewriter.getBoolAttr(true), /*count=*/{},
        /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
        /*followupRemainder=*/{}, /*followupAll=*/{});
    forOp->setDiscardableAttr(
        "loop_annotation",
        mlir::LLVM::LoopAnnotationAttr::get(
            context, /*disableNonforced=*/{}, /*vectorize=*/{},
            /*interleave=*/{}, unroll, /*unrollAndJam=*/{}, /*licm=*/{},
            /*distribute=*/{}, /*pipeline=*/{}, /*peeled=*/{},
            /*unswitch=*/{}, /*mustProgress=*/{}, /*isVectorized=*/{},
            /*startLoc=*/{}, /*endLoc=*/{}, /*parallelAccesses=*/{}));
  }
  void branch(mlir::Value condition, llvm::function_ref<void()> yes,
              llvm::function_ref<void()> no) {
    auto ifOp = mlir::scf::IfOp::create(rewriter, loc, condition,
                                        /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(ifOp.thenBlock());
    yes();
    rewriter.setInsertionPointToStart(ifOp.elseBlock());
    no();
  }
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(rewriter, loc,
                                       mlir::arith::CmpIPredicate::ult, a, b);
  }
  /// Address part of the flattened index `number` over `dims`.
  mlir::Value offsetOf(const LinearAccess &access,
                       mlir::ArrayRef<unsigned> dims, mlir::Value number);
  /// True when consecutive numbers over `dims` are `factor` elements apart.
  bool isLinear(const LinearAccess &access, mlir::ArrayRef<unsigned> dims,
                int64_t &factor) const;
  mlir::Value batchOffset(const LinearAccess &access);
  /// Values of `side` from its loaded operands, scalars or vectors.
  mlir::Value compute(const Side &side, mlir::ArrayRef<mlir::Value> loaded,
                      int64_t lanes);
  void pack(const Side &side, mlir::Value buffer, mlir::Value first,
            mlir::Value count, mlir::Value depthFirst, mlir::Value depthCount);
  /// One panel that is packed, and what all panels of a block share.
  struct Panel {
    const Side &side;
    mlir::Value buffer, depthFirst, depthCount;
    /// Where the side's accesses begin in this batch.
    mlir::SmallVector<mlir::Value> bases = {};
    mlir::Value zero = {}, zeroElement = {};
    /// Its first row (or column), how many of its width there are, and its
    /// place in the buffer.
    mlir::Value number = {}, valid = {}, target = {};
  };
  void packByDepth(const Panel &panel);
  void packByVector(const Panel &panel, int64_t count, mlir::Value run);
  int64_t runOf(const Side &side) const;
  void packByRuns(const Panel &panel, int64_t count);
  mlir::Value loadSteps(const LinearAccess &access, mlir::Value offset,
                        int64_t step, int64_t count);
  void packByRow(const Panel &panel);
  void packByTranspose(const Panel &panel);
  void copyOne(const Panel &panel, mlir::ArrayRef<mlir::Value> offsets,
               mlir::Value target);
  /// For each access its address in `from`, moved by a number over `dims`.
  /// The same of the depth `k` of the block that the panel is of.
  mlir::SmallVector<mlir::Value>
  atDepth(const Panel &panel, mlir::ArrayRef<mlir::Value> from, mlir::Value k);
  mlir::SmallVector<mlir::Value> offsetsAt(const Side &side,
                                           mlir::ArrayRef<mlir::Value> from,
                                           mlir::ArrayRef<unsigned> dims,
                                           mlir::Value number);
  void emitTile(mlir::Value rowsFrom, mlir::Value rowsTo,
                mlir::Value columnsFrom, mlir::Value columnsTo);
  void emitKernel(mlir::Value aPanel, mlir::Value bPanel, mlir::Value depth,
                  mlir::Value row, mlir::Value column, mlir::Value rowsTo,
                  mlir::Value columnsTo);
  mlir::Value sizeOf(mlir::ArrayRef<unsigned> dims);
  mlir::Value countPieces(mlir::Value batches);
  int64_t staticSize(mlir::ArrayRef<unsigned> dims) const {
    int64_t product = 1;
    for (unsigned dim : dims) {
      if (mlir::ShapedType::isDynamic(sizes[dim]))
        return mlir::ShapedType::kDynamic;
      product *= sizes[dim];
    }
    return product;
  }
  int64_t bounded(mlir::ArrayRef<unsigned> dims, int64_t limit) const {
    int64_t size = staticSize(dims);
    return mlir::ShapedType::isDynamic(size) ? limit : std::min(size, limit);
  }

  mlir::RewriterBase &rewriter;
  mlir::linalg::GenericOp op;
  const LoopOptions &options;
  mlir::Location loc;
  mlir::SmallVector<int64_t> sizes;
  mlir::SmallVector<mlir::Value> sizeValues;
  Side u, v;
  LinearAccess c;
  mlir::SmallVector<unsigned> batch, depth;
  mlir::DenseMap<unsigned, mlir::Value> batchIvs;
  mlir::FloatType element;
  int64_t lanes = 0;
  mlir::Value aBuffer, bBuffer, tileBuffer;
  /// Rows are read where they are, and not packed.
  bool rowsAreInPlace = false;
  /// From row to row, and from depth to depth, in what the kernel reads.
  int64_t aRowStep = 1, aDepthStep = 1;
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_LOOPS_CONTRACTIONEMITTER_H
