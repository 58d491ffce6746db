//===- NestPlan.cpp - What the passes over a row compute ------------------===//
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

/// Level of a value: the number of passes that must be done before it.
unsigned NestEmitter::visitWith(llvm::function_ref<void(Scope &)> body) {
  Discovery found = kernel.discoverWith(body);
  if (!found.failure.empty()) {
    program.fail(found.failure);
    return 0;
  }
  unsigned level = 0;
  for (const Use &use : found.uses) {
    if (!program.failure.empty())
      return 0;
    auto known = llvm::find_if(reductions, [&](const RowReduction &r) {
      return r.use.value == use.value && r.use.index == use.index;
    });
    if (known != reductions.end()) {
      level = std::max(level, known->level + 1);
      continue;
    }
    auto reduction = matchReduction(use.value);
    auto loops = reduction
                     ? loopsAt(reduction->op, reduction->result, use.index)
                     : std::nullopt;
    if (!loops) {
      program.fail("a value that is neither elementwise nor a known reduction");
      return 0;
    }
    if (reductions.size() > 32) {
      program.fail("too many reductions in one nest");
      return 0;
    }
    RowReduction row;
    row.use = use;
    row.reduction = *reduction;
    SmallVector<int64_t> ranges = reduction->op.getStaticLoopRanges();
    for (unsigned d : reduction->reductionDims) {
      if (ranges[d] == 1) {
        (*loops)[d] = Lin(0);
        continue;
      }
      unsigned var = program.newVar(program.fresh("r"), ranges[d]);
      row.inner.push_back(var);
      (*loops)[d] = Lin::ofVar(var);
    }
    row.loops = *loops;
    // A product that another reduction reads would be computed once for each of
    // that one's results.
    auto product = matchContraction(use.value);
    if (depth > 0 && product && product->isMatrix()) {
      program.fail("a product inside of another reduction");
      return 0;
    }
    ++depth;
    row.level =
        visitWith([&](Scope &s) { s.reductionElement(*reduction, *loops); });
    // Its initial value may depend on others too.
    row.level = std::max(
        row.level, visitWith([&](Scope &s) {
          AffineMap map =
              reduction->op
                  .getIndexingMapsArray()[reduction->op.getNumDpsInputs() +
                                          reduction->result];
          SmallVector<Lin> index;
          for (AffineExpr expr : map.getResults())
            index.push_back(*evaluateAffine(expr, *loops));
          s.at(reduction->op.getDpsInits()[reduction->result], index);
        }));
    --depth;
    auto elem =
        elemOf(cast<RankedTensorType>(use.value.getType()).getElementType());
    if (!elem || *elem == Elem::I8 || *elem == Elem::I16) {
      program.fail("a reduction of an element type the catalog does not know");
      return 0;
    }
    row.result = program.fresh("acc");
    reductions.push_back(row);
    level = std::max(level, row.level + 1);
  }
  return level;
}

bool NestEmitter::collect() {
  levels = visitWith([&](Scope &s) { s.at(root, rootIndex); });
  return program.failure.empty();
}

std::vector<MergedVars>
NestEmitter::mergePass(ArrayRef<unsigned> vars,
                       llvm::function_ref<void(Scope &)> body,
                       SmallVector<unsigned> &loops) {
  // Longest suffix that merges into one.
  for (size_t first = 0; first + 1 < vars.size(); ++first) {
    int64_t extent = 1;
    for (unsigned var : vars.drop_front(first))
      extent *= program.vars[var].extent;
    size_t before = program.vars.size();
    unsigned merged = program.newVar(program.fresh("x"), extent);
    std::vector<MergedVars> attempt = {
        {SmallVector<unsigned>(vars.drop_front(first)), merged}};
    if (kernel.discoverWith(body, attempt).failure.empty()) {
      loops.assign(vars.begin(), vars.begin() + first);
      loops.push_back(merged);
      return attempt;
    }
    program.vars.resize(before);
  }
  loops.assign(vars.begin(), vars.end());
  return {};
}

void NestEmitter::chooseKept(int64_t innerCount) {
  // An expensive elementwise value that a reduction computes and the last pass
  // needs again is kept in the result itself.
  if (reductions.empty() || !kernel.parameter("keep", 1, 0, 1))
    return;
  if (innerCount > 1 && destination.elem == Elem::F32) {
    Discovery last =
        kernel.discoverWith([&](Scope &s) { s.at(root, rootIndex); });
    // The farthest value along the chain that both passes compute.
    for (const Use &wanted : last.expensive) {
      auto type = cast<RankedTensorType>(wanted.value.getType());
      auto elem = elemOf(type.getElementType());
      if (!elem || *elem != Elem::F32 ||
          type.getNumElements() !=
              cast<RankedTensorType>(root.getType()).getNumElements())
        continue;
      // It must lie where the result lies.
      std::string nothing;
      Scope probe(program, nothing, 0);
      if (!(probe.linear(wanted.value, wanted.index) ==
            probe.linear(root, rootIndex)))
        continue;
      for (const RowReduction &r : reductions) {
        Discovery early = kernel.discoverWith(
            [&](Scope &s) { s.reductionElement(r.reduction, r.loops); });
        for (const Use &made : early.expensive) {
          if (made.value != wanted.value || kept)
            continue;
          // All of the row, each element once: the same index with the
          // variables of the reduction in place of those of the root.
          bool same = r.inner.size() == inner.size();
          for (size_t i = 0; same && i < inner.size(); ++i)
            same = program.vars[r.inner[i]].extent ==
                   program.vars[inner[i]].extent;
          if (!same)
            continue;
          SmallVector<Lin> renamed(wanted.index);
          for (Lin &lin : renamed)
            for (size_t i = 0; i < inner.size(); ++i)
              if (int64_t c = lin.coefficient(inner[i])) {
                lin.terms.erase(inner[i]);
                lin = lin + Lin::ofVar(r.inner[i], c);
              }
          if (renamed != made.index)
            continue;
          kept = wanted;
          keptLevel = r.level;
        }
      }
    }
    if (kept)
      keptBuffer = destination;
  }
}
