//===- ReductionHeaderC.cpp - Reductions as macros and vector C -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes are neighbouring columns of a row, or neighbouring rows at a column. C
// has no templates: what differs from stage to stage asks for its number, which
// is a constant where everything is inlined.
//
//===----------------------------------------------------------------------===//

#include "CoreOperands.h"
#include "CudaText.h"
#include "LanesText.h"
#include "ReductionLanes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::LanesWalk;
using families::ReductionCore;
using families::ReductionLanes;
using families::RowStatistic;

namespace {
/// Writes one header.
class HeaderWriter : ReductionLanes {
public:
  HeaderWriter(const ReductionCore &core, const Machine &machine)
      : ReductionLanes(core) {
    families::setUpHost(*this, machine);
  }

  std::optional<families::CoreInstance> run(std::string &why) {
    Value result = core.result;
    for (const RowStatistic &each : core.statistics)
      if (bytesOf(each.elem) < 4 && !isFloat(each.elem) &&
          each.elem != Elem::I1)
        program.fail("it reduces integers of fewer than 32 bits");
    findKept();
    findWalks();
    if (program.failure.empty()) {
      writeMacros();
      writeOperands(*result.getParentBlock(), core.resultElem);
      writeStatistics();
      writeFetches();
      writeAdd("addColumns", false);
      writeJoins();
      writeEnd("endStage", false);
      if (!core.isPerRow)
        writeFinish("finishColumns", false);
      writeRowFunctions();
    }
    return families::takeHostCore(*this, why);
  }

private:
  //===--------------------------------------------------------------------===//
  // Macros
  //===--------------------------------------------------------------------===//

  LanesWalk columnWalk(Evaluation evaluate) {
    std::string why;
    std::optional<LanesWalk> walk = walkOf(core.columns, evaluate, why);
    if (!walk)
      program.fail(why);
    return walk.value_or(LanesWalk());
  }
  void findWalks() {
    for (unsigned stage = 0; stage < core.stages; ++stage)
      addWalks.push_back(columnWalk([&](Scope &scope) {
        prepare(scope, false);
        addTo(scope, stage, false);
      }));
    if (!core.isPerRow)
      finishWalk = columnWalk([&](Scope &scope) {
        prepare(scope, false);
        finishTo(scope, false);
      });
    // Lanes may be columns alone.
    std::string unused;
    rowWalk = walkOf(
        core.rows,
        [&](Scope &scope) {
          prepare(scope, true);
          for (unsigned stage = 0; stage < core.stages; ++stage) {
            addTo(scope, stage, true);
            endTo(scope, stage, true);
          }
          finishTo(scope, true);
        },
        unused);
  }

  bool lieAlong(ArrayRef<unsigned> group) const {
    std::optional<unsigned> inner = families::innermost(program, group);
    return inner && llvm::all_of(core.loads, [&](const auto &load) {
             return !load.isFull || load.place.coefficient(*inner) == 1;
           });
  }
  /// Whether the columns of a row are neighbours in the result.
  bool isTogether() {
    if (core.isPerRow || !finishWalk || finishWalk->run != core.columnCount)
      return false;
    return placeOfResult(*finishWalk).coefficient(finishWalk->var) == 1;
  }
  /// Whether whole vectors of columns begin at multiples of a vector.
  bool isStreamable() {
    return isTogether() && bytesOf(core.resultElem) <= 4 &&
           finishWalk->run % program.lanes == 0 &&
           families::areTogether(placeOfResult(*finishWalk), finishWalk->var,
                                 program.lanes);
  }

  void writeMacros() {
    os << "// Reductions of rows: statistics of each row r over its columns c, "
          "in passes.\n";
    define("ROWS", core.rowCount);
    define("COLUMNS", core.columnCount);
    define("STAGES", core.stages);
    define("STATISTICS", core.statistics.size());
    define("PER_ROW", core.isPerRow);
    int64_t bytes = 0;
    for (const ReductionCore::Load &load : core.loads)
      bytes += load.isFull ? bytesOf(load.buffer.elem) : 0;
    define("READ_BYTES", bytes);
    define("COLUMNS_ALONG", lieAlong(core.columns));
    define("ROWS_ALONG", lieAlong(core.rows));
    define("OUT_TOGETHER", isTogether());
    define("OUT_STREAMABLE", isStreamable());
    int64_t least = core.columnCount;
    for (const LanesWalk &walk : addWalks)
      least = std::min(least, walk.run);
    define("ADD_RUN", least);
    define("FINISH_RUN", finishWalk ? finishWalk->run : core.columnCount);
    define("HAS_ROW_LANES", rowWalk.has_value());
    define("ROW_RUN", rowWalk ? rowWalk->run : 1);
    define("HAS_KEPT", kept.has_value());
    define("KEPT_STAGE", kept ? keptStage : 0);
    define("HAS_DIVISOR", hasDivisor());
    writeWork();
    defineElem("OUT", core.resultElem);
  }

  void writeWork() {
    for (bool isRows : {false, true}) {
      int64_t work = 0;
      for (unsigned stage = 0; stage < core.stages; ++stage)
        work +=
            workOf(isRows, [&](Scope &scope) { addTo(scope, stage, isRows); });
      auto finish = [&](Scope &scope) { finishTo(scope, isRows); };
      const int64_t last = core.isPerRow ? 0 : workOf(isRows, finish);
      define(isRows ? "ROW_WORK" : "WORK", work + last);
      if (isRows)
        continue;
      auto finishKept = [&](Scope &scope) {
        scope.bound[kept->first] = {"kept", Elem::F32, true};
        finish(scope);
      };
      define("KEPT_WORK", kept ? last - workOf(isRows, finishKept) : 0);
    }
  }

  //===--------------------------------------------------------------------===//
  // Statistics
  //===--------------------------------------------------------------------===//

  void writeStatistics() {
    for (bool isVector : {false, true}) {
      os << (isVector ? "// Of neighbouring columns, to be joined, or of "
                        "neighbouring rows.\nstruct Parts {\n"
                      : "struct Statistics {\n");
      for (auto [number, each] : llvm::enumerate(core.statistics))
        os << "  " << registerType(computeElem(each.elem), isVector) << " s"
           << number << ";\n";
      os << "};\n";
    }
    os << "// Columns that no vector of a pass crosses a multiple of.\n"
          "FK_INLINE long addRun(const int stage) {\n";
    for (auto [stage, walk] : llvm::enumerate(addWalks))
      os << "  if (stage == " << stage << ") return " << walk.run << ";\n";
    os << "  return 1;\n}\n";
  }

  /// Each stage's lines in a branch of its own.
  void openStages(StringRef signature) {
    os << "FK_INLINE void " << signature << " {\n";
  }
  void writeStage(unsigned stage, StringRef lines) {
    os << (stage ? "  else " : "  ") << "if (stage == " << stage << ") {\n"
       << lines << "  }\n";
  }
  void writeStages(StringRef signature,
                   llvm::function_ref<void(Scope &, unsigned)> body) {
    openStages(signature);
    for (unsigned stage = 0; stage < core.stages; ++stage) {
      std::string lines;
      Scope scope(program, lines, 2);
      body(scope, stage);
      writeStage(stage, lines);
    }
    os << "}\n";
  }

  void writeJoins() {
    auto each =
        [&](unsigned stage,
            llvm::function_ref<void(StringRef, const RowStatistic &)> body) {
          for (auto [number, statistic] : llvm::enumerate(core.statistics))
            if (statistic.stage == stage)
              body("s" + std::to_string(number), statistic);
        };
    writeStages("beginStage(const int stage, struct Parts *part)",
                [&](Scope &scope, unsigned stage) {
                  each(stage, [&](StringRef name, const RowStatistic &s) {
                    scope.line("part->" + name + " = " +
                               neutralLanes(scope, s) + ";");
                  });
                });
    for (bool isVector : {true, false})
      writeStages(isVector ? "joinParts(const int stage, struct Parts *a, "
                             "const struct Parts *b)"
                           : "joinStatistics(const int stage, struct "
                             "Statistics *a, const struct Statistics *b)",
                  [&](Scope &scope, unsigned stage) {
                    each(stage, [&](StringRef name, const RowStatistic &s) {
                      Elem elem = computeElem(s.elem);
                      CValue sum =
                          scope.combine(s.reduction.kind,
                                        {("a->" + name).str(), elem, isVector},
                                        {("b->" + name).str(), elem, isVector});
                      scope.line("a->" + name + " = " + sum.text + ";");
                    });
                  });
    writeStages("joinLanes(const int stage, const struct Parts *part, struct "
                "Statistics *sums)",
                [&](Scope &scope, unsigned stage) {
                  each(stage, [&](StringRef name, const RowStatistic &s) {
                    CValue sum = scope.horizontal(
                        s.reduction.kind,
                        {("part->" + name).str(), computeElem(s.elem), true});
                    scope.line("sums->" + name + " = " + sum.text + ";");
                  });
                });
  }

  //===--------------------------------------------------------------------===//
  // Passes
  //===--------------------------------------------------------------------===//

  void writePlace(bool isRows) {
    writeVars(core.rows, "r", "long");
    writeVars(core.columns, "c", "long");
    if (isRows)
      writeAlong(*rowWalk, "r");
  }

  void writeAdd(StringRef name, bool isRows) {
    std::string done = isRows ? "Parts" : "Statistics";
    openStages((name +
                "(const int stage, OPERAND_PARAMETERS, long r, long c, "
                "const struct " +
                done + " *done, struct Parts *part, const int keeps, " +
                (isRows ? "vf32" : "float") + " *kept, long count)")
                   .str());
    writePlace(isRows);
    for (unsigned stage = 0; stage < core.stages; ++stage) {
      const LanesWalk &walk = isRows ? *rowWalk : addWalks[stage];
      std::string lines;
      if (!isRows)
        lines = alongText(walk, "c");
      lines += lanesText(walk, 2, [&](Scope &scope) {
        prepare(scope, isRows);
        addTo(scope, stage, isRows);
      });
      writeStage(stage, lines);
    }
    os << "}\n";
  }

  void writeEnd(StringRef name, bool isRows) {
    openStages((name +
                "(const int stage, OPERAND_PARAMETERS, long r, const "
                "struct " +
                (isRows ? "Parts *sums, struct Parts *done, long count)"
                        : "Statistics *sums, struct Statistics *done)"))
                   .str());
    writeVars(core.rows, "r", "long");
    if (isRows)
      writeAlong(*rowWalk, "r");
    for (unsigned stage = 0; stage < core.stages; ++stage) {
      auto end = [&](Scope &scope) {
        prepare(scope, isRows);
        endTo(scope, stage, isRows);
      };
      std::string lines;
      if (isRows)
        lines = lanesText(*rowWalk, 2, end);
      else {
        Scope scope(program, lines, 2);
        end(scope);
      }
      writeStage(stage, lines);
    }
    os << "}\n";
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  void writeFinish(StringRef name, bool isRows) {
    // No `restrict`: what a row keeps may lie in the result.
    os << "FK_INLINE void " << name
       << "(OUT_TYPE *out, OPERAND_PARAMETERS, long r, long c, const struct "
       << (isRows ? "Parts" : "Statistics")
       << " *done, const int isKept, const " << (isRows ? "vf32" : "float")
       << " *kept, const int inverts, const int streams, long count) {\n";
    writePlace(isRows);
    const LanesWalk &walk = isRows ? *rowWalk : *finishWalk;
    if (!isRows)
      writeAlong(walk, "c");
    const bool mayInvert = !isRows && hasDivisor();
    const bool mayStream = !isRows && isStreamable();
    for (bool isKept : {true, false})
      for (bool inverts : {true, false})
        for (bool streams : {true, false}) {
          if ((isKept && !kept) || (inverts && !mayInvert) ||
              (streams && !mayStream))
            continue;
          program.reciprocals = inverts;
          os << "  if (isKept == " << isKept << " && inverts == " << inverts
             << " && streams == " << streams << ") {\n"
             << lanesText(walk, 2,
                          [&](Scope &scope) {
                            prepare(scope, isRows);
                            if (isKept)
                              takeKept(scope, isRows);
                            finishTo(scope, isRows, streams);
                          })
             << "  }\n";
          program.reciprocals = false;
        }
    os << "}\n";
    if (isRows)
      return;
    os << "FK_INLINE long outOffset(long r, long c) {\n";
    writeVars(core.rows, "r", "long");
    writeVars(core.columns, "c", "long");
    os << "  return "
       << program.linText(families::mergedPlace(core.result, core.index,
                                                core.merged, program))
       << ";\n}\n";
  }

  void writeFinishRow() {
    os << "FK_INLINE void finishRow(OUT_TYPE *restrict out, "
          "OPERAND_PARAMETERS, long r, const struct Statistics *done) {\n";
    writeVars(core.rows, "r", "long");
    std::string lines;
    Scope scope(program, lines, 1);
    scope.merged = core.merged;
    prepare(scope, false);
    finishTo(scope, false);
    os << lines << "}\n";
  }

  void writeRowFunctions() {
    if (core.isPerRow)
      writeFinishRow();
    if (!rowWalk)
      return;
    os << "// Lanes are neighbouring rows.\n";
    writeAdd("addRows", true);
    writeEnd("endRows", true);
    if (!core.isPerRow) {
      writeFinish("finishRows", true);
      return;
    }
    os << "FK_INLINE void finishRows(OUT_TYPE *restrict out, "
          "OPERAND_PARAMETERS, long r, const struct Parts *done, long count) "
          "{\n";
    writeVars(core.rows, "r", "long");
    writeAlong(*rowWalk, "r");
    os << lanesText(*rowWalk, 1, [&](Scope &scope) {
      prepare(scope, true);
      finishTo(scope, true);
    }) << "}\n";
  }

  //===--------------------------------------------------------------------===//
  // What is fetched before it is asked for
  //===--------------------------------------------------------------------===//

  void writeFetch(const Buffer &buffer, const Lin &place, bool isWritten) {
    // Behind a row there may be nothing: the address is no pointer.
    os << "  for (long i = 0; i < count; i += " << 64 / bytesOf(buffer.elem)
       << ")\n    __builtin_prefetch((const void *)((uintptr_t)("
       << buffer.pointer << " + " << program.linText(place) << ") + i * "
       << bytesOf(buffer.elem) << "), " << isWritten << ", 3);\n";
  }
  void writeFetches() {
    std::optional<unsigned> inner = families::innermost(program, core.columns);
    auto open = [&](StringRef signature) {
      os << "FK_INLINE void " << signature
         << ", long r, long c, long count) {\n";
      writeVars(core.rows, "r", "long");
      writeVars(core.columns, "c", "long");
    };
    open("fetchColumns(OPERAND_PARAMETERS");
    for (const ReductionCore::Load &load : core.loads)
      if (load.isFull && load.place.coefficient(*inner) == 1)
        writeFetch(load.buffer, load.place, false);
    os << "}\n";
    if (core.isPerRow)
      return;
    open("fetchResult(OUT_TYPE *restrict out");
    Lin place =
        families::mergedPlace(core.result, core.index, core.merged, program);
    if (place.coefficient(*inner) == 1)
      writeFetch({"out", core.resultElem}, place, true);
    os << "}\n";
  }

  /// Of each stage, and of the result; and where lanes are rows.
  std::vector<LanesWalk> addWalks;
  std::optional<LanesWalk> finishWalk, rowWalk;
};
} // namespace

std::optional<families::CoreInstance>
families::describeForHost(const ReductionCore &core, const Machine &machine,
                          std::string &why) {
  return HeaderWriter(core, machine).run(why);
}
