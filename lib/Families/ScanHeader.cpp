//===- ScanHeader.cpp - Scans as macros and functions ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CombinedText.h"
#include "CudaText.h"
#include "IndexSpace.h"
#include "fastk/Families/Scan.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::kVectorBytes;
using families::PlacedLoad;
using families::ScanCore;

static SmallVector<unsigned> allVars(const ScanCore &core) {
  SmallVector<unsigned> vars(core.rows);
  llvm::append_range(vars, core.columns);
  return vars;
}

namespace {
/// Writes one header.
class HeaderWriter : families::CombinedText {
public:
  HeaderWriter(const ScanCore &core)
      : CombinedText(core.program, allVars(core), core.merged,
                     core.rowCount * core.columnCount),
        core(core) {}

  std::optional<std::string> run(Block &body, std::string &why) {
    outPlace = {
        Buffer{"out", core.resultElem},
        families::mergedPlace(core.result, core.index, core.merged, program),
        {}};
    setVector(kVectorBytes / widestBytes());
    vector = widthOf(outPlace);
    writeMacros();
    writePlaceTypes(body, core.resultElem);
    os << "typedef " << sumTypeOf(core.elem) << " Sum;\n";
    writeValues("Values", core.loads);
    writeValues("Others", core.finishLoads);
    writePlaceStruct();
    writePlaces();
    writeLoads();
    writeElements(
        core.loads, core.elem, "COLUMN_VECTOR", "columns",
        [&](Scope &scope) { return scope.at(core.scanned, core.loops); });
    writeCombiner(core.kind, core.elem);
    writeFinish();
    return takeText(why);
  }

private:
  bool isFull(const PlacedLoad &load) const {
    return llvm::all_of(
        vars, [&](unsigned var) { return load.place.coefficient(var) != 0; });
  }
  bool isAdjacent(const PlacedLoad &load) const {
    int64_t step = load.place.coefficient(*inner);
    return !isFull(load) || step == 1 || step == -1;
  }
  int64_t bytesOfFull(ArrayRef<PlacedLoad> loads, bool widest) const {
    int64_t most = 0, sum = 0;
    for (const PlacedLoad &load : loads)
      if (isFull(load)) {
        most = std::max(most, bytesOf(load.buffer.elem));
        sum += bytesOf(load.buffer.elem);
      }
    return widest ? most : sum;
  }
  int64_t widestBytes() const {
    return std::max({bytesOf(core.resultElem), bytesOfFull(core.loads, true),
                     bytesOfFull(core.finishLoads, true)});
  }

  void writeMacros() {
    os << "// Prefixes of the columns c of each row r.\n";
    define("ROWS", core.rowCount);
    define("COLUMNS", core.columnCount);
    define("COLUMN_VECTOR", vector);
    define("COLUMNS_ADJACENT",
           isAdjacent(outPlace) && llvm::all_of(core.loads, [&](auto &load) {
             return isAdjacent(load);
           }));
    define("READ_BYTES", bytesOfFull(core.loads, false) +
                             bytesOfFull(core.finishLoads, false));
    define("VALUE_BYTES", bytesOfValues(core.loads));
    define("SUM_BYTES", bytesOf(computeElem(core.elem)));
    define("IS_PRODUCT", core.kind == CombinerKind::Mul);
    defineElem("OUT", core.resultElem);
  }

  void writePlaces() {
    os << "FASTK_DEVICE Place placeOf(Index r, Index c) {\n";
    writeVars(core.rows, "r", "Index");
    writeVars(core.columns, "c", "Index");
    writeMadePlace();
  }

  void writeLoads() {
    os << "// COLUMN_VECTOR columns from a place on. ONCE: nothing asks for "
          "them again.\ntemplate <bool ONCE = false> FASTK_DEVICE void "
          "load(OPERAND_PARAMETERS, const Place &p, Values *v) {\n";
    writeVarsOf("p", inner);
    for (auto [number, load] : llvm::enumerate(core.loads))
      writeLoad(load, number);
    os << "}\n";
  }

  void writeFinish() {
    os << "FASTK_DEVICE " << registerType(computeElem(core.resultElem), false)
       << " resultValue(OPERAND_PARAMETERS, const Place &p, const Others &w, "
          "Sum y) {\n";
    writeVarsOf("p");
    std::string body;
    Scope scope(program, body, 1);
    prepare(scope, core.finishLoads, "w");
    scope.onOpaque = [this](Scope &, Value, ArrayRef<Lin>) -> CValue {
      return {"y", computeElem(core.elem), false};
    };
    CValue value = scope.at(core.result, core.index);
    value = scope.convert(value, core.resultElem);
    os << body << "  return " << value.text
       << ";\n}\n// Computes and stores the results of COLUMN_VECTOR prefixes. "
          "ONCE: they leave caches first.\ntemplate <bool ONCE = false> "
          "FASTK_DEVICE void finish(OUT_TYPE *out, OPERAND_PARAMETERS, const "
          "Place &p, const Sum *y) {\n  Others w[COLUMN_VECTOR];\n  OUT_TYPE "
          "results[COLUMN_VECTOR];\n";
    os << "  {\n";
    writeVarsOf("p", inner);
    for (auto [number, load] : llvm::enumerate(core.finishLoads))
      writeLoad(load, number, "w");
    os << "  }\n";
    bool isReversed = outPlace.place.coefficient(*inner) < 0;
    writeEach("Place", "COLUMN_VECTOR",
              isReversed ? "results[COLUMN_VECTOR - 1 - j]" : "results[j]",
              "OUT_TYPE(resultValue(OPERANDS, q, w[j], y[j]))");
    writeVarsOf("p");
    Lin first = isReversed ? outPlace.place - Lin(vector - 1) : outPlace.place;
    os << "  storeAll<COLUMN_VECTOR, ONCE>(out + (" << program.linText(first)
       << "), results);\n}\n";
  }

  const ScanCore &core;
  /// Where results are stored.
  PlacedLoad outPlace;
};
} // namespace

std::optional<families::CoreInstance>
families::describeCore(const ScanCore &core, std::string &why) {
  return describeByHeader<HeaderWriter>(core, why);
}
