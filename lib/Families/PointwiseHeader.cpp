//===- PointwiseHeader.cpp - Pointwise work as macros and functions -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoreOperands.h"
#include "CudaText.h"
#include "HeaderText.h"
#include "IndexSpace.h"
#include "fastk/Families/Pointwise.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::kVectorBytes;
using families::PointwiseCore;

/// Stores what nothing reads soon.
static const char *kStreams = R"(
template <int N, bool ONCE, typename T> FASTK_DEVICE void storeAll(T *to, const T *from) {
  constexpr int bytes = N * sizeof(T) < 16 ? N * (int)sizeof(T) : 16, each = bytes / (int)sizeof(T);
  typedef typename Chunk<bytes>::Type Piece;
  if constexpr (!ONCE) {
    storeTogether<N>(to, from);
  } else {
#pragma unroll
    for (int i = 0; i < N / each; ++i) {
      Piece piece;
      memcpy(&piece, from + i * each, bytes);
      __stcs((Piece *)(to + i * each), piece);
    }
  }
}
)";

namespace {
/// Writes one header.
class HeaderWriter : families::HeaderText {
  using Access = PointwiseCore::Access;
  using Load = PointwiseCore::Load;

public:
  HeaderWriter(const PointwiseCore &core)
      : HeaderText(core.program), core(core) {
    if (!core.vars.empty())
      inner = core.vars.back();
    for (auto [number, load] : llvm::enumerate(core.loads))
      if (load.access == Access::Transposed)
        transposed.push_back(number);
  }

  std::optional<std::string> run(Block &body, std::string &why) {
    vector = findVector();
    crossVector = findCrossVector();
    writeMacros();
    bool isHalf = core.resultElem == Elem::F16 || core.resultElem == Elem::BF16;
    os << families::cudaTypes(isHalf) << families::vectorText() << kStreams;
    writeOperands(body, core.resultElem);
    os << "typedef " << indexType() << " Index;\n";
    writeStructs();
    writePlaces();
    writeLoad();
    writeTransposed();
    writeFinish();
    if (!program.failure.empty()) {
      why = program.failure;
      return std::nullopt;
    }
    return std::move(text);
  }

private:
  int64_t extentOf(std::optional<unsigned> var) const {
    return var ? program.vars[*var].extent : 1;
  }
  const char *indexType() const {
    return core.elements < (int64_t(1) << 31) ? "i32" : "i64";
  }
  static std::string memberOf(unsigned number) {
    return "l" + std::to_string(number);
  }

  /// As many as fit into the widest access of the widest element that is not
  /// shared, and follow each other in the result.
  int64_t findVector() const {
    if (!inner)
      return 1;
    int64_t bytes = bytesOf(core.resultElem);
    for (const Load &load : core.loads)
      if (load.access != Access::Broadcast)
        bytes = std::max(bytes, bytesOf(load.buffer.elem));
    int64_t width = kVectorBytes / bytes;
    while (extentOf(inner) % width != 0)
      width /= 2;
    return width;
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

  /// Whether a guard says the same of `width` neighbours.
  bool isUniform(const Guard &guard, int64_t width) const {
    if (guard.index.coefficient(*inner) == 0)
      return true;
    Lin from = guard.index - Lin(guard.low), to = guard.index - Lin(guard.high);
    auto [low, high] = program.range(guard.index);
    return (low >= guard.low || families::areTogether(from, *inner, width)) &&
           (high < guard.high || families::areTogether(to, *inner, width));
  }
  /// Neighbours that one access loads, or that share one element.
  int64_t widthOf(const Load &load) const {
    if (!inner)
      return 1;
    int64_t step = load.place.coefficient(*inner), width = vector;
    auto fits = [&](const Guard &guard) { return isUniform(guard, width); };
    while (width > 1 &&
           ((step == 1 && !families::areTogether(load.place, *inner, width)) ||
            (step != 0 && step != 1) || !llvm::all_of(load.guards, fits)))
      width /= 2;
    return width;
  }

  int64_t bytesWith(Access access) const {
    int64_t bytes = 0;
    for (const Load &load : core.loads)
      if (load.access == access)
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
    int64_t valueBytes = 0, align = 1;
    for (const Load &load : core.loads) {
      int64_t bytes = bytesOf(load.buffer.elem);
      valueBytes = (valueBytes + bytes - 1) / bytes * bytes + bytes;
      align = std::max(align, bytes);
    }
    define("VALUE_BYTES", (valueBytes + align - 1) / align * align);
    defineElem("OUT", core.resultElem);
  }

  void writeStructs() {
    os << "struct Values {\n";
    for (auto [number, load] : llvm::enumerate(core.loads))
      os << "  " << families::cudaType(load.buffer.elem) << " "
         << memberOf(number) << ";\n";
    os << "};\nstruct Place {\n";
    for (unsigned var : core.vars)
      os << "  Index " << program.vars[var].name << ";\n";
    os << "};\n";
  }

  /// Variables of a place by their names, but for `except`.
  void writeVarsOf(StringRef place, std::optional<unsigned> except = {}) {
    for (unsigned var : core.vars)
      if (var != except)
        os << "  const Index " << program.vars[var].name << " = " << place
           << "." << program.vars[var].name << ";\n";
  }
  void writeMadePlace() {
    os << "  Place p;\n";
    for (unsigned var : core.vars)
      os << "  p." << program.vars[var].name << " = " << program.vars[var].name
         << ";\n";
    os << "  return p;\n}\n";
  }
  void writePlaces() {
    os << "// Of element i of the result; of column c of row r of an outer "
          "index o.\nFASTK_DEVICE Place placeOf(Index i) {\n";
    writeVars(core.vars, "i", "Index");
    writeMadePlace();
    SmallVector<unsigned> outer;
    for (unsigned var : core.vars)
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
    for (unsigned var : core.vars)
      offset = offset * program.vars[var].extent + Lin::ofVar(var);
    os << "FASTK_DEVICE i64 outOffset(const Place &p) {\n";
    writeVarsOf("p");
    os << "  return " << program.linText(offset) << ";\n}\n";
  }

  /// What guards say, as text; empty: nothing.
  std::string conditionOf(const Load &load) {
    std::string condition, unused;
    Scope scope(program, unused, 0);
    for (const Guard &guard : load.guards) {
      std::string each = scope.guardText(guard);
      if (!each.empty())
        condition += (condition.empty() ? "" : " && ") + each;
    }
    return condition;
  }

  void writeLoadOf(unsigned number) {
    const Load &load = core.loads[number];
    int64_t width = widthOf(load);
    bool isShared = !inner || load.place.coefficient(*inner) == 0;
    std::string type = families::cudaType(load.buffer.elem);
    std::string from =
        load.buffer.pointer + " + " + program.linText(load.place);
    std::string condition = conditionOf(load);
    // Beginnings of what one access loads.
    std::string at = inner ? program.vars[*inner].name : "";
    os << "#pragma unroll\n  for (int j = 0; j < " << vector
       << "; j += " << width << ") {\n    " << type << " x[" << width
       << "] = {};\n";
    if (inner)
      os << "    const Index " << at << " = p." << at << " + j;\n";
    os << "    " << (condition.empty() ? "" : "if (" + condition + ") ");
    if (isShared)
      os << "x[0] = *(" << from << ");\n";
    else
      os << "loadTogether<" << width << ", "
         << (load.isOnce && width == vector ? "ONCE" : "false") << ">(" << from
         << ", x);\n";
    os << "#pragma unroll\n    for (int k = 0; k < " << width
       << "; ++k) v[j + k]." << memberOf(number) << " = x["
       << (isShared ? "0" : "k") << "];\n  }\n";
  }
  void writeLoad() {
    os << "// VECTOR neighbours from a place on, ALL or what is not "
          "transposed. "
          "ONCE: nothing asks for them again.\n"
          "template <bool ONCE = false, bool ALL = true> FASTK_DEVICE void "
          "load(OPERAND_PARAMETERS, const Place &p, Values *v) {\n";
    writeVarsOf("p", inner);
    for (auto [number, load] : llvm::enumerate(core.loads)) {
      bool isTransposed = load.access == Access::Transposed;
      os << (isTransposed ? "  if constexpr (ALL) {\n" : "");
      writeLoadOf(number);
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
      const Load &load = core.loads[number];
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

  void prepare(Scope &scope) {
    scope.choosesPieces = true;
    scope.merged = core.merged;
    scope.loaded = [this, &scope](const Buffer &buffer,
                                  const Lin &place) -> std::optional<CValue> {
      for (auto [number, load] : llvm::enumerate(core.loads)) {
        if (load.buffer.pointer != buffer.pointer || !(load.place == place) ||
            !(load.guards == scope.mergedGuards()))
          continue;
        std::string text = "v." + memberOf(number);
        if (buffer.elem != computeElem(buffer.elem))
          text = "(float)" + text;
        if (buffer.elem == Elem::I1)
          text = "(" + text + " != 0)";
        return CValue{text, computeElem(buffer.elem), false};
      }
      return std::nullopt;
    };
  }

  void writeFinish() {
    os << "FASTK_DEVICE " << registerType(computeElem(core.resultElem), false)
       << " resultValue(OPERAND_PARAMETERS, const Place &p, const Values &v) "
          "{\n";
    writeVarsOf("p");
    std::string body;
    Scope scope(program, body, 1);
    prepare(scope);
    CValue value = scope.at(core.result, core.index);
    value = scope.convert(value, core.resultElem);
    os << body << "  return " << value.text
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
  /// The variable along which results lie together.
  std::optional<unsigned> inner;
  /// Numbers of transposed loads.
  SmallVector<unsigned> transposed;
  int64_t vector = 1, crossVector = 1;
};
} // namespace

std::optional<families::CoreInstance>
families::describeCore(const PointwiseCore &core, std::string &why) {
  mlir::Value result = core.result;
  Block &body = *result.getParentBlock();
  std::optional<std::string> header = HeaderWriter(core).run(body, why);
  if (!header)
    return std::nullopt;
  CoreInstance instance;
  instance.header = std::move(*header);
  instance.inputs = core.program.buffers.size();
  instance.buffers["OUT"] = "out0";
  return instance;
}
