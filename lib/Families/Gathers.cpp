//===- Gathers.cpp - Places that are computed of elements -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gathers.h"
#include "PlaceText.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::GatheredIndex;
using families::PlacedLoad;

static const GatheredIndex *findVar(ArrayRef<GatheredIndex> gathered,
                                    unsigned var) {
  const GatheredIndex *found = llvm::find_if(
      gathered, [&](const GatheredIndex &each) { return each.var == var; });
  return found == gathered.end() ? nullptr : found;
}

/// Adds what an index depends on to \p moves.
static void addMoves(std::set<unsigned> &moves, const Lin &index,
                     ArrayRef<GatheredIndex> gathered) {
  for (auto [var, coefficient] : index.terms)
    if (const GatheredIndex *inner = findVar(gathered, var))
      moves.insert(inner->moves.begin(), inner->moves.end());
    else
      moves.insert(var);
}

namespace {
/// Finds what computed indices are made of.
struct Collector {
  Program &program;
  std::vector<PlacedLoad> &loads;
  SmallVectorImpl<Lin> &walks;
  std::vector<GatheredIndex> &gathered;

  void listen(Scope &scope) {
    families::collectLoads(scope, loads, walks);
    scope.onComputedIndex = [same = *this](Scope &from,
                                           const ComputedIndex &index) mutable {
      return same.collect(from, index);
    };
  }

  std::optional<Lin> collect(Scope &from, const ComputedIndex &index) {
    if (index.extent < 1)
      return std::nullopt;
    if (index.extent == 1)
      return Lin();
    std::string unused;
    Scope scope(program, unused, 0);
    scope.merged = from.merged;
    scope.onOpaque = from.onOpaque;
    listen(scope);
    std::set<unsigned> moves;
    scope.onIndex = [&, note = scope.onIndex](const Lin &place) {
      note(place);
      addMoves(moves, place, gathered);
    };
    scope.onLoad = [&, note = scope.onLoad](const Buffer &buffer,
                                            const Lin &place) {
      note(buffer, place);
      addMoves(moves, place, gathered);
      PlacedLoad wanted{buffer, place, scope.mergedGuards()};
      for (PlacedLoad &load : loads)
        load.isIndex |= load.isSameAs(wanted);
    };
    scope.valueOf(index);
    return Lin::ofVar(varOf(index, std::move(moves)));
  }

  unsigned varOf(const ComputedIndex &index, std::set<unsigned> moves) {
    auto known = llvm::find(gathered, index);
    if (known == gathered.end()) {
      unsigned var = program.newVar("g" + Twine(gathered.size()), index.extent);
      known = gathered.insert(known, {index, var, {}});
    }
    known->moves = std::move(moves);
    return known->var;
  }
};
} // namespace

void families::collectGathers(Scope &scope, Program &program,
                              std::vector<PlacedLoad> &loads,
                              SmallVectorImpl<Lin> &walks,
                              std::vector<GatheredIndex> &gathered) {
  Collector{program, loads, walks, gathered}.listen(scope);
}

void families::nameGathers(Scope &scope, ArrayRef<GatheredIndex> gathered) {
  scope.onComputedIndex =
      [gathered](Scope &, const ComputedIndex &index) -> std::optional<Lin> {
    if (index.extent == 1)
      return Lin();
    auto *known = llvm::find(gathered, index);
    return known == gathered.end() ? std::nullopt
                                   : std::optional(Lin::ofVar(known->var));
  };
}

/// Calls `tell` for each computed index that a load's place or its guards have.
static void forEachIndex(const PlacedLoad &load,
                         ArrayRef<GatheredIndex> gathered,
                         llvm::function_ref<void(const GatheredIndex &)> tell) {
  for (const GatheredIndex &each : gathered)
    if (load.place.coefficient(each.var) != 0 ||
        llvm::any_of(load.guards, [&](const Guard &guard) {
          return guard.index.coefficient(each.var) != 0;
        }))
      tell(each);
}

std::set<unsigned> families::indicesOf(const PlacedLoad &load,
                                       ArrayRef<GatheredIndex> gathered) {
  std::set<unsigned> vars;
  forEachIndex(load, gathered,
               [&](const GatheredIndex &each) { vars.insert(each.var); });
  return vars;
}

bool families::isComputedWith(const PlacedLoad &load, unsigned var,
                              ArrayRef<GatheredIndex> gathered) {
  bool does = false;
  forEachIndex(load, gathered, [&](const GatheredIndex &each) {
    does |= each.moves.count(var) != 0;
  });
  return does;
}
