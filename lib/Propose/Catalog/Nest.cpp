//===- Nest.cpp - The rows of a nest --------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nest.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

bool NestEmitter::runInside(Writer &w, unsigned along) {
  if (!collect())
    return false;
  for (const RowReduction &r : reductions)
    for (const Lin &i : r.use.index)
      if (i.coefficient(along))
        return program.fail("a reduction of rows varies along the row");
  inner.push_back(along);
  unroll = kernel.parameter("unroll", 4, 1, 8);
  chooseKept(program.vars[along].extent);
  for (unsigned level = 0; level < levels; ++level)
    emitReductionPass(w, level);
  emitRootPass(w);
  return program.failure.empty();
}

bool KernelEmitter::emitRow(Writer &w, Value root, const Buffer &destination,
                            ArrayRef<Lin> rootIndex, unsigned along) {
  return NestEmitter(*this, root, destination, rootIndex).runInside(w, along);
}
