//===- IndexSpace.cpp - Variables of a result's elements ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexSpace.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

SmallVector<int64_t> families::pitchesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> pitches(1, 1);
  for (int64_t extent : llvm::reverse(shape))
    pitches.push_back(pitches.back() * extent);
  std::reverse(pitches.begin(), pitches.end());
  return pitches;
}

void families::refine(SmallVectorImpl<int64_t> &pitches,
                      ArrayRef<int64_t> shape) {
  SmallVector<int64_t> all(pitches.begin(), pitches.end());
  llvm::append_range(all, pitchesOf(shape));
  llvm::sort(all, std::greater<>());
  all.erase(llvm::unique(all), all.end());
  for (auto [outer, inner] : llvm::zip(all, ArrayRef(all).drop_front()))
    if (outer % inner != 0)
      return;
  pitches.assign(all);
}

SmallVector<Lin> families::placeResult(Value result, Program &program) {
  auto shape = cast<RankedTensorType>(result.getType()).getShape();
  SmallVector<int64_t> pitches = pitchesOf(shape);
  for (Operation &op : *result.getParentBlock())
    for (Value value : op.getResults())
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        if (type.hasStaticShape() && type.getNumElements() == pitches.front())
          refine(pitches, type.getShape());
  SmallVector<Lin> index;
  int64_t behind = pitches.front();
  size_t next = 1;
  for (int64_t extent : shape) {
    behind /= extent;
    Lin place;
    while (next < pitches.size() && pitches[next] >= behind) {
      int64_t cut = pitches[next - 1] / pitches[next];
      unsigned var = program.newVar("v" + Twine(program.vars.size()), cut);
      place = place + Lin::ofVar(var, pitches[next] / behind);
      ++next;
    }
    index.push_back(place);
  }
  return index;
}

void families::eraseSingles(const Program &program,
                            MutableArrayRef<Lin> places) {
  for (unsigned var = 0; var < program.vars.size(); ++var)
    if (program.vars[var].extent == 1)
      for (Lin &place : places)
        place.terms.erase(var);
}

Lin families::mergedPlace(Value result, ArrayRef<Lin> index,
                          ArrayRef<MergedVars> merged, Program &program) {
  std::string unused;
  Scope scope(program, unused, 0);
  scope.merged = merged;
  Lin place;
  scope.onStore = [&](const Buffer &, const Lin &lin) { place = lin; };
  auto type = cast<RankedTensorType>(result.getType());
  Elem elem = *program.elemOf(type.getElementType());
  scope.store({"out", elem}, Scope::linear(result, index),
              {"0", computeElem(elem), false});
  return place;
}

int64_t families::sizeOf(const Program &program, ArrayRef<unsigned> group) {
  int64_t size = 1;
  for (unsigned var : group)
    size *= program.vars[var].extent;
  return size;
}

void families::mergeRuns(Program &program, SmallVectorImpl<unsigned> &group,
                         ArrayRef<Lin> walks, std::vector<MergedVars> &merged) {
  SmallVector<SmallVector<unsigned>> runs;
  for (unsigned var : group) {
    int64_t extent = program.vars[var].extent;
    bool joins = !runs.empty() && llvm::all_of(walks, [&](const Lin &walk) {
      return walk.coefficient(runs.back().back()) ==
             walk.coefficient(var) * extent;
    });
    if (!joins)
      runs.emplace_back();
    runs.back().push_back(var);
  }
  group.clear();
  for (SmallVector<unsigned> &run : runs) {
    if (run.size() == 1) {
      group.push_back(run.front());
      continue;
    }
    unsigned var = program.newVar("v" + Twine(program.vars.size()),
                                  families::sizeOf(program, run));
    merged.push_back({run, var});
    group.push_back(var);
  }
}

std::optional<unsigned> families::innermost(const Program &program,
                                            ArrayRef<unsigned> group) {
  for (unsigned var : llvm::reverse(group))
    if (program.vars[var].extent > 1)
      return var;
  return std::nullopt;
}

bool families::areTogether(const Lin &place, unsigned inner, int64_t width) {
  if (place.coefficient(inner) == 0)
    return true;
  return place.coefficient(inner) == 1 && place.constant % width == 0 &&
         llvm::all_of(place.terms, [&](const auto &term) {
           return term.first == inner || term.second % width == 0;
         });
}
