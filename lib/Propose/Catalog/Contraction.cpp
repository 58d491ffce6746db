//===- Contraction.cpp - Products and convolutions ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product, or one that moves over windows, is written by a family for the
// host, together with the elementwise ops around it: what makes the operands
// happens while they are packed, what follows on a tile that is still in the
// first-level cache. Here everything else that it reads is put into buffers,
// but for the zeros around what windows move over, of which families know.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The tensor that zeros are around or, as of transposed convolutions, between
/// whose elements they are; nothing: there are none.
static Value withoutZeros(Value value) {
  if (auto pad = value.getDefiningOp<tensor::PadOp>()) {
    Value around = pad.getConstantPaddingValue();
    return around && matchPattern(around, m_AnyZeroFloat()) ? pad.getSource()
                                                            : Value();
  }
  auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
  auto fill =
      insert ? insert.getDest().getDefiningOp<linalg::FillOp>() : nullptr;
  return fill && matchPattern(fill.value(), m_AnyZeroFloat())
             ? insert.getSource()
             : Value();
}

bool KernelEmitter::lookIntoPads(Discovery &discovery) {
  std::vector<Use> uses;
  for (Use &use : discovery.uses) {
    Value source = withoutZeros(stripReshapes(use.value));
    auto type =
        source ? cast<RankedTensorType>(source.getType()) : RankedTensorType();
    if (!type || type.getNumElements() == 0) {
      uses.push_back(use);
      continue;
    }
    SmallVector<Lin> index;
    for (int64_t extent : type.getShape())
      index.push_back(Lin::ofVar(program.newVar(program.fresh("p"), extent)));
    Discovery inside = discover(source, index);
    if (!inside.failure.empty())
      return program.fail(inside.failure);
    appendUses(inside, uses);
  }
  discovery.uses = std::move(uses);
  return true;
}

bool KernelEmitter::emitContraction(Value root, const Buffer &destination,
                                    ArrayRef<Lin> rootIndex, const Use &use,
                                    const Contraction &c, bool keepsPads) {
  if (keepsPads && !c.windowed)
    return false;
  linalg::GenericOp op = c.reduction.op;
  auto loops = placeLoops(c.reduction, use.index);
  if (!loops)
    return program.fail("a contraction with an unusual output map");
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
      if (isOperands) {
        llvm::append_range(found.uses, found.expensive);
        if (keepsPads && !lookIntoPads(found))
          return false;
      }
      if (!materializeUses(found, [](const Use &) { return false; }, changed))
        return false;
    }
  // A window of one element is a product, and other products may read what
  // convolutions do not: windows that run backwards.
  if (c.windowed)
    return emitByFamily({"convolution", "contraction"}, root, destination);
  return emitByFamily({"contraction"}, root, destination);
}
