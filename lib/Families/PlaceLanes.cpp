//===- PlaceLanes.cpp - Vectors of values at places -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlaceLanes.h"
#include "LanesText.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::PlacedLoad;
using families::PlacedWalk;
using families::PlaceLanes;

PlaceLanes::PlaceLanes(Program program, const Machine &machine,
                       ArrayRef<GatheredIndex> gathered)
    : HeaderText(std::move(program)), gathered(gathered) {
  families::setUpHost(*this, machine);
}

std::optional<CValue> PlaceLanes::loadApart(Scope &scope,
                                            const std::set<unsigned> &ofLanes,
                                            const Buffer &buffer,
                                            const Lin &place) {
  Lin shared = place;
  std::string own;
  for (auto [var, coefficient] : place.terms) {
    if (!ofLanes.count(var))
      continue;
    shared.terms.erase(var);
    own += " + " + std::to_string(coefficient) + "L*" + program.vars[var].name +
           "[lane]";
  }
  if (own.empty())
    return std::nullopt;
  std::string where;
  for (const Guard &guard : scope.mergedGuards()) {
    std::string text = scope.guardText(guard);
    if (!text.empty())
      where += (where.empty() ? "if (" : " && ") + text;
  }
  int64_t step = shared.coefficient(*scope.vectorVar) * scope.laneStep;
  std::string raw = program.fresh("t"),
              type = std::string("v") + suffixOf(buffer.elem);
  scope.line(type + " " + raw + " = (" + type + ")0;");
  scope.line(
      where + (where.empty() ? "" : ") ") + "for (long lane = 0; lane < " +
      (scope.partial.empty() ? "LANES" : scope.partial) + "; ++lane) " + raw +
      "[lane] = " + buffer.pointer + "[" + program.linText(shared) + own +
      (step ? " + " + std::to_string(step) + "L*lane" : "") + "];");
  std::string text = raw;
  if (buffer.elem == Elem::F16)
    text = "__builtin_convertvector(" + raw + ", vf32)";
  if (buffer.elem == Elem::BF16)
    text = program.helper("widen_bf16") + "(" + raw + ")";
  if (buffer.elem == Elem::I1)
    text = "-__builtin_convertvector(" + raw + ", vi32)";
  return scope.define(buffer.elem, true, text);
}

void PlaceLanes::heedIndices(Scope &scope,
                             const std::shared_ptr<Declared> &declared) {
  scope.loaded = [this, &scope, declared](const Buffer &buffer,
                                          const Lin &place) {
    return loadApart(scope, declared->ofLanes, buffer, place);
  };
  scope.onIndex = [this, declared](const Lin &index) {
    for (auto [var, coefficient] : index.terms)
      if (declared->ofLanes.count(var))
        program.fail("each lane is of a piece of its own");
  };
}

void PlaceLanes::prepare(Scope &scope, std::string &lines, unsigned indent) {
  scope.choosesPieces = true;
  scope.roundsProducts = roundsProducts;
  // Each computed index is declared where it is asked for first.
  auto declared = std::make_shared<Declared>();
  heedIndices(scope, declared);
  scope.onComputedIndex =
      [this, declared, &lines,
       indent](Scope &outer, const ComputedIndex &index) -> std::optional<Lin> {
    if (index.extent == 1)
      return Lin();
    const auto *found = llvm::find(gathered, index);
    if (found == gathered.end())
      return std::nullopt;
    if (!declared->all.insert(found->var).second)
      return Lin::ofVar(found->var);
    Scope inner(program, lines, indent);
    inner.vectorVar = outer.vectorVar;
    inner.laneStep = outer.laneStep;
    inner.partial = outer.partial;
    inner.merged = outer.merged;
    inner.choosesPieces = true;
    inner.roundsProducts = outer.roundsProducts;
    inner.onOpaque = outer.onOpaque;
    inner.onComputedIndex = outer.onComputedIndex;
    heedIndices(inner, declared);
    CValue value = inner.convert(inner.valueOf(index), Elem::I64);
    const std::string &name = program.vars[found->var].name;
    std::string extent = std::to_string(index.extent);
    if (value.vector) {
      declared->ofLanes.insert(found->var);
      inner.line("const vi64 " + name + " = ((" + value.text + " >= 0) & (" +
                 value.text + " < " + extent + ")) ? " + value.text +
                 " : (vi64)0;");
    } else {
      inner.line("const long " + name + " = (uint64_t)" + value.text + " < " +
                 extent + " ? " + value.text + " : 0;");
    }
    return Lin::ofVar(found->var);
  };
}

std::optional<std::string>
PlaceLanes::tryLines(const PlacedWalk &walk, bool isVector, StringRef partial,
                     unsigned indent, Evaluation evaluate, std::string &why) {
  Program before = program;
  std::string lines;
  {
    Scope scope(program, lines, indent);
    if (isVector)
      scope.vectorVar = walk.var;
    scope.laneStep = walk.step;
    scope.merged = walk.merged;
    scope.partial = partial;
    prepare(scope, lines, indent);
    evaluate(scope);
  }
  why = program.failure;
  if (why.empty())
    return lines;
  program = std::move(before);
  return std::nullopt;
}

std::string PlaceLanes::elementText(const PlacedWalk &walk, unsigned indent,
                                    Evaluation evaluate) {
  std::string why;
  std::optional<std::string> lines =
      tryLines(walk, false, "", indent, evaluate, why);
  if (!lines)
    program.fail(why);
  return lines.value_or("");
}

std::string PlaceLanes::lanesText(const PlacedWalk &walk, StringRef index,
                                  unsigned indent, Evaluation evaluate) {
  std::string margin(indent * 2, ' '), unused;
  auto declared = [&](const Twine &at) {
    return walk.var ? (margin + "  const long " + program.vars[*walk.var].name +
                       " = " + index + at + ";\n")
                          .str()
                    : std::string();
  };
  // The one element of a segment, as of a pad.
  if (walk.var && extentOf(walk.var) == 1)
    return margin + "{\n" + declared("") +
           elementText(walk, indent + 1, evaluate) + margin + "}\n";
  if (walk.var) {
    auto whole = tryLines(walk, true, "", indent + 1, evaluate, unused);
    if (whole) {
      auto first = tryLines(walk, true, "count", indent + 1, evaluate, unused);
      if (first)
        return margin + "if (count >= LANES) {\n" + declared("") + *whole +
               margin + "} else {\n" + declared("") + *first + margin + "}\n";
    }
  }
  std::string step =
      walk.step == 1 ? " + lane" : " + lane * " + std::to_string(walk.step);
  return margin +
         "for (long lane = 0; lane < LANES && lane < count; ++lane) {\n" +
         declared(step) + elementText(walk, indent + 1, evaluate) + margin +
         "}\n";
}

std::string PlaceLanes::narrowedText(const PlacedWalk &walk,
                                     unsigned indent) const {
  std::string text;
  for (const MergedVars &group : walk.merged)
    if (walk.narrow.count(group.merged) && group.merged != walk.var)
      text += std::string(indent * 2, ' ') + "const long " +
              program.vars[group.merged].name + " = " +
              program.vars[group.parts[0]].name + " - " +
              std::to_string(-group.begin) + ";\n";
  return text;
}

bool PlaceLanes::hasLanes(const PlacedWalk &walk, Evaluation evaluate) {
  std::string unused;
  Program before = program;
  bool has = walk.var && tryLines(walk, true, "", 0, evaluate, unused);
  program = std::move(before);
  return has;
}

int64_t PlaceLanes::workOf(const PlacedWalk &walk, Evaluation evaluate) {
  std::string why;
  Program before = program;
  int64_t work = 0;
  if (auto lines =
          walk.var ? tryLines(walk, true, "", 0, evaluate, why) : std::nullopt)
    work = families::workOfLines(*lines);
  else if (auto each = tryLines(walk, false, "", 0, evaluate, why))
    work = (families::workOfLines(*each) + 4) * program.lanes;
  program = std::move(before);
  return work;
}

families::ValueRange families::insideOf(ArrayRef<PlacedLoad> loads,
                                        unsigned var, int64_t extent) {
  ValueRange range{0, extent};
  for (const PlacedLoad &load : loads)
    for (const Guard &guard : load.guards) {
      int64_t step = guard.index.coefficient(var);
      if (step <= 0 || guard.index.terms.size() != 1)
        continue;
      auto first = [&](int64_t bound) {
        return llvm::divideCeilSigned(bound - guard.index.constant, step);
      };
      range.begin = std::max(range.begin, first(guard.low));
      range.end = std::min(range.end, first(guard.high));
    }
  range.end = std::max(range.begin, range.end);
  return range;
}

PlacedWalk families::narrowed(Program &program, const PlacedWalk &walk,
                              unsigned var, int64_t begin, int64_t extent) {
  PlacedWalk part = walk;
  unsigned inside = program.newVar(
      program.vars[var].name + "_" + Twine(program.vars.size()), extent);
  MergedVars group{{var}, inside, {1}, -begin};
  part.merged.push_back(std::move(group));
  part.narrow.insert(inside);
  if (part.var == var)
    part.var = inside;
  return part;
}
