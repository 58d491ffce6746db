//===- NestLoops.cpp - The loops of a pass over a row ---------------------===//
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

Scope NestEmitter::scopeIn(Writer &w) {
  Scope scope(program, w.out, w.indent);
  scope.roundsProducts = kernel.roundsProducts;
  return scope;
}

void NestEmitter::bindResults(Scope &scope, unsigned level) {
  scope.onOpaque = [this, level](Scope &, Value value, ArrayRef<Lin> index) {
    for (const RowReduction &r : reductions)
      if (r.use.value == value && r.use.index == SmallVector<Lin>(index) &&
          r.level < level) {
        Elem elem =
            *elemOf(cast<RankedTensorType>(value.getType()).getElementType());
        return CValue{r.result, computeElem(elem), false};
      }
    program.fail("a reduction is read before its pass");
    return CValue();
  };
}

/// Loops over the inner variables of a pass. Along the row the innermost one is
/// unrolled: `body` is called for each of the copies, and again for single
/// vectors and for the partial one, with the copy's number.
void NestEmitter::innerLoops(Writer &w, ArrayRef<unsigned> loops,
                             const std::vector<MergedVars> &merged,
                             unsigned copies,
                             llvm::function_ref<void(Scope &, unsigned)> body) {
  if (loops.empty()) {
    Scope scope = scopeIn(w);
    scope.merged = merged;
    body(scope, 0);
    return;
  }
  for (unsigned var : loops.drop_back()) {
    const std::string &name = program.vars[var].name;
    w.open("for (long " + name + " = 0; " + name + " < " +
           num(program.vars[var].extent) + "; ++" + name + ")");
  }
  unsigned var = loops.back();
  const std::string name = program.vars[var].name;
  int64_t extent = program.vars[var].extent;
  std::string lanes = num(program.lanes), end = num(extent);
  auto vectors = [&](unsigned u, const std::string &at,
                     const std::string &partial) {
    w.line("const long " + name + " = " + at + ";");
    Scope scope = scopeIn(w);
    scope.vectorVar = var;
    scope.merged = merged;
    scope.partial = partial;
    body(scope, u);
    w.close();
  };
  w.line("long at = 0;");
  if (copies > 1 && extent >= int64_t(copies) * program.lanes) {
    std::string step = num(copies * program.lanes);
    w.open("for (; at + " + step + " <= " + end + "; at += " + step + ")");
    for (unsigned u = 0; u < copies; ++u) {
      w.line("{");
      ++w.indent;
      vectors(u, "at + " + num(u * program.lanes), "");
    }
    w.close();
  }
  if (extent >= program.lanes) {
    w.open("for (; at + " + lanes + " <= " + end + "; at += " + lanes + ")");
    vectors(0, "at", "");
  }
  if (extent % program.lanes) {
    w.open("if (at < " + end + ")");
    vectors(0, "at", end + " - at");
  }
  for (size_t i = 1; i < loops.size(); ++i)
    w.close();
}
