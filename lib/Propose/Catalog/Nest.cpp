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
using llvm::Twine;

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

bool NestEmitter::run() {
  if (!collect())
    return false;
  // Variables of the root that a reduction depends on are rows. Where two
  // reductions disagree, all of either are: some work is done twice, never
  // wrong.
  std::set<unsigned> rowSet;
  for (const RowReduction &r : reductions)
    for (const Lin &i : r.use.index)
      for (auto [var, c] : i.terms)
        rowSet.insert(var);
  for (const RowReduction &r : reductions)
    for (unsigned var : r.inner)
      rowSet.erase(var);
  for (const Lin &i : rootIndex)
    if (!i.terms.empty()) {
      unsigned var = i.terms.begin()->first;
      if (reductions.empty() || !rowSet.count(var))
        inner.push_back(var);
      else
        rows.push_back(var);
    }
  int64_t rowCount = 1, innerCount = rowElements();
  for (unsigned var : rows)
    rowCount *= program.vars[var].extent;

  // Which way do the lanes run? Count the loads that are contiguous each way.
  int64_t along = 0, across = 0;
  if (!reductions.empty()) {
    for (const RowReduction &r : reductions) {
      auto found = kernel.discoverWith(
          [&](Scope &s) { s.reductionElement(r.reduction, r.loops); });
      for (auto &[buffer, lin] : found.loads) {
        if (!r.inner.empty())
          along += std::abs(lin.coefficient(r.inner.back())) == 1;
        if (!rows.empty()) {
          int64_t c = std::abs(lin.coefficient(rows.back()));
          across += c == 1 || (c && c < 8 && r.inner.empty());
        }
      }
    }
    int64_t innermost = 0;
    for (const RowReduction &r : reductions)
      if (!r.inner.empty())
        innermost = std::max(innermost, program.vars[r.inner.back()].extent);
    bool shortRows = innermost < program.lanes / 2 && !rows.empty();
    acrossRows = !rows.empty() && (shortRows || across > along);
    if (!rows.empty())
      acrossRows = kernel.parameter("across", acrossRows, 0, 1);
  }
  unroll = kernel.parameter("unroll", 4, 1, 8);
  streaming = kernel.parameter("stream", 0, 0, 1);
  // Non-temporal stores need whole, aligned vectors.
  int64_t last = inner.empty() ? 1 : program.vars[inner.back()].extent;
  bool aligned = last % program.lanes == 0;
  streaming &= aligned && bytesOf(destination.elem) <= 4 && !acrossRows &&
               !inner.empty();

  if (reductions.empty()) {
    // Elementwise: all loops are inner, the threads share them.
    shareRow = true;
  } else {
    shareRow = !acrossRows && rowCount < program.threads &&
               innerCount >= 4096 && program.threads > 1;
    shareRow = kernel.parameter("share", shareRow, 0, 1);
    shareRow &= !acrossRows;
  }

  chooseKept(innerCount);
  int64_t threads = program.threads;
  Writer w(program.body);
  std::string what = reductions.empty()
                         ? "Elementwise."
                         : "Rows: " + num(rowCount) + ", " + num(innerCount) +
                               " elements each, " + num(levels + 1) +
                               " passes.";
  w.line("/* " + what + " */");
  if (shareRow) {
    w.line("#pragma omp parallel num_threads(" + Twine(threads) + ")");
    w.open("");
    w.line("const long tid = omp_get_thread_num(), team = "
           "omp_get_num_threads();");
    w.line("(void)tid;");
    w.line("(void)team;");
    w.open("for (long row = 0; row < " + num(rowCount) + "; ++row)");
  } else {
    int64_t units = rowCount;
    if (acrossRows) {
      int64_t extent = program.vars[rows.back()].extent;
      units =
          rowCount / extent * ((extent + program.lanes - 1) / program.lanes);
    }
    w.line("#pragma omp parallel num_threads(" + Twine(threads) + ")");
    w.open("");
    w.line("#pragma omp for schedule(static)");
    w.open("for (long row = 0; row < " + num(units) + "; ++row)");
  }
  // Variables of the row.
  int64_t below = 1;
  std::string source = "row";
  SmallVector<std::string> lines;
  for (unsigned var : llvm::reverse(rows)) {
    int64_t extent = program.vars[var].extent;
    if (acrossRows && var == rows.back()) {
      int64_t blocks = (extent + program.lanes - 1) / program.lanes;
      lines.push_back("const long " + program.vars[var].name + " = row % " +
                      num(blocks) + " * " + num(program.lanes) + ";");
      lines.push_back("const long valid = " + num(extent) + " - " +
                      program.vars[var].name + " < " + num(program.lanes) +
                      " ? " + num(extent) + " - " + program.vars[var].name +
                      " : " + num(program.lanes) + ";");
      lines.push_back("(void)valid;");
      below *= blocks;
      continue;
    }
    lines.push_back("const long " + program.vars[var].name + " = row / " +
                    num(below) + " % " + num(extent) + ";");
    below *= extent;
  }
  for (const std::string &text : lines)
    w.line(text);
  for (unsigned level = 0; level < levels; ++level)
    emitReductionPass(w, level);
  emitRootPass(w);
  // Another row reuses what the threads exchange; two sets take turns.
  w.close();
  w.close();
  return program.failure.empty();
}

bool KernelEmitter::emitNest(Value root, const Buffer &destination,
                             ArrayRef<Lin> rootIndex) {
  return NestEmitter(*this, root, destination, rootIndex).run();
}

bool KernelEmitter::emitRow(Writer &w, Value root, const Buffer &destination,
                            ArrayRef<Lin> rootIndex, unsigned along) {
  return NestEmitter(*this, root, destination, rootIndex).runInside(w, along);
}
