//===- ReductionHeader.cpp - Reductions as macros and functions -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoreOperands.h"
#include "CudaText.h"
#include "HeaderText.h"
#include "IndexSpace.h"
#include "fastk/Families/Reduction.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::kVectorBytes;
using families::ReductionCore;
using families::RowStatistic;

namespace {
/// Writes one header.
class HeaderWriter : families::HeaderText {
public:
  HeaderWriter(const ReductionCore &core)
      : HeaderText(core.program), core(core) {
    for (auto [number, load] : llvm::enumerate(core.loads))
      if (load.isFull)
        kept.push_back(number);
      else if (load.hasRow || load.hasColumn)
        beside.push_back(number);
  }

  std::optional<std::string> run(Block &body, std::string &why) {
    columnVector = vectorOf(core.columns, !core.isPerRow);
    rowVector = vectorOf(core.rows, true);
    writeMacros();
    writeTypes(body, core.resultElem);
    os << families::vectorText();
    writeOperands(body, core.resultElem);
    writeStructs();
    writeLoad("loadColumns", columnVector, "c", core.columns);
    writeLoad("loadRows", rowVector, "r", core.rows);
    writeStages();
    if (core.isPerRow)
      writeFinishRow();
    else
      writeFinish();
    return takeText(why);
  }

private:
  std::optional<unsigned> innermost(ArrayRef<unsigned> group) const {
    return families::innermost(program, group);
  }

  Lin mergedResult() {
    return families::mergedPlace(core.result, core.index, core.merged, program);
  }

  /// Neighbours that every load, and where it is asked for the result, allows
  /// to move at once.
  int64_t vectorOf(ArrayRef<unsigned> group, bool withResult) {
    std::optional<unsigned> inner = innermost(group);
    if (!inner)
      return 1;
    int64_t bytes = kVectorBytes;
    for (unsigned number : kept)
      bytes = std::min(bytes, bytesOf(core.loads[number].buffer.elem));
    if (withResult)
      bytes = std::min(bytes, bytesOf(core.resultElem));
    Lin result = mergedResult();
    for (int64_t width = kVectorBytes / bytes; width > 1; width /= 2) {
      bool fits = program.vars[*inner].extent % width == 0;
      for (const ReductionCore::Load &load : core.loads)
        fits &= families::areTogether(load.place, *inner, width);
      if (withResult && (!core.isPerRow || group.data() != core.rows.data()))
        fits &= families::areTogether(result, *inner, width);
      if (fits)
        return width;
    }
    return 1;
  }

  bool areAdjacent(ArrayRef<unsigned> group) const {
    std::optional<unsigned> inner = innermost(group);
    return !inner || llvm::all_of(kept, [&](unsigned number) {
      return core.loads[number].place.coefficient(*inner) <= 1;
    });
  }

  void writeMacros() {
    os << "// Reductions of rows: statistics of each row r over its columns c, "
          "in passes.\n";
    define("ROWS", core.rowCount);
    define("COLUMNS", core.columnCount);
    define("STAGES", core.stages);
    define("PER_ROW", core.isPerRow);
    int64_t valueBytes = 0, align = 1;
    for (unsigned number : kept) {
      int64_t bytes = bytesOf(core.loads[number].buffer.elem);
      valueBytes = (valueBytes + bytes - 1) / bytes * bytes + bytes;
      align = std::max(align, bytes);
    }
    define("VALUE_BYTES", (valueBytes + align - 1) / align * align);
    define("STATISTICS_BYTES", placeStatistics() * 4);
    define("COLUMN_VECTOR", columnVector);
    define("ROW_VECTOR", rowVector);
    define("COLUMNS_ADJACENT", areAdjacent(core.columns));
    define("ROWS_ADJACENT", areAdjacent(core.rows));
    defineElem("OUT", core.resultElem);
  }

  /// Finds the words of each statistic, as a compiler lays the struct out; the
  /// number of all.
  int64_t placeStatistics() {
    int64_t words = 0, align = 1;
    for (const RowStatistic &each : core.statistics) {
      int64_t size = bytesOf(computeElem(each.elem)) == 8 ? 2 : 1;
      words = llvm::alignTo(words, size);
      wordsOf.push_back(((uint64_t(1) << size) - 1) << words);
      words += size;
      align = std::max(align, size);
    }
    if (words > 64)
      program.fail("it has more statistics than a program moves at once");
    return llvm::alignTo(words, align);
  }

  std::string memberOf(unsigned load) const {
    return "x" + std::to_string(load);
  }
  static std::string typeOf(const RowStatistic &statistic) {
    // Integers of a byte are kept as numbers of four, as shuffles want them.
    return bytesOf(computeElem(statistic.elem)) < 4
               ? "int32_t"
               : registerType(computeElem(statistic.elem), false);
  }
  void writeStructs() {
    os << "struct Values {\n";
    for (unsigned number : kept)
      os << "  " << families::cudaType(core.loads[number].buffer.elem) << " "
         << memberOf(number) << ";\n";
    os << "};\n// Of fewer elements.\nstruct Beside {\n";
    for (unsigned number : beside)
      os << "  " << families::cudaType(core.loads[number].buffer.elem) << " "
         << memberOf(number) << ";\n";
    os << "};\nstruct Statistics {\n";
    for (auto [number, each] : llvm::enumerate(core.statistics))
      os << "  " << typeOf(each) << " s" << number << ";\n";
    os << "};\n// Which 32-bit words of Statistics are of a pass.\n"
          "template <int STAGE> FASTK_DEVICE constexpr u64 stageWords() {\n";
    for (const Stage &stage : stages()) {
      uint64_t words = 0;
      for (unsigned number : stage.statistics)
        words |= wordsOf[number];
      os << "  if constexpr (STAGE == " << stage.number << ") return "
         << llvm::format_hex(words, 0) << "ull;\n";
    }
    os << "  return 0;\n}\n";
  }

  void writeRow(StringRef index = "r") { writeVars(core.rows, index); }
  void writeColumn(StringRef index = "c") { writeVars(core.columns, index); }

  /// Loads into `array[j]`, j < width, of neighbours of a group.
  void writeLoads(ArrayRef<unsigned> loads, StringRef array, int64_t width,
                  std::optional<unsigned> inner, StringRef once = "false") {
    for (unsigned number : loads) {
      const ReductionCore::Load &load = core.loads[number];
      std::string type = families::cudaType(load.buffer.elem);
      std::string from =
          load.buffer.pointer + " + " + program.linText(load.place);
      std::string member = memberOf(number);
      if (width > 1 && inner && load.place.coefficient(*inner) == 0) {
        os << "  {\n  const " << type << " x = *(" << from
           << ");\n#pragma unroll\n  for (int j = 0; j < " << width << "; ++j) "
           << array << "[j]." << member << " = x;\n  }\n";
        continue;
      }
      os << "  {\n  " << type << " x[" << width << "];\n  loadTogether<"
         << width << ", " << once << ">(" << from
         << ", x);\n#pragma unroll\n  for (int j = 0; j < " << width
         << "; ++j) " << array << "[j]." << member << " = x[j];\n  }\n";
    }
  }

  void writeLoad(StringRef name, int64_t width, StringRef along,
                 ArrayRef<unsigned> group) {
    os << "// " << width << (along == "c" ? " columns" : " rows") << " from "
       << along
       << " on. ONCE: nothing asks for them again.\n"
          "template <bool ONCE = false> FASTK_DEVICE void "
       << name << "(OPERAND_PARAMETERS, i32 r, i32 c, Values *v) {\n";
    writeRow();
    writeColumn();
    writeLoads(kept, "v", width, innermost(group), "ONCE");
    os << "}\n";
  }

  /// A scope for values at row r and column c: what is loaded comes from `v`
  /// and `w`, statistics from `done`.
  void prepare(Scope &scope) {
    scope.merged = core.merged;
    // exp(x * s - most) of a product that is rounded for `most`, and not here,
    // is infinite where x * s is large.
    scope.roundsProducts = true;
    scope.loaded = [this](const Buffer &buffer,
                          const Lin &place) -> std::optional<CValue> {
      for (auto [number, load] : llvm::enumerate(core.loads)) {
        if (load.buffer.pointer != buffer.pointer || !(load.place == place))
          continue;
        if (!load.hasRow && !load.hasColumn)
          return std::nullopt;
        std::string text = (load.isFull ? "v." : "w.") + memberOf(number);
        if (buffer.elem != computeElem(buffer.elem))
          text = "(float)" + text;
        if (buffer.elem == Elem::I1)
          text = "(" + text + " != 0)";
        return CValue{text, computeElem(buffer.elem), false};
      }
      return std::nullopt;
    };
    scope.onOpaque = [this](Scope &, Value value, ArrayRef<Lin>) -> CValue {
      for (auto [number, each] : llvm::enumerate(core.statistics)) {
        linalg::GenericOp op = each.reduction.op;
        if (op->getResult(each.reduction.result) == value)
          return {"done.s" + std::to_string(number), computeElem(each.elem),
                  false};
      }
      program.fail("a reduction is no statistic of its rows");
      return {};
    };
  }

  /// Of the loads beside the kept ones, those that `evaluate` needs.
  SmallVector<unsigned>
  besideOf(llvm::function_ref<void(Scope &)> evaluate) const {
    SmallVector<unsigned> needed;
    Program scratch = program;
    std::string text;
    Scope scope(scratch, text, 0);
    scope.merged = core.merged;
    scope.onLoad = [&](const Buffer &buffer, const Lin &place) {
      for (unsigned number : beside)
        if (core.loads[number].buffer.pointer == buffer.pointer &&
            core.loads[number].place == place &&
            !llvm::is_contained(needed, number))
          needed.push_back(number);
    };
    scope.onOpaque = [&](Scope &, Value value, ArrayRef<Lin>) -> CValue {
      auto type = cast<RankedTensorType>(value.getType());
      return {"0",
              computeElem(
                  program.elemOf(type.getElementType()).value_or(Elem::F32)),
              false};
    };
    evaluate(scope);
    return needed;
  }

  struct Stage {
    unsigned number;
    SmallVector<unsigned> statistics;
  };
  std::vector<Stage> stages() const {
    std::vector<Stage> list;
    for (unsigned stage = 0; stage < core.stages; ++stage) {
      list.push_back({stage, {}});
      for (auto [number, each] : llvm::enumerate(core.statistics))
        if (each.stage == stage)
          list.back().statistics.push_back(number);
    }
    return list;
  }
  /// A template whose body differs from stage to stage.
  void writeTemplate(StringRef signature,
                     llvm::function_ref<void(const Stage &)> body) {
    os << "template <int STAGE> FASTK_DEVICE void " << signature << " {\n";
    for (const Stage &stage : stages()) {
      os << (stage.number ? "  else " : "  ")
         << "if constexpr (STAGE == " << stage.number << ") {\n";
      body(stage);
      os << "  }\n";
    }
    os << "}\n";
  }

  void elementOf(const RowStatistic &statistic, Scope &scope) {
    scope.reductionElement(statistic.reduction, statistic.loops);
  }

  /// Of stage `stage`, one element into `part`.
  void writeAdd(const Stage &stage) {
    std::string body;
    Scope scope(program, body, 2);
    prepare(scope);
    for (unsigned number : stage.statistics) {
      const RowStatistic &each = core.statistics[number];
      CValue element = scope.reductionElement(each.reduction, each.loops);
      std::string part = "part.s" + std::to_string(number);
      CValue sum = scope.combine(each.reduction.kind,
                                 {part, computeElem(each.elem), false},
                                 scope.convert(element, each.elem));
      scope.line(part + " = " + sum.text + ";");
    }
    os << body;
  }

  void writeStages() {
    writeTemplate("addElement(OPERAND_PARAMETERS, i32 r, i32 c, const Values "
                  "&v, const Beside &w, const Statistics &done, Statistics "
                  "&part)",
                  [&](const Stage &stage) {
                    writeRow();
                    writeColumn();
                    writeAdd(stage);
                  });
    writeAddMany("addColumns", columnVector, core.columns, true);
    writeAddMany("addRows", rowVector, core.rows, false);
    writeTemplate("beginStage(Statistics &part)", [&](const Stage &stage) {
      std::string body;
      Scope scope(program, body, 2);
      for (unsigned number : stage.statistics) {
        const RowStatistic &each = core.statistics[number];
        os << "    part.s" << number << " = "
           << scope.neutral(each.reduction.kind, each.elem) << ";\n";
      }
    });
    writeTemplate("joinStage(Statistics &a, const Statistics &b)",
                  [&](const Stage &stage) {
                    std::string body;
                    Scope scope(program, body, 2);
                    for (unsigned number : stage.statistics) {
                      const RowStatistic &each = core.statistics[number];
                      std::string name = ".s" + std::to_string(number);
                      Elem elem = computeElem(each.elem);
                      CValue sum = scope.combine(each.reduction.kind,
                                                 {"a" + name, elem, false},
                                                 {"b" + name, elem, false});
                      scope.line("a" + name + " = " + sum.text + ";");
                    }
                    os << body;
                  });
    writeTemplate(
        "endStage(OPERAND_PARAMETERS, i32 r, const Statistics &part, "
        "Statistics &done)",
        [&](const Stage &stage) {
          writeRow();
          std::string body;
          Scope scope(program, body, 2);
          scope.merged = core.merged;
          for (unsigned number : stage.statistics) {
            const RowStatistic &each = core.statistics[number];
            std::string name = ".s" + std::to_string(number);
            CValue start = families::startOf(each.reduction, each.loops, scope);
            CValue value = {"part" + name, computeElem(each.elem), false};
            if (start.text != scope.neutral(each.reduction.kind, each.elem) &&
                (each.reduction.kind != CombinerKind::Add ||
                 !families::isZero(start.text)))
              value = scope.combine(each.reduction.kind,
                                    scope.convert(start, each.elem), value);
            scope.line("done" + name + " = " + value.text + ";");
          }
          os << body;
        });
  }

  /// addElement() for neighbours.
  void writeAddMany(StringRef name, int64_t width, ArrayRef<unsigned> group,
                    bool alongColumns) {
    std::string pointer = alongColumns ? " &" : " *";
    writeTemplate((name +
                   "(OPERAND_PARAMETERS, i32 r, i32 c, const Values *v, const "
                   "Statistics" +
                   pointer + "done, Statistics" + pointer + "part)")
                      .str(),
                  [&](const Stage &stage) {
                    SmallVector<unsigned> needed = besideOf([&](Scope &scope) {
                      for (unsigned number : stage.statistics)
                        elementOf(core.statistics[number], scope);
                    });
                    writeBeside(needed, width, group);
                    os << "#pragma unroll\n    for (int j = 0; j < " << width
                       << "; ++j)\n      addElement<STAGE>(OPERANDS, "
                       << (alongColumns ? "r, c + j" : "r + j, c")
                       << ", v[j], w[j], "
                       << (alongColumns ? "done, part" : "done[j], part[j]")
                       << ");\n";
                  });
  }

  void writeBeside(ArrayRef<unsigned> needed, int64_t width,
                   ArrayRef<unsigned> group) {
    os << "  Beside w[" << width << "];\n";
    if (needed.empty())
      return;
    writeRow();
    writeColumn();
    writeLoads(needed, "w", width, innermost(group));
  }

  void writeValue(StringRef name, StringRef parameters,
                  llvm::function_ref<void()> vars) {
    os << "FASTK_DEVICE " << registerType(computeElem(core.resultElem), false)
       << " " << name << "(" << parameters << ") {\n";
    vars();
    std::string body;
    Scope scope(program, body, 1);
    prepare(scope);
    CValue value = scope.at(core.result, core.index);
    value = scope.convert(value, core.resultElem);
    os << body << "  return " << value.text << ";\n}\n";
  }

  /// Where the element at r and c lies in the result.
  void writeOffset() {
    os << "FASTK_DEVICE i64 outOffset(i32 r, i32 c) {\n";
    writeRow();
    writeColumn();
    os << "  return " << program.linText(mergedResult()) << ";\n}\n";
  }

  void writeFinishRow() {
    SmallVector<unsigned> needed =
        besideOf([&](Scope &scope) { scope.at(core.result, core.index); });
    writeValue("resultValue",
               "OPERAND_PARAMETERS, i32 r, const Beside &w, const Statistics "
               "&done",
               [&] { writeRow(); });
    os << "FASTK_DEVICE i64 outOffset(i32 r) {\n";
    writeRow();
    os << "  return " << program.linText(mergedResult())
       << ";\n}\nFASTK_DEVICE void finishRow(OUT_TYPE *out, "
          "OPERAND_PARAMETERS, i32 r, const Statistics &done) {\n"
          "  Beside w[1];\n";
    if (!needed.empty()) {
      writeRow();
      writeLoads(needed, "w", 1, std::nullopt);
    }
    os << "  out[outOffset(r)] = OUT_TYPE(resultValue(OPERANDS, r, w[0], "
          "done));\n}\n";
  }

  void writeFinish() {
    writeValue("resultValue",
               "OPERAND_PARAMETERS, i32 r, i32 c, const Values &v, const "
               "Beside &w, const Statistics &done",
               [&] {
                 writeRow();
                 writeColumn();
               });
    writeOffset();
    writeFinishMany("finishColumns", columnVector, core.columns, true);
    writeFinishMany("finishRows", rowVector, core.rows, false);
  }

  void writeFinishMany(StringRef name, int64_t width, ArrayRef<unsigned> group,
                       bool alongColumns) {
    SmallVector<unsigned> needed =
        besideOf([&](Scope &scope) { scope.at(core.result, core.index); });
    os << "FASTK_DEVICE void " << name
       << "(OUT_TYPE *out, OPERAND_PARAMETERS, i32 r, i32 c, const Values *v, "
          "const Statistics "
       << (alongColumns ? "&" : "*") << "done) {\n";
    writeBeside(needed, width, group);
    os << "  OUT_TYPE results[" << width
       << "];\n#pragma unroll\n  for (int j = 0; j < " << width
       << "; ++j)\n    results[j] = OUT_TYPE(resultValue(OPERANDS, "
       << (alongColumns ? "r, c + j, v[j], w[j], done"
                        : "r + j, c, v[j], w[j], done[j]")
       << "));\n  OUT_TYPE *to = out + outOffset(r, c);\n";
    // Neighbours that do not lie together are one at a time.
    os << "  storeTogether<" << width << ">(to, results);\n}\n";
  }

  const ReductionCore &core;
  /// Loads of an element for each row and column, and of fewer.
  SmallVector<unsigned> kept, beside;
  int64_t columnVector = 1, rowVector = 1;
  /// Of each statistic, the words of the struct as bits.
  SmallVector<uint64_t> wordsOf;
};
} // namespace

std::optional<families::CoreInstance>
families::describeCore(const ReductionCore &core, std::string &why) {
  return describeByHeader<HeaderWriter>(core, why);
}
