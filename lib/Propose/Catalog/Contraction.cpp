//===- Contraction.cpp - Matrix products ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is written by a family for the host, together with the elementwise
// ops around it: what makes the operands happens while they are packed, what
// follows on a tile that is still in the first-level cache. Here everything
// else that it reads is put into buffers.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

bool KernelEmitter::emitContraction(Value root, const Buffer &destination,
                                    ArrayRef<Lin> rootIndex, const Use &use,
                                    const Contraction &c) {
  linalg::GenericOp op = c.reduction.op;
  auto loops = loopsAt(op, c.reduction.result, use.index);
  if (!loops)
    return program.fail("a contraction with an unusual output map");
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned d : c.k)
    (*loops)[d] = Lin::ofVar(program.newVar(program.fresh("k"), ranges[d]));
  Value initial = op.getDpsInits()[c.reduction.result];
  AffineMap initialMap =
      op.getIndexingMapsArray()[op.getNumDpsInputs() + c.reduction.result];
  SmallVector<Lin> initialIndex;
  for (AffineExpr expr : initialMap.getResults())
    initialIndex.push_back(*evaluateAffine(expr, *loops));

  // What the operands and the rest of the root read: anything that no
  // expression computes is written out first, and of operands what is expensive
  // to compute several times.
  auto operands = [&](Scope &s) {
    s.bodyAt(op, c.lhs, *loops);
    s.bodyAt(op, c.rhs, *loops);
  };
  auto rest = [&](Scope &s) {
    s.at(initial, initialIndex);
    s.bound[use.value.getAsOpaquePointer()] = {"0", Elem::F32, false};
    s.at(root, rootIndex);
  };
  for (bool isOperands : {true, false})
    for (bool changed = true; changed;) {
      Discovery found =
          isOperands ? discoverWith(operands) : discoverWith(rest);
      if (!found.failure.empty())
        return program.fail(found.failure);
      if (isOperands)
        for (Use &expensive : found.expensive)
          found.uses.push_back(expensive);
      if (!materializeUses(found, [](const Use &) { return false; }, changed))
        return false;
    }
  return emitByFamily("contraction", root, destination);
}
