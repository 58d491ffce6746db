//===- WindowHeader.cpp - Windows as macros and functions -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CombinedText.h"
#include "CoreOperands.h"
#include "CudaText.h"
#include "fastk/Families/WindowCore.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::kVectorBytes;
using families::PlacedLoad;
using families::SlidingAxis;
using families::WindowCore;

namespace {
/// Writes one header. Its text has two kinds of places: where an element is,
/// by position, and where a result is; `vars` and `merged` are those of the
/// kind that is written.
class HeaderWriter : families::CombinedText {
public:
  HeaderWriter(const WindowCore &core)
      : CombinedText(core.program, {}, core.positions, 0), core(core),
        loads(core.loads), positions(core.positions) {
    for (const SlidingAxis &axis : core.axes)
      resultCount *= axis.out;
    elements = resultCount * core.outerCount * core.channelCount;
  }

  std::optional<std::string> run(Block &body, std::string &why) {
    findVectors(body);
    writeMacros();
    writeTypes(body, core.resultElem);
    os << families::vectorText() << families::streamText();
    writeOperands(body, core.resultElem);
    os << "typedef " << (isWide(body) ? "i64" : "i32") << " Index;\ntypedef "
       << sumTypeOf(core.elem) << " Sum;\n";
    selectElements();
    writeValues("Values", loads);
    writePlace("Place", "placeOf", "of an element, by position");
    writeLoads();
    writeElements(loads, core.elem, "VECTOR", "neighbours", [&](Scope &scope) {
      return scope.reductionElement(core.reduction, core.loops);
    });
    writeCombiner(core.reduction.kind, core.elem);
    selectResults(1);
    writeValues("Others", core.finishLoads);
    writePlace("OutPlace", "outPlaceOf", "of a result");
    writeResult();
    writeFinish("finishOne", "ONE_RESULT");
    selectResults(outVector);
    writeFinish("finish", "OUT_VECTOR");
    if (!program.failure.empty()) {
      why = program.failure;
      return std::nullopt;
    }
    return std::move(text);
  }

private:
  const SlidingAxis &axisX() const { return core.axes.back(); }
  bool isAlongX() const { return !core.channel && axisX().var; }

  //===--------------------------------------------------------------------===//
  // What is written: elements or results
  //===--------------------------------------------------------------------===//

  /// Variables of places, in the order of their coordinates.
  void select(ArrayRef<MergedVars> of, bool byPosition, int64_t width) {
    merged.assign(of.begin(), of.end());
    vars.assign(core.outer.begin(), core.outer.end());
    if (core.channel)
      vars.push_back(*core.channel);
    for (const SlidingAxis &axis : core.axes)
      if (auto var = byPosition ? axis.position : axis.var)
        vars.push_back(*var);
    inner = core.channel  ? core.channel
            : !isAlongX() ? std::nullopt
            : byPosition  ? axisX().position
                          : axisX().var;
    vector = width;
  }
  void selectElements() { select(positions, true, loadVector); }
  void selectResults(int64_t width) { select(core.merged, false, width); }

  //===--------------------------------------------------------------------===//
  // Neighbours
  //===--------------------------------------------------------------------===//

  /// Whether neighbours along `inner` have elements of their own.
  bool isMoving(const PlacedLoad &load) const {
    return inner && load.place.coefficient(*inner) != 0;
  }
  int64_t widest(ArrayRef<PlacedLoad> of, int64_t least) const {
    for (const PlacedLoad &load : of)
      if (isMoving(load))
        least = std::max(least, bytesOf(load.buffer.elem));
    return least;
  }

  void findVectors(Block &body) {
    int64_t resultBytes = bytesOf(core.resultElem);
    selectResults(1);
    outVector = kVectorBytes / widest(core.finishLoads, resultBytes);
    selectElements();
    loadVector = kVectorBytes / widest(core.loads, 1);
    if (!inner) {
      outVector = loadVector = 1;
      return;
    }
    if (core.channel)
      outVector = loadVector = std::min(outVector, loadVector);
    unsigned resultVar = core.channel ? *core.channel : *axisX().var;
    while (extentOf(resultVar) % outVector != 0)
      outVector /= 2;
    if (core.channel)
      loadVector = std::min(loadVector, outVector);
    else
      while (!beginVectors(body))
        loadVector /= 2;
    selectElements();
  }

  /// Moves positions so that vectors of them are single accesses. False: there
  /// are no such, or they read where no operand is.
  bool beginVectors(Block &body) {
    const SlidingAxis &axis = axisX();
    unsigned var = *axis.position;
    loads = core.loads;
    positions = core.positions;
    begin = 0;
    program.vars[var].extent = axis.positions();
    if (loadVector == 1)
      return true;
    for (const PlacedLoad &load : core.loads)
      if (load.place.coefficient(var) == 1)
        begin = (load.place.constant % loadVector + loadVector) % loadVector;
    positions.back().begin = begin;
    program.vars[var].extent =
        llvm::alignTo(axis.positions() + begin, loadVector);
    for (PlacedLoad &load : loads) {
      load.place = moved(load.place, var);
      for (Guard &guard : load.guards)
        guard.index = moved(guard.index, var);
    }
    selectElements();
    bool isOne = false;
    for (const PlacedLoad &load : loads) {
      isOne |= isMoving(load) && widthOf(load) == loadVector;
      if (!isInside(load, body))
        return false;
    }
    return isOne;
  }
  Lin moved(const Lin &place, unsigned var) const {
    return place - Lin(place.coefficient(var) * begin);
  }

  /// Whether all that is loaded, in whole vectors, is of the operand.
  bool isInside(const PlacedLoad &load, Block &body) const {
    int64_t low = load.place.constant, high = low;
    for (auto [var, step] : load.place.terms) {
      int64_t first = 0, last = program.vars[var].extent - 1;
      for (const Guard &guard : load.guards) {
        if (guard.index.terms.size() != 1 || guard.index.coefficient(var) != 1)
          continue;
        first = std::max(first, guard.low - guard.index.constant);
        last = std::min(last, guard.high - 1 - guard.index.constant);
      }
      low += step * (step > 0 ? first : last);
      high += step * (step > 0 ? last : first);
    }
    unsigned input = 0;
    StringRef(load.buffer.pointer).drop_front(2).getAsInteger(10, input);
    auto type = cast<RankedTensorType>(body.getArgument(input).getType());
    return low >= 0 && high < type.getNumElements();
  }

  /// Whether 32 bits do not suffice for an element's number.
  bool isWide(Block &body) const {
    int64_t most = elements;
    for (BlockArgument argument : body.getArguments())
      most = std::max(
          most, cast<RankedTensorType>(argument.getType()).getNumElements());
    return most >= (int64_t(1) << 31) - (1 << 20);
  }

  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  int64_t bytesOfMoving(ArrayRef<PlacedLoad> of, bool wantsTogether) const {
    int64_t bytes = 0;
    for (const PlacedLoad &load : of)
      if (isMoving(load) &&
          (!wantsTogether || load.place.coefficient(*inner) == 1))
        bytes += bytesOf(load.buffer.elem);
    return bytes;
  }

  void writeMacros() {
    os << "// What windows over z, y and x combine, of each outer index o and "
          "channel c.\n";
    define("OUTER", core.outerCount);
    define("CHANNELS", core.channelCount);
    for (auto [name, axis] :
         llvm::zip_equal(std::array<StringRef, 3>{"Z", "Y", "X"}, core.axes)) {
      define("OUT_" + name, axis.out);
      define("WINDOW_" + name, axis.window);
      define("STRIDE_" + name, axis.stride);
      define("DILATION_" + name, axis.dilation);
      define("POSITIONS_" + name, extentOf(axis.position));
    }
    define("BEGIN_X", begin);
    define("ALONG_X", isAlongX());
    define("VECTOR", loadVector);
    define("OUT_VECTOR", outVector);
    define("READ_BYTES", bytesOfMoving(loads, false));
    define("TOGETHER_BYTES", bytesOfMoving(loads, true));
    define("VALUE_BYTES", bytesOfValues(loads));
    define("SUM_BYTES", bytesOf(computeElem(core.elem)));
    define("IS_PRODUCT", core.reduction.kind == CombinerKind::Mul);
    defineElem("OUT", core.resultElem);
  }

  /// A struct of the selected variables, and what makes one of coordinates.
  void writePlace(StringRef type, StringRef function, StringRef of) {
    os << "// The place " << of << ".\nstruct " << type << " {\n";
    for (unsigned var : vars)
      os << "  Index " << program.vars[var].name << ";\n";
    os << "};\nFASTK_DEVICE " << type << " " << function
       << "(Index o, Index z, Index y, Index x, Index c) {\n";
    writeVars(core.outer, "o", "Index");
    os << "  " << type << " p;\n";
    for (unsigned var : core.outer)
      os << "  p." << program.vars[var].name << " = " << program.vars[var].name
         << ";\n";
    if (core.channel)
      os << "  p." << program.vars[*core.channel].name << " = c;\n";
    for (auto [name, axis] :
         llvm::zip_equal(std::array<StringRef, 3>{"z", "y", "x"}, core.axes))
      if (auto var = type == "Place" ? axis.position : axis.var)
        os << "  p." << program.vars[*var].name << " = " << name << ";\n";
    os << "  return p;\n}\n";
  }

  void writeLoads() {
    os << "// VECTOR neighbours from a place on. ONCE: nothing asks for them "
          "again.\ntemplate <bool ONCE = false> FASTK_DEVICE void "
          "load(OPERAND_PARAMETERS, const Place &p, Values *v) {\n";
    writeVarsOf("p", inner);
    for (auto [number, load] : llvm::enumerate(loads))
      writeLoad(load, number);
    os << "}\n";
  }

  /// What windows combine to, and what they start at.
  CValue sumWithStart(Scope &scope) {
    Elem elem = computeElem(core.elem);
    CombinerKind kind = core.reduction.kind;
    CValue start = families::startOf(core.reduction, core.loops, scope);
    if ((kind == CombinerKind::Add && families::isZero(start.text)) ||
        start.text == scope.neutral(kind, elem))
      return {"y", elem, false};
    return scope.combine(kind, scope.convert(start, elem), {"y", elem, false});
  }

  void writeResult() {
    os << "FASTK_DEVICE " << registerType(computeElem(core.resultElem), false)
       << " resultValue(OPERAND_PARAMETERS, const OutPlace &p, const Others "
          "&w, Sum y) {\n";
    writeVarsOf("p");
    std::string body;
    Scope scope(program, body, 1);
    prepare(scope, core.finishLoads, "w");
    scope.onOpaque = [this](Scope &inside, Value, ArrayRef<Lin>) {
      return sumWithStart(inside);
    };
    CValue value = scope.at(core.result, core.index);
    value = scope.convert(value, core.resultElem);
    os << body << "  return " << value.text << ";\n}\n#define ONE_RESULT 1\n";
  }

  Lin resultPlace() {
    std::string unused;
    Scope scope(program, unused, 0);
    scope.merged = core.merged;
    Lin found;
    scope.onStore = [&](const Buffer &, const Lin &lin) { found = lin; };
    scope.store({"out", core.resultElem},
                Scope::linear(core.result, core.index),
                {"0", computeElem(core.resultElem), false});
    return found;
  }

  void writeFinish(StringRef name, StringRef count) {
    os << "// Computes and stores " << count
       << " results, of neighbours from p on. ONCE: they leave caches "
          "first.\ntemplate <bool ONCE = false> FASTK_DEVICE void "
       << name
       << "(OUT_TYPE *out, OPERAND_PARAMETERS, const OutPlace &p, const Sum "
          "*y) {\n  Others w["
       << count << "];\n  OUT_TYPE results[" << count << "];\n  {\n";
    writeVarsOf("p", inner);
    for (auto [number, load] : llvm::enumerate(core.finishLoads))
      writeLoad(load, number, "w");
    os << "  }\n";
    writeEach("OutPlace", count, "results[j]",
              "OUT_TYPE(resultValue(OPERANDS, q, w[j], y[j]))");
    writeVarsOf("p");
    os << "  storeAll<" << count << ", ONCE>(out + ("
       << program.linText(resultPlace()) << "), results);\n}\n";
  }

  const WindowCore &core;
  /// What is loaded, by positions of which the first is `begin`.
  std::vector<PlacedLoad> loads;
  std::vector<MergedVars> positions;
  int64_t begin = 0, loadVector = 1, outVector = 1, resultCount = 1;
};
} // namespace

std::optional<families::CoreInstance>
families::describeCore(const WindowCore &core, std::string &why) {
  return describeByHeader<HeaderWriter>(core, why);
}
