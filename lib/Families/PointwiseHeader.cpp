//===- PointwiseHeader.cpp - Pointwise work as macros and functions -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoreOperands.h"
#include "CudaText.h"
#include "IndexSpace.h"
#include "PlaceText.h"
#include "fastk/Families/Pointwise.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::kVectorBytes;
using families::PlacedLoad;
using families::PointwiseCore;

namespace {
/// Writes one header.
class HeaderWriter : families::PlaceText {
  using Access = PointwiseCore::Access;

public:
  HeaderWriter(const PointwiseCore &core)
      : PlaceText(core.program, core.vars, core.merged, core.elements),
        core(core) {
    gathered = core.gathered;
    for (auto [number, access] : llvm::enumerate(core.accesses))
      if (access == Access::Transposed)
        transposed.push_back(number);
  }

  std::optional<std::string> run(Block &body, std::string &why) {
    setVector(kVectorBytes / widestBytes());
    crossVector = findCrossVector();
    writeMacros();
    writePlaceTypes(body, core.resultElem);
    writeValues("Values", core.loads);
    writePlaceStruct();
    writePlaces();
    writeLoads();
    writeTransposed();
    writeFinish();
    return takeText(why);
  }

private:
  /// Of elements that are not shared.
  int64_t widestBytes() const {
    int64_t bytes = bytesOf(core.resultElem);
    for (auto [load, access] : llvm::zip_equal(core.loads, core.accesses))
      if (access != Access::Broadcast)
        bytes = std::max(bytes, bytesOf(load.buffer.elem));
    return bytes;
  }
  int64_t findCrossVector() const {
    if (transposed.empty())
      return 1;
    int64_t bytes = 1;
    for (unsigned number : transposed)
      bytes = std::max(bytes, bytesOf(core.loads[number].buffer.elem));
    int64_t width = kVectorBytes / bytes;
    auto fits = [&](unsigned number) {
      return families::areTogether(core.loads[number].place, *core.crossVar,
                                   width);
    };
    while (extentOf(core.crossVar) % width != 0 ||
           !llvm::all_of(transposed, fits))
      width /= 2;
    return width;
  }

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
    define("VECTOR", vector);
    define("ROW_VECTOR", crossVector);
    define("CONTIGUOUS_BYTES", bytesWith(Access::Contiguous));
    define("TRANSPOSED", transposed.size());
    define("TRANSPOSED_BYTES", bytesWith(Access::Transposed));
    define("APART_BYTES", bytesWith(Access::Apart));
    define("BROADCAST_BYTES", bytesWith(Access::Broadcast));
    if (!gathered.empty())
      define("GATHERED_BYTES", bytesWith(Access::Gathered));
    define("VALUE_BYTES", bytesOfValues(core.loads));
    defineElem("OUT", core.resultElem);
  }

  void writePlaces() {
    os << "// Of element i of the result; of column c of row r of an outer "
          "index o.\nFASTK_DEVICE Place placeOf(Index i) {\n";
    writeVars(vars, "i", "Index");
    writeMadePlace();
    SmallVector<unsigned> outer;
    for (unsigned var : vars)
      if (var != inner && var != core.crossVar)
        outer.push_back(var);
    os << "FASTK_DEVICE Place placeOf(Index o, Index r, Index c) {\n";
    writeVars(outer, "o", "Index");
    if (core.crossVar)
      os << "  const Index " << program.vars[*core.crossVar].name << " = r;\n";
    if (inner)
      os << "  const Index " << program.vars[*inner].name << " = c;\n";
    writeMadePlace();
    Lin offset;
    for (unsigned var : vars)
      offset = offset * program.vars[var].extent + Lin::ofVar(var);
    os << "FASTK_DEVICE i64 outOffset(const Place &p) {\n";
    writeVarsOf("p");
    os << "  return " << program.linText(offset) << ";\n}\n";
  }

  void writeLoads() {
    os << "// VECTOR neighbours from a place on, ALL or what is not "
          "transposed. "
          "ONCE: nothing asks for them again.\n"
          "template <bool ONCE = false, bool ALL = true> FASTK_DEVICE void "
          "load(OPERAND_PARAMETERS, const Place &p, Values *v) {\n";
    writeVarsOf("p", inner);
    for (auto [number, load] : llvm::enumerate(core.loads)) {
      bool isTransposed = core.accesses[number] == Access::Transposed;
      os << (isTransposed ? "  if constexpr (ALL) {\n" : "");
      writeLoad(load, number, "v", core.loads);
      os << (isTransposed ? "  }\n" : "");
    }
    os << "}\n";
  }

  /// Of transposed operands, each by its number among them.
  void writeTransposed() {
    os << "template <int N> struct TransposedType { typedef float Type; };\n";
    for (auto [place, number] : llvm::enumerate(transposed))
      os << "template <> struct TransposedType<" << place << "> { typedef "
         << families::cudaType(core.loads[number].buffer.elem) << " Type; };\n";
    os << "// ROW_VECTOR rows from a place on, at one column.\n"
          "template <int N, bool ONCE = false> FASTK_DEVICE void "
          "loadTransposed(OPERAND_PARAMETERS, const Place &p, typename "
          "TransposedType<N>::Type *x) {\n";
    writeVarsOf("p");
    for (auto [place, number] : llvm::enumerate(transposed)) {
      const PlacedLoad &load = core.loads[number];
      os << "  if constexpr (N == " << place << ") loadTogether<" << crossVector
         << ", " << (load.isOnce ? "ONCE" : "false") << ">("
         << load.buffer.pointer << " + " << program.linText(load.place)
         << ", x);\n";
    }
    os << "}\n// What loadTransposed() has loaded of VECTOR columns of one "
          "row.\ntemplate <int N> FASTK_DEVICE void setTransposed(Values *v, "
          "const typename TransposedType<N>::Type *x) {\n";
    for (auto [place, number] : llvm::enumerate(transposed))
      os << "  if constexpr (N == " << place
         << ") {\n#pragma unroll\n    for (int j = 0; j < VECTOR; ++j) v[j]."
         << memberOf(number) << " = x[j];\n  }\n";
    os << "}\n";
  }

  void writeFinish() {
    os << "FASTK_DEVICE " << registerType(computeElem(core.resultElem), false)
       << " resultValue(OPERAND_PARAMETERS, const Place &p, const Values &v) "
          "{\n";
    writeVarsOf("p");
    std::string body;
    Scope scope(program, body, 1);
    prepare(scope, core.loads);
    // Only guards ask for what is computed: elements are loaded.
    std::set<unsigned> asked;
    scope.onIndex = [&asked](const Lin &index) {
      for (auto [var, coefficient] : index.terms)
        asked.insert(var);
    };
    CValue value = scope.at(core.result, core.index);
    value = scope.convert(value, core.resultElem);
    os << indexText(asked, core.loads, "v", 1) << body << "  return "
       << value.text
       << ";\n}\n// Computes and stores VECTOR results. ONCE: they leave "
          "caches "
          "first.\ntemplate <bool ONCE = false> FASTK_DEVICE void "
          "finish(OUT_TYPE *out, OPERAND_PARAMETERS, const Place &p, const "
          "Values *v) {\n  OUT_TYPE results[VECTOR];\n"
          "#pragma unroll\n  for (int j = 0; j < VECTOR; ++j) {\n"
          "    Place q = p;\n";
    if (inner)
      os << "    q." << program.vars[*inner].name << " += j;\n";
    os << "    results[j] = OUT_TYPE(resultValue(OPERANDS, q, v[j]));\n  }\n"
          "  storeAll<VECTOR, ONCE>(out + outOffset(p), results);\n}\n";
  }

  const PointwiseCore &core;
  /// Numbers of transposed loads.
  SmallVector<unsigned> transposed;
  int64_t crossVector = 1;
};
} // namespace

std::optional<families::CoreInstance>
families::describeCore(const PointwiseCore &core, std::string &why) {
  return describeByHeader<HeaderWriter>(core, why);
}
