//===- WindowHeaderC.cpp - Windows as macros and vector C -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes are neighbours along x, or channels. Elements are named by position;
// where no pad begins they are loaded without asking for one.
//
//===----------------------------------------------------------------------===//

#include "CoreOperands.h"
#include "CudaText.h"
#include "IndexSpace.h"
#include "LanesText.h"
#include "PlaceLanes.h"
#include "fastk/Families/WindowCore.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::PlacedLoad;
using families::PlacedWalk;
using families::SlidingAxis;
using families::WindowCore;

namespace {
/// Writes one header.
class HeaderWriter : families::PlaceLanes {
public:
  HeaderWriter(const WindowCore &core, const Machine &machine)
      : PlaceLanes(core.program, machine), core(core),
        elem(computeElem(core.elem)), sum(registerType(elem, false)),
        sums(registerType(elem, true)) {
    // Sums of products may be fused.
    roundsProducts = isFloatExtremum(core.reduction.kind);
  }

  std::optional<families::CoreInstance> run(std::string &why) {
    findInside();
    Value result = core.result;
    writeMacros();
    writeOperands(*result.getParentBlock(), core.resultElem);
    os << "typedef " << sum << " Sum;\ntypedef " << sums << " Sums;\ntypedef "
       << sums << "u SumsAnywhere;\n";
    writeElements("elements", 1);
    if (isAlongX())
      writeElements("elementsApart", axisX().stride);
    writeElement();
    if (isAlongX())
      writeSumsApart();
    writeCombiners();
    writeFinish();
    return families::takeHostCore(*this, why);
  }

private:
  const SlidingAxis &axisX() const { return core.axes.back(); }
  bool isAlongX() const { return !core.channel; }

  //===--------------------------------------------------------------------===//
  // Where no pad is
  //===--------------------------------------------------------------------===//

  using Range = families::ValueRange;
  Range insideOf(const SlidingAxis &axis) const {
    return axis.position ? families::insideOf(core.loads, *axis.position,
                                              extentOf(axis.position))
                         : Range();
  }

  /// Walks over elements: at any place, inside along x, and inside along all
  /// axes.
  void findInside() {
    for (const SlidingAxis &axis : core.axes)
      inside.push_back(insideOf(axis));
    anywhere.merged = core.positions;
    anywhere.var = isAlongX() ? axisX().position : core.channel;
    innerX = anywhere;
    narrow(innerX, 2);
    innerAll = innerX;
    narrow(innerAll, 1);
    narrow(innerAll, 0);
    results.merged = core.merged;
    results.var = isAlongX() ? axisX().var : core.channel;
  }
  void narrow(PlacedWalk &walk, unsigned number) {
    auto position = core.axes[number].position;
    Range range = inside[number];
    if (!position || range.begin >= range.end ||
        (range.begin == 0 && range.end == extentOf(position)))
      return;
    walk = families::narrowed(program, walk, *position, range.begin,
                              range.end - range.begin);
  }

  //===--------------------------------------------------------------------===//
  // Macros
  //===--------------------------------------------------------------------===//

  CValue valueOf(Scope &scope) {
    return scope.convert(scope.reductionElement(core.reduction, core.loops),
                         core.elem);
  }
  void evaluate(Scope &scope) {
    CValue value = valueOf(scope);
    if (scope.vectorVar)
      value = scope.splat(value);
    scope.line((scope.vectorVar ? "return " : "lanes[lane] = ") + value.text +
               ";");
  }

  int64_t bytesOfMoving(bool wantsTogether) const {
    int64_t bytes = 0;
    for (const PlacedLoad &load : core.loads) {
      int64_t step = anywhere.var ? load.place.coefficient(*anywhere.var) : 0;
      if (wantsTogether ? step == 1 : step != 0)
        bytes += bytesOf(load.buffer.elem);
    }
    return bytes;
  }

  bool isStreamable() {
    Program scratch = program;
    Lin place =
        families::mergedPlace(core.result, core.index, core.merged, scratch);
    return bytesOf(core.resultElem) <= 4 && results.var &&
           place.coefficient(*results.var) == 1 && !isAlongX() &&
           families::areTogether(place, *results.var, program.lanes);
  }

  void writeMacros() {
    os << "// What windows over z, y and x combine, of each outer index o and "
          "channel c.\n";
    define("OUTER", core.outerCount);
    define("CHANNELS", core.channelCount);
    static constexpr const char *names[] = {"Z", "Y", "X"};
    for (auto [name, axis, range] : llvm::zip_equal(names, core.axes, inside)) {
      define("OUT_" + Twine(name), axis.out);
      define("WINDOW_" + Twine(name), axis.window);
      define("STRIDE_" + Twine(name), axis.stride);
      define("DILATION_" + Twine(name), axis.dilation);
      define("POSITIONS_" + Twine(name), extentOf(axis.position));
      define("INSIDE_BEGIN_" + Twine(name), range.begin);
      define("INSIDE_END_" + Twine(name), range.end);
    }
    define("ALONG_X", isAlongX());
    auto element = [&](Scope &scope) { evaluate(scope); };
    auto finish = [&](Scope &scope) { finishTo(scope, false); };
    define("HAS_LANES",
           hasLanes(innerX, element) && hasLanes(innerAll, element));
    define("READ_BYTES", bytesOfMoving(false));
    define("TOGETHER_BYTES", bytesOfMoving(true));
    PlacedWalk apart = innerAll;
    apart.step = isAlongX() ? axisX().stride : 1;
    define("WORK", workOf(innerAll, element));
    define("APART_WORK", workOf(apart, element));
    define("FINISH_WORK", workOf(results, finish));
    define("SUM_BYTES", bytesOf(elem));
    define("IS_PRODUCT", core.reduction.kind == CombinerKind::Mul);
    define("OUT_STREAMABLE", isStreamable());
    defineElem("OUT", core.resultElem);
  }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  /// Names of coordinates in C, of which the axes' variables are made.
  void writePlace(bool byPosition) {
    writeVars(core.outer, "o", "long");
    static constexpr const char *names[] = {"z", "y", "x"};
    for (auto [name, axis] : llvm::zip_equal(names, core.axes))
      if (auto var = byPosition ? axis.position : axis.var)
        declare(*var, name);
    if (core.channel)
      declare(*core.channel, "c");
  }
  void declare(unsigned var, const Twine &value) {
    os << "  const long " << program.vars[var].name << " = " << value << ";\n";
  }
  std::string laneIndex(const PlacedWalk &walk) const {
    if (!isAlongX())
      return "c";
    return walk.var == axisX().position || inside[2].begin == 0
               ? "x"
               : "x - " + std::to_string(inside[2].begin);
  }

  void writeElements(StringRef name, int64_t step) {
    os << "// Of " << (isAlongX() ? "positions" : "channels")
       << (step == 1 ? " that follow each other" : " of neighbouring results")
       << ". Inside (1) along all axes, (0) along x if lanes are.\n"
          "FK_INLINE Sums "
       << name
       << "(const int isInside, OPERAND_PARAMETERS, long o, long z, long y, "
          "long x, long c, long count) {\n";
    writePlace(true);
    os << "  Sums lanes = (Sums)0;\n";
    for (bool isInside : {true, false}) {
      PlacedWalk walk = isInside ? innerAll : isAlongX() ? innerX : anywhere;
      walk.step = step;
      os << "  if (isInside == " << isInside << ") {\n"
         << narrowedText(walk, 2)
         << lanesText(walk, laneIndex(walk), 2,
                      [&](Scope &scope) { evaluate(scope); })
         << "  }\n";
    }
    os << "  return lanes;\n}\n";
  }

  void writeElement() {
    os << "// One element, anywhere.\nFK_INLINE Sum "
          "element(OPERAND_PARAMETERS, "
          "long o, long z, long y, long x, long c) {\n";
    writePlace(true);
    os << elementText(anywhere, 1, [&](Scope &scope) {
      scope.line("return " + valueOf(scope).text + ";");
    }) << "}\n";
  }

  /// What stands in a row of positions, for neighbouring results.
  void writeSumsApart() {
    PlacedWalk walk;
    walk.var = axisX().var;
    Buffer row;
    row.pointer = "row";
    row.elem = elem;
    os << "// Of neighbouring results, in a row of positions.\n"
          "FK_INLINE Sums sumsApart(const Sum *row, long count) {\n"
          "  Sums lanes = (Sums)0;\n"
       << lanesText(walk, "0", 1,
                    [&](Scope &scope) {
                      Lin place = Lin::ofVar(*walk.var, axisX().stride);
                      CValue value = scope.load(row, place);
                      scope.line(
                          (scope.vectorVar ? "return " : "lanes[lane] = ") +
                          value.text + ";");
                    })
       << "  return lanes;\n}\n";
  }

  void writeCombiners() {
    for (bool isVector : {false, true}) {
      StringRef type = isVector ? "Sums" : "Sum";
      os << "FK_INLINE " << type << (isVector ? " combineLanes(" : " combine(")
         << type << " a, " << type << " b) {\n";
      std::string body;
      Scope scope(program, body, 1);
      CValue both = scope.combine(core.reduction.kind, {"a", elem, isVector},
                                  {"b", elem, isVector});
      os << body << "  return " << both.text << ";\n}\n";
    }
    std::string body;
    Scope scope(program, body, 1);
    std::string neutral = scope.neutral(core.reduction.kind, elem);
    CValue joined =
        scope.horizontal(core.reduction.kind, {"lanes", elem, true});
    os << "#define NEUTRAL (" << neutral << ")\n"
       << "FK_INLINE Sum joinLanes(Sums lanes) {\n"
       << body << "  return " << joined.text << ";\n}\n";
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// What windows combine to, and what they start at.
  CValue sumWithStart(Scope &scope) {
    CombinerKind kind = core.reduction.kind;
    CValue start = families::startOf(core.reduction, core.loops, scope);
    CValue found = {scope.vectorVar ? "sums" : sumText, elem,
                    scope.vectorVar.has_value()};
    if ((kind == CombinerKind::Add && families::isZero(start.text)) ||
        start.text == scope.neutral(kind, elem))
      return found;
    return scope.combine(kind, scope.convert(start, elem), found);
  }

  void finishTo(Scope &scope, bool streams) {
    scope.onOpaque = [this](Scope &inside, Value, ArrayRef<Lin>) {
      return sumWithStart(inside);
    };
    CValue value = scope.at(core.result, core.index);
    scope.store({"out", core.resultElem},
                Scope::linear(core.result, core.index), value,
                streams && scope.partial.empty());
  }

  void writeFinish() {
    os << "// Computes and stores results of neighbours.\n"
          "FK_INLINE void finishLanes(OUT_TYPE *restrict out, "
          "OPERAND_PARAMETERS, long o, long z, long y, long x, long c, Sums "
          "sums, const int streams, long count) {\n";
    writePlace(false);
    sumText = "sums[lane]";
    const bool mayStream = isStreamable();
    for (bool streams : {true, false}) {
      if (streams && !mayStream)
        continue;
      os << "  if (" << (mayStream ? "streams == " : "1 || streams == ")
         << streams << ") {\n"
         << lanesText(results, isAlongX() ? "x" : "c", 2,
                      [&](Scope &scope) { finishTo(scope, streams); })
         << "  }\n";
    }
    os << "}\nFK_INLINE void finish(OUT_TYPE *restrict out, "
          "OPERAND_PARAMETERS, long o, long z, long y, long x, long c, Sum "
          "sum) {\n";
    writePlace(false);
    sumText = "sum";
    os << elementText(results, 1, [&](Scope &scope) { finishTo(scope, false); })
       << "}\n";
  }

  const WindowCore &core;
  Elem elem;
  std::string sum, sums, sumText = "sum";
  /// Of z, y and x.
  std::vector<Range> inside;
  PlacedWalk anywhere, innerX, innerAll, results;
};
} // namespace

std::optional<families::CoreInstance>
families::describeForHost(const WindowCore &core, const Machine &machine,
                          std::string &why) {
  return HeaderWriter(core, machine).run(why);
}
