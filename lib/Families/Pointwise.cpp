//===- Pointwise.cpp - Workloads without reductions -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Pointwise.h"
#include "CoreMatcher.h"
#include "Gathers.h"
#include "PlaceText.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::CoreMatcher;
using families::PlacedLoad;
using families::PointwiseCore;

namespace {
/// Finds what is loaded for an element of the result.
class Matcher : CoreMatcher<PointwiseCore> {
  using Access = PointwiseCore::Access;

public:
  using CoreMatcher::CoreMatcher;

  std::optional<PointwiseCore> run() {
    if (!findResult() || !placeOperands())
      return std::nullopt;
    placeVars();
    if (!findLoads())
      return std::nullopt;
    families::mergeRuns(core.program, core.vars, walks, core.merged);
    // Where they lie, in the variables that are left.
    if (!findLoads())
      return std::nullopt;
    findCrossVar();
    for (PlacedLoad &load : core.loads)
      classify(load);
    return std::move(core);
  }

private:
  bool findResult() {
    if (!takeResult(families::resultOf(body, core.program, why)))
      return false;
    core.elements =
        cast<RankedTensorType>(core.result.getType()).getNumElements();
    if (body.getNumArguments() == 0)
      return fail("it has no operands");
    for (auto op : body.getOps<linalg::GenericOp>())
      if (op.getNumReductionLoops() != 0)
        return fail("it reduces something");
    return true;
  }

  void placeVars() {
    families::eraseSingles(core.program, core.index);
    for (unsigned var = 0; var < core.program.vars.size(); ++var)
      if (core.program.vars[var].extent > 1)
        core.vars.push_back(var);
  }

  /// All that is loaded, and the walks that must agree for variables to merge.
  bool findLoads() {
    core.loads.clear();
    walks.assign(1, Scope::linear(core.result, core.index));
    Program scratch = core.program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.merged = core.merged;
    families::collectGathers(scope, scratch, core.loads, walks, core.gathered);
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin>) -> CValue {
      Operation *op = value.getDefiningOp();
      scratch.fail("it computes something that is no function of elements at "
                   "linear places: " +
                   (op ? op->getName().getStringRef().str() : "an argument"));
      return {};
    };
    scope.at(core.result, core.index);
    if (!scratch.failure.empty())
      return fail(scratch.failure);
    // With those of computed indices.
    core.program.vars = scratch.vars;
    return true;
  }

  bool isTransposed(const PlacedLoad &load, unsigned cross) const {
    int64_t step = load.place.coefficient(core.vars.back());
    return cross != core.vars.back() && step != 0 && step != 1 &&
           load.place.coefficient(cross) == 1 && load.guards.empty() &&
           !load.isIndex && !isGathered(load);
  }
  bool isGathered(const PlacedLoad &load) const {
    return !families::indicesOf(load, core.gathered).empty();
  }

  /// The variable along which most bytes lie together that do not so along the
  /// last one.
  void findCrossVar() {
    int64_t most = 0;
    for (unsigned var : core.vars) {
      int64_t bytes = 0;
      for (const PlacedLoad &load : core.loads)
        if (isTransposed(load, var))
          bytes += bytesOf(load.buffer.elem);
      if (bytes <= most)
        continue;
      most = bytes;
      core.crossVar = var;
    }
  }

  void classify(PlacedLoad &load) {
    bool isFull = llvm::all_of(core.vars, [&](unsigned var) {
      return load.place.coefficient(var) != 0 ||
             families::isComputedWith(load, var, core.gathered);
    });
    int64_t step =
        core.vars.empty() ? 1 : load.place.coefficient(core.vars.back());
    Access access = Access::Apart;
    if (core.crossVar && isTransposed(load, *core.crossVar))
      access = Access::Transposed;
    else if (!isFull)
      access = Access::Broadcast;
    else if (isGathered(load))
      access = Access::Gathered;
    else if (step == 1 || step == -1)
      access = Access::Contiguous;
    core.accesses.push_back(access);
    load.isOnce = isFull && access != Access::Apart &&
                  access != Access::Gathered &&
                  llvm::count_if(core.loads, [&](const PlacedLoad &other) {
                    return other.buffer.pointer == load.buffer.pointer;
                  }) == 1;
  }

  SmallVector<Lin> walks;
};
} // namespace

std::optional<PointwiseCore> families::matchPointwise(Block &body,
                                                      std::string &why) {
  return Matcher(body, why).run();
}
