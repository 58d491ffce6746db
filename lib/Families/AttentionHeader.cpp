//===- AttentionHeader.cpp - Attention as macros and functions ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMacros.h"
#include "CudaText.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Attention;
using families::AttentionSide;

/// Bytes at which a tensor map's buffer and rows begin.
static constexpr int64_t kMapAlignment = 16;

namespace {
/// Dimensions of batches that are walked with one stride.
struct Level {
  int64_t stride = 0, extent = 1;
  /// Which slice, in variables.
  Lin place;
};

/// How a tensor lies: its columns, rows and at most two levels of batches, in
/// elements.
struct Layout {
  int64_t offset = 0, row = 0;
  Level inner, outer;
};

/// Writes one header.
class HeaderWriter : families::AttentionMacros {
public:
  using AttentionMacros::AttentionMacros;

  std::optional<std::string> run(std::string &why) {
    writeSizes();
    unsigned n = attention.n, d = attention.d;
    auto q = layoutOf(attention.q, attention.m, d);
    auto k = layoutOf(attention.k, n, d);
    auto v = layoutOf(attention.v, n, attention.e);
    writeSide("Q", attention.q, q);
    writeSide("K", attention.k, k);
    writeSide("V", attention.v, v);
    auto out = layoutOf(Scope::linear(attention.result, attention.index),
                        attention.resultElem, attention.m, attention.e);
    defineElem("OUT", attention.resultElem);
    writeLayout("OUT", out);
    // Of another type than the values', they may not be rounded to theirs.
    define("WEIGHT_BITS", attention.weightElem == attention.v.elem
                              ? bytesOf(attention.v.elem) * 8
                              : 32);
    define("HAS_ZERO_ROWS", attention.hasZeroRows);
    define("CAUSAL", attention.causalOffset.has_value());
    define("CAUSAL_OFFSET", attention.causalOffset.value_or(0));
    define("SCORE_IS_SCALED", attention.scoreScale.has_value());
    os << "#define SCORE_SCALE " << number(attention.scoreScale.value_or(1))
       << "\n";
    writeTypes(*attention.keysOp->getBlock(), attention.resultElem);
    writeOperands(*attention.keysOp->getBlock(), attention.resultElem);
    writeSlices("Q", q);
    writeSlices("K", k);
    writeSlices("V", v);
    writeSlices("Out", out);
    writeElement("Q", attention.q, attention.keysOp, attention.keysLoops,
                 attention.m, "m", d, "d");
    writeElement("K", attention.k, attention.keysOp, attention.keysLoops, n,
                 "n", d, "d");
    writeElement("V", attention.v, attention.valuesOp, attention.valuesLoops, n,
                 "n", attention.e, "e");
    writeScore();
    writeFinish();
    return takeText(why);
  }

private:
  static std::string number(double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%af", double(float(value)));
    return text;
  }
  static bool isAligned(int64_t elements, Elem elem) {
    return elements * bytesOf(elem) % kMapAlignment == 0;
  }

  std::optional<Layout> layoutOf(const AttentionSide &side,
                                 ArrayRef<unsigned> rows,
                                 ArrayRef<unsigned> columns) {
    if (!side.isPlain)
      return std::nullopt;
    return layoutOf(side.place, side.elem, rows, columns);
  }

  /// Nothing: no tensor map describes it.
  std::optional<Layout> layoutOf(const Lin &place, Elem elem,
                                 ArrayRef<unsigned> rows,
                                 ArrayRef<unsigned> columns) {
    Layout layout;
    layout.offset = place.constant;
    int64_t expected = 1;
    for (unsigned var : llvm::reverse(columns)) {
      int64_t extent = program.vars[var].extent;
      if (extent != 1 && place.coefficient(var) != expected)
        return std::nullopt;
      expected *= extent;
    }
    // Of one row the distance to the next is anybody's choice.
    layout.row = llvm::alignTo(expected, kMapAlignment / bytesOf(elem));
    for (unsigned var : rows)
      if (program.vars[var].extent != 1)
        layout.row = place.coefficient(var);
    SmallVector<Level> levels;
    for (unsigned var : attention.batch) {
      int64_t extent = program.vars[var].extent,
              stride = place.coefficient(var);
      if (extent == 1 || stride == 0)
        continue;
      if (levels.empty() || levels.back().stride != stride * extent)
        levels.emplace_back();
      else
        levels.back().place = levels.back().place * extent;
      Level &level = levels.back();
      level.stride = stride;
      level.extent *= extent;
      level.place = level.place + Lin::ofVar(var);
    }
    if (levels.size() > 2)
      return std::nullopt;
    Level one;
    one.stride = layout.row;
    layout.inner = levels.empty() ? one : levels.back();
    layout.outer = levels.size() < 2 ? one : levels.front();
    for (int64_t stride :
         {layout.row, layout.inner.stride, layout.outer.stride})
      if (stride <= 0 || !isAligned(stride, elem))
        return std::nullopt;
    if (!isAligned(layout.offset, elem))
      return std::nullopt;
    return layout;
  }

  void writeLayout(const Twine &name, const std::optional<Layout> &layout) {
    Layout known = layout.value_or(Layout());
    define(name + "_ALIGNED", layout.has_value());
    define(name + "_ROW_STRIDE", known.row);
    define(name + "_INNER", known.inner.extent);
    define(name + "_INNER_STRIDE", known.inner.stride);
    define(name + "_OUTER", known.outer.extent);
    define(name + "_OUTER_STRIDE", known.outer.stride);
  }
  void writeSide(StringRef name, const AttentionSide &side,
                 const std::optional<Layout> &layout) {
    defineElem(name, side.elem);
    define(name + "_PLAIN", side.isPlain);
    define(name + "_OFFSET", layout ? layout->offset * bytesOf(side.elem) : 0);
    writeLayout(name, layout);
  }

  /// Which slices of the tensor a batch has.
  void writeSlices(StringRef name, const std::optional<Layout> &layout) {
    Layout known = layout.value_or(Layout());
    for (bool isInner : {true, false}) {
      os << "FASTK_DEVICE i32 " << (isInner ? "inner" : "outer") << name
         << "(i32 b) {\n";
      writeVars(attention.batch, "b");
      os << "  return (i32)("
         << program.linText(isInner ? known.inner.place : known.outer.place)
         << ");\n}\n";
    }
  }

  void writeElement(StringRef name, const AttentionSide &side,
                    linalg::GenericOp op, ArrayRef<Lin> loops,
                    ArrayRef<unsigned> rows, StringRef row,
                    ArrayRef<unsigned> columns, StringRef column) {
    std::string type = families::cudaType(side.elem);
    os << "FASTK_DEVICE " << type << " element" << name
       << "(OPERAND_PARAMETERS, i32 b, i32 " << row << ", i32 " << column
       << ") {\n";
    writeVars(attention.batch, "b");
    writeVars(rows, row);
    writeVars(columns, column);
    if (side.isPlain) {
      os << "  return in" << side.input << "[" << program.linText(side.place)
         << "];\n}\n";
      return;
    }
    std::string body;
    Scope scope(program, body, 1);
    // Halves of rows that were turned: positions of tokens as angles.
    scope.choosesPieces = !op->getBlock()->getOps<tensor::ConcatOp>().empty();
    CValue value = scope.bodyAt(op, side.factor, loops);
    os << body << "  return " << type << "(" << value.text << ");\n}\n";
  }

  /// What a score loads for each key: an operand and a place.
  struct ScoreLoad {
    Buffer buffer;
    Lin place;
  };
  void writeScore();
  bool isPair(const ScoreLoad &load) const;
  void writePairs(ArrayRef<ScoreLoad> loads);
  void writeFinish();
};
} // namespace

/// The score with what it loads as arguments, and with what it loads where it
/// lies.
void HeaderWriter::writeScore() {
  SmallVector<ScoreLoad> loads;
  std::string body;
  Scope scope(program, body, 1);
  scope.loaded = [&](const Buffer &buffer,
                     const Lin &place) -> std::optional<CValue> {
    size_t i = 0;
    while (i < loads.size() && (loads[i].buffer.pointer != buffer.pointer ||
                                !(loads[i].place == place)))
      ++i;
    if (i == loads.size())
      loads.push_back({buffer, place});
    std::string name = "load" + std::to_string(i);
    if (buffer.elem == Elem::I1)
      return CValue{"(" + name + " != 0)", Elem::I1, false};
    if (buffer.elem != computeElem(buffer.elem))
      name = "(float)" + name;
    return CValue{name, computeElem(buffer.elem), false};
  };
  scope.onOpaque = [&](Scope &inner, Value value, ArrayRef<Lin>) -> CValue {
    if (value.getDefiningOp() != attention.keysOp) {
      program.fail("a score is no function of its sum");
      return {};
    }
    if (attention.factorScale == 1)
      return {"acc", Elem::F32, false};
    return inner.define(Elem::F32, false,
                        "acc * " + number(attention.factorScale));
  };
  CValue value = scope.reductionElement(attention.most, attention.mostLoops);
  os << "FASTK_DEVICE float scoreOf(OPERAND_PARAMETERS, i32 b, i32 m, i32 n, "
        "float acc";
  for (auto [i, load] : llvm::enumerate(loads))
    os << ", " << families::cudaType(load.buffer.elem) << " load" << i;
  os << ") {\n";
  writeScoreVars();
  os << body << "  return " << value.text << ";\n}\n"
     << "FASTK_DEVICE float score(OPERAND_PARAMETERS, i32 b, i32 m, i32 n, "
        "float acc) {\n";
  writeScoreVars();
  os << "  return scoreOf(OPERANDS, b, m, n, acc";
  for (const ScoreLoad &load : loads)
    os << ", " << load.buffer.pointer << "[" << program.linText(load.place)
       << "]";
  os << ");\n}\n";
  writePairs(loads);
}

/// Whether elements of keys n (even) and n + 1 are one aligned piece.
bool HeaderWriter::isPair(const ScoreLoad &load) const {
  int64_t bytes = bytesOf(load.buffer.elem);
  if (bytes > 4 || load.place.constant % 2 != 0 ||
      load.place.coefficient(attention.n) != 1)
    return false;
  return llvm::all_of(load.place.terms, [&](const auto &term) {
    return term.first == attention.n || term.second % 2 == 0;
  });
}

/// Two scores, of keys n (even) and n + 1, and what they load at once.
void HeaderWriter::writePairs(ArrayRef<ScoreLoad> loads) {
  bool isPaired =
      attention.nSize % 2 == 0 &&
      llvm::all_of(loads, [&](const ScoreLoad &load) {
        return load.place.coefficient(attention.n) == 0 || isPair(load);
      });
  define("SCORE_PAIRS", isPaired);
  if (!isPaired)
    return;
  std::string fields, values, first, second;
  for (auto [i, load] : llvm::enumerate(loads)) {
    std::string type = families::cudaType(load.buffer.elem),
                name = "load" + std::to_string(i),
                address = load.buffer.pointer + "[" +
                          program.linText(load.place) + "]";
    if (!isPair(load)) {
      fields += "  " + type + " " + name + ";\n";
      values += (i ? ", " : "") + address;
      first += ", loads." + name;
      second += ", loads." + name;
      continue;
    }
    fields += "  Pair<" + type + "> " + name + ";\n";
    values +=
        (i ? ", *(const Pair<" : "*(const Pair<") + type + "> *)&" + address;
    first += ", loads." + name + ".first";
    second += ", loads." + name + ".second";
  }
  os << "template <typename T> struct alignas(2 * sizeof(T)) Pair {\n  T "
        "first, "
        "second;\n};\nstruct ScoreLoads {\n"
     << fields
     << "};\nFASTK_DEVICE ScoreLoads loadScores(OPERAND_PARAMETERS, i32 b, i32 "
        "m, i32 n) {\n";
  writeScoreVars();
  os << "  return {" << values
     << "};\n}\nFASTK_DEVICE float2 score2(OPERAND_PARAMETERS, i32 b, i32 m, "
        "i32 n, float acc0, float acc1, const ScoreLoads &loads) {\n"
     << "  return make_float2(scoreOf(OPERANDS, b, m, n, acc0" << first
     << "), scoreOf(OPERANDS, b, m, n + 1, acc1" << second << "));\n}\n";
}

void HeaderWriter::writeFinish() {
  os << "FASTK_DEVICE i64 outOffset(i32 b, i32 m, i32 e) {\n";
  writeResultVars();
  os << "  return "
     << program.linText(Scope::linear(attention.result, attention.index))
     << ";\n}\n";
  // As a number in registers, so that two are converted at once.
  os << "FASTK_DEVICE float finishValue(OPERAND_PARAMETERS, i32 b, i32 m, i32 "
        "e, float acc) {\n";
  writeResultVars();
  std::string body;
  Scope scope(program, body, 1);
  CValue value = resultOf(program, scope);
  os << body << "  return " << value.text << ";\n}\n";
  writeRounded(attention.resultElem, {"b", "m", "e"}, "e");
}

std::optional<std::string> families::writeHeader(const Attention &attention,
                                                 std::string &why) {
  return HeaderWriter(attention).run(why);
}

std::optional<families::CoreInstance>
families::describeCore(const Attention &attention, std::string &why) {
  std::optional<std::string> header = writeHeader(attention, why);
  if (!header)
    return std::nullopt;
  auto isTooLarge = [&](StringRef name, int64_t rows, int64_t columns) {
    return isTooLargeToWriteOut(*header, name,
                                attention.batchSize * rows *
                                    int64_t(llvm::alignTo(columns, 64)));
  };
  if (isTooLarge("Q", attention.mSize, attention.dSize) ||
      isTooLarge("K", attention.nSize, attention.dSize) ||
      isTooLarge("V", attention.nSize, attention.eSize)) {
    why = "an operand that would be written out has more than 2^31 elements";
    return std::nullopt;
  }
  CoreInstance core;
  core.header = std::move(*header);
  core.inputs = attention.program.buffers.size();
  core.buffers["Q"] = "in" + std::to_string(attention.q.input);
  core.buffers["K"] = "in" + std::to_string(attention.k.input);
  core.buffers["V"] = "in" + std::to_string(attention.v.input);
  core.buffers["OUT"] = "out0";
  return core;
}
