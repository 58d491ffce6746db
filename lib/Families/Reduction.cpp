//===- Reduction.cpp - Workloads that reduce rows -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Reduction.h"
#include "CoreMatcher.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::CoreMatcher;
using families::pitchesOf;
using families::ReductionCore;
using families::refine;
using families::RowStatistic;

namespace {
/// Finds the parts of reductions of rows.
class Matcher : CoreMatcher<ReductionCore> {
public:
  /// `ofFloats`: results are.
  Matcher(Block &body, bool ofFloats, std::string &why)
      : CoreMatcher(body, why), ofFloats(ofFloats) {}

  std::optional<ReductionCore> run() {
    if (!findResult() || !placeOperands())
      return std::nullopt;
    if (!demandOf([&](Scope &scope) { scope.at(core.result, core.index); }) ||
        !groupVars() || !orderStatistics() || !findLoads())
      return std::nullopt;
    mergeVars(core.rows);
    mergeVars(core.columns);
    // Where they lie, in the variables that are left.
    core.loads.clear();
    if (!findLoads())
      return std::nullopt;
    return std::move(core);
  }

private:
  int64_t sizeOf(ArrayRef<unsigned> group) const {
    int64_t size = 1;
    for (unsigned var : group)
      size *= core.program.vars[var].extent;
    return size;
  }

  bool findResult() {
    if (!takeResult(ofFloats ? families::floatResultOf(body, core.program, why)
                             : families::resultOf(body, core.program, why)))
      return false;
    for (auto op : body.getOps<linalg::GenericOp>())
      if (op.getNumReductionLoops() != 0)
        return true;
    return fail("it reduces nothing");
  }

  /// Evaluates, and notes at which rows which reductions are needed.
  bool demandOf(llvm::function_ref<void(Scope &)> evaluate) {
    Program scratch = core.program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin> index) -> CValue {
      std::optional<Reduction> reduction = matchReduction(value);
      if (!reduction) {
        scratch.fail("it computes something that is neither elementwise nor a "
                     "reduction of rows");
        return {};
      }
      auto loops = loopsAt(reduction->op, reduction->result, index);
      if (!loops) {
        scratch.fail("a reduction's results are stored in another order than "
                     "computed");
        return {};
      }
      note(*reduction, value, *loops, scratch);
      Elem elem = elemOfResult(value);
      return {"0", computeElem(elem), false};
    };
    evaluate(scope);
    if (!scratch.failure.empty())
      return fail(scratch.failure);
    return true;
  }

  Elem elemOfResult(Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    return core.program.elemOf(type.getElementType()).value_or(Elem::F32);
  }

  void note(const Reduction &reduction, Value value, ArrayRef<Lin> loops,
            Program &scratch) {
    needed.insert(value.getAsOpaquePointer());
    auto known = places.find(value.getAsOpaquePointer());
    if (known != places.end()) {
      if (llvm::any_of(reduction.parallelDims, [&](unsigned d) {
            return !(loops[d] == core.statistics[known->second].loops[d]);
          }))
        scratch.fail("an element of the result needs several rows");
      return;
    }
    places[value.getAsOpaquePointer()] = core.statistics.size();
    RowStatistic statistic;
    statistic.reduction = reduction;
    statistic.elem = elemOfResult(value);
    llvm::append_range(statistic.loops, loops);
    core.statistics.push_back(std::move(statistic));
  }

  /// Rows are the variables at which reductions are needed, columns the others,
  /// or, where the result has none, new ones.
  bool groupVars() {
    if (core.statistics.empty())
      return fail("its result does not depend on what it reduces");
    Reduction &first = core.statistics.front().reduction;
    auto ranges = first.op.getStaticLoopRanges();
    llvm::SmallBitVector isRow(core.program.vars.size());
    for (const RowStatistic &each : core.statistics)
      for (unsigned d : each.reduction.parallelDims)
        for (auto [var, coefficient] : each.loops[d].terms)
          isRow.set(var);
    for (unsigned var = 0; var < isRow.size(); ++var)
      (isRow[var] ? core.rows : core.columns).push_back(var);
    core.rowCount = sizeOf(core.rows);
    core.columnCount = 1;
    for (unsigned d : first.reductionDims)
      core.columnCount *= ranges[d];
    if (core.columnCount <= 1)
      return fail("its rows have no elements, or one");
    int64_t beside = sizeOf(core.columns);
    core.isPerRow = beside == 1;
    if (core.isPerRow) {
      // One row may as well have variables of one element.
      llvm::append_range(core.rows, core.columns);
      core.columns.clear();
      SmallVector<int64_t> shape;
      for (unsigned d : first.reductionDims)
        shape.push_back(ranges[d]);
      SmallVector<int64_t> pitches = pitchesOf(shape);
      for (auto op : body.getOps<linalg::GenericOp>()) {
        SmallVector<int64_t> other, all = op.getStaticLoopRanges();
        SmallVector<unsigned> dims;
        op.getReductionDims(dims);
        for (unsigned d : dims)
          other.push_back(all[d]);
        if (!dims.empty() && pitchesOf(other).front() == pitches.front())
          refine(pitches, other);
      }
      for (size_t i = 1; i < pitches.size(); ++i)
        core.columns.push_back(
            core.program.newVar("v" + Twine(core.program.vars.size()),
                                pitches[i - 1] / pitches[i]));
    } else if (beside != core.columnCount) {
      return fail("its result has " + Twine(beside) +
                  " elements of a row, of which " + Twine(core.columnCount) +
                  " are reduced");
    }
    return true;
  }

  /// Places the reduced loops, and finds what each reduction needs before.
  bool orderStatistics() {
    // Grows while it is walked.
    for (size_t i = 0; i < core.statistics.size(); ++i)
      if (!placeLoops(core.statistics[i]) || !demandsOf(i))
        return false;
    for (auto [i, statistic] : llvm::enumerate(core.statistics)) {
      statistic.stage = stageOf(i);
      core.stages = std::max(core.stages, statistic.stage + 1);
    }
    // Stages in order, and within one as they were found.
    std::vector<RowStatistic> ordered;
    for (unsigned stage = 0; stage < core.stages; ++stage)
      llvm::copy_if(
          core.statistics, std::back_inserter(ordered),
          [&](const RowStatistic &each) { return each.stage == stage; });
    core.statistics = std::move(ordered);
    return true;
  }

  unsigned stageOf(size_t i) const {
    unsigned stage = 0;
    for (size_t before : demands[i])
      stage = std::max(stage, stageOf(before) + 1);
    return stage;
  }

  bool demandsOf(size_t i) {
    needed.clear();
    if (!demandOf([&](Scope &scope) {
          // A copy: others may be added to the list.
          RowStatistic statistic = core.statistics[i];
          scope.reductionElement(statistic.reduction, statistic.loops);
          families::startOf(statistic.reduction, statistic.loops, scope);
        }))
      return false;
    demands.resize(core.statistics.size());
    for (void *value : needed)
      demands[i].push_back(places.at(value));
    return true;
  }

  bool placeLoops(RowStatistic &statistic) {
    Reduction &reduction = statistic.reduction;
    auto ranges = reduction.op.getStaticLoopRanges();
    int64_t rowsOfIt = 1;
    llvm::SmallBitVector vars(core.program.vars.size());
    for (unsigned d : reduction.parallelDims) {
      rowsOfIt *= ranges[d];
      for (auto [var, coefficient] : statistic.loops[d].terms)
        vars.set(var);
    }
    for (unsigned var : core.columns)
      if (vars[var])
        return fail("it reduces rows of several kinds");
    // As many rows as it has, each at one place.
    if (rowsOfIt != core.rowCount)
      return fail("a reduction has " + Twine(rowsOfIt) + " rows, and others " +
                  Twine(core.rowCount));
    SmallVector<int64_t> shape;
    for (unsigned d : reduction.reductionDims)
      shape.push_back(ranges[d]);
    if (pitchesOf(shape).front() != core.columnCount)
      return fail("its reductions are over different numbers of elements");
    Lin column;
    for (unsigned var : core.columns)
      column = column * core.program.vars[var].extent + Lin::ofVar(var);
    auto parts = delinearize(core.program, column, shape);
    if (!parts)
      return fail("its reductions cut their loops at different places");
    for (auto [d, part] : llvm::zip_equal(reduction.reductionDims, *parts))
      statistic.loops[d] = part;
    return true;
  }

  /// All that is loaded, for the result and for the reductions.
  bool findLoads() {
    Program scratch = core.program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.merged = core.merged;
    scope.onLoad = [&](const Buffer &buffer, const Lin &place) {
      for (const ReductionCore::Load &load : core.loads)
        if (load.buffer.pointer == buffer.pointer && load.place == place)
          return;
      ReductionCore::Load load{buffer, place, false, false};
      for (unsigned var : core.rows)
        load.hasRow |= place.coefficient(var) != 0;
      for (unsigned var : core.columns)
        load.hasColumn |= place.coefficient(var) != 0;
      core.loads.push_back(std::move(load));
    };
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin>) -> CValue {
      return {"0", computeElem(elemOfResult(value)), false};
    };
    scope.at(core.result, core.index);
    for (const RowStatistic &each : core.statistics) {
      scope.reductionElement(each.reduction, each.loops);
      families::startOf(each.reduction, each.loops, scope);
    }
    if (!scratch.failure.empty())
      return fail(scratch.failure);
    for (ReductionCore::Load &load : core.loads) {
      auto moves = [&](unsigned var) {
        return load.place.coefficient(var) != 0 ||
               core.program.vars[var].extent == 1;
      };
      load.isFull = load.hasColumn && llvm::all_of(core.rows, moves) &&
                    llvm::all_of(core.columns, moves);
    }
    // A product of matrices is a sum of rows, too, of which each operand is
    // read many times over. Where it does not add in f32 no other core has it.
    bool isElsewhere =
        ofFloats || llvm::any_of(core.statistics, [](const RowStatistic &each) {
          linalg::GenericOp op = each.reduction.op;
          return getElementTypeOrSelf(op->getResult(each.reduction.result))
              .isF32();
        });
    if (isElsewhere &&
        llvm::none_of(core.loads, [](const ReductionCore::Load &load) {
          return load.isFull;
        }))
      return fail("no operand has an element for each row and column");
    return true;
  }

  /// Makes one variable of neighbours that all loads and the result walk as
  /// one.
  void mergeVars(SmallVectorImpl<unsigned> &group) {
    // Whose index is a value is not to be merged.
    if (body.walk([](linalg::IndexOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      return;
    SmallVector<Lin> walks;
    for (const ReductionCore::Load &load : core.loads)
      walks.push_back(load.place);
    walks.push_back(Scope::linear(core.result, core.index));
    families::mergeRuns(core.program, group, walks, core.merged);
  }

  bool ofFloats;
  /// Of each reduction that is needed, its statistic.
  std::map<void *, size_t> places;
  /// Reductions that the last evaluation needed, and those of each statistic.
  std::set<void *> needed;
  std::vector<SmallVector<size_t>> demands;
};
} // namespace

std::optional<ReductionCore> families::matchReductions(Block &body,
                                                       std::string &why) {
  return Matcher(body, /*ofFloats=*/true, why).run();
}

std::optional<ReductionCore> families::matchHostReductions(Block &body,
                                                           std::string &why) {
  return Matcher(body, /*ofFloats=*/false, why).run();
}
