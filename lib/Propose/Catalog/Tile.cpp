//===- Tile.cpp - A tile of sums in registers -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What both products of attention are made of: a kernel that keeps a few rows
// times a few vectors of the result in registers, and copies of what it reads
// in the order in which it does.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

static std::string num(int64_t n) { return std::to_string(n); }

std::string KernelEmitter::microKernel(unsigned rows, unsigned vectors,
                                       int64_t rowStride) {
  std::string name = program.fresh("fk_tile");
  int64_t w = program.lanes;
  Writer t(program.functions, 0);
  t.line("/* c[i][j] (+)= sum over k of a(i, k) * b(k, j): " + num(rows) +
         " rows, " + num(vectors) + " vectors. */");
  t.open("static __attribute__((noinline)) void " + name +
         "(long count, const float *restrict a, const float *restrict b, long "
         "ldb, float *restrict c, long ldc, int first)");
  std::string names;
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < vectors; ++j)
      names += (names.empty() ? "" : ", ") + ("c" + num(i)) + "_" + num(j);
  t.line("vf32 " + names + ";");
  auto each = [&](auto &&text) {
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned j = 0; j < vectors; ++j)
        t.line(text(i, j));
  };
  auto acc = [&](unsigned i, unsigned j) {
    return "c" + num(i) + "_" + num(j);
  };
  auto place = [&](unsigned i, unsigned j) {
    return "*(vf32u *)(c + " + num(i) + " * ldc + " + num(j * w) + ")";
  };
  t.open("if (first)");
  each([&](unsigned i, unsigned j) { return acc(i, j) + " = (vf32)0.0f;"; });
  t.close();
  t.open("else");
  each([&](unsigned i, unsigned j) {
    return acc(i, j) + " = " + place(i, j) + ";";
  });
  t.close();
  t.open("for (long k = 0; k < count; ++k)");
  for (unsigned j = 0; j < vectors; ++j)
    t.line("const vf32 b" + num(j) + " = *(const vf32u *)(b + " + num(j * w) +
           ");");
  for (unsigned i = 0; i < rows; ++i) {
    t.line("const vf32 a" + num(i) + " = (vf32)a[" + num(i * rowStride) + "];");
    for (unsigned j = 0; j < vectors; ++j)
      t.line(acc(i, j) + " += a" + num(i) + " * b" + num(j) + ";");
  }
  t.line("++a;");
  t.line("b += ldb;");
  t.close();
  each([&](unsigned i, unsigned j) {
    return place(i, j) + " = " + acc(i, j) + ";";
  });
  t.close();
  program.functions += "\n";
  return name;
}

void KernelEmitter::packBlock(Writer &w, const std::string &dst, int64_t ldy,
                              unsigned xVar, const std::string &xBase,
                              const std::string &xCount,
                              const std::string &xLimit, unsigned yVar,
                              const std::string &yBase,
                              const std::string &yCount, bool transpose,
                              llvm::function_ref<CValue(Scope &)> element) {
  const std::string x = program.vars[xVar].name, y = program.vars[yVar].name;
  std::string lanes = num(program.lanes);
  if (!transpose) {
    w.open("for (long y = 0; y < " + yCount + "; ++y)");
    w.line("const long " + y + " = " + yBase + " + y;");
    w.line("(void)" + y + ";");
    vectorLoop(w, "x", xCount, xVar, xBase, [&](Scope &scope) {
      CValue v = scope.splat(scope.convert(element(scope), Elem::F32));
      scope.line("*(vf32u *)(" + dst + " + y * " + num(ldy) +
                 " + x) = " + v.text + ";");
    });
    w.close();
    return;
  }
  program.helper("transpose");
  w.open("for (long x0 = 0; x0 < " + xCount + "; x0 += " + lanes + ")");
  w.line("long y = 0;");
  for (bool partial : {false, true}) {
    w.open(partial ? "if (y < " + yCount + ")"
                   : "for (; y + " + lanes + " <= " + yCount +
                         "; y += " + lanes + ")");
    w.line("const long " + y + " = " + yBase + " + y;");
    w.line("(void)" + y + ";");
    w.line("vf32 r[" + lanes + "];");
    // Rows past the end repeat the last one: their results are never used.
    w.open("for (int i = 0; i < " + lanes + "; ++i)");
    w.line("const long last = " + xLimit + " - 1;");
    w.line("const long wanted = " + xBase + " + x0 + i;");
    w.line("const long " + x + " = wanted < last ? wanted : last;");
    w.line("(void)" + x + ";");
    Scope scope(program, w.out, w.indent);
    scope.vectorVar = yVar;
    if (partial)
      scope.partial = yCount + " - y";
    CValue v = scope.splat(scope.convert(element(scope), Elem::F32));
    scope.line("r[i] = " + v.text + ";");
    w.close();
    w.line("fk_transpose(r);");
    w.line("for (int j = 0; j < " +
           (partial ? std::string("(int)(") + yCount + " - y)" : lanes) +
           "; ++j) *(vf32u *)(" + dst + " + (y + j) * " + num(ldy) +
           " + x0) = r[j];");
    w.close();
  }
  w.close();
}
