//===- Scan.cpp - Workloads of prefixes of rows ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Scan.h"
#include "CoreMatcher.h"
#include "PlaceText.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::CoreMatcher;
using families::PlacedLoad;
using families::ScanCore;

/// How a scan combines, if it is by one known op; all of them commute.
static std::optional<CombinerKind> kindOf(tm_tensor::ScanOp op) {
  Block &body = op.getRegion().front();
  if (!llvm::hasNItems(body, 2))
    return std::nullopt;
  Operation &combiner = body.front();
  if (combiner.getNumOperands() != 2 ||
      body.getTerminator()->getOperand(0) != combiner.getResult(0) ||
      !llvm::is_contained(combiner.getOperands(), body.getArgument(0)) ||
      !llvm::is_contained(combiner.getOperands(), body.getArgument(1)))
    return std::nullopt;
  return combinerOf(&combiner);
}

namespace {
/// Finds the scan, and what is loaded before and after it.
class Matcher : CoreMatcher<ScanCore> {
public:
  using CoreMatcher::CoreMatcher;

  std::optional<ScanCore> run() {
    if (!findScan() || !placeOperands())
      return std::nullopt;
    families::eraseSingles(core.program, core.index);
    if (!evaluateResult() || !groupVars())
      return std::nullopt;
    // Once more in the order of the scan.
    if (!findLoads())
      return std::nullopt;
    families::mergeRuns(core.program, core.rows, walks, core.merged);
    families::mergeRuns(core.program, core.columns, walks, core.merged);
    if (!findLoads())
      return std::nullopt;
    markOnce(core.loads);
    markOnce(core.finishLoads);
    return std::move(core);
  }

private:
  bool findScan() {
    if (!takeResult(families::resultOf(body, core.program, why)))
      return false;
    for (auto op : body.getOps<tm_tensor::ScanOp>()) {
      if (scan)
        return fail("it scans more than once");
      scan = op;
    }
    if (!scan)
      return fail("it scans nothing");
    auto kind = kindOf(scan);
    if (!kind || !scan.getInclusive())
      return fail("its scan is not inclusive, or by more than one op");
    core.kind = *kind;
    core.scanned = scan.getInputs()[0];
    core.prefix = scan->getResult(0);
    auto element = core.program.elemOf(
        cast<RankedTensorType>(core.prefix.getType()).getElementType());
    if (!element || bytesOf(computeElem(*element)) < 4)
      return fail("its prefixes are of a type that is no number of 32 or 64 "
                  "bits");
    core.elem = *element;
    return true;
  }

  /// Evaluates the result; every prefix that it needs is at one place.
  bool evaluateResult() {
    core.finishLoads.clear();
    Program scratch = core.program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.merged = core.merged;
    families::collectLoads(scope, core.finishLoads, walks);
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) -> CValue {
      if (value != core.prefix) {
        scratch.fail("it computes something that is neither its scan nor a "
                     "function of elements at linear places");
        return {};
      }
      if (!core.loops.empty() && !llvm::equal(core.loops, index))
        scratch.fail("an element of the result needs several prefixes");
      core.loops.assign(index.begin(), index.end());
      return {"0", computeElem(core.elem), false};
    };
    scope.at(core.result, core.index);
    if (!scratch.failure.empty())
      return fail(scratch.failure);
    if (core.loops.empty())
      return fail("its result does not depend on its scan");
    return true;
  }

  /// Columns are the variables along which it scans, rows all others. Each
  /// prefix is asked for once.
  bool groupVars() {
    int64_t dim = scan.getDimension();
    for (unsigned var = 0; var < core.program.vars.size(); ++var) {
      if (core.program.vars[var].extent == 1)
        continue;
      bool isColumn = core.loops[dim].coefficient(var) != 0;
      (isColumn ? core.columns : core.rows).push_back(var);
      (isColumn ? core.columnCount : core.rowCount) *=
          core.program.vars[var].extent;
      for (auto [d, place] : llvm::enumerate(core.loops))
        if (int64_t(d) != dim && (place.coefficient(var) != 0) == isColumn &&
            isColumn)
          return fail("its rows and columns are not apart");
    }
    auto shape = cast<RankedTensorType>(core.prefix.getType()).getShape();
    if (core.columnCount != shape[dim] || core.columnCount == 1)
      return fail("its result has not all prefixes of a row, or rows are of "
                  "one element");
    if (core.rowCount * core.columnCount !=
        cast<RankedTensorType>(core.prefix.getType()).getNumElements())
      return fail("its result has not each prefix once");
    llvm::SmallBitVector moves(core.program.vars.size());
    for (const Lin &place : core.loops)
      for (auto [var, coefficient] : place.terms)
        moves.set(var);
    for (unsigned var : core.rows)
      if (!moves[var])
        return fail("its result has not each prefix once");
    Lin forward, backward(core.columnCount - 1);
    for (unsigned var : core.columns)
      forward = forward * core.program.vars[var].extent + Lin::ofVar(var);
    backward = backward - forward;
    if (core.loops[dim] == backward)
      reverseColumns();
    else if (!(core.loops[dim] == forward))
      return fail("its result has prefixes in another order");
    return true;
  }

  /// Counts columns from the back.
  void reverseColumns() {
    auto reverse = [&](Lin &place) {
      for (unsigned var : core.columns)
        if (int64_t step = place.coefficient(var))
          place = place + Lin(step * (core.program.vars[var].extent - 1)) -
                  Lin::ofVar(var, 2 * step);
    };
    for (Lin &place : core.index)
      reverse(place);
    for (Lin &place : core.loops)
      reverse(place);
  }

  bool findLoads() {
    walks.assign(1, Scope::linear(core.result, core.index));
    if (!evaluateResult())
      return false;
    core.loads.clear();
    Program scratch = core.program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.merged = core.merged;
    families::collectLoads(scope, core.loads, walks);
    scope.onOpaque = [&](Scope &, Value, ArrayRef<Lin>) -> CValue {
      scratch.fail("what it scans is no function of elements at linear places");
      return {};
    };
    scope.at(core.scanned, core.loops);
    // Merged places of the scan are not asked for, but must be the same.
    if (!scratch.failure.empty())
      return fail(scratch.failure);
    return true;
  }

  void markOnce(std::vector<PlacedLoad> &loads) const {
    auto moves = [](const PlacedLoad &load, ArrayRef<unsigned> group) {
      return llvm::all_of(group, [&](unsigned var) {
        return load.place.coefficient(var) != 0;
      });
    };
    auto countIn = [](ArrayRef<PlacedLoad> all, const PlacedLoad &load) {
      return llvm::count_if(all, [&](const PlacedLoad &other) {
        return other.buffer.pointer == load.buffer.pointer;
      });
    };
    for (PlacedLoad &load : loads)
      load.isOnce =
          moves(load, core.rows) && moves(load, core.columns) &&
          countIn(core.loads, load) + countIn(core.finishLoads, load) == 1;
  }

  tm_tensor::ScanOp scan;
  SmallVector<Lin> walks;
};
} // namespace

std::optional<ScanCore> families::matchScan(Block &body, std::string &why) {
  return Matcher(body, why).run();
}
