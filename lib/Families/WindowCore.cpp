//===- WindowCore.cpp - Workloads that reduce windows ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/WindowCore.h"
#include "CoreOperands.h"
#include "IndexSpace.h"
#include "PlaceText.h"
#include <tuple>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::PlacedLoad;
using families::SlidingAxis;
using families::WindowCore;

namespace {
/// Finds the windows, and what is loaded for an element and for a result.
class Matcher {
public:
  Matcher(Block &body, std::string &why) : body(body), why(why) {
    core.program.dialect = Program::Dialect::Cuda;
  }

  std::optional<WindowCore> run() {
    if (!findReduction() || !families::nameOperands(body, core.program, why) ||
        !placeResult() || !placeWindow() || !findAxes() || !groupVars())
      return std::nullopt;
    families::mergeRuns(core.program, core.outer, walks, core.merged);
    splitChannel();
    // Once more, in the variables that are left.
    if (!findPositions())
      return std::nullopt;
    markOnce(core.loads);
    markOnce(core.finishLoads);
    return std::move(core);
  }

private:
  bool fail(const Twine &reason) {
    why = reason.str();
    return false;
  }
  int64_t extentOf(unsigned var) const { return core.program.vars[var].extent; }

  bool findReduction() {
    core.result = families::resultOf(body, core.program, why);
    if (!core.result)
      return false;
    auto type = cast<RankedTensorType>(core.result.getType());
    core.resultElem = *core.program.elemOf(type.getElementType());
    if (type.getNumElements() == 0)
      return fail("its result has no elements");
    linalg::GenericOp op;
    for (auto each : body.getOps<linalg::GenericOp>()) {
      if (each.getNumReductionLoops() == 0)
        continue;
      if (op)
        return fail("it reduces more than once");
      op = each;
    }
    if (!op)
      return fail("it reduces nothing");
    if (op.getNumResults() != 1)
      return fail("it reduces to several results at once");
    std::optional<Reduction> reduction = matchReduction(op->getResult(0));
    if (!reduction)
      return fail("it reduces by something that is no sum, product or "
                  "extremum");
    core.reduction = *reduction;
    auto element = core.program.elemOf(
        cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
    if (!element || bytesOf(computeElem(*element)) < 4)
      return fail("what it combines is of a type that is no number of 32 or 64 "
                  "bits");
    core.elem = *element;
    return true;
  }

  /// Variables of the result's dimensions; finer ones where a reshape cuts
  /// them.
  bool placeResult() {
    for (int64_t extent :
         cast<RankedTensorType>(core.result.getType()).getShape()) {
      unsigned var =
          core.program.newVar("v" + Twine(core.program.vars.size()), extent);
      core.index.push_back(extent == 1 ? Lin() : Lin::ofVar(var));
    }
    if (evaluateResult())
      return true;
    core.program.vars.clear();
    core.index = families::placeResult(core.result, core.program);
    for (unsigned var = 0; var < core.program.vars.size(); ++var)
      if (extentOf(var) == 1)
        for (Lin &place : core.index)
          place.terms.erase(var);
    return evaluateResult();
  }

  /// Evaluates the result; every window that it needs is at one place.
  bool evaluateResult() {
    core.finishLoads.clear();
    SmallVector<Lin> found;
    walks.assign(1, Scope::linear(core.result, core.index));
    Program scratch = core.program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.merged = core.merged;
    families::collectLoads(scope, core.finishLoads, walks);
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) -> CValue {
      if (value != core.reduction.op->getResult(0)) {
        scratch.fail("it computes something that is neither a reduction nor a "
                     "function of elements at linear places");
        return {};
      }
      auto loops = loopsAt(core.reduction.op, 0, index);
      if (!loops)
        scratch.fail("what it reduces is stored in another order than "
                     "computed");
      else if (!found.empty() && found != *loops)
        scratch.fail("an element of the result needs several windows");
      else
        found = *loops;
      return {"0", computeElem(core.elem), false};
    };
    scope.at(core.result, core.index);
    if (scratch.failure.empty() && found.empty())
      return fail("its result does not depend on what it reduces");
    if (scratch.failure.empty())
      families::startOf(core.reduction, found, scope);
    if (!scratch.failure.empty())
      return fail(scratch.failure);
    core.loops = found;
    for (const auto &[d, place] : windowLoops)
      core.loops[d] = place;
    return true;
  }

  /// Each window is asked for once, and has variables of its own.
  bool placeWindow() {
    firstWindowVar = core.program.vars.size();
    llvm::SmallBitVector moves(firstWindowVar);
    for (unsigned d : core.reduction.parallelDims)
      for (auto [var, coefficient] : core.loops[d].terms)
        moves.set(var);
    for (unsigned var = 0; var < firstWindowVar; ++var)
      if (extentOf(var) > 1 && !moves[var])
        return fail("its result has not each window once");
    auto ranges = core.reduction.op.getStaticLoopRanges();
    for (unsigned d : core.reduction.reductionDims) {
      if (ranges[d] == 0)
        return fail("its windows have no elements");
      if (ranges[d] > 1)
        windowLoops[d] = Lin::ofVar(core.program.newVar(
            "k" + Twine(core.program.vars.size()), ranges[d]));
    }
    return evaluateResult();
  }

  /// All that is loaded for an element, in the merged variables of `merged`.
  bool findElementLoads(ArrayRef<MergedVars> merged) {
    core.loads.clear();
    Program scratch = core.program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.merged.assign(merged.begin(), merged.end());
    families::collectLoads(scope, core.loads, walks);
    scope.onElement = [this](Value, ArrayRef<Lin> index) {
      asked.append(index.begin(), index.end());
    };
    scope.onOpaque = [&](Scope &, Value, ArrayRef<Lin>) -> CValue {
      scratch.fail("what it combines is no function of elements at linear "
                   "places");
      return {};
    };
    scope.reductionElement(core.reduction, core.loops);
    if (!scratch.failure.empty())
      return fail(scratch.failure);
    if (core.loads.empty())
      return fail("what it combines is not loaded");
    return true;
  }

  /// An axis for each variable of the window: that whose index one of the
  /// result shares, of any tensor on the way to what is loaded.
  bool findAxes() {
    asked.clear();
    if (!findElementLoads({}))
      return false;
    SmallVector<SlidingAxis> found;
    bool moves = false;
    for (unsigned var = firstWindowVar; var < core.program.vars.size(); ++var) {
      SlidingAxis axis;
      axis.windowVar = var;
      axis.window = extentOf(var);
      for (const Lin &place : asked)
        if (!share(place, axis))
          return false;
      moves |= axis.out > 1;
      found.push_back(axis);
    }
    if (!found.empty() && !moves)
      return fail("it has no window that moves");
    if (found.size() > core.axes.size())
      return fail("windows are of more than three dimensions");
    llvm::sort(found, [](const SlidingAxis &a, const SlidingAxis &b) {
      return std::tie(a.var, a.windowVar) < std::tie(b.var, b.windowVar);
    });
    for (size_t i = 1; i < found.size(); ++i)
      if (found[i].var && found[i].var == found[i - 1].var)
        return fail("a dimension of the result moves several of a window");
    llvm::copy(found, core.axes.end() - found.size());
    return true;
  }

  /// Notes what an index that moves with the axis' variable says of the axis.
  bool share(const Lin &place, SlidingAxis &axis) {
    int64_t dilation = place.coefficient(*axis.windowVar);
    if (dilation == 0 || place.terms.size() != 2)
      return true;
    auto [var, stride] = place.terms.begin()->first == *axis.windowVar
                             ? *place.terms.rbegin()
                             : *place.terms.begin();
    if (var >= firstWindowVar)
      return true;
    if (axis.var)
      return axis.var == var ||
             fail("a window is no dimension of what it moves over");
    if (dilation < 0 || stride < 0)
      return fail("a window runs backwards");
    axis.var = var;
    axis.out = extentOf(var);
    axis.stride = stride;
    axis.dilation = dilation;
    return true;
  }

  bool groupVars() {
    llvm::SmallBitVector isAxis(firstWindowVar);
    for (const SlidingAxis &axis : core.axes)
      if (axis.var)
        isAxis.set(*axis.var);
    for (unsigned var = 0; var < firstWindowVar; ++var) {
      if (extentOf(var) == 1)
        continue;
      isInnerOuter = !isAxis[var];
      if (!isAxis[var])
        core.outer.push_back(var);
    }
    return evaluateResult() && findElementLoads({});
  }

  /// What is innermost in the result and no axis.
  void splitChannel() {
    if (isInnerOuter) {
      core.channel = core.outer.pop_back_val();
      core.channelCount = extentOf(*core.channel);
    }
    for (unsigned var : core.outer)
      core.outerCount *= extentOf(var);
  }

  /// Positions instead of coordinates of the result and of the window.
  bool findPositions() {
    core.positions = core.merged;
    static constexpr const char *names[] = {"pz", "py", "px"};
    for (auto [name, axis] : llvm::zip_equal(names, core.axes)) {
      if (!axis.windowVar)
        continue;
      axis.position = core.program.newVar(name, axis.positions());
      MergedVars group{{*axis.windowVar}, *axis.position, {axis.dilation}, 0};
      if (axis.var) {
        group.parts.insert(group.parts.begin(), *axis.var);
        group.steps.insert(group.steps.begin(), axis.stride);
      }
      core.positions.push_back(std::move(group));
    }
    return evaluateResult() && findElementLoads(core.positions);
  }

  /// Whether each element is at a place of its own, and no other load reads
  /// that operand.
  void markOnce(std::vector<PlacedLoad> &loads) const {
    auto readers = [](ArrayRef<PlacedLoad> all, const PlacedLoad &load) {
      return llvm::count_if(all, [&](const PlacedLoad &other) {
        return other.buffer.pointer == load.buffer.pointer;
      });
    };
    bool overlaps = llvm::any_of(core.axes, [](const SlidingAxis &axis) {
      return axis.windowVar && axis.stride <= (axis.window - 1) * axis.dilation;
    });
    for (PlacedLoad &load : loads)
      load.isOnce = !overlaps && llvm::all_of(core.outer, [&](unsigned var) {
        return load.place.coefficient(var) != 0;
      }) && readers(core.loads, load) + readers(core.finishLoads, load) == 1;
  }

  Block &body;
  std::string &why;
  WindowCore core;
  unsigned firstWindowVar = 0;
  /// Loops of the window of more than one value, by number.
  std::map<unsigned, Lin> windowLoops;
  /// The innermost variable of the result is of no axis.
  bool isInnerOuter = false;
  /// Indices of all tensors on the way to what is loaded.
  SmallVector<Lin> asked;
  SmallVector<Lin> walks;
};
} // namespace

std::optional<WindowCore> families::matchWindows(Block &body,
                                                 std::string &why) {
  return Matcher(body, why).run();
}
