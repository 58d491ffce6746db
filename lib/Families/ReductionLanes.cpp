//===- ReductionLanes.cpp - Lanes of reductions in C ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReductionLanes.h"
#include "CoreOperands.h"
#include "CudaText.h"
#include "LanesText.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::LanesWalk;
using families::ReductionLanes;
using families::RowStatistic;

//===----------------------------------------------------------------------===//
// Runs of lanes
//===----------------------------------------------------------------------===//

std::optional<LanesWalk> ReductionLanes::walkOf(ArrayRef<unsigned> group,
                                                Evaluation evaluate,
                                                std::string &why) {
  SmallVector<unsigned> longer;
  LanesWalk walk;
  for (unsigned var : group) {
    walk.all *= program.vars[var].extent;
    if (program.vars[var].extent > 1)
      longer.push_back(var);
  }
  why = "it has one element";
  if (longer.empty())
    return std::nullopt;
  for (size_t first = 0;; ++first) {
    ArrayRef<unsigned> suffix = ArrayRef(longer).drop_front(first);
    const size_t before = program.vars.size();
    walk.merged = core.merged;
    walk.run = 1;
    for (unsigned var : suffix)
      walk.run *= program.vars[var].extent;
    walk.isNew = suffix.size() > 1;
    walk.var = suffix.front();
    if (walk.isNew) {
      MergedVars whole;
      for (unsigned var : suffix) {
        auto known = llvm::find_if(walk.merged, [&](const MergedVars &each) {
          return each.merged == var;
        });
        if (known == walk.merged.end()) {
          whole.parts.push_back(var);
          continue;
        }
        llvm::append_range(whole.parts, known->parts);
        walk.merged.erase(known);
      }
      walk.var = whole.merged =
          program.newVar("along" + Twine(program.vars.size()), walk.run);
      walk.merged.push_back(std::move(whole));
    }
    const Program untouched = program;
    {
      std::string unused;
      Scope scope(program, unused, 0);
      scope.vectorVar = walk.var;
      scope.merged = walk.merged;
      evaluate(scope);
    }
    const std::string failure = program.failure;
    program = untouched;
    if (failure.empty())
      return walk;
    program.vars.resize(before);
    if (suffix.size() == 1) {
      why = failure;
      return std::nullopt;
    }
  }
}

std::string ReductionLanes::alongText(const LanesWalk &walk,
                                      StringRef index) const {
  if (!walk.isNew)
    return "";
  std::string text = "  const long " + program.vars[walk.var].name + " = ";
  text += index;
  if (walk.run != walk.all)
    text += " % " + std::to_string(walk.run);
  return text + ";\n";
}

std::string ReductionLanes::lanesText(const LanesWalk &walk, unsigned indent,
                                      Evaluation evaluate) {
  std::string lines, margin(indent * 2, ' ');
  for (bool isPartial : {false, true}) {
    lines += margin + (isPartial ? "} else {\n" : "if (count >= LANES) {\n");
    Scope scope(program, lines, indent + 1);
    scope.vectorVar = walk.var;
    scope.merged = walk.merged;
    if (isPartial)
      scope.partial = "count";
    evaluate(scope);
  }
  return lines + margin + "}\n";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool ReductionLanes::roundsProducts() const {
  // exp(x * s - most) of a product that is rounded for `most`, and not here,
  // is infinite where x * s is large. Sums of squares may be fused.
  bool has = llvm::any_of(core.statistics, [](const RowStatistic &each) {
    return isFloatExtremum(each.reduction.kind);
  });
  Value result = core.result;
  for (Operation &op : *result.getParentBlock())
    has |= isExpensive(&op);
  return has;
}

void ReductionLanes::prepare(Scope &scope, bool isRows) {
  scope.roundsProducts = roundsProducts();
  scope.onOpaque = [this, isRows](Scope &, Value value,
                                  ArrayRef<Lin>) -> CValue {
    for (auto [number, each] : llvm::enumerate(core.statistics)) {
      linalg::GenericOp op = each.reduction.op;
      if (op->getResult(each.reduction.result) == value)
        return {"done->s" + std::to_string(number), computeElem(each.elem),
                isRows};
    }
    program.fail("a reduction is no statistic of its rows");
    return {};
  };
}

std::string ReductionLanes::neutralLanes(Scope &scope,
                                         const RowStatistic &statistic) {
  std::string neutral = scope.neutral(statistic.reduction.kind, statistic.elem);
  if (statistic.elem == Elem::I1 && neutral == "1")
    neutral = "-1";
  return "(" + registerType(computeElem(statistic.elem), true) + ")(" +
         neutral + ")";
}

/// Lanes below `count`, of vectors of elements of a type.
static std::string maskText(Program &program, Elem elem) {
  program.helper("iota");
  return bytesOf(computeElem(elem)) == 8
             ? "(FK_IOTA < (int64_t)count)"
             : "(__builtin_convertvector(FK_IOTA, vi32) < (int)count)";
}

void ReductionLanes::addTo(Scope &scope, unsigned stage, bool isRows) {
  std::optional<CValue> found;
  if (kept && keptStage == stage)
    scope.onComputed = [&](Value value, ArrayRef<Lin> index, const CValue &v) {
      if (value.getAsOpaquePointer() == kept->first &&
          kept->second == SmallVector<Lin>(index))
        found = v;
    };
  for (auto [number, each] : llvm::enumerate(core.statistics)) {
    if (each.stage != stage)
      continue;
    CValue element = scope.reductionElement(each.reduction, each.loops);
    std::string part = "part->s" + std::to_string(number);
    CValue sum =
        scope.combine(each.reduction.kind, {part, computeElem(each.elem), true},
                      scope.splat(scope.convert(element, each.elem)));
    // Lanes that are not there keep what they have; of rows they are no one's.
    if (scope.partial.empty() || isRows)
      scope.line(part + " = " + sum.text + ";");
    else
      scope.line(part + " = " + maskText(program, each.elem) + " ? " +
                 sum.text + " : " + part + ";");
  }
  scope.onComputed = nullptr;
  if (!found)
    return;
  std::string value = scope.splat(*found).text;
  if (isRows)
    scope.line("if (keeps) *kept = " + value + ";");
  else if (scope.partial.empty())
    scope.line("if (keeps) *(vf32u *)kept = " + value + ";");
  else
    scope.line("if (keeps) " + program.helper("store_f32") + "(kept, " + value +
               ", count);");
}

void ReductionLanes::takeKept(Scope &scope, bool isRows) {
  std::string text = isRows ? "*kept"
                     : scope.partial.empty()
                         ? "*(const vf32u *)kept"
                         : program.helper("load_f32") + "(kept, count)";
  scope.bound[kept->first] = scope.define(Elem::F32, true, text);
}

void ReductionLanes::endTo(Scope &scope, unsigned stage, bool isRows) {
  for (auto [number, each] : llvm::enumerate(core.statistics)) {
    if (each.stage != stage)
      continue;
    std::string name = "s" + std::to_string(number);
    Elem elem = computeElem(each.elem);
    if (!isRows)
      scope.merged = core.merged;
    CValue start = families::startOf(each.reduction, each.loops, scope);
    CValue value = {"sums->" + name, elem, isRows};
    if (start.text != scope.neutral(each.reduction.kind, each.elem) &&
        (each.reduction.kind != CombinerKind::Add ||
         !families::isZero(start.text)))
      value = scope.combine(each.reduction.kind,
                            scope.convert(start, each.elem), value);
    scope.line("done->" + name + " = " + value.text + ";");
  }
}

void ReductionLanes::finishTo(Scope &scope, bool isRows, bool streams) {
  Buffer out;
  out.pointer = "out";
  out.elem = core.resultElem;
  CValue value = scope.at(core.result, core.index);
  scope.store(out, Scope::linear(core.result, core.index), value,
              streams && scope.partial.empty());
}

Lin ReductionLanes::placeOfResult(const LanesWalk &walk) {
  Program scratch = program;
  return families::mergedPlace(core.result, core.index, walk.merged, scratch);
}

//===----------------------------------------------------------------------===//
// What is expensive
//===----------------------------------------------------------------------===//

void ReductionLanes::findKept() {
  using Places = std::vector<std::pair<void *, SmallVector<Lin>>>;
  auto expensive = [&](Evaluation evaluate) {
    Places places;
    Program before = program;
    std::string unused;
    Scope scope(program, unused, 0);
    prepare(scope, false);
    scope.onComputed = [&](Value value, ArrayRef<Lin> index,
                           const CValue &computed) {
      if (computed.elem == Elem::F32 && isExpensive(value.getDefiningOp()))
        places.emplace_back(value.getAsOpaquePointer(),
                            SmallVector<Lin>(index));
    };
    evaluate(scope);
    program = before;
    return places;
  };
  if (core.isPerRow)
    return;
  Places last =
      expensive([&](Scope &scope) { scope.at(core.result, core.index); });
  // What is computed last is made of what is computed before.
  for (const auto &wanted : llvm::reverse(last)) {
    if (llvm::any_of(last, [&](const auto &other) {
          return other.first == wanted.first && other.second != wanted.second;
        }))
      continue;
    for (const RowStatistic &each : core.statistics)
      if (llvm::is_contained(expensive([&](Scope &scope) {
                               scope.reductionElement(each.reduction,
                                                      each.loops);
                             }),
                             wanted)) {
        kept = wanted;
        keptStage = each.stage;
        return;
      }
  }
}

bool ReductionLanes::hasDivisor() {
  if (core.isPerRow)
    return false;
  Program before = program;
  auto divides = [&](Evaluation evaluate) {
    program.sharedDivisors = false;
    workOf(false, evaluate);
    return program.sharedDivisors;
  };
  bool has = divides([&](Scope &scope) { finishTo(scope, false); });
  // A quotient of which a maximum is taken must be the same in each pass.
  for (unsigned stage = 0; stage < core.stages; ++stage)
    has &= !divides([&](Scope &scope) { addTo(scope, stage, false); });
  program = before;
  return has;
}

int64_t ReductionLanes::workOf(bool isRows, Evaluation evaluate) {
  Program before = program;
  std::string lines;
  {
    Scope scope(program, lines, 0);
    scope.vectorVar =
        families::innermost(program, isRows ? core.rows : core.columns);
    scope.merged = core.merged;
    prepare(scope, isRows && scope.vectorVar);
    evaluate(scope);
  }
  bool divides = program.sharedDivisors;
  program = before;
  program.sharedDivisors = divides;
  return families::workOfLines(lines);
}
