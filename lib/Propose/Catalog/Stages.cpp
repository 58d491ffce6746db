//===- Stages.cpp - What of a pattern is a stage --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no expression computes where it is read is written to a buffer before:
// stage by stage, each as its kind wants it.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;

Discovery KernelEmitter::discoverWith(llvm::function_ref<void(Scope &)> body) {
  Discovery found;
  Program scratch = program;
  std::string text;
  Scope scope(scratch, text, 0);
  scope.choosesPieces = seesPieces;
  // What an index is computed of is read, too.
  scope.onComputedIndex =
      [&](Scope &outer, const ComputedIndex &index) -> std::optional<Lin> {
    Scope inner(scratch, text, 0);
    inner.choosesPieces = outer.choosesPieces;
    inner.onOpaque = outer.onOpaque;
    inner.onComputedIndex = outer.onComputedIndex;
    inner.valueOf(index);
    return Lin::ofVar(scratch.newVar(scratch.fresh("g"), index.extent));
  };
  scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) {
    found.uses.push_back({value, SmallVector<Lin>(index)});
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto elem = type ? elemOf(type.getElementType()) : std::nullopt;
    return CValue{"0", computeElem(elem.value_or(Elem::F32)), false};
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
  llvm::SaveAndRestore<bool> looks(seesPieces, false);
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

Lin KernelEmitter::placeLoop(int64_t extent) {
  return extent == 1 ? Lin(0)
                     : Lin::ofVar(program.newVar(program.fresh("d"), extent));
}

std::optional<SmallVector<Lin>>
KernelEmitter::placeLoops(const Reduction &reduction, ArrayRef<Lin> index) {
  linalg::GenericOp op = reduction.op;
  auto loops = loopsAt(op, reduction.result, index);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (loops)
    for (unsigned d : reduction.reductionDims)
      (*loops)[d] = placeLoop(ranges[d]);
  return loops;
}

void KernelEmitter::appendUses(const Discovery &factor,
                               std::vector<Use> &uses) {
  llvm::append_range(uses, factor.uses);
  llvm::append_range(uses, factor.expensive);
}

bool KernelEmitter::attempt(llvm::function_ref<bool()> emit) {
  Program savedProgram = program;
  std::vector<std::string> savedStages = stages, savedRefusals = refusals;
  std::vector<FamilyStage> savedFamilyStages = familyStages;
  if (emit())
    return true;
  program = std::move(savedProgram);
  stages = std::move(savedStages);
  refusals = std::move(savedRefusals);
  familyStages = std::move(savedFamilyStages);
  return false;
}

bool KernelEmitter::produce(Value root, const Buffer &destination) {
  if (!program.failure.empty())
    return false;
  root = stripReshapes(root);
  auto type = dyn_cast<RankedTensorType>(root.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return program.fail(
        "a value that is not a tensor of static, non-zero shape");
  SmallVector<Lin> index;
  for (int64_t extent : type.getShape())
    index.push_back(placeLoop(extent));

  // No family takes the sums that the root is.
  bool isRefused = false;
  // Pads and concatenations are a part of what reads them first.
  bool keepsPieces = true;
  for (int round = 0; round < 200; ++round) {
    Discovery found = discover(root, index);
    if (!found.failure.empty())
      return program.fail(found.failure);
    // Before anything of it is a stage of its own.
    if (round == 0)
      for (const Use &use : found.uses) {
        std::optional<Contraction> sums = matchContraction(use.value);
        if (sums && !sums->windowed && attempt([&] {
              return emitAttention(root, destination, index, use, *sums);
            }))
          return true;
      }
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
    if (chosen && !isRefused) {
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
      if (families.empty())
        return program.fail(kNoFamilies);
      // Families know of zeros around what windows move over, not around what
      // they are multiplied with.
      for (bool keepsPads : {true, false})
        if (attempt([&] {
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
      // Another core may take it, once all that it reads is there.
      isRefused = true;
      refusals.push_back(refusal);
      continue;
    }
    std::vector<Use> rows;
    bool changed = false;
    if (!prepareRows(root, index, keepsPieces, rows, changed))
      return false;
    if (changed)
      continue;
    if (families.empty())
      return program.fail(kNoFamilies);
    if (rows.empty() ? emitAsOneOf({"pointwise"}, root, destination)
                     : emitAsOneOf({"window", "reduction"}, root, destination))
      return true;
    const std::string why = refusal;
    if (keepsPieces && !isPieces(root)) {
      keepsPieces = false;
      continue;
    }
    // What becomes of reductions comes after them.
    auto part = llvm::find_if(
        rows, [&](const Use &use) { return stripReshapes(use.value) != root; });
    if (part == rows.end()) {
      refusals.push_back(why);
      return program.fail(llvm::join(refusals, "; "));
    }
    keepsPieces = true;
    if (!materialize(part->value))
      return false;
  }
  return program.fail("too many stages");
}

bool KernelEmitter::isPieces(Value value) {
  return isa_and_nonnull<tensor::PadOp, tensor::ConcatOp,
                         tensor::InsertSliceOp>(value.getDefiningOp());
}

bool KernelEmitter::prepareRows(Value root, ArrayRef<Lin> index,
                                bool keepsPieces, std::vector<Use> &rows,
                                bool &changed) {
  llvm::SaveAndRestore<bool> looks(seesPieces, keepsPieces);
  Discovery found = discover(root, index);
  if (!found.failure.empty())
    return program.fail(found.failure);
  auto isRow = [&](const Use &use) {
    if (use.value == root)
      return true;
    auto c = matchContraction(use.value);
    if (c && isStage(*c))
      return false;
    return bool(matchReduction(use.value));
  };
  rows = found.uses;
  std::vector<Use> kept = found.uses;
  std::set<void *> looked;
  if (!materializeUses(found, isRow, changed))
    return false;
  while (!changed && !kept.empty()) {
    Use use = kept.back();
    kept.pop_back();
    if (!looked.insert(use.value.getAsOpaquePointer()).second)
      continue;
    auto reduction = matchReduction(use.value);
    const unsigned firstReduced = program.vars.size();
    auto loops = reduction ? placeLoops(*reduction, use.index) : std::nullopt;
    if (!loops)
      continue;
    // A stage has the loops of one reduction around an element: another one
    // for each of its elements comes before.
    auto staysInside = [&](const Use &u) {
      return isRow(u) && llvm::all_of(u.index, [&](const Lin &i) {
               return i.terms.empty() || i.terms.rbegin()->first < firstReduced;
             });
    };
    Discovery inside =
        discoverWith([&](Scope &s) { s.reductionElement(*reduction, *loops); });
    if (!inside.failure.empty())
      return program.fail(inside.failure);
    if (!materializeUses(inside, staysInside, changed))
      return false;
    kept.insert(kept.end(), inside.uses.begin(), inside.uses.end());
  }
  return true;
}
