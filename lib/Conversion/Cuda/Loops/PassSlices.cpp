//===- PassSlices.cpp - Calls that read slices where they are -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/MemrefPlace.h"
#include "RepeatLoops.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fastk;

static Value bufferOf(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (!isa<ViewLikeOpInterface>(op))
      break;
    memref = op->getOperand(0);
  }
  return memref;
}

/// Whether `op` leaves the buffer as it is.
static bool leaves(Operation *op, Value buffer) {
  if (isMemoryEffectFree(op) || isa<memref::AllocOp>(op))
    return true;
  // Allocations, arguments and globals share no memory.
  auto areOthers = [&](ValueRange written) {
    return llvm::none_of(
        written, [&](Value memref) { return bufferOf(memref) == buffer; });
  };
  if (auto call = dyn_cast<CallOp>(op))
    return areOthers(call.getInits());
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return areOthers(copy.getTarget());
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return areOthers(structured.getDpsInits());
  return false;
}

/// Whether what reads the copy can read what it was copied from.
static bool isNeedless(memref::CopyOp copy) {
  auto alloc = copy.getTarget().getDefiningOp<memref::AllocOp>();
  if (!alloc || alloc->getBlock() != copy->getBlock() ||
      !isContiguous(cast<MemRefType>(copy.getSource().getType())))
    return false;
  Operation *last = copy;
  for (OpOperand &use : alloc->getUses()) {
    Operation *user = use.getOwner();
    if (user == copy && use.get() == copy.getTarget())
      continue;
    auto call = dyn_cast<CallOp>(user);
    if (!call || call->getBlock() != copy->getBlock() ||
        !copy->isBeforeInBlock(call) ||
        llvm::is_contained(call.getInits(), alloc.getResult()))
      return false;
    if (last->isBeforeInBlock(call))
      last = call;
  }
  std::optional<MemrefPlace> place = findPlace(copy.getSource());
  if (!place || place->bytes.divisor() % kOperandAlignment != 0)
    return false;
  if (Operation *definition = place->buffer.getDefiningOp())
    if (!isa<memref::AllocOp, memref::GetGlobalOp>(definition))
      return false;
  for (Operation *op = copy->getNextNode(); op != last->getNextNode();
       op = op->getNextNode())
    if (!leaves(op, place->buffer))
      return false;
  return true;
}

void fastk::passSlices(func::FuncOp func) {
  SmallVector<memref::CopyOp> copies;
  func.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies) {
    if (!isNeedless(copy))
      continue;
    auto alloc = copy.getTarget().getDefiningOp<memref::AllocOp>();
    Value source = copy.getSource();
    copy.erase();
    alloc.replaceAllUsesWith(source);
    alloc.erase();
  }
}
