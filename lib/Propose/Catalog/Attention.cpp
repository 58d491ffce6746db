//===- Attention.cpp - Two products with rows between them ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// O = f(Q·K)·V, where f works on rows: softmax with or without a scale and a
// mask, or anything else that a nest of rows expresses. For a block of rows the
// scores, what f makes of them and the product with V are computed one after
// the other, in buffers that stay in the second-level cache; the whole matrix
// of scores never exists. Full rows are kept, so no rescaling is needed and f
// may be anything.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

bool KernelEmitter::emitAttention(Value root, const Buffer &destination,
                                  ArrayRef<Lin> rootIndex, const Use &use,
                                  const Contraction &c) {
  if (parameters.count("fuse") && parameters["fuse"] == 0) {
    used["fuse"] = 0;
    return program.fail("the products are not to be fused");
  }
  linalg::GenericOp op = c.reduction.op;
  auto loops = loopsAt(op, c.reduction.result, use.index);
  if (!loops || c.m.size() != 1 || c.n.size() != 1 || c.k.size() != 1)
    return program.fail("not a product of two matrices");
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();

  // Which side is made from scores?
  auto sideOf = [&](Value body) -> Value {
    auto arg = dyn_cast<BlockArgument>(body);
    return arg && arg.getOwner() == op.getBody() &&
                   arg.getArgNumber() < op.getNumDpsInputs()
               ? op->getOperand(arg.getArgNumber())
               : Value();
  };
  auto single = [&](const Lin &lin) -> std::optional<unsigned> {
    if (lin.terms.size() != 1 || lin.constant || lin.terms.begin()->second != 1)
      return std::nullopt;
    return lin.terms.begin()->first;
  };
  auto mOpt = single((*loops)[c.m[0]]), dOpt = single((*loops)[c.n[0]]);
  if (!mOpt || !dOpt)
    return program.fail("rows or columns in several dimensions");
  unsigned mVar = *mOpt, dVar = *dOpt;
  // The vectors run along the columns of V; they end each row of the result.
  SmallVector<unsigned> order;
  for (const Lin &i : rootIndex)
    if (!i.terms.empty())
      order.push_back(i.terms.begin()->first);
  if (order.empty() || order.back() != dVar)
    return program.fail("the result is not contiguous along the columns");
  Value weights = sideOf(c.lhs);
  if (!weights ||
      program.buffers.count(stripReshapes(weights).getAsOpaquePointer()))
    return program.fail("not made from scores");
  unsigned kVar = program.newVar(program.fresh("k"), ranges[c.k[0]]);
  (*loops)[c.k[0]] = Lin::ofVar(kVar);
  SmallVector<unsigned> batch;
  for (unsigned var : order)
    if (var != mVar && var != dVar)
      batch.push_back(var);

  SmallVector<Lin> weightsIndex;
  for (AffineExpr expr :
       op.getIndexingMapsArray()[cast<BlockArgument>(c.lhs).getArgNumber()]
           .getResults()) {
    auto lin = evaluateAffine(expr, *loops);
    if (!lin)
      return program.fail("an unusual map");
    weightsIndex.push_back(*lin);
  }

  // Find the scores: the one contraction below, at (…, m, k).
  Value scores;
  std::optional<Contraction> inner;
  SmallVector<Lin> scoresIndex;
  auto search = [&](auto &&self, Value value, ArrayRef<Lin> index,
                    unsigned depth) -> bool {
    Discovery found = discover(value, index);
    if (!found.failure.empty() || depth > 8)
      return false;
    for (const Use &u : found.uses) {
      if (auto contraction = matchContraction(u.value)) {
        if (scores && scores != u.value)
          return false;
        scores = u.value;
        inner = contraction;
        if (depth == 0 || scoresIndex.empty())
          scoresIndex = u.index;
        continue;
      }
      auto reduction = matchReduction(u.value);
      auto at = reduction ? loopsAt(reduction->op, reduction->result, u.index)
                          : std::nullopt;
      if (!at || reduction->reductionDims.size() != 1)
        return false;
      // The row's reductions see it with their own variable: use ours.
      (*at)[reduction->reductionDims[0]] = Lin::ofVar(kVar);
      if (reduction->op.getStaticLoopRanges()[reduction->reductionDims[0]] !=
          program.vars[kVar].extent)
        return false;
      Discovery below =
          discoverWith([&](Scope &s) { s.reductionElement(*reduction, *at); });
      if (!below.failure.empty())
        return false;
      for (const Use &v : below.uses) {
        if (auto contraction = matchContraction(v.value)) {
          if (scores && scores != v.value)
            return false;
          scores = v.value;
          inner = contraction;
          scoresIndex = v.index;
        } else if (v.value != u.value && matchReduction(v.value)) {
          if (!self(self, v.value, v.index, depth + 1))
            return false;
        } else {
          return false;
        }
      }
    }
    return true;
  };
  if (!search(search, weights, weightsIndex, 0) || !scores)
    return program.fail("not made from scores");
  auto innerLoops =
      loopsAt(inner->reduction.op, inner->reduction.result, scoresIndex);
  if (!innerLoops || inner->m.size() != 1 || inner->n.size() != 1 ||
      inner->k.size() != 1)
    return program.fail("scores that are not a product of two matrices");
  bool swapped = false;
  auto rowsOf = single((*innerLoops)[inner->m[0]]),
       keysOf = single((*innerLoops)[inner->n[0]]);
  if (rowsOf == kVar && keysOf == mVar)
    swapped = true;
  else if (rowsOf != mVar || keysOf != kVar)
    return program.fail("scores at other rows");
  SmallVector<int64_t> innerRanges = inner->reduction.op.getStaticLoopRanges();
  unsigned eVar = program.newVar(program.fresh("e"), innerRanges[inner->k[0]]);
  (*innerLoops)[inner->k[0]] = Lin::ofVar(eVar);
  linalg::GenericOp innerOp = inner->reduction.op;
  Value qBody = swapped ? inner->rhs : inner->lhs,
        keyBody = swapped ? inner->lhs : inner->rhs;
  auto qValue = [&](Scope &s) { return s.bodyAt(innerOp, qBody, *innerLoops); };
  auto keyValue = [&](Scope &s) {
    return s.bodyAt(innerOp, keyBody, *innerLoops);
  };
  auto vValue = [&](Scope &s) { return s.bodyAt(op, c.rhs, *loops); };
  // No initial values: both sums start at zero.
  auto startsAtZero = [&](Reduction r, ArrayRef<Lin> at) {
    bool zero = false;
    discoverWith([&](Scope &s) {
      SmallVector<Lin> index;
      for (AffineExpr expr :
           r.op.getIndexingMapsArray()[r.op.getNumDpsInputs() + r.result]
               .getResults())
        index.push_back(*evaluateAffine(expr, at));
      zero = s.at(r.op.getDpsInits()[r.result], index).text == "0x0p+0f";
    });
    return zero;
  };
  if (!startsAtZero(inner->reduction, *innerLoops) ||
      !startsAtZero(c.reduction, *loops))
    return program.fail("products that add to something");

  // What the operands and the end read lies in buffers.
  while (true) {
    Discovery found = discoverWith([&](Scope &s) {
      qValue(s);
      keyValue(s);
      vValue(s);
      s.bound[use.value.getAsOpaquePointer()] = {"0", Elem::F32, true};
      s.at(root, rootIndex);
    });
    if (!found.failure.empty())
      return program.fail(found.failure);
    for (Use &expensive : found.expensive)
      if (expensive.value != root)
        found.uses.push_back(expensive);
    bool changed = false;
    if (!materializeUses(
            found, [&](const Use &u) { return u.value == root; }, changed))
      return false;
    if (!changed)
      break;
  }
  auto unitAlong = [&](llvm::function_ref<CValue(Scope &)> value,
                       unsigned var) {
    return llvm::any_of(
        discoverWith([&](Scope &s) { value(s); }).loads,
        [&](auto &l) { return l.second.coefficient(var) == 1; });
  };

  const int64_t W = program.lanes, M = program.vars[mVar].extent,
                K = program.vars[kVar].extent, E = program.vars[eVar].extent,
                D = program.vars[dVar].extent;
  int64_t batches = 1;
  for (unsigned var : batch)
    batches *= program.vars[var].extent;
  bool wide = machine.vectorBytes == 64;
  int64_t vectors = 2, mr = std::min<int64_t>(wide ? 14 : 6, M);
  int64_t nr = vectors * W;
  int64_t pitch = roundUp(K, nr) + W, vPitch = roundUp(D, nr);
  int64_t fit = std::max<int64_t>(1, machine.l2Bytes / (pitch * 8) / mr) * mr;
  int64_t qb =
      parameter("qb", std::min<int64_t>(std::max(fit, 2 * mr), 112), 1, 1024);
  qb = std::min(roundUp(qb, mr), roundUp(M, mr));
  used["qb"] = qb;
  used["fuse"] = 1;
  int64_t blocks = (M + qb - 1) / qb;
  // Keys beyond the rows of a block, whose weights are known to vanish.
  auto reach = causalOffset(program, weights, weightsIndex, mVar, kVar);
  bool skip = reach && parameter("skip", 1, 0, 1);
  int64_t qPitch = roundUp(E, W) + W;
  std::map<int64_t, std::string> first, second;
  std::set<int64_t> heights = {mr};
  for (int64_t rest : {M % qb % mr, qb % mr})
    if (rest)
      heights.insert(rest);
  if (M % mr)
    heights.insert(M % mr);
  for (int64_t rows : heights) {
    first[rows] = microKernel(rows, vectors, qPitch);
    second[rows] = microKernel(rows, vectors, pitch);
  }

  int64_t threads = program.threads;
  int64_t keyBytes = roundUp(K, nr) * E * 4, vBytes = vPitch * K * 4,
          scoreBytes = qb * pitch * 4 + 64,
          qBytes = roundUp(qb * qPitch * 4, 64);
  keyBytes = roundUp(keyBytes, 64);
  vBytes = roundUp(vBytes, 64);
  scoreBytes = roundUp(scoreBytes, 64);
  int64_t own = keyBytes + vBytes + 2 * scoreBytes + qBytes;
  int64_t offset = program.reserve(own * threads);
  stages.push_back("attention");
  Writer w(program.body);
  w.line("/* Two products with rows between: " + num(batches) + " times " +
         num(M) + " x " + num(K) + " scores. */");
  w.line("#pragma omp parallel num_threads(" + Twine(threads) + ")");
  w.open("");
  w.line(
      "const long tid = omp_get_thread_num(), team = omp_get_num_threads();");
  w.line("char *const own = (char *)workspace + " + num(offset) + " + tid * " +
         num(own) + ";");
  int64_t at = 0;
  auto place = [&](const char *name, int64_t bytes) {
    w.line(std::string("float *const ") + name + " = (float *)(own + " +
           num(at) + ");");
    at += bytes;
  };
  place("keys", keyBytes);
  place("values", vBytes);
  place("scores", scoreBytes);
  place("weights", scoreBytes);
  place("queries", qBytes);
  w.line("long current = -1;");
  if (skip)
    w.line("int finite = 0;");
  w.line("const long tasks = " + num(batches * blocks) + ";");
  w.open(
      "for (long task = tasks * tid / team; task < tasks * (tid + 1) / team; "
      "++task)");
  w.line("const long matrix = task / " + num(blocks) + ";");
  unsigned startVar = program.newVar(program.fresh("first"), M);
  const std::string m0 = program.vars[startVar].name;
  w.line("const long " + m0 + " = task % " + num(blocks) + " * " + num(qb) +
         ";");
  w.line("const long rows = " + num(M) + " - " + m0 + " < " + num(qb) + " ? " +
         num(M) + " - " + m0 + " : " + num(qb) + ";");
  int64_t below = batches;
  for (unsigned var : batch) {
    below /= program.vars[var].extent;
    w.line("const long " + program.vars[var].name + " = matrix / " +
           num(below) + " % " + num(program.vars[var].extent) + ";");
  }
  const std::string m = program.vars[mVar].name, k = program.vars[kVar].name,
                    d = program.vars[dVar].name;
  w.open("if (matrix != current)");
  w.line("current = matrix;");
  w.open("for (long j = 0; j < " + num(K) + "; j += " + num(nr) + ")");
  w.line("float *const panel = keys + j * " + num(E) + ";");
  {
    bool turn = !unitAlong(keyValue, kVar) && unitAlong(keyValue, eVar);
    if (!turn)
      w.line("const long width = " + num(K) + " - j < " + num(nr) + " ? " +
             num(K) + " - j : " + num(nr) + ";");
    packBlock(w, "panel", nr, kVar, "j", turn ? num(nr) : "width", num(K), eVar,
              "0", num(E), turn, keyValue);
  }
  w.close();
  w.open("for (long j = 0; j < " + num(D) + "; j += " + num(nr) + ")");
  w.line("float *const panel = values + j * " + num(K) + ";");
  {
    bool turn = !unitAlong(vValue, dVar) && unitAlong(vValue, kVar);
    if (!turn)
      w.line("const long width = " + num(D) + " - j < " + num(nr) + " ? " +
             num(D) + " - j : " + num(nr) + ";");
    packBlock(w, "panel", nr, dVar, "j", turn ? num(nr) : "width", num(D), kVar,
              "0", num(K), turn, vValue);
  }
  w.close();
  if (skip) {
    // Zero times infinity or NaN is not zero: then no key is left out.
    w.line("unsigned largest = 0;");
    w.open("for (long j = 0; j < " + num(D) + "; ++j)");
    w.open("for (long y = 0; y < " + num(K) + "; ++y)");
    w.line("unsigned bits;");
    w.line("__builtin_memcpy(&bits, values + j / " + num(nr) + " * " +
           num(nr * K) + " + y * " + num(nr) + " + j % " + num(nr) +
           ", sizeof(bits));");
    w.line("bits &= 0x7f800000u;");
    w.line("largest = bits > largest ? bits : largest;");
    w.close();
    w.close();
    w.line("finite = largest < 0x7f800000u;");
  }
  w.close();
  if (skip) {
    w.line("long reach = " + m0 + " + rows + " + num(*reach) + ";");
    w.line("reach = reach < 1 ? 1 : reach;");
    w.line("const long used = finite && reach < " + num(K) +
           " ? reach : " + num(K) + ";");
  } else {
    w.line("const long used = " + num(K) + ";");
  }
  w.line("{");
  ++w.indent;
  {
    bool turn = !unitAlong(qValue, eVar) && unitAlong(qValue, mVar);
    packBlock(w, "queries", qPitch, eVar, "0", num(E), num(E), mVar, m0, "rows",
              turn, qValue);
  }
  w.close();

  // Scores; those that are left out are never looked at, whatever is there.
  auto callKernel = [&](std::map<int64_t, std::string> &kernels,
                        const std::string &arguments) {
    std::string text = "if (height == " + num(mr) + ") ";
    w.line(text + kernels[mr] + arguments);
    for (auto &[rows, name] : kernels)
      if (rows != mr)
        w.line("else if (height == " + num(rows) + ") " + name + arguments);
  };
  w.open("for (long j = 0; j < used; j += " + num(nr) + ")");
  w.open("for (long i = 0; i < rows; i += " + num(mr) + ")");
  w.line("const long height = rows - i < " + num(mr) +
         " ? rows - i : " + num(mr) + ";");
  callKernel(first, "(" + num(E) + ", queries + i * " + num(qPitch) +
                        ", keys + j * " + num(E) + ", " + num(nr) +
                        ", scores + i * " + num(pitch) + " + j, " + num(pitch) +
                        ", 1);");
  w.close();
  w.close();

  // Rows.
  std::string nothing;
  Scope probe(program, nothing, 0);
  auto blockBuffer = [&](const char *pointer, const Lin &linear,
                         Buffer &buffer) {
    int64_t row = linear.coefficient(mVar);
    if (linear.coefficient(kVar) != 1 || row < K)
      return program.fail("scores that are not contiguous along the keys");
    buffer.pointer = pointer;
    buffer.elem = Elem::F32;
    buffer.base = linear - Lin::ofVar(kVar) - Lin::ofVar(mVar, row) +
                  Lin::ofVar(startVar, row);
    buffer.pitch[mVar] = pitch;
    buffer.pitch[startVar] = -pitch;
    return true;
  };
  Buffer scoreBuffer, weightBuffer;
  if (!blockBuffer("scores", probe.linear(scores, scoresIndex), scoreBuffer) ||
      !blockBuffer("weights", probe.linear(weights, weightsIndex),
                   weightBuffer))
    return false;
  program.buffers[scores.getAsOpaquePointer()] = scoreBuffer;
  w.open("for (long i = 0; i < rows; ++i)");
  w.line("const long " + m + " = " + m0 + " + i;");
  w.line("(void)" + m + ";");
  if (!emitRow(w, weights, weightBuffer, weightsIndex, kVar))
    return false;
  w.close();
  program.buffers.erase(scores.getAsOpaquePointer());

  // The second product and what follows it.
  w.open("for (long j = 0; j < " + num(D) + "; j += " + num(nr) + ")");
  w.line("const long width = " + num(D) + " - j < " + num(nr) + " ? " + num(D) +
         " - j : " + num(nr) + ";");
  w.open("for (long i = 0; i < rows; i += " + num(mr) + ")");
  w.line("const long height = rows - i < " + num(mr) +
         " ? rows - i : " + num(mr) + ";");
  w.line("float tile[" + num(mr * nr) + "] __attribute__((aligned(64)));");
  callKernel(second, "(used, weights + i * " + num(pitch) + ", values + j * " +
                         num(K) + ", " + num(nr) + ", tile, " + num(nr) +
                         ", 1);");
  w.open("for (long r = 0; r < height; ++r)");
  w.line("const long " + m + " = " + m0 + " + i + r;");
  w.line("(void)" + m + ";");
  vectorLoop(w, "x", "width", dVar, "j", [&](Scope &s) {
    s.bound[use.value.getAsOpaquePointer()] = s.define(
        Elem::F32, true, "*(const vf32u *)(tile + r * " + num(nr) + " + x)");
    s.store(destination, s.linear(root, rootIndex), s.at(root, rootIndex));
  });
  w.close();
  w.close();
  w.close();
  w.close();
  w.close();
  return program.failure.empty();
}
