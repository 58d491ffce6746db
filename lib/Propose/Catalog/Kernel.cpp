//===- Kernel.cpp - A C kernel for a canonical pattern --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

/// More scratch than this is refused: a kernel that needs it was split badly.
static constexpr int64_t kMaxWorkspace = int64_t(1) << 30;

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Loops that a value of a body depends on through the maps of the operands.
static bool loopsOf(linalg::GenericOp op, Value value,
                    llvm::SmallBitVector &dims, bool &windowed) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() != op.getBody())
      return false;
    AffineMap map = op.getIndexingMapsArray()[arg.getArgNumber()];
    for (AffineExpr expr : map.getResults()) {
      windowed |= !isa<AffineDimExpr, AffineConstantExpr>(expr);
      expr.walk([&](AffineExpr e) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          dims.set(dim.getPosition());
      });
    }
    return true;
  }
  Operation *def = value.getDefiningOp();
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    dims.set(index.getDim());
    return true;
  }
  if (def->getBlock() != op.getBody())
    return true;
  return llvm::all_of(def->getOperands(), [&](Value operand) {
    return loopsOf(op, operand, dims, windowed);
  });
}

std::optional<Contraction> catalog::matchContraction(Value value) {
  auto reduction = matchReduction(value);
  if (!reduction || reduction->kind != CombinerKind::Add)
    return std::nullopt;
  auto product = matchSumOfProducts(reduction->op, reduction->result);
  if (!product || !reduction->element.getType().isF32())
    return std::nullopt;
  Contraction c;
  c.reduction = *reduction;
  c.lhs = product->lhs;
  c.rhs = product->rhs;
  SmallVector<int64_t> ranges = reduction->op.getStaticLoopRanges();
  llvm::SmallBitVector left(ranges.size()), right(ranges.size());
  if (!loopsOf(reduction->op, c.lhs, left, c.windowed) ||
      !loopsOf(reduction->op, c.rhs, right, c.windowed))
    return std::nullopt;
  for (unsigned d : reduction->parallelDims) {
    if (left[d] && right[d])
      c.batch.push_back(d);
    else if (left[d])
      c.m.push_back(d), c.mSize *= ranges[d];
    else if (right[d])
      c.n.push_back(d), c.nSize *= ranges[d];
    else if (ranges[d] != 1)
      return std::nullopt;
  }
  for (unsigned d : reduction->reductionDims) {
    if ((!left[d] || !right[d]) && ranges[d] != 1)
      return std::nullopt;
    c.k.push_back(d);
  }
  return c;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

int64_t KernelEmitter::parameter(const std::string &name, int64_t fallback,
                                 int64_t lo, int64_t hi) {
  auto it = parameters.find(name);
  int64_t value = it == parameters.end() ? fallback : it->second;
  value = std::max(lo, std::min(hi, value));
  used[name] = value;
  return value;
}

Discovery KernelEmitter::discoverWith(llvm::function_ref<void(Scope &)> body,
                                      const std::vector<MergedVars> &merged) {
  Discovery found;
  Program scratch = program;
  std::string text;
  Scope scope(scratch, text, 0);
  scope.merged = merged;
  scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) {
    found.uses.push_back({value, SmallVector<Lin>(index)});
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto elem = type ? elemOf(type.getElementType()) : std::nullopt;
    return CValue{"0", computeElem(elem.value_or(Elem::F32)), false};
  };
  scope.onLoad = [&](const Buffer &buffer, const Lin &lin) {
    found.loads.push_back({buffer, lin});
  };
  scope.onComputed = [&](Value value, ArrayRef<Lin> index, const CValue &) {
    if (isExpensive(value.getDefiningOp()))
      found.expensive.push_back({value, SmallVector<Lin>(index)});
  };
  body(scope);
  found.failure = scratch.failure;
  return found;
}

Discovery KernelEmitter::discover(Value value, ArrayRef<Lin> index) {
  return discoverWith([&](Scope &scope) { scope.at(value, index); });
}

Value KernelEmitter::advance(Value value) {
  // A reduction is best written together with the elementwise ops behind it.
  Value current = value;
  while (true) {
    Value end = current;
    // Through reshapes with one user.
    while (
        end.hasOneUse() &&
        isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(*end.user_begin()))
      end = (*end.user_begin())->getResult(0);
    // One op, but perhaps twice an operand of it (x · sigmoid(x)).
    Operation *user = nullptr;
    bool several = false;
    for (Operation *candidate : end.getUsers()) {
      several |= user && user != candidate;
      user = candidate;
    }
    auto generic = dyn_cast_or_null<linalg::GenericOp>(user);
    if (several || !generic || !isElementwise(generic) ||
        generic->getNumResults() != 1)
      return current;
    auto from = cast<RankedTensorType>(end.getType());
    auto to = cast<RankedTensorType>(generic->getResult(0).getType());
    if (from.getNumElements() != to.getNumElements())
      return current;
    current = generic->getResult(0);
  }
}

bool KernelEmitter::materialize(Value value) {
  value = stripReshapes(value);
  if (program.buffers.count(value.getAsOpaquePointer()))
    return true;
  auto type = cast<RankedTensorType>(value.getType());
  auto elem = elemOf(type.getElementType());
  if (!elem || !type.hasStaticShape())
    return program.fail("an intermediate of an unknown type");
  int64_t offset = program.reserve(type.getNumElements() * bytesOf(*elem) + 64);
  if (program.workspaceBytes > kMaxWorkspace)
    return program.fail("the intermediates need more than 1 GiB");
  Buffer buffer;
  buffer.elem = *elem;
  buffer.pointer = program.fresh("mid");
  program.body += std::string("  ") + cTypeOf(*elem) + " *const " +
                  buffer.pointer + " = " +
                  program.workspacePointer(*elem, offset) + ";\n";
  inProgress.insert(value.getAsOpaquePointer());
  bool done = produce(value, buffer);
  inProgress.erase(value.getAsOpaquePointer());
  if (!done)
    return false;
  program.buffers[value.getAsOpaquePointer()] = buffer;
  return true;
}

bool KernelEmitter::materializeUses(const Discovery &discovery,
                                    llvm::function_ref<bool(const Use &)> keep,
                                    bool &changed) {
  changed = false;
  for (const Use &use : discovery.uses) {
    if (keep(use))
      continue;
    changed = true;
    Value target = use.value;
    if (matchContraction(target)) {
      target = advance(target);
      if (inProgress.count(stripReshapes(target).getAsOpaquePointer()))
        target = use.value;
    }
    if (inProgress.count(stripReshapes(target).getAsOpaquePointer()))
      return program.fail("a value that is needed to compute itself");
    // The same value again: what reads it cannot be expressed either.
    if (program.buffers.count(stripReshapes(target).getAsOpaquePointer()))
      return program.fail("a reshape of a value that is not linear");
    if (!materialize(target))
      return false;
    return true; // Others may be gone with it: look again.
  }
  return true;
}

/// Whether a sum of products is a stage of its own: one that moves over a
/// window; of others also a vector times a matrix, which families read in whole
/// vectors however it lies.
static bool isStage(const Contraction &c) {
  if (c.windowed)
    return true;
  return !c.m.empty() && !c.n.empty() && c.mSize * c.nSize >= 16;
}

bool KernelEmitter::produce(Value root, const Buffer &destination) {
  if (!program.failure.empty())
    return false;
  root = stripReshapes(root);
  auto type = dyn_cast<RankedTensorType>(root.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return program.fail(
        "a value that is not a tensor of static, non-zero shape");
  Operation *def = root.getDefiningOp();
  if (isa_and_nonnull<tensor::PadOp>(def))
    return emitPad(root, destination);
  if (isa_and_nonnull<tensor::InsertSliceOp, tensor::ConcatOp>(def))
    return emitInsert(root, destination);

  SmallVector<Lin> index;
  for (auto [d, extent] : llvm::enumerate(type.getShape()))
    index.push_back(
        extent == 1 ? Lin(0)
                    : Lin::ofVar(program.newVar(program.fresh("d"), extent)));

  // No family takes the sums that the root is.
  bool isRefused = false;
  for (int attempt = 0; attempt < 200; ++attempt) {
    Discovery found = discover(root, index);
    if (!found.failure.empty())
      return program.fail(found.failure);
    // A contraction of which the root is the epilogue.
    const Use *chosen = nullptr;
    std::optional<Contraction> contraction;
    for (const Use &use : found.uses) {
      auto c = matchContraction(use.value);
      if (!c || !isStage(*c))
        continue;
      Lin sum;
      for (const Lin &i : use.index)
        for (auto [var, coefficient] : i.terms)
          sum.terms[var] = 1;
      bool full = llvm::all_of(index, [&](const Lin &i) {
        return i.terms.empty() || sum.terms.count(i.terms.begin()->first);
      });
      full &= cast<RankedTensorType>(use.value.getType()).getNumElements() ==
              type.getNumElements();
      if (full && !chosen) {
        chosen = &use;
        contraction = c;
      }
    }
    if (chosen && !isRefused && parameter("family", 0, 0, 1) == 0) {
      // The same contraction at another index would be a second one.
      Use use = *chosen;
      bool changed = false;
      if (!materializeUses(
              found,
              [&](const Use &u) {
                return u.value == use.value && u.index == use.index;
              },
              changed))
        return false;
      if (changed)
        continue;
      Program saved = program;
      std::vector<std::string> savedStages = stages;
      std::vector<FamilyStage> savedFamilyStages = familyStages;
      auto attemptOne = [&](auto &&emit) {
        if (emit())
          return true;
        program = saved;
        stages = savedStages;
        familyStages = savedFamilyStages;
        return false;
      };
      if (!contraction->windowed && contraction->isMatrix() && attemptOne([&] {
            return emitAttention(root, destination, index, use, *contraction);
          }))
        return true;
      if (families.empty())
        return program.fail(kNoFamilies);
      // Families know of zeros around what windows move over, not around what
      // they are multiplied with.
      for (bool keepsPads : {true, false})
        if (attemptOne([&] {
              return emitContraction(root, destination, index, use,
                                     *contraction, keepsPads);
            }))
          return true;
      // What becomes of the sums is no part of a family's program: it comes
      // after them.
      if (use.value != root) {
        if (!materialize(use.value))
          return false;
        continue;
      }
      // Loops compute it, once all that they read is there.
      isRefused = true;
      refusals.push_back(refusal);
      continue;
    }
    // Loops over rows: reductions of rows stay, all else comes before. What a
    // reduction reads is looked at in the same way.
    bool changed = false;
    auto staysInNest = [&](const Use &u) {
      if (u.value == root)
        return true;
      auto c = matchContraction(u.value);
      if (c && isStage(*c))
        return false;
      return bool(matchReduction(u.value));
    };
    std::vector<Use> kept = found.uses;
    std::set<void *> looked;
    if (!materializeUses(found, staysInNest, changed))
      return false;
    while (!changed && !kept.empty()) {
      Use use = kept.back();
      kept.pop_back();
      if (!looked.insert(use.value.getAsOpaquePointer()).second)
        continue;
      auto reduction = matchReduction(use.value);
      auto loops = reduction
                       ? loopsAt(reduction->op, reduction->result, use.index)
                       : std::nullopt;
      if (!loops)
        continue;
      SmallVector<int64_t> ranges = reduction->op.getStaticLoopRanges();
      const unsigned firstReduced = program.vars.size();
      for (unsigned d : reduction->reductionDims)
        (*loops)[d] =
            ranges[d] == 1
                ? Lin(0)
                : Lin::ofVar(program.newVar(program.fresh("r"), ranges[d]));
      // A nest has the loops of one reduction around an element: another one
      // for each of its elements comes before.
      auto staysInside = [&](const Use &u) {
        return staysInNest(u) && llvm::all_of(u.index, [&](const Lin &i) {
                 return i.terms.empty() ||
                        i.terms.rbegin()->first < firstReduced;
               });
      };
      Discovery inside = discoverWith(
          [&](Scope &s) { s.reductionElement(*reduction, *loops); });
      if (!inside.failure.empty())
        return program.fail(inside.failure);
      if (!materializeUses(inside, staysInside, changed))
        return false;
      kept.insert(kept.end(), inside.uses.begin(), inside.uses.end());
    }
    if (changed)
      continue;
    stages.push_back("nest");
    return emitNest(root, destination, index);
  }
  return program.fail("too many stages");
}

//===----------------------------------------------------------------------===//
// Copies: pad, insert_slice, concat
//===----------------------------------------------------------------------===//

void KernelEmitter::vectorLoop(Writer &w, const std::string &counter,
                               const std::string &count, unsigned var,
                               const std::string &base,
                               llvm::function_ref<void(Scope &)> body,
                               const std::vector<MergedVars> &merged) {
  std::string lanes = std::to_string(program.lanes);
  const std::string &name = program.vars[var].name;
  w.line("long " + counter + " = 0;");
  for (bool partial : {false, true}) {
    w.open(partial ? "if (" + counter + " < " + count + ")"
                   : "for (; " + counter + " + " + lanes + " <= " + count +
                         "; " + counter + " += " + lanes + ")");
    w.line("const long " + name + " = " + base + " + " + counter + ";");
    w.line("(void)" + name + ";");
    Scope scope(program, w.out, w.indent);
    scope.vectorVar = var;
    scope.merged = merged;
    if (partial)
      scope.partial = count + " - " + counter;
    body(scope);
    w.close();
  }
}

/// Opens loops over the outer dimensions, in parallel over the flat index; the
/// caller closes two blocks: the loop and the parallel region. There is no
/// barrier but the end of the region, so that a stage that does not read this
/// one can go on in it.
static void openRows(Program &program, Writer &w, ArrayRef<unsigned> vars) {
  int64_t total = 1;
  for (unsigned var : vars)
    total *= program.vars[var].extent;
  w.line("#pragma omp parallel num_threads(" + Twine(program.threads) + ")");
  w.open("");
  w.line("#pragma omp for schedule(static) nowait");
  w.open("for (long row = 0; row < " + Twine(total) + "; ++row)");
  int64_t below = total;
  for (unsigned var : vars) {
    below /= program.vars[var].extent;
    w.line("const long " + program.vars[var].name + " = row / " + Twine(below) +
           " % " + Twine(program.vars[var].extent) + ";");
  }
}

bool KernelEmitter::emitPad(Value value, const Buffer &destination) {
  auto pad = value.getDefiningOp<tensor::PadOp>();
  Value padding = pad.getConstantPaddingValue();
  auto low = pad.getStaticLow(), high = pad.getStaticHigh();
  auto constant =
      padding ? padding.getDefiningOp<arith::ConstantOp>() : nullptr;
  if (!constant || llvm::any_of(low, ShapedType::isDynamic) ||
      llvm::any_of(high, ShapedType::isDynamic) ||
      llvm::any_of(low, [](int64_t v) { return v < 0; }) ||
      llvm::any_of(high, [](int64_t v) { return v < 0; }))
    return program.fail("a pad that is not a constant around a tensor");
  auto from = pad.getSourceType().getShape(),
       to = pad.getResultType().getShape();
  SmallVector<Lin> source, target;
  SmallVector<unsigned> outer;
  std::string inside;
  unsigned inner = 0;
  unsigned rank = to.size();
  if (rank == 0)
    return program.fail("a pad of rank zero");
  for (unsigned d = 0; d < rank; ++d) {
    // The variable runs over the target, but over the source in the last one.
    unsigned var =
        program.newVar(program.fresh("p"), d + 1 == rank ? from[d] : to[d]);
    if (d + 1 == rank) {
      inner = var;
      source.push_back(Lin::ofVar(var));
      target.push_back(Lin::ofVar(var) + Lin(low[d]));
      continue;
    }
    outer.push_back(var);
    target.push_back(Lin::ofVar(var));
    source.push_back(Lin::ofVar(var) + Lin(-low[d]));
    if (low[d] || high[d])
      inside += (inside.empty() ? "" : " && ") + program.vars[var].name +
                " >= " + std::to_string(low[d]) + " && " +
                program.vars[var].name + " < " +
                std::to_string(low[d] + from[d]);
  }
  while (true) {
    Discovery found = discover(pad.getSource(), source);
    bool changed = false;
    if (!materializeUses(found, [](const Use &) { return false; }, changed))
      return false;
    if (!changed)
      break;
  }
  stages.push_back("pad");
  Writer w(program.body);
  w.line("/* Pad. */");
  openRows(program, w, outer);
  std::string rest;
  Scope scope(program, rest, 0);
  // The padding is a literal in the storage type.
  Type padType = padding.getType();
  std::string number;
  if (auto f = dyn_cast<FloatAttr>(constant.getValue())) {
    double v = f.getValueAsDouble();
    number = v != v       ? "NAN"
             : v - v != 0 ? (v > 0 ? "INFINITY" : "-INFINITY")
                          : llvm::formatv("{0:f6}", v).str();
    if (v == v && v - v == 0 && v != double(int64_t(v)))
      return program.fail("a padding value that is not whole");
  } else if (auto i = dyn_cast<IntegerAttr>(constant.getValue())) {
    number = std::to_string(i.getValue().getSExtValue());
  } else {
    return program.fail("a padding value that is not a number");
  }
  (void)padType;
  std::string type = cTypeOf(destination.elem);
  Lin rowStart =
      scope.linear(value, target) - Lin::ofVar(inner) - Lin(low[rank - 1]);
  w.line(type + " *const line = " + destination.pointer + " + " +
         program.linText(rowStart) + ";");
  w.line("(void)line;");
  if (!inside.empty()) {
    w.open("if (!(" + Twine(inside) + "))");
    w.line("for (long x = 0; x < " + Twine(to[rank - 1]) +
           "; ++x) line[x] = (" + type + ")" + number + ";");
    w.line("continue;");
    w.close();
  }
  if (low[rank - 1])
    w.line("for (long x = 0; x < " + Twine(low[rank - 1]) +
           "; ++x) line[x] = (" + type + ")" + number + ";");
  vectorLoop(w, "x", std::to_string(from[rank - 1]), inner, "0", [&](Scope &s) {
    s.store(destination, s.linear(value, target),
            s.at(pad.getSource(), source));
  });
  if (high[rank - 1])
    w.line("for (long x = " + Twine(low[rank - 1] + from[rank - 1]) + "; x < " +
           Twine(to[rank - 1]) + "; ++x) line[x] = (" + type + ")" + number +
           ";");
  w.close();
  w.close();
  return program.failure.empty();
}

bool KernelEmitter::emitInsert(Value value, const Buffer &destination) {
  // A copy of the whole, then one of each part: later writes win.
  struct Part {
    Value source;
    SmallVector<Lin> from, to;
    SmallVector<unsigned> outer;
    unsigned inner;
  };
  std::vector<Part> parts;
  auto addPart = [&](Value source, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> strides,
                     const llvm::SmallBitVector &dropped) {
    auto shape = cast<RankedTensorType>(source.getType()).getShape();
    Part part;
    part.source = source;
    unsigned next = 0;
    for (size_t d = 0; d < offsets.size(); ++d) {
      Lin i(0);
      if (!dropped.test(d)) {
        unsigned var = program.newVar(program.fresh("p"), shape[next]);
        part.outer.push_back(var);
        i = Lin::ofVar(var);
        part.from.push_back(i);
        ++next;
      }
      part.to.push_back(i * strides[d] + Lin(offsets[d]));
    }
    if (part.outer.empty())
      return false;
    part.inner = part.outer.pop_back_val();
    parts.push_back(part);
    return true;
  };
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
  llvm::SmallBitVector none(shape.size());
  bool ok = true;
  if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
    auto offsets = insert.getStaticOffsets(),
         strides = insert.getStaticStrides();
    if (llvm::any_of(offsets, ShapedType::isDynamic) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return program.fail("an insert_slice at dynamic offsets");
    if (!insert.getDest().getDefiningOp<tensor::EmptyOp>())
      ok &= addPart(insert.getDest(), zeros, ones, none);
    ok &=
        addPart(insert.getSource(), offsets, strides, insert.getDroppedDims());
  } else {
    auto concat = value.getDefiningOp<tensor::ConcatOp>();
    int64_t offset = 0;
    for (Value input : concat.getInputs()) {
      SmallVector<int64_t> offsets = zeros;
      offsets[concat.getDim()] = offset;
      ok &= addPart(input, offsets, ones, none);
      offset +=
          cast<RankedTensorType>(input.getType()).getDimSize(concat.getDim());
    }
  }
  if (!ok)
    return program.fail("an insertion of rank zero");
  for (Part &part : parts)
    while (true) {
      Discovery found = discover(part.source, part.from);
      bool changed = false;
      if (!materializeUses(found, [](const Use &) { return false; }, changed))
        return false;
      if (!changed)
        break;
    }
  stages.push_back("insert");
  for (Part &part : parts) {
    Writer w(program.body);
    w.line("/* Copy. */");
    openRows(program, w, part.outer);
    vectorLoop(w, "x", std::to_string(program.vars[part.inner].extent),
               part.inner, "0", [&](Scope &s) {
                 s.store(destination, s.linear(value, part.to),
                         s.at(part.source, part.from));
               });
    w.close();
    w.close();
  }
  return program.failure.empty();
}

//===----------------------------------------------------------------------===//
// The whole kernel
//===----------------------------------------------------------------------===//

/// Whether something takes an extremum over loops. exp(x * s - most) of a
/// product that is rounded for `most`, and fused with the subtraction, is
/// infinite where x * s is large; the two may be in different stages.
static bool takesExtrema(Block &pattern) {
  return llvm::any_of(pattern.getOps<linalg::GenericOp>(), [](auto generic) {
    return llvm::any_of(generic->getResults(), [](Value result) {
      std::optional<Reduction> reduction = matchReduction(result);
      return reduction && isFloatExtremum(reduction->kind);
    });
  });
}

bool KernelEmitter::emit(Block &pattern, CKernel &kernel) {
  roundsProducts = takesExtrema(pattern);
  program.reciprocals =
      parameters.count("reciprocal") && parameters["reciprocal"] != 0;
  std::string signature;
  auto addParameter = [&](Type type, const std::string &name, bool isConst,
                          Buffer &buffer) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto elem = tensor ? elemOf(tensor.getElementType()) : std::nullopt;
    if (!elem || !tensor.hasStaticShape())
      return program.fail(
          "an operand that is not a static tensor of a type the "
          "catalog knows");
    buffer.pointer = name;
    buffer.elem = *elem;
    signature += (isConst ? "const " : "") + std::string(cTypeOf(*elem)) +
                 " *restrict " + name + ", ";
    return true;
  };
  for (auto [i, arg] : llvm::enumerate(pattern.getArguments())) {
    Buffer buffer;
    if (!addParameter(arg.getType(), "in" + std::to_string(i), true, buffer))
      return false;
    program.buffers[arg.getAsOpaquePointer()] = buffer;
  }
  Operation *terminator = pattern.getTerminator();
  std::vector<Buffer> outs;
  for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
    Buffer buffer;
    if (!addParameter(operand.getType(), "out" + std::to_string(i), false,
                      buffer))
      return false;
    outs.push_back(buffer);
  }
  for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
    Value root = stripReshapes(operand);
    inProgress.insert(root.getAsOpaquePointer());
    if (!produce(operand, outs[i]))
      return false;
    inProgress.erase(root.getAsOpaquePointer());
    program.buffers.insert({root.getAsOpaquePointer(), outs[i]});
  }
  if (!program.failure.empty())
    return false;
  if (program.workspaceBytes > kMaxWorkspace)
    return program.fail("the kernel needs more than 1 GiB of workspace");
  std::string unused;
  for (size_t i = 0; i < pattern.getNumArguments(); ++i)
    unused += "  (void)in" + std::to_string(i) + ";\n";
  if (!join("void fastk_kernel(" + signature + "void *workspace) {\n" + unused +
                "  (void)workspace;\n",
            kernel))
    return false;
  kernel.workspaceBytes = program.workspaceBytes;
  if (program.sharedDivisors)
    used["reciprocal"] = program.reciprocals;
  used["vectorBytes"] = machine.vectorBytes;
  kernel.parameters = used;
  kernel.stages = stages;
  kernel.refusals = refusals;
  return true;
}

CKernel catalog::emitCKernel(Block &pattern, const Machine &machine,
                             const Parameters &parameters,
                             StageFamilies &families) {
  // Work on a copy in which every named op is a generic.
  CKernel kernel;
  MLIRContext *context = pattern.getParentOp()->getContext();
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(module->getBody());
  Operation *terminator = pattern.getTerminator();
  auto function = func::FuncOp::create(
      builder, builder.getUnknownLoc(), "pattern",
      builder.getFunctionType(pattern.getArgumentTypes(),
                              terminator->getOperandTypes()));
  Block *body = function.addEntryBlock();
  IRMapping mapping;
  mapping.map(pattern.getArguments(), body->getArguments());
  builder.setInsertionPointToStart(body);
  for (Operation &op : pattern.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value operand : terminator->getOperands())
    results.push_back(mapping.lookupOrDefault(operand));
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);

  // What nothing uses would count as a user of what it reads.
  for (bool erased = true; erased;) {
    erased = false;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&op)) {
        op.erase();
        erased = true;
      }
  }
  SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()))
      named.push_back(op);
  });
  IRRewriter rewriter(context);
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op))) {
      kernel.failure = "a linalg op that has no generic form";
      return kernel;
    }
  }
  // Generics that fill: read like fills, through their bodies.
  Machine used = machine;
  auto width = parameters.find("vectorBytes");
  if (width != parameters.end() &&
      (width->second == 16 || width->second == 32 || width->second == 64) &&
      width->second <= machine.vectorBytes)
    used.vectorBytes = width->second;
  KernelEmitter emitter(used, parameters, families);
  if (!emitter.emit(*body, kernel)) {
    kernel.failure = emitter.failure();
    kernel.source.clear();
  }
  return kernel;
}
