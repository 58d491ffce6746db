//===- NestPasses.cpp - The passes over a row -----------------------------===//
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

/// For what a pass is not about: only where it loads and stores is asked.
static CValue zeroOf(Scope &, Value value, ArrayRef<Lin>) {
  auto type = cast<RankedTensorType>(value.getType());
  return {"0", computeElem(*elemOf(type.getElementType())), false};
}

void NestEmitter::emitReductionPass(Writer &w, unsigned level) {
  // Reductions over equal extents share their loops: the first one's variables
  // stand for those of the others.
  std::vector<RowReduction *> todo;
  for (RowReduction &r : reductions)
    if (r.level == level)
      todo.push_back(&r);
  while (!todo.empty()) {
    std::vector<RowReduction *> group, rest;
    auto extents = [&](const RowReduction &r) {
      SmallVector<int64_t> e;
      for (unsigned var : r.inner)
        e.push_back(program.vars[var].extent);
      return e;
    };
    for (RowReduction *r : todo)
      (extents(*r) == extents(*todo.front()) ? group : rest).push_back(r);
    todo = rest;
    for (RowReduction *r : group)
      for (Lin &loop : r->loops)
        for (size_t i = 0; i < r->inner.size(); ++i)
          if (int64_t c = loop.coefficient(r->inner[i]);
              c && r->inner[i] != group.front()->inner[i]) {
            loop.terms.erase(r->inner[i]);
            loop = loop + Lin::ofVar(group.front()->inner[i], c);
          }
    bool keeps = kept && keptLevel == level;
    auto emitBodies =
        [&](Scope &s, llvm::function_ref<void(RowReduction &, CValue)> use) {
          std::vector<std::pair<Lin, CValue>> stores;
          if (keeps)
            s.onComputed = [&](Value v, ArrayRef<Lin> index,
                               const CValue &value) {
              if (v == kept->value)
                stores.push_back({s.linear(v, index), value});
            };
          for (RowReduction *r : group)
            use(*r, s.reductionElement(r->reduction, r->loops));
          for (auto &[lin, value] : stores)
            s.store(keptBuffer, lin, value);
        };
    SmallVector<unsigned> loops;
    std::vector<MergedVars> merged = mergePass(
        group.front()->inner,
        [&](Scope &s) {
          s.onOpaque = zeroOf;
          emitBodies(s, [](RowReduction &, const CValue &) {});
        },
        loops);

    auto elemOfResult = [](const RowReduction &r) {
      return computeElem(*elemOf(
          cast<RankedTensorType>(r.use.value.getType()).getElementType()));
    };
    auto typeName = [&](Elem elem, bool vector) {
      if (elem == Elem::I1)
        return std::string(vector ? "vi32" : "int32_t");
      return vector ? std::string("v") + suffixOf(elem)
                    : std::string(cTypeOf(elem));
    };
    bool vector = !loops.empty();
    unsigned copies = loops.empty() ? 1 : unsigned(unroll);
    if (!loops.empty() &&
        program.vars[loops.back()].extent < int64_t(copies) * program.lanes)
      copies = std::max<int64_t>(1, program.vars[loops.back()].extent /
                                        program.lanes);
    for (RowReduction *r : group) {
      Scope s(program, w.out, w.indent);
      Elem elem = elemOfResult(*r);
      std::string type = typeName(elem, vector);
      std::string neutral = s.neutral(r->reduction.kind, elem);
      if (elem == Elem::I1 && vector && neutral == "1")
        neutral = "-1";
      for (unsigned u = 0; u < copies; ++u)
        w.line(type + " " + r->result + "_" + num(u) + " = (" + type + ")(" +
               neutral + ");");
    }
    w.line("{");
    ++w.indent;
    innerLoops(w, loops, merged, copies, [&](Scope &s, unsigned u) {
      bindResults(s, level);
      emitBodies(s, [&](RowReduction &r, CValue v) {
        Elem elem = elemOfResult(r);
        v = s.convert(v, elem);
        if (vector)
          v = s.splat(v);
        std::string acc = r.result + "_" + num(u);
        CValue sum = s.combine(r.reduction.kind, {acc, elem, vector}, v);
        if (s.partial.empty()) {
          s.line(acc + " = " + sum.text + ";");
          return;
        }
        // Lanes that are not there keep what they have.
        program.helper("iota");
        std::string mask = "(__builtin_convertvector(FK_IOTA, vi32) < (int)(" +
                           s.partial + "))";
        if (elem == Elem::F64 || elem == Elem::I64)
          mask = "(FK_IOTA < (int64_t)(" + s.partial + "))";
        s.line(acc + " = " + mask + " ? " + sum.text + " : " + acc + ";");
      });
    });
    w.close();
    for (RowReduction *r : group) {
      Scope s = scopeIn(w);
      Elem elem = elemOfResult(*r);
      bindResults(s, level);
      CValue sum{r->result + "_0", elem, vector};
      for (unsigned u = 1; u < copies; ++u)
        sum = s.combine(r->reduction.kind, sum,
                        {r->result + "_" + num(u), elem, vector});
      sum = s.horizontal(r->reduction.kind, sum);
      // The initial value takes part once.
      linalg::GenericOp op = r->reduction.op;
      AffineMap map =
          op.getIndexingMapsArray()[op.getNumDpsInputs() + r->reduction.result];
      SmallVector<Lin> index;
      for (AffineExpr expr : map.getResults())
        index.push_back(*evaluateAffine(expr, r->loops));
      CValue initial =
          s.convert(s.at(op.getDpsInits()[r->reduction.result], index), elem);
      CValue result = s.combine(r->reduction.kind, initial, sum);
      w.line("const " + typeName(elem, false) + " " + r->result + " = " +
             result.text + ";");
      w.line("(void)" + r->result + ";");
    }
  }
}

void NestEmitter::emitRootPass(Writer &w) {
  if (kept)
    program.buffers[kept->value.getAsOpaquePointer()] = keptBuffer;
  auto body = [&](Scope &s) {
    s.store(destination, s.linear(root, rootIndex), s.at(root, rootIndex));
  };
  SmallVector<unsigned> loops;
  std::vector<MergedVars> merged = mergePass(
      inner,
      [&](Scope &s) {
        s.onOpaque = zeroOf;
        s.at(root, rootIndex);
        s.load(destination, s.linear(root, rootIndex));
      },
      loops);
  w.line("{");
  ++w.indent;
  innerLoops(w, loops, merged, 1, [&](Scope &s, unsigned) {
    bindResults(s, ~0u);
    body(s);
  });
  w.close();
  if (kept)
    program.buffers.erase(kept->value.getAsOpaquePointer());
}
