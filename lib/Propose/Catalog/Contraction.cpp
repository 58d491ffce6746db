//===- Contraction.cpp - Matrix products in C -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product over blocks that fit the caches, around a kernel that keeps mr rows
// times a few vectors of the result in registers. The operand that varies along
// the vectors ("B") is packed into panels, k outermost; the other one ("A") is
// copied row by row, which needs no transposition, since its elements are
// broadcast. Whatever makes the operands (casts, scales, transposes) happens
// while packing, and whatever follows the product (bias, activation, residual)
// on a tile that is still in the first-level cache.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

static std::string num(int64_t n) { return std::to_string(n); }
static int64_t roundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

std::string KernelEmitter::microKernel(unsigned rows, unsigned vectors,
                                       int64_t rowStride, int64_t kStride,
                                       unsigned prefetch) {
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
  if (prefetch)
    for (unsigned j = 0; j < vectors; ++j)
      t.line("__builtin_prefetch(b + " + num(prefetch) + " * ldb + " +
             num(j * w) + ");");
  for (unsigned i = 0; i < rows; ++i) {
    t.line("const vf32 a" + num(i) + " = (vf32)a[" + num(i * rowStride) + "];");
    for (unsigned j = 0; j < vectors; ++j)
      t.line(acc(i, j) + " += a" + num(i) + " * b" + num(j) + ";");
  }
  t.line("a += " + num(kStride) + ";");
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
                              llvm::function_ref<CValue(Scope &)> element,
                              const std::vector<MergedVars> &merged) {
  const std::string x = program.vars[xVar].name, y = program.vars[yVar].name;
  std::string lanes = num(program.lanes);
  if (!transpose) {
    w.open("for (long y = 0; y < " + yCount + "; ++y)");
    w.line("const long " + y + " = " + yBase + " + y;");
    w.line("(void)" + y + ";");
    vectorLoop(
        w, "x", xCount, xVar, xBase,
        [&](Scope &scope) {
          CValue v = scope.splat(scope.convert(element(scope), Elem::F32));
          scope.line("*(vf32u *)(" + dst + " + y * " + num(ldy) +
                     " + x) = " + v.text + ";");
        },
        merged);
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
    scope.merged = merged;
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

bool KernelEmitter::emitContraction(Value root, const Buffer &destination,
                                    ArrayRef<Lin> rootIndex, const Use &use,
                                    const Contraction &c, bool merge) {
  linalg::GenericOp op = c.reduction.op;
  auto loops = loopsAt(op, c.reduction.result, use.index);
  if (!loops)
    return program.fail("a contraction with an unusual output map");
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();

  // Roles of the variables of the root, and the variables of k.
  std::map<unsigned, char> role;
  auto assign = [&](ArrayRef<unsigned> dims, char r) {
    for (unsigned d : dims)
      for (auto [var, coefficient] : (*loops)[d].terms) {
        if (role.count(var) && role[var] != r)
          return program.fail("a variable with two roles in a contraction");
        role[var] = r;
      }
    return true;
  };
  if (!assign(c.batch, 'b') || !assign(c.m, 'm') || !assign(c.n, 'n'))
    return false;
  SmallVector<unsigned> kVars, mVars, nVars, bVars, order;
  for (unsigned d : c.k) {
    if (ranges[d] == 1) {
      (*loops)[d] = Lin(0);
      continue;
    }
    unsigned var = program.newVar(program.fresh("k"), ranges[d]);
    (*loops)[d] = Lin::ofVar(var);
    kVars.push_back(var);
  }
  for (const Lin &i : rootIndex)
    if (!i.terms.empty())
      order.push_back(i.terms.begin()->first);
  if (order.empty())
    return program.fail("a contraction to one element");
  bool swapped = role[order.back()] == 'm';
  if (role[order.back()] == 'b')
    return program.fail("a contraction whose batch is innermost");
  for (unsigned var : order) {
    char r = role.count(var) ? role[var] : '?';
    if (r == '?')
      return program.fail("a dimension the contraction does not have");
    if (r == 'b')
      bVars.push_back(var);
    else
      ((r == 'm') != swapped ? mVars : nVars).push_back(var);
  }
  Value aBody = swapped ? c.rhs : c.lhs, bBody = swapped ? c.lhs : c.rhs;

  std::vector<MergedVars> merged;
  auto mergeGroup = [&](SmallVector<unsigned> &vars, const char *stem) {
    if (vars.empty())
      return program.newVar(program.fresh(stem), 1);
    if (vars.size() == 1)
      return vars.front();
    if (!merge) {
      // Outer ones become loops around it all.
      unsigned last = vars.back();
      for (unsigned var : ArrayRef<unsigned>(vars).drop_back())
        bVars.push_back(var);
      return last;
    }
    int64_t extent = 1;
    for (unsigned var : vars)
      extent *= program.vars[var].extent;
    unsigned var = program.newVar(program.fresh(stem), extent);
    merged.push_back({vars, var});
    return var;
  };
  if (!merge && kVars.size() > 1)
    return program.fail("several reduction loops that cannot be merged");
  unsigned mVar = mergeGroup(mVars, "m"), nVar = mergeGroup(nVars, "n"),
           kVar = mergeGroup(kVars, "k");
  const int64_t M = program.vars[mVar].extent, N = program.vars[nVar].extent,
                K = program.vars[kVar].extent;
  int64_t batches = 1;
  for (unsigned var : bVars)
    batches *= program.vars[var].extent;
  const std::string m = program.vars[mVar].name, n = program.vars[nVar].name,
                    k = program.vars[kVar].name;

  auto aValue = [&](Scope &s) { return s.bodyAt(op, aBody, *loops); };
  auto bValue = [&](Scope &s) { return s.bodyAt(op, bBody, *loops); };

  // What the operands read: anything that no expression computes, and anything
  // that is expensive to compute several times, is written out first.
  for (auto &value : {std::function<CValue(Scope &)>(aValue),
                      std::function<CValue(Scope &)>(bValue)}) {
    while (true) {
      Discovery found = discoverWith([&](Scope &s) { value(s); }, merged);
      if (!found.failure.empty())
        return program.fail(found.failure);
      for (Use &expensive : found.expensive)
        found.uses.push_back(expensive);
      bool changed = false;
      if (!materializeUses(found, [](const Use &) { return false; }, changed))
        return false;
      if (!changed)
        break;
    }
  }
  auto loadsOf = [&](llvm::function_ref<CValue(Scope &)> value) {
    return discoverWith([&](Scope &s) { value(s); }, merged).loads;
  };
  auto aLoads = loadsOf(aValue), bLoads = loadsOf(bValue);
  auto unitAlong = [](ArrayRef<std::pair<Buffer, Lin>> loads, unsigned var) {
    return llvm::any_of(
        loads, [&](auto &load) { return load.second.coefficient(var) == 1; });
  };
  bool aAlongK = unitAlong(aLoads, kVar), aAlongM = unitAlong(aLoads, mVar),
       bAlongN = unitAlong(bLoads, nVar), bAlongK = unitAlong(bLoads, kVar);

  // Parameters.
  const int64_t W = program.lanes;
  const bool manyRegisters = machine.vectorBytes == 64;
  int64_t vectors = parameter("nv", 2, 1, 4);
  vectors = std::min(vectors, (N + W - 1) / W);
  used["nv"] = vectors;
  int64_t maxRows = manyRegisters ? (vectors == 1   ? 24
                                     : vectors == 2 ? 14
                                     : vectors == 3 ? 8
                                                    : 6)
                                  : (vectors == 1   ? 12
                                     : vectors == 2 ? 6
                                     : vectors == 3 ? 4
                                                    : 3);
  int64_t mr = parameter("mr", std::min<int64_t>(maxRows, M), 1, 28);
  mr = std::min(mr, std::min(maxRows, M));
  used["mr"] = mr;
  int64_t nr = vectors * W;
  int64_t kc = parameter("kc", K <= 384 ? K : 256, 8, 8192);
  kc = std::min(kc, K);
  int64_t blocks = (K + kc - 1) / kc;
  kc = (K + blocks - 1) / blocks;
  used["kc"] = kc;
  int64_t mcDefault =
      std::max<int64_t>(1, machine.l2Bytes / 2 / (kc * 4) / mr) * mr;
  int64_t mc = parameter("mc", std::min<int64_t>(mcDefault, 1024), mr, 65536);
  mc = roundUp(std::min(mc, M), mr);
  used["mc"] = mc;
  int64_t nc = parameter("nc", 2048, nr, 1 << 20);
  nc = roundUp(std::min(nc, N), nr);
  used["nc"] = nc;
  int64_t prefetch = parameter("prefetch", 0, 0, 64);
  // Which loop the threads share: 0 the batch, 1 rows, 2 columns.
  int64_t threads = program.threads;
  int64_t parallel = parameter("par",
                               batches >= threads            ? 0
                               : M >= N || M >= 32 * threads ? 1
                                                             : 2,
                               0, 2);
  if (batches == 1 && parallel == 0)
    parallel = M >= N ? 1 : 2;
  used["par"] = parallel;
  auto plain = [&](ArrayRef<std::pair<Buffer, Lin>> loads,
                   llvm::function_ref<CValue(Scope &)> value) {
    // One load of f32 and nothing else.
    if (loads.size() != 1 || loads[0].first.elem != Elem::F32)
      return false;
    std::string text = discoverWith([&](Scope &s) { value(s); }, merged).text;
    return llvm::count(text, '\n') == 1;
  };
  bool packA = parameter("packA", 1, 0, 1) || !plain(aLoads, aValue);
  bool packB = parameter("packB", 1, 0, 1) || !plain(bLoads, bValue) ||
               !bAlongN || N % nr != 0;
  used["packA"] = packA;
  used["packB"] = packB;

  // The rest of the root: is there an epilogue?
  Value initial = op.getDpsInits()[c.reduction.result];
  AffineMap initialMap =
      op.getIndexingMapsArray()[op.getNumDpsInputs() + c.reduction.result];
  SmallVector<Lin> initialIndex;
  for (AffineExpr expr : initialMap.getResults())
    initialIndex.push_back(*evaluateAffine(expr, *loops));
  bool zeroInitial = false;
  {
    discoverWith([&](Scope &s) {
      zeroInitial = s.at(initial, initialIndex).text == "0x0p+0f";
    });
  }
  auto emitEpilogue = [&](Scope &s, const std::string &acc) {
    CValue value = s.define(Elem::F32, true, "*(const vf32u *)(" + acc + ")");
    if (!zeroInitial)
      value = s.combine(CombinerKind::Add, value, s.at(initial, initialIndex));
    s.bound[use.value.getAsOpaquePointer()] = value;
    s.store(destination, s.linear(root, rootIndex), s.at(root, rootIndex));
  };
  while (true) {
    Discovery found = discoverWith(
        [&](Scope &s) {
          s.at(initial, initialIndex);
          s.bound[use.value.getAsOpaquePointer()] = {"0", Elem::F32, true};
          s.at(root, rootIndex);
        },
        merged);
    if (!found.failure.empty())
      return program.fail(found.failure);
    bool changed = false;
    if (!materializeUses(found, [](const Use &) { return false; }, changed))
      return false;
    if (!changed)
      break;
  }
  bool identity = zeroInitial && root == use.value;
  // Partial sums live in the destination when it is f32, else in a buffer.
  bool sumsInDestination = destination.elem == Elem::F32;
  bool onePass = kc >= K;
  Lin destinationIndex;
  {
    Discovery found = discoverWith(
        [&](Scope &s) {
          Buffer out = destination;
          s.load(out, s.linear(root, rootIndex));
        },
        merged);
    if (!found.failure.empty())
      return program.fail(found.failure);
    destinationIndex = found.loads.back().second;
  }
  int64_t ldc = destinationIndex.coefficient(mVar);
  if (destinationIndex.coefficient(nVar) != 1 && N > 1)
    return program.fail("a result whose columns are not contiguous");
  Buffer sums = destination;
  Lin sumsIndex = destinationIndex;
  if (!sumsInDestination && !onePass) {
    sums.pointer = program.workspacePointer(
        Elem::F32, program.reserve(M * N * 4 * (parallel ? 1 : threads) + 64));
    sums.elem = Elem::F32;
    sumsIndex = Lin::ofVar(mVar, N) + Lin::ofVar(nVar);
    ldc = N;
  }
  bool direct = identity && sumsInDestination ? true : !onePass;

  // Kernels: all rows, and what is left over.
  int64_t lda = roundUp(kc, W) + W;
  if (lda * 4 % 4096 == 0)
    lda += W;
  int64_t rowStride = packA ? lda : aLoads[0].second.coefficient(mVar),
          kStride = packA ? 1 : aLoads[0].second.coefficient(kVar);
  std::map<int64_t, std::string> kernels;
  kernels[mr] = microKernel(mr, vectors, rowStride, kStride, prefetch);
  if (M % mr)
    kernels[M % mr] =
        microKernel(M % mr, vectors, rowStride, kStride, prefetch);

  // Workspace.
  bool sharedB = parallel == 1;
  int64_t bBytes = packB ? nc * kc * 4 : 0, aBytes = packA ? mc * lda * 4 : 0;
  bBytes = roundUp(bBytes, 64);
  aBytes = roundUp(aBytes, 64);
  int64_t bOffset = program.reserve(bBytes * (sharedB ? 1 : threads));
  int64_t aOffset = program.reserve(aBytes * threads);
  stages.push_back("contraction");

  Writer w(program.body);
  w.line("/* Product of " + num(M) + " x " + num(N) + " x " + num(K) +
         (batches > 1 ? ", " + num(batches) + " times" : std::string()) +
         ". */");
  w.line("#pragma omp parallel num_threads(" + Twine(threads) + ")");
  w.open("");
  w.line(
      "const long tid = omp_get_thread_num(), team = omp_get_num_threads();");
  w.line("(void)tid;");
  w.line("(void)team;");
  if (packB)
    w.line("float *const bp = " + program.workspacePointer(Elem::F32, bOffset) +
           (sharedB ? std::string(";") : " + tid * " + num(bBytes / 4) + ";"));
  if (packA)
    w.line("float *const ap = " + program.workspacePointer(Elem::F32, aOffset) +
           " + tid * " + num(aBytes / 4) + ";");
  if (!sumsInDestination && !onePass && parallel == 0) {
    w.line("float *const sums = " + sums.pointer + " + tid * " + num(M * N) +
           ";");
    sums.pointer = "sums";
  }
  if (batches > 1) {
    w.open(parallel == 0
               ? "for (long batch = tid; batch < " + num(batches) +
                     "; batch += team)"
               : "for (long batch = 0; batch < " + num(batches) + "; ++batch)");
    int64_t below = batches;
    for (unsigned var : bVars) {
      below /= program.vars[var].extent;
      w.line("const long " + program.vars[var].name + " = batch / " +
             num(below) + " % " + num(program.vars[var].extent) + ";");
    }
  }
  int64_t mUnits = (M + mr - 1) / mr, nUnits = (N + nr - 1) / nr;
  auto bounds = [&](const char *name, int64_t units, int64_t unit,
                    int64_t extent, bool shared) {
    std::string lo = std::string(name) + "Begin",
                hi = std::string(name) + "End";
    if (!shared) {
      w.line("const long " + lo + " = 0, " + hi + " = " + num(extent) + ";");
      return;
    }
    w.line("const long " + lo + " = " + num(units) + " * tid / team * " +
           num(unit) + ";");
    w.line("const long " + std::string(name) + "Limit = " + num(units) +
           " * (tid + 1) / team * " + num(unit) + ";");
    w.line("const long " + hi + " = " + name + "Limit < " + num(extent) +
           " ? " + name + "Limit : " + num(extent) + ";");
  };
  bounds("m", mUnits, mr, M, parallel == 1);
  bounds("n", nUnits, nr, N, parallel == 2);
  w.open("for (long jc = nBegin; jc < nEnd; jc += " + num(nc) + ")");
  w.line("const long nb = nEnd - jc < " + num(nc) +
         " ? nEnd - jc : " + num(nc) + ";");
  w.open("for (long pc = 0; pc < " + num(K) + "; pc += " + num(kc) + ")");
  w.line("const long kb = " + num(K) + " - pc < " + num(kc) + " ? " + num(K) +
         " - pc : " + num(kc) + ";");
  if (packB) {
    w.line("/* Panels of B: k rows of " + num(nr) + " columns. */");
    w.open(sharedB ? "for (long jp = tid * " + num(nr) +
                         "; jp < nb; jp += team * " + num(nr) + ")"
                   : "for (long jp = 0; jp < nb; jp += " + num(nr) + ")");
    w.line("float *const panel = bp + jp * kb;");
    bool transpose = !bAlongN && bAlongK;
    if (!transpose)
      w.line("const long width = nb - jp < " + num(nr) +
             " ? nb - jp : " + num(nr) + ";");
    packBlock(w, "panel", nr, nVar, "jc + jp",
              transpose ? num(nr) : std::string("width"), num(N), kVar, "pc",
              "kb", transpose, bValue, merged);
    w.close();
    if (sharedB)
      w.line("#pragma omp barrier");
  }
  w.open("for (long ic = mBegin; ic < mEnd; ic += " + num(mc) + ")");
  w.line("const long mb = mEnd - ic < " + num(mc) +
         " ? mEnd - ic : " + num(mc) + ";");
  if (packA) {
    w.line("/* Rows of A. */");
    w.line("{");
    ++w.indent;
    // Along k the rows are copied; along m they are turned.
    bool transpose = aAlongM && !aAlongK;
    if (transpose) {
      // dst[y * ldy + x] with x along k: read along y = m.
      packBlock(w, "ap", lda, kVar, "pc", "kb", num(K), mVar, "ic", "mb", true,
                aValue, merged);
    } else {
      packBlock(w, "ap", lda, kVar, "pc", "kb", num(K), mVar, "ic", "mb", false,
                aValue, merged);
    }
    w.close();
  }
  w.open("for (long jr = 0; jr < nb; jr += " + num(nr) + ")");
  w.line("const long cols = nb - jr < " + num(nr) + " ? nb - jr : " + num(nr) +
         ";");
  w.line("const long " + n + "0 = jc + jr;");
  if (packB) {
    w.line("const float *const b = bp + jr * kb;");
  } else {
    Lin at = bLoads[0].second;
    at.terms.erase(nVar);
    at.terms.erase(kVar);
    w.line("const float *const b = " + bLoads[0].first.pointer + " + " +
           program.linText(at) + " + " + n + "0 + " +
           num(bLoads[0].second.coefficient(kVar)) + "L * pc;");
  }
  std::string ldb = packB ? num(nr) : num(bLoads[0].second.coefficient(kVar));
  w.open("for (long ir = 0; ir < mb; ir += " + num(mr) + ")");
  w.line("const long rows = mb - ir < " + num(mr) + " ? mb - ir : " + num(mr) +
         ";");
  w.line("const long " + m + "0 = ic + ir;");
  if (packA) {
    w.line("const float *const a = ap + ir * " + num(lda) + ";");
  } else {
    Lin at = aLoads[0].second;
    at.terms.erase(mVar);
    at.terms.erase(kVar);
    w.line("const float *const a = " + aLoads[0].first.pointer + " + " +
           program.linText(at) + " + " + num(rowStride) + "L * " + m + "0 + " +
           num(kStride) + "L * pc;");
  }
  w.line("float tile[" + num(mr * nr) + "] __attribute__((aligned(64)));");
  Lin sumsBase = sumsIndex;
  sumsBase.terms.erase(mVar);
  sumsBase.terms.erase(nVar);
  std::string place = sums.pointer + " + " + program.linText(sumsBase) + " + " +
                      num(ldc) + "L * " + m + "0 + " + n + "0";
  auto callKernel = [&](const std::string &target, const std::string &ld) {
    auto call = [&](const std::string &name) {
      return name + "(kb, a, b, " + ldb + ", " + target + ", " + ld +
             ", pc == 0);";
    };
    if (M % mr == 0) {
      w.line(call(kernels[mr]));
      return;
    }
    w.line("if (rows == " + num(mr) + ") " + call(kernels[mr]));
    w.line("else " + call(kernels[M % mr]));
  };
  bool edge = N % nr != 0;
  if (direct) {
    w.line("float *const sum = " + place + ";");
    if (edge)
      w.open("if (cols == " + num(nr) + ")");
    callKernel("sum", num(ldc));
    if (edge) {
      w.close();
      w.open("else");
      w.open("if (pc != 0)");
      w.line("for (long i = 0; i < rows; ++i) memcpy(tile + i * " + num(nr) +
             ", sum + i * " + num(ldc) + ", cols * 4);");
      w.close();
      callKernel("tile", num(nr));
      w.line("for (long i = 0; i < rows; ++i) memcpy(sum + i * " + num(ldc) +
             ", tile + i * " + num(nr) + ", cols * 4);");
      w.close();
    } else {
      w.line("(void)tile;");
      w.line("(void)cols;");
    }
    w.line("(void)rows;");
  } else {
    callKernel("tile", num(nr));
  }
  if (!(identity && sumsInDestination)) {
    // After the last block of k: the rest of the root, while it is near.
    if (!onePass)
      w.open("if (pc + kb >= " + num(K) + ")");
    std::string from = direct ? "sum" : "tile";
    std::string ld = direct ? num(ldc) : num(nr);
    w.open("for (long i = 0; i < rows; ++i)");
    w.line("const long " + m + " = " + m + "0 + i;");
    w.line("(void)" + m + ";");
    std::string lanes = num(W);
    w.line("long j = 0;");
    for (bool partial : {false, true}) {
      w.open(partial ? std::string("if (j < cols)")
                     : "for (; j + " + lanes + " <= cols; j += " + lanes + ")");
      w.line("const long " + n + " = " + n + "0 + j;");
      w.line("(void)" + n + ";");
      Scope scope(program, w.out, w.indent);
      scope.vectorVar = nVar;
      scope.merged = merged;
      std::string address = from + " + i * " + ld + " + j";
      if (partial && direct) {
        // The sums end where the row of the result ends.
        scope.partial = "cols - j";
        scope.line("float near[" + lanes + "] __attribute__((aligned(64)));");
        scope.line(program.helper("store_f32") + "(near, " +
                   program.helper("load_f32") + "(" + address +
                   ", cols - j), " + lanes + ");");
        address = "near";
      } else if (partial) {
        scope.partial = "cols - j";
      }
      emitEpilogue(scope, address);
      w.close();
    }
    w.close();
    if (!onePass)
      w.close();
  }
  w.close(); // ir
  w.close(); // jr
  w.close(); // ic
  if (packB && sharedB)
    w.line("#pragma omp barrier");
  w.close(); // pc
  w.close(); // jc
  if (batches > 1)
    w.close();
  w.close(); // parallel
  return program.failure.empty();
}
