//===- Nest.cpp - Rows, reductions and elementwise chains in C ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One loop over rows, and for each row as few passes as its reductions need: a
// pass computes all reductions that depend on the same earlier ones, and the
// last pass writes the result. The lanes of a vector run along the row when it
// is contiguous (partial results in several accumulators, one horizontal
// reduction a row), else along neighbouring rows. Threads share the rows, or,
// when there are fewer rows than threads, the elements of each row.
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

namespace fastk {
namespace catalog {

/// A reduction of the nest: one accumulator a row.
struct RowReduction {
  Use use;
  Reduction reduction;
  SmallVector<Lin> loops;
  SmallVector<unsigned> inner;
  unsigned level = 0;
  std::string result;
  int64_t partials = 0;
};

class NestEmitter {
public:
  NestEmitter(KernelEmitter &kernel, Value root, const Buffer &destination,
              ArrayRef<Lin> rootIndex)
      : kernel(kernel), program(kernel.program), root(root),
        destination(destination), rootIndex(rootIndex) {}

  bool run();
  /// Emits the passes of one row into an open block, by one thread: the root's
  /// only free variable is `along`, all others are set already.
  bool runInside(Writer &w, unsigned along);

private:
  bool collect();
  /// Null for `keptRow`: there is no buffer for a row.
  void chooseKept(int64_t innerCount, int64_t *keptRow);
  unsigned visit(Value value, ArrayRef<Lin> index);
  unsigned visitWith(llvm::function_ref<void(Scope &)> body);
  /// Merges neighbouring variables as far as every load allows.
  std::vector<MergedVars> mergePass(ArrayRef<unsigned> vars,
                                    llvm::function_ref<void(Scope &)> body,
                                    SmallVector<unsigned> &loops);
  void bindResults(Scope &scope, unsigned level);
  Scope scopeIn(Writer &w);
  void emitReductionPass(Writer &w, unsigned level);
  void emitRootPass(Writer &w);
  /// Notes what a pass loads in this scope, where the next row is fetched.
  void watchLoads(Scope &scope, unsigned pass);
  /// Prefetches what was noted, a row further on, and forgets it.
  void fetchNextRow(Scope &scope, unsigned copy);
  void innerLoops(Writer &w, ArrayRef<unsigned> loops,
                  const std::vector<MergedVars> &merged, bool share,
                  unsigned unroll,
                  llvm::function_ref<void(Scope &, unsigned)> body);
  int64_t rowElements() const;

  KernelEmitter &kernel;
  Program &program;
  Value root;
  Buffer destination;
  SmallVector<Lin> rootIndex;
  std::vector<RowReduction> reductions;
  SmallVector<unsigned> rows, inner;
  unsigned levels = 0;
  /// Reductions around the one that is being looked at.
  unsigned depth = 0;
  /// Lanes along the last row variable instead of along the row.
  bool acrossRows = false;
  bool shareRow = false;
  bool streaming = false;
  int64_t unroll = 4;
  /// The pass that fetches what the next row reads; 0 is none, for the first
  /// pass waits for memory itself.
  int64_t ahead = 0;
  /// Whether the last pass fetches the lines that the next row writes.
  bool aheadResult = false;
  std::vector<std::pair<Buffer, Lin>> watched;
  /// An expensive value that an earlier pass keeps for the last one.
  std::optional<Use> kept;
  unsigned keptLevel = 0;
  Buffer keptBuffer;
};

} // namespace catalog
} // namespace fastk

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

int64_t NestEmitter::rowElements() const {
  int64_t n = 1;
  for (unsigned var : inner)
    n *= program.vars[var].extent;
  for (const RowReduction &r : reductions) {
    int64_t own = 1;
    for (unsigned var : r.inner)
      own *= program.vars[var].extent;
    n = std::max(n, own);
  }
  return n;
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

void NestEmitter::watchLoads(Scope &scope, unsigned pass) {
  watched.clear();
  bool last = pass == levels;
  bool inputs = ahead && ahead == int64_t(pass);
  if ((!inputs && !(last && aheadResult)) || !scope.vectorVar ||
      !scope.partial.empty())
    return;
  auto note = [this](const Buffer &buffer, const Lin &lin) {
    watched.push_back({buffer, lin});
  };
  if (inputs)
    scope.onLoad = note;
  if (last && aheadResult)
    scope.onStore = note;
}

void NestEmitter::fetchNextRow(Scope &scope, unsigned copy) {
  const int64_t lineBytes = 64;
  std::set<std::string> done;
  for (auto &[buffer, lin] : watched) {
    // What a row keeps for itself is in the cache, what all rows share too.
    int64_t rowStride = lin.coefficient(rows.back());
    if (lin.coefficient(*scope.vectorVar) != 1 || !rowStride ||
        (kept && buffer.pointer == keptBuffer.pointer &&
         buffer.pointer != destination.pointer))
      continue;
    bool written = buffer.pointer == destination.pointer;
    if (written && !aheadResult)
      continue;
    int64_t elementBytes = bytesOf(buffer.elem);
    int64_t vectorBytes = program.lanes * elementBytes;
    if (int64_t(copy) * vectorBytes % std::max(lineBytes, vectorBytes))
      continue;
    for (int64_t at = 0; at < vectorBytes; at += lineBytes) {
      // Behind the last row the address is outside of the tensor: no pointer.
      std::string address = "(uintptr_t)(" + buffer.pointer + " + " +
                            program.linText(lin) + ") + " +
                            num(rowStride * elementBytes + at);
      if (done.insert(address).second)
        scope.line("__builtin_prefetch((const void *)(" + address + "), " +
                   (written ? "1" : "0") + ", 3);");
    }
  }
  watched.clear();
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
          s.onOpaque = [&](Scope &, Value v, ArrayRef<Lin>) {
            return CValue{
                "0",
                computeElem(*elemOf(
                    cast<RankedTensorType>(v.getType()).getElementType())),
                false};
          };
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
    bool vector = acrossRows || !loops.empty();
    unsigned copies = acrossRows || loops.empty() ? 1 : unsigned(unroll);
    if (!acrossRows && !loops.empty() &&
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
    innerLoops(w, loops, merged, shareRow, copies, [&](Scope &s, unsigned u) {
      bindResults(s, level);
      watchLoads(s, level);
      emitBodies(s, [&](RowReduction &r, CValue v) {
        Elem elem = elemOfResult(r);
        v = s.convert(v, elem);
        if (vector)
          v = s.splat(v);
        std::string acc = r.result + "_" + num(u);
        CValue sum = s.combine(r.reduction.kind, {acc, elem, vector}, v);
        if (s.partial.empty() || acrossRows) {
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
      fetchNextRow(s, u);
    });
    w.close();
    for (RowReduction *r : group) {
      Scope s = scopeIn(w);
      Elem elem = elemOfResult(*r);
      if (acrossRows) {
        s.vectorVar = rows.back();
        s.partial = "valid";
      }
      bindResults(s, level);
      CValue sum{r->result + "_0", elem, vector};
      for (unsigned u = 1; u < copies; ++u)
        sum = s.combine(r->reduction.kind, sum,
                        {r->result + "_" + num(u), elem, vector});
      if (!acrossRows)
        sum = s.horizontal(r->reduction.kind, sum);
      if (shareRow) {
        // Each thread's part, then all parts by every thread.
        r->partials = program.reserve(2 * 64 * program.threads);
        std::string type = cTypeOf(elem == Elem::I1 ? Elem::I32 : elem);
        std::string parts = r->result + "_parts";
        w.line(type + " *const " + parts + " = (" + type +
               " *)((char *)workspace + " + num(r->partials) +
               " + (row & 1) * " + num(64 * program.threads) + ");");
        w.line(parts + "[tid * " +
               num(64 / (elem == Elem::I1 ? 4 : bytesOf(elem))) +
               "] = " + sum.text + ";");
        w.line("#pragma omp barrier");
        std::string total = program.fresh("total");
        w.line(type + " " + total + " = " + parts + "[0];");
        w.open("for (long i = 1; i < team; ++i)");
        Scope inside(program, w.out, w.indent);
        CValue next = inside.combine(
            r->reduction.kind, {total, elem, false},
            {parts + "[i * " +
                 num(64 / (elem == Elem::I1 ? 4 : bytesOf(elem))) + "]",
             elem, false});
        inside.line(total + " = " + next.text + ";");
        w.close();
        sum = {total, elem, false};
      }
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
      if (acrossRows)
        result = s.splat(result);
      w.line("const " + typeName(elem, acrossRows) + " " + r->result + " = " +
             result.text + ";");
      w.line("(void)" + r->result + ";");
    }
  }
}

void NestEmitter::emitRootPass(Writer &w) {
  if (kept)
    program.buffers[kept->value.getAsOpaquePointer()] = keptBuffer;
  auto body = [&](Scope &s) {
    s.store(destination, s.linear(root, rootIndex), s.at(root, rootIndex),
            streaming);
  };
  SmallVector<unsigned> loops;
  std::vector<MergedVars> merged = mergePass(
      inner,
      [&](Scope &s) {
        s.onOpaque = [&](Scope &, Value v, ArrayRef<Lin>) {
          return CValue{
              "0",
              computeElem(*elemOf(
                  cast<RankedTensorType>(v.getType()).getElementType())),
              false};
        };
        s.at(root, rootIndex);
        s.load(destination, s.linear(root, rootIndex));
      },
      loops);
  w.line("{");
  ++w.indent;
  innerLoops(w, loops, merged, shareRow, 1, [&](Scope &s, unsigned copy) {
    bindResults(s, ~0u);
    watchLoads(s, levels);
    body(s);
    fetchNextRow(s, copy);
  });
  w.close();
  if (kept)
    program.buffers.erase(kept->value.getAsOpaquePointer());
}

void NestEmitter::chooseKept(int64_t innerCount, int64_t *keptRow) {
  // An expensive elementwise value that a reduction computes and the last pass
  // needs again is kept in a row buffer, or in the result itself.
  int64_t keep = reductions.empty() || acrossRows
                     ? 0
                     : kernel.parameter("keep", 1, 0, keptRow ? 2 : 1);
  if (keep && innerCount > 1) {
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
    if (kept && keep == 1 && destination.elem == Elem::F32 && !streaming) {
      keptBuffer = destination;
    } else if (kept && keptRow && innerCount * 4 <= (1 << 20) && !shareRow) {
      *keptRow = innerCount;
      keptBuffer.elem = Elem::F32;
      keptBuffer.pointer = "rowBuffer";
      std::string nothing;
      Scope probe(program, nothing, 0);
      Lin start = probe.linear(root, rootIndex);
      for (unsigned var : inner)
        start.terms.erase(var);
      // The row must be contiguous to be addressed from its start.
      Lin contiguous;
      int64_t stride = 1;
      for (unsigned var : llvm::reverse(inner)) {
        contiguous = contiguous + Lin::ofVar(var, stride);
        stride *= program.vars[var].extent;
      }
      if (!(start + contiguous == probe.linear(root, rootIndex)))
        kept.reset();
      keptBuffer.base = start;
    } else {
      kept.reset();
    }
  }
}

bool NestEmitter::runInside(Writer &w, unsigned along) {
  if (!collect())
    return false;
  for (const RowReduction &r : reductions)
    for (const Lin &i : r.use.index)
      if (i.coefficient(along))
        return program.fail("a reduction of rows varies along the row");
  inner.push_back(along);
  unroll = kernel.parameter("unroll", 4, 1, 8);
  chooseKept(program.vars[along].extent, /*keptRow=*/nullptr);
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

  // Rows one after the other by one thread: the next one can be fetched early.
  if (levels && !rows.empty() && !shareRow && !acrossRows &&
      program.vars[rows.back()].extent > 1) {
    ahead = kernel.parameter("ahead", 0, 0, levels);
    aheadResult = kernel.parameter("aheadResult", 0, 0, 1) && !streaming;
  }

  int64_t keptRow = 0;
  chooseKept(innerCount, &keptRow);
  int64_t threads = program.threads;
  Writer w(program.body);
  std::string what = reductions.empty()
                         ? "Elementwise."
                         : "Rows: " + num(rowCount) + ", " + num(innerCount) +
                               " elements each, " + num(levels + 1) +
                               " passes.";
  w.line("/* " + what + " */");
  int64_t rowBytes = (keptRow * 4 + 63) / 64 * 64;
  int64_t rowOffset = keptRow ? program.reserve(rowBytes * threads) : 0;
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
    if (keptRow)
      w.line("float *const rowBuffer = " +
             program.workspacePointer(Elem::F32, rowOffset) +
             " + omp_get_thread_num() * " + num(rowBytes / 4) + ";");
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
