//===- AttentionStage.cpp - Two products with a softmax between -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of values with weights that are made of rows of another product may
// be attention, which a family writes as one stage. What queries, keys, values
// and scores read, and no expression computes, is put into buffers before; the
// rows between the products are not. Whether it is attention says the core.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

SmallVector<Lin> KernelEmitter::placeLoopsAnywhere(const Reduction &reduction) {
  linalg::GenericOp op = reduction.op;
  return llvm::map_to_vector(op.getStaticLoopRanges(),
                             [&](int64_t extent) { return placeLoop(extent); });
}

Discovery KernelEmitter::discoverElement(const Reduction &reduction,
                                         Value element, ArrayRef<Lin> index) {
  auto discoverAt = [&](ArrayRef<Lin> loops) {
    return discoverWith(
        [&](Scope &scope) { scope.bodyAt(reduction.op, element, loops); });
  };
  if (auto loops = placeLoops(reduction, index))
    if (Discovery found = discoverAt(*loops); found.failure.empty())
      return found;
  // An index into dimensions that reshapes merge is not linear in their parts;
  // what an element is made of is the same everywhere.
  return discoverAt(placeLoopsAnywhere(reduction));
}

std::optional<Use> KernelEmitter::findScores(std::vector<Use> uses,
                                             std::vector<Use> &others) {
  std::optional<Use> scores;
  // Only what is less its maximum is looked into any further: what else has
  // rows before a product is no attention.
  bool hasMaximum = false;
  std::set<void *> seen;
  while (!uses.empty()) {
    Use use = uses.back();
    uses.pop_back();
    if (!seen.insert(use.value.getAsOpaquePointer()).second)
      continue;
    if (matchContraction(use.value)) {
      if (scores)
        return std::nullopt;
      scores = use;
      continue;
    }
    std::optional<Reduction> rows = matchReduction(use.value);
    if (!rows) {
      others.push_back(use);
      continue;
    }
    hasMaximum |= isFloatMaximum(rows->kind);
    Discovery below = discoverElement(*rows, rows->element, use.index);
    if (!below.failure.empty())
      return std::nullopt;
    uses.insert(uses.end(), below.uses.begin(), below.uses.end());
  }
  return hasMaximum ? scores : std::nullopt;
}

bool KernelEmitter::emitAttention(Value root, const Buffer &destination,
                                  ArrayRef<Lin> rootIndex, const Use &use,
                                  const Contraction &values) {
  for (bool changed = true; changed;) {
    Discovery before;
    std::optional<Use> scores;
    for (bool isLeft : {true, false}) {
      Discovery weights = discoverElement(
          values.reduction, isLeft ? values.lhs : values.rhs, use.index);
      before.uses.clear();
      if (weights.failure.empty())
        scores = findScores(weights.uses, before.uses);
      if (!scores)
        continue;
      appendUses(discoverElement(values.reduction,
                                 isLeft ? values.rhs : values.lhs, use.index),
                 before.uses);
      break;
    }
    if (!scores)
      return program.fail("its weights are not made of one product");
    if (parameters.count("fuse") && parameters["fuse"] == 0) {
      used["fuse"] = 0;
      return program.fail("the products are not to be fused");
    }
    Contraction keys = *matchContraction(scores->value);
    for (Value factor : {keys.lhs, keys.rhs})
      appendUses(discoverElement(keys.reduction, factor, scores->index),
                 before.uses);
    // Of the rest of the root the sum of the weights is a part of it, too.
    Discovery rest = discoverWith([&](Scope &scope) {
      scope.bound[use.value.getAsOpaquePointer()] = {"0", Elem::F32, false};
      scope.at(root, rootIndex);
    });
    for (const Use &other : rest.uses) {
      std::vector<Use> alsoRead;
      std::optional<Use> same = findScores({other}, alsoRead);
      if (same && same->value == scores->value)
        before.uses.insert(before.uses.end(), alsoRead.begin(), alsoRead.end());
      else
        before.uses.push_back(other);
    }
    if (!materializeUses(before, [](const Use &) { return false; }, changed))
      return false;
  }
  if (!emitByFamily({"attention"}, root, destination))
    return false;
  used["fuse"] = 1;
  return true;
}
