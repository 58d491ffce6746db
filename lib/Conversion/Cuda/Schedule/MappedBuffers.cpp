//===- MappedBuffers.cpp - Memory of blocks and of threads ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedKernelBuilder.h"
#include "SharedWork.h"

using namespace mlir;
using namespace fastk;

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
