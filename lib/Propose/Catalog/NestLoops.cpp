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
        return CValue{r.result, computeElem(elem), acrossRows};
      }
    program.fail("a reduction is read before its pass");
    return CValue();
  };
}

/// Loops over the inner variables of a pass. Along the row the innermost one is
/// unrolled: `body` is called for each of the copies, and again for single
/// vectors and for the partial one, with the copy's number.
void NestEmitter::innerLoops(Writer &w, ArrayRef<unsigned> loops,
                             const std::vector<MergedVars> &merged, bool share,
                             unsigned copies,
                             llvm::function_ref<void(Scope &, unsigned)> body) {
  unsigned opened = 0;
  ArrayRef<unsigned> outer =
      acrossRows || loops.empty() ? loops : loops.drop_back();
  bool shared = false;
  for (unsigned var : outer) {
    const std::string &name = program.vars[var].name;
    std::string extent = num(program.vars[var].extent);
    // The threads share the outermost loop if they share a row at all.
    if (share && !shared) {
      w.open("for (long " + name + " = " + extent + " * tid / team; " + name +
             " < " + extent + " * (tid + 1) / team; ++" + name + ")");
      shared = true;
    } else {
      w.open("for (long " + name + " = 0; " + name + " < " + extent + "; ++" +
             name + ")");
    }
    ++opened;
  }
  if (acrossRows || loops.empty()) {
    Scope scope = scopeIn(w);
    scope.merged = merged;
    if (acrossRows) {
      scope.vectorVar = rows.back();
      if (program.vars[rows.back()].extent % program.lanes)
        scope.partial = "valid";
    }
    body(scope, 0);
  } else {
    unsigned var = loops.back();
    const std::string name = program.vars[var].name;
    int64_t extent = program.vars[var].extent;
    std::string lanes = num(program.lanes), begin = "0", end = num(extent);
    if (share && !shared) {
      int64_t units = (extent + program.lanes - 1) / program.lanes;
      w.line("const long begin = " + num(units) + " * tid / team * " + lanes +
             ";");
      w.line("const long limit = " + num(units) + " * (tid + 1) / team * " +
             lanes + ";");
      w.line("const long end = limit < " + end + " ? limit : " + end + ";");
      begin = "begin";
      end = "end";
    }
    w.line("long at = " + begin + ";");
    bool dynamic = begin != "0";
    if (copies > 1 && (dynamic || extent >= int64_t(copies) * program.lanes)) {
      w.open("for (; at + " + num(copies * program.lanes) + " <= " + end +
             "; at += " + num(copies * program.lanes) + ")");
      for (unsigned u = 0; u < copies; ++u) {
        w.line("{");
        ++w.indent;
        w.line("const long " + name + " = at + " + num(u * program.lanes) +
               ";");
        Scope scope = scopeIn(w);
        scope.vectorVar = var;
        scope.merged = merged;
        body(scope, u);
        w.close();
      }
      w.close();
    }
    if (dynamic || extent >= program.lanes) {
      w.open("for (; at + " + lanes + " <= " + end + "; at += " + lanes + ")");
      w.line("const long " + name + " = at;");
      Scope scope = scopeIn(w);
      scope.vectorVar = var;
      scope.merged = merged;
      body(scope, 0);
      w.close();
    }
    if (extent % program.lanes) {
      w.open("if (at < " + end + ")");
      w.line("const long " + name + " = at;");
      Scope scope = scopeIn(w);
      scope.vectorVar = var;
      scope.merged = merged;
      scope.partial = end + " - at";
      body(scope, 0);
      w.close();
    }
  }
  while (opened--)
    w.close();
}
