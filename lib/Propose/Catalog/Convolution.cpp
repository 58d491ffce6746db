//===- Convolution.cpp - Convolutions in C --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A direct convolution whose vectors run over output channels: the weights are
// packed into panels of a few vectors of channels, all window positions of all
// input channels one after the other, and a tile of neighbouring output pixels
// of one row stays in registers while input elements are broadcast. Nothing of
// the input is copied. The tile is turned in registers when it is written, so
// that the result (and whatever is computed from it) is contiguous along a row.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

static std::string num(int64_t n) { return std::to_string(n); }
static int64_t roundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

bool KernelEmitter::emitConvolution(Value root, const Buffer &destination,
                                    ArrayRef<Lin> rootIndex, const Use &use,
                                    const Contraction &c) {
  linalg::GenericOp op = c.reduction.op;
  auto loops = loopsAt(op, c.reduction.result, use.index);
  if (!loops || !c.batch.empty())
    return program.fail("a convolution with groups or an unusual result");
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<unsigned> kVars;
  for (unsigned d : c.k) {
    if (ranges[d] == 1) {
      (*loops)[d] = Lin(0);
      continue;
    }
    kVars.push_back(program.newVar(program.fresh("k"), ranges[d]));
    (*loops)[d] = Lin::ofVar(kVars.back());
  }
  if (kVars.empty())
    return program.fail("a convolution without a reduction");

  // The pixel variable is the innermost of the root; channels are the other
  // side's.
  std::map<unsigned, char> role;
  for (unsigned d : c.m)
    for (auto [var, coefficient] : (*loops)[d].terms)
      role[var] = 'm';
  for (unsigned d : c.n)
    for (auto [var, coefficient] : (*loops)[d].terms) {
      if (role.count(var))
        return program.fail("a variable with two roles in a convolution");
      role[var] = 'n';
    }
  SmallVector<unsigned> order, channels, outer;
  for (const Lin &i : rootIndex)
    if (!i.terms.empty())
      order.push_back(i.terms.begin()->first);
  if (order.size() < 2)
    return program.fail("a convolution to a line");
  unsigned xVar = order.back();
  char pixelRole = role.count(xVar) ? role[xVar] : '?';
  if (pixelRole == '?')
    return program.fail("a dimension the convolution does not have");
  for (unsigned var : order) {
    if (var == xVar)
      continue;
    if (!role.count(var))
      return program.fail("a dimension the convolution does not have");
    (role[var] == pixelRole ? outer : channels).push_back(var);
  }
  if (channels.size() != 1)
    return program.fail("a convolution with channels in several dimensions");
  unsigned fVar = channels.front();
  Value input = pixelRole == 'm' ? c.lhs : c.rhs,
        weight = pixelRole == 'm' ? c.rhs : c.lhs;
  auto inputValue = [&](Scope &s) { return s.bodyAt(op, input, *loops); };
  auto weightValue = [&](Scope &s) { return s.bodyAt(op, weight, *loops); };

  // The input is broadcast from memory: it must lie there as f32.
  while (true) {
    Discovery found = discoverWith([&](Scope &s) {
      inputValue(s);
      weightValue(s);
    });
    if (!found.failure.empty())
      return program.fail(found.failure);
    bool changed = false;
    if (!materializeUses(found, [](const Use &) { return false; }, changed))
      return false;
    if (!changed)
      break;
  }
  Discovery read = discoverWith([&](Scope &s) { inputValue(s); });
  if (read.loads.size() != 1 || llvm::count(read.text, '\n') != 1 ||
      (read.loads[0].first.elem != Elem::F32 &&
       read.loads[0].first.elem != Elem::F16)) {
    auto arg = dyn_cast<BlockArgument>(input);
    Value operand = arg ? op->getOperand(arg.getArgNumber()) : Value();
    if (!operand ||
        program.buffers.count(stripReshapes(operand).getAsOpaquePointer()))
      return program.fail("a convolution of an input that is computed");
    if (!materialize(operand))
      return false;
    read = discoverWith([&](Scope &s) { inputValue(s); });
    if (!read.failure.empty() || read.loads.size() != 1)
      return program.fail("a convolution of an input that is computed");
  }
  Buffer in = read.loads[0].first;
  Lin at = read.loads[0].second;

  // The weights' loads decide how they are packed: along the window (turned) or
  // along the channels.
  int64_t K = 1;
  for (unsigned var : kVars)
    K *= program.vars[var].extent;
  unsigned kMerged = program.newVar(program.fresh("k"), K);
  std::vector<MergedVars> merged;
  unsigned kVar = kVars.front();
  if (kVars.size() > 1) {
    merged.push_back({kVars, kMerged});
    kVar = kMerged;
  }
  Discovery weights = discoverWith([&](Scope &s) { weightValue(s); }, merged);
  if (!weights.failure.empty())
    return program.fail(weights.failure);
  bool alongChannels = llvm::any_of(
      weights.loads, [&](auto &l) { return l.second.coefficient(fVar) == 1; });

  const int64_t W = program.lanes;
  const int64_t F = program.vars[fVar].extent, X = program.vars[xVar].extent;
  int64_t vectors = parameter("nv", F > W ? 2 : 1, 1, 4);
  vectors = std::min(vectors, (F + W - 1) / W);
  used["nv"] = vectors;
  bool wide = machine.vectorBytes == 64;
  int64_t most = wide ? (vectors == 1   ? 24
                         : vectors == 2 ? 14
                         : vectors == 3 ? 8
                                        : 6)
                      : (vectors == 1   ? 12
                         : vectors == 2 ? 6
                         : vectors == 3 ? 4
                                        : 3);
  most = std::min<int64_t>(most, W);
  // The row is cut into equal tiles, as few as the registers allow.
  int64_t tiles = (X + most - 1) / most;
  int64_t mr = parameter("mr", (X + tiles - 1) / tiles, 1, most);
  mr = std::min(mr, X);
  used["mr"] = mr;
  int64_t nr = vectors * W, panels = (F + nr - 1) / nr;
  int64_t threads = program.threads;

  // Epilogue, as for a product.
  Value initial = op.getDpsInits()[c.reduction.result];
  SmallVector<Lin> initialIndex;
  for (AffineExpr expr :
       op.getIndexingMapsArray()[op.getNumDpsInputs() + c.reduction.result]
           .getResults())
    initialIndex.push_back(*evaluateAffine(expr, *loops));
  while (true) {
    Discovery found = discoverWith([&](Scope &s) {
      s.at(initial, initialIndex);
      s.bound[use.value.getAsOpaquePointer()] = {"0", Elem::F32, true};
      s.at(root, rootIndex);
    });
    if (!found.failure.empty())
      return program.fail(found.failure);
    bool changed = false;
    if (!materializeUses(found, [](const Use &) { return false; }, changed))
      return false;
    if (!changed)
      break;
  }
  bool zeroInitial = false;
  discoverWith([&](Scope &s) {
    zeroInitial = s.at(initial, initialIndex).text == "0x0p+0f";
  });

  // The register tile: loops over the window inside.
  std::map<int64_t, std::string> kernels;
  auto kernel = [&](int64_t rows) {
    std::string name = program.fresh("fk_window");
    Writer t(program.functions, 0);
    t.line("/* " + num(rows) + " neighbouring pixels, " + num(vectors) +
           " vectors of channels; c[pixel][channel]. */");
    t.open("static __attribute__((noinline)) void " + name + "(const " +
           cTypeOf(in.elem) +
           " *restrict a, const float *restrict b, float *restrict c)");
    std::string names;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        names += (names.empty() ? "" : ", ") + ("c" + num(i)) + "_" + num(j) +
                 " = (vf32)0.0f";
    t.line("vf32 " + names + ";");
    std::string offset;
    for (unsigned var : kVars) {
      const std::string &k = program.vars[var].name;
      // Unrolled, neighbouring steps share input elements, and keeping those
      // costs more registers than there are.
      t.line("#pragma clang loop unroll(disable)");
      t.open("for (long " + k + " = 0; " + k + " < " +
             num(program.vars[var].extent) + "; ++" + k + ")");
      offset += " + " + num(at.coefficient(var)) + "L * " + k;
    }
    t.line("const " + std::string(cTypeOf(in.elem)) + " *const p = a" + offset +
           ";");
    for (int64_t j = 0; j < vectors; ++j)
      t.line("const vf32 b" + num(j) + " = *(const vf32 *)(b + " + num(j * W) +
             ");");
    for (int64_t i = 0; i < rows; ++i) {
      t.line("const vf32 a" + num(i) + " = (vf32)(float)p[" +
             num(i * at.coefficient(xVar)) + "];");
      for (int64_t j = 0; j < vectors; ++j)
        t.line("c" + num(i) + "_" + num(j) + " += a" + num(i) + " * b" +
               num(j) + ";");
    }
    t.line("b += " + num(nr) + ";");
    for (size_t i = 0; i < kVars.size(); ++i)
      t.close();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        t.line("*(vf32 *)(c + " + num(i * nr + j * W) + ") = c" + num(i) + "_" +
               num(j) + ";");
    t.close();
    program.functions += "\n";
    kernels[rows] = name;
  };
  kernel(mr);
  if (X % mr)
    kernel(X % mr);
  program.helper("transpose");

  int64_t panelFloats = roundUp(K * nr, 16);
  int64_t offset = program.reserve(panels * panelFloats * 4);
  stages.push_back("convolution");
  // What padded the input wrote nothing that packing reads: both share one
  // parallel region, and the barrier behind the packing serves both.
  Writer w(program.body);
  bool sharesRegion = program.regionEnd == program.body.size() &&
                      StringRef(program.body).ends_with("  }\n") &&
                      llvm::none_of(weights.loads, [&](auto &l) {
                        return l.first.pointer == program.regionWrites;
                      });
  if (sharesRegion) {
    program.body.resize(program.body.size() - StringRef("  }\n").size());
    ++w.indent;
  } else {
    w.line("#pragma omp parallel num_threads(" + Twine(threads) + ")");
    w.open("");
  }
  w.line("/* Convolution: " + num(F) + " channels of " + num(K) +
         " products. */");
  w.line("float *const packed = " +
         program.workspacePointer(Elem::F32, offset) + ";");
  // With fewer panels than threads each panel is packed in pieces.
  int64_t pieces = std::max<int64_t>(
      1, std::min((threads + panels - 1) / panels, K / (4 * W)));
  int64_t pieceSteps = roundUp((K + pieces - 1) / pieces, W);
  pieces = (K + pieceSteps - 1) / pieceSteps;
  w.line("#pragma omp for schedule(static)");
  w.open("for (long piece = 0; piece < " + num(panels * pieces) + "; ++piece)");
  w.line("const long q = piece / " + num(pieces) + ";");
  w.line("const long step = piece % " + num(pieces) + " * " + num(pieceSteps) +
         ";");
  w.line("const long steps = " + num(K) + " - step < " + num(pieceSteps) +
         " ? " + num(K) + " - step : " + num(pieceSteps) + ";");
  w.line("float *const panel = packed + q * " + num(panelFloats) +
         " + step * " + num(nr) + ";");
  if (alongChannels)
    w.line("const long width = " + num(F) + " - q * " + num(nr) + " < " +
           num(nr) + " ? " + num(F) + " - q * " + num(nr) + " : " + num(nr) +
           ";");
  packBlock(w, "panel", nr, fVar, "q * " + num(nr),
            alongChannels ? std::string("width") : num(nr), num(F), kVar,
            "step", "steps", !alongChannels, weightValue, merged);
  w.close();

  int64_t rowCount = 1;
  for (unsigned var : outer)
    rowCount *= program.vars[var].extent;
  // Panels outside of rows keep the weights near, inside keep the input near:
  // better as long as all weights stay in the second-level cache.
  int64_t weightBytes = panels * panelFloats * 4;
  bool panelsOutside = parameter(
      "panelsOutside", 2 * weightBytes > machine.l2Bytes ? 1 : 0, 0, 1);
  w.line("#pragma omp for schedule(static)");
  w.open("for (long task = 0; task < " + num(rowCount * panels) + "; ++task)");
  std::string row;
  if (panelsOutside) {
    w.line("const long q = task / " + num(rowCount) + ";");
    w.line("const long row = task % " + num(rowCount) + ";");
  } else {
    w.line("const long q = task % " + num(panels) + ";");
    w.line("const long row = task / " + num(panels) + ";");
  }
  w.line("(void)row;");
  int64_t below = rowCount;
  for (unsigned var : outer) {
    below /= program.vars[var].extent;
    w.line("const long " + program.vars[var].name + " = row / " + num(below) +
           " % " + num(program.vars[var].extent) + ";");
  }
  const std::string x = program.vars[xVar].name, f = program.vars[fVar].name;
  w.line("const long width = " + num(F) + " - q * " + num(nr) + " < " +
         num(nr) + " ? " + num(F) + " - q * " + num(nr) + " : " + num(nr) +
         ";");
  w.open("for (long " + x + " = 0; " + x + " < " + num(X) + "; " + x +
         " += " + num(mr) + ")");
  w.line("const long pixels = " + num(X) + " - " + x + " < " + num(mr) + " ? " +
         num(X) + " - " + x + " : " + num(mr) + ";");
  w.line("float tile[" + num(W * nr) + "] __attribute__((aligned(64)));");
  Lin start = at;
  for (unsigned var : kVars)
    start.terms.erase(var);
  auto call = [&](const std::string &name) {
    return name + "(" + in.pointer + " + " + program.linText(start) +
           ", packed + q * " + num(panelFloats) + ", tile);";
  };
  if (X % mr == 0) {
    w.line(call(kernels[mr]));
  } else {
    w.line("if (pixels == " + num(mr) + ") " + call(kernels[mr]));
    w.line("else " + call(kernels[X % mr]));
  }
  // Turn the tile a vector of channels at a time.
  w.open("for (long j0 = 0; j0 < width; j0 += " + num(W) + ")");
  w.line("vf32 r[" + num(W) + "];");
  w.line("for (int i = 0; i < " + num(W) +
         "; ++i) r[i] = i < pixels ? *(vf32 *)(tile + i * " + num(nr) +
         " + j0) : (vf32)0.0f;");
  w.line("fk_transpose(r);");
  w.open("for (long j = 0; j < " + num(W) + " && j0 + j < width; ++j)");
  w.line("const long " + f + " = q * " + num(nr) + " + j0 + j;");
  {
    Scope s(program, w.out, w.indent);
    s.vectorVar = xVar;
    s.partial = "pixels";
    CValue value{"r[j]", Elem::F32, true};
    if (!zeroInitial)
      value = s.combine(CombinerKind::Add, value, s.at(initial, initialIndex));
    s.bound[use.value.getAsOpaquePointer()] = value;
    s.store(destination, s.linear(root, rootIndex), s.at(root, rootIndex));
  }
  w.close();
  w.close();
  w.close();
  w.close();
  w.close();
  return program.failure.empty();
}
