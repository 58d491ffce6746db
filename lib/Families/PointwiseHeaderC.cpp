//===- PointwiseHeaderC.cpp - Pointwise work as macros and vector C -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes are neighbouring columns of the result. Pads and concatenations cut the
// columns into segments, of each of which it is known what its elements are;
// what lies together along rows is loaded in vectors of rows and turned.
//
//===----------------------------------------------------------------------===//

#include "CudaText.h"
#include "IndexSpace.h"
#include "LanesText.h"
#include "PlaceLanes.h"
#include "fastk/Families/Pointwise.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::PlacedLoad;
using families::PlacedWalk;
using families::PointwiseCore;

/// More segments are written as one, element by element.
static constexpr size_t kMostSegments = 12;

namespace {
/// Writes one header.
class HeaderWriter : families::PlaceLanes {
  using Access = PointwiseCore::Access;

public:
  HeaderWriter(const PointwiseCore &core, const Machine &machine)
      : PlaceLanes(core.program, machine, core.gathered), core(core) {
    if (!core.vars.empty())
      inner = core.vars.back();
    for (auto [number, access] : llvm::enumerate(core.accesses))
      if (access == Access::Transposed)
        transposed.push_back(number);
  }

  std::optional<families::CoreInstance> run(std::string &why) {
    findSegments();
    findInside();
    Value result = core.result;
    writeMacros();
    writeOperands(*result.getParentBlock(), core.resultElem);
    writeSegments();
    writeCompute();
    if (!transposed.empty())
      writeTurned();
    return families::takeHostCore(*this, why);
  }

private:
  //===--------------------------------------------------------------------===//
  // Segments
  //===--------------------------------------------------------------------===//

  struct Segment {
    int64_t begin = 0, end = 1;
    PlacedWalk walk;
    /// Of rows that are inside.
    PlacedWalk inside = {};
  };

  /// Adds the columns at which a guard begins and ceases to hold.
  void addCuts(const Guard &guard, std::set<int64_t> &cuts) const {
    int64_t step = guard.index.coefficient(*inner);
    if (step == 0)
      return;
    for (int64_t bound : {guard.low, guard.high}) {
      int64_t rest = bound - guard.index.constant;
      int64_t at = step > 0 ? llvm::divideCeilSigned(rest, step)
                            : llvm::divideFloorSigned(rest, step) + 1;
      // In reverse index < bound holds behind it.
      if (at > 0 && at < extentOf(inner))
        cuts.insert(at);
    }
  }

  void findSegments() {
    PlacedWalk whole;
    whole.var = inner;
    whole.merged = core.merged;
    std::set<int64_t> cuts;
    if (inner)
      for (const PlacedLoad &load : core.loads)
        for (const Guard &guard : load.guards)
          addCuts(guard, cuts);
    if (cuts.empty() || cuts.size() >= kMostSegments) {
      segments.push_back({0, extentOf(inner), whole});
      return;
    }
    int64_t begin = 0;
    cuts.insert(extentOf(inner));
    for (int64_t end : cuts) {
      segments.push_back(
          {begin, end,
           families::narrowed(program, whole, *inner, begin, end - begin)});
      begin = end;
    }
  }

  /// Finds rows in which nothing is elsewhere because of the row.
  void findInside() {
    for (unsigned var : core.vars) {
      if (var == inner)
        continue;
      families::ValueRange range =
          families::insideOf(core.loads, var, extentOf(var));
      if (range.begin < range.end && range.end - range.begin < extentOf(var))
        inside.push_back({var, range});
    }
    for (Segment &segment : segments) {
      segment.inside = segment.walk;
      for (auto [var, range] : inside)
        segment.inside = families::narrowed(
            program, segment.inside, var, range.begin, range.end - range.begin);
    }
  }

  std::string laneIndex(const Segment &segment) const {
    return segment.begin ? "c - " + std::to_string(segment.begin) : "c";
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  void compute(Scope &scope, bool streams) {
    Buffer out;
    out.pointer = "out";
    out.elem = core.resultElem;
    CValue value = scope.at(core.result, core.index);
    scope.store(out, Scope::linear(core.result, core.index), value,
                streams && scope.partial.empty());
  }

  /// Has transposed elements be at hand, as members of `x`.
  void takeTurned(Scope &scope, const Segment &segment) {
    scope.loaded = [this, &scope, &segment, others = scope.loaded](
                       const Buffer &buffer,
                       const Lin &place) -> std::optional<CValue> {
      for (auto [number, index] : llvm::enumerate(transposed)) {
        Lin wanted = core.loads[index].place;
        if (segment.walk.var != inner) {
          int64_t step = wanted.coefficient(*inner);
          wanted.terms.erase(*inner);
          wanted = wanted + Lin::ofVar(*segment.walk.var, step) +
                   Lin(step * segment.begin);
        }
        if (buffer.pointer != core.loads[index].buffer.pointer ||
            !(place == wanted) || !scope.mergedGuards().empty())
          continue;
        return CValue{"x->t" + std::to_string(number), computeElem(buffer.elem),
                      true};
      }
      return others(buffer, place);
    };
  }

  bool isStreamable(const Segment &segment) {
    if (!inner || bytesOf(core.resultElem) > 4)
      return false;
    Program scratch = program;
    Lin place = families::mergedPlace(core.result, core.index,
                                      segment.walk.merged, scratch);
    return families::areTogether(place, *segment.walk.var, program.lanes) &&
           hasLanes(segment.walk, [&](Scope &scope) { compute(scope, true); });
  }

  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  int64_t bytesWith(Access wanted) const {
    int64_t bytes = 0;
    for (auto [load, access] : llvm::zip_equal(core.loads, core.accesses))
      if (access == wanted)
        bytes += bytesOf(load.buffer.elem);
    return bytes;
  }

  void writeMacros() {
    os << "// An element of the result is a function of elements of the "
          "operands.\n";
    define("ELEMENTS", core.elements);
    define("DIMENSIONS", core.vars.size());
    define("COLUMNS", extentOf(inner));
    define("ROWS", extentOf(core.crossVar));
    define("OUTER", core.elements / extentOf(inner) / extentOf(core.crossVar));
    define("SEGMENTS", segments.size());
    define("TRANSPOSED", transposed.size());
    define("CONTIGUOUS_BYTES", bytesWith(Access::Contiguous));
    define("TRANSPOSED_BYTES", bytesWith(Access::Transposed));
    define("APART_BYTES", bytesWith(Access::Apart));
    define("BROADCAST_BYTES", bytesWith(Access::Broadcast));
    define("GATHERED_BYTES", bytesWith(Access::Gathered));
    bool hasAll = true, streams = false;
    int64_t work = 0, turned = 0;
    for (const Segment &segment : segments) {
      auto evaluate = [&](Scope &scope) { compute(scope, false); };
      hasAll &= hasLanes(segment.walk, evaluate);
      streams |= isStreamable(segment);
      work = std::max(work, workOf(segment.walk, evaluate));
      turned = std::max(turned, workOf(segment.walk, [&](Scope &scope) {
                          if (scope.vectorVar)
                            takeTurned(scope, segment);
                          compute(scope, false);
                        }));
    }
    define("HAS_INSIDE", !inside.empty());
    define("HAS_LANES", hasAll);
    define("OUT_STREAMABLE", streams);
    define("WORK", work);
    define("TURNED_WORK", turned);
    defineElem("OUT", core.resultElem);
  }

  void writeSegments() {
    os << "// Where columns of a segment begin; those of the last one end at "
          "COLUMNS.\nFK_INLINE long segmentBegin(const int segment) {\n";
    for (auto [number, segment] : llvm::enumerate(segments))
      os << "  if (segment == " << number << ") return " << segment.begin
         << ";\n";
    os << "  return COLUMNS;\n}\n";
  }

  /// A branch for each segment, and those whose vectors go past the caches.
  void writeBranches(
      bool isInside,
      llvm::function_ref<void(Scope &, const Segment &, bool)> evaluate) {
    for (auto [number, segment] : llvm::enumerate(segments)) {
      const Segment &here = segment;
      const PlacedWalk &walk = isInside ? here.inside : here.walk;
      bool mayStream = isStreamable(here);
      for (bool streams : {true, false}) {
        if (streams && !mayStream)
          continue;
        os << "  if (segment == " << number;
        if (!inside.empty())
          os << " && isInside == " << isInside;
        if (mayStream)
          os << " && streams == " << streams;
        os << ") {\n"
           << narrowedText(walk, 2)
           << lanesText(walk, laneIndex(here), 2,
                        [&](Scope &scope) { evaluate(scope, here, streams); })
           << "  }\n";
      }
    }
  }

  void writeRowVars() {
    SmallVector<unsigned> rows(core.vars.begin(), core.vars.end());
    if (inner)
      rows.pop_back();
    writeVars(rows, "row", "long");
  }

  void writeCompute() {
    os << "// Whether nothing that a row of the result has is that of a pad "
          "before or behind it.\nFK_INLINE int isInsideRow(long row) {\n";
    writeRowVars();
    os << "  return 1";
    for (auto [var, range] : inside)
      os << " && " << program.vars[var].name << " >= " << range.begin << " && "
         << program.vars[var].name << " < " << range.end;
    os << ";\n}\n// Computes and stores columns from c on, of one segment, of "
          "a row of the result.\nFK_INLINE void computeColumns(const int "
          "segment, const int isInside, OUT_TYPE *restrict out, "
          "OPERAND_PARAMETERS, long row, long c, const int streams, long "
          "count) {\n";
    writeRowVars();
    auto evaluate = [&](Scope &scope, const Segment &, bool streams) {
      compute(scope, streams);
    };
    if (!inside.empty())
      writeBranches(true, evaluate);
    writeBranches(false, evaluate);
    os << "}\n";
  }

  //===--------------------------------------------------------------------===//
  // What is turned
  //===--------------------------------------------------------------------===//

  void writeOuterVars() {
    SmallVector<unsigned> outer;
    for (unsigned var : core.vars)
      if (var != inner && var != core.crossVar)
        outer.push_back(var);
    writeVars(outer, "o", "long");
  }

  void writeTurned() {
    os << "// Of transposed operands, each a vector of columns of one row.\n"
          "struct Turned {\n";
    for (auto [number, index] : llvm::enumerate(transposed))
      os << "  " << registerType(core.loads[index].buffer.elem, true) << " t"
         << number << ";\n";
    os << "};\n";
    for (auto [number, index] : llvm::enumerate(transposed))
      writeTurnedLoad(number, core.loads[index]);
    os << "// Blocks of LANES rows and columns; x has a row each.\n"
          "FK_INLINE void loadTurned(OPERAND_PARAMETERS, long o, long r, long "
          "c, struct Turned *x, long rows, long columns) {\n";
    for (auto [number, index] : llvm::enumerate(transposed))
      writeTurn(number, core.loads[index].buffer.elem);
    os << "}\nFK_INLINE void computeTurned(const int segment, OUT_TYPE "
          "*restrict out, OPERAND_PARAMETERS, long o, long r, long c, const "
          "struct Turned *x, const int streams, long count) {\n"
          "  const int isInside = 0;\n";
    writeOuterVars();
    os << "  const long " << program.vars[*core.crossVar].name << " = r;\n";
    writeBranches(false,
                  [&](Scope &scope, const Segment &segment, bool streams) {
                    // Lane by lane they are loaded once more.
                    if (scope.vectorVar)
                      takeTurned(scope, segment);
                    compute(scope, streams);
                  });
    os << "}\n";
  }

  /// LANES rows at one column.
  void writeTurnedLoad(size_t number, const PlacedLoad &load) {
    PlacedWalk walk;
    walk.var = core.crossVar;
    os << "FK_INLINE " << registerType(load.buffer.elem, true) << " rowsOf"
       << number
       << "(OPERAND_PARAMETERS, long o, long r, long c, long count) {\n";
    writeOuterVars();
    os << "  const long " << program.vars[*inner].name << " = c;\n"
       << lanesText(
              walk, "r", 1,
              [&](Scope &scope) {
                if (!scope.vectorVar) {
                  program.fail("rows of a transposed operand have no vectors");
                  return;
                }
                scope.line("return " +
                           scope.load(load.buffer, load.place).text + ";");
              })
       << "}\n";
  }

  /// Squares of lanes of 32 or 64 bits.
  void writeTurn(size_t number, Elem elem) {
    std::string of = registerType(elem, true),
                name = "t" + std::to_string(number);
    const int64_t bytes = elem == Elem::I1 ? 4 : bytesOf(computeElem(elem));
    std::string wide = bytes == 8 ? "vf64" : "vf32",
                turn =
                    program.helper(bytes == 8 ? "transpose_f64" : "transpose");
    bool isNarrow = bytes < 4;
    os << "  {\n    " << wide << " square[LANES];\n"
       << "    _Pragma(\"clang loop unroll(full)\") for (long j = 0; j < "
          "LANES; ++j)\n      square[j] = j < columns ? (";
    std::string row =
        "rowsOf" + std::to_string(number) + "(OPERANDS, o, r, c + j, rows)";
    os << wide << ")"
       << (isNarrow ? "__builtin_convertvector(" + row + ", vi32)" : row)
       << " : (" << wide << ")0;\n    " << turn << "(square);\n"
       << "    _Pragma(\"clang loop unroll(full)\") for (long j = 0; j < "
          "LANES; ++j)\n      x[j]."
       << name << " = "
       << (isNarrow ? "__builtin_convertvector((vi32)square[j], " + of + ")"
                    : "(" + of + ")square[j]")
       << ";\n  }\n";
  }

  const PointwiseCore &core;
  std::optional<unsigned> inner;
  /// Numbers of transposed loads.
  SmallVector<unsigned> transposed;
  std::vector<Segment> segments;
  /// Variables of rows that pads cut, and where they do not.
  SmallVector<std::pair<unsigned, families::ValueRange>> inside;
};
} // namespace

std::optional<families::CoreInstance>
families::describeForHost(const PointwiseCore &core, const Machine &machine,
                          std::string &why) {
  return HeaderWriter(core, machine).run(why);
}
