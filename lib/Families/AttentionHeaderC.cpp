//===- AttentionHeaderC.cpp - Attention as macros and vector C ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMacros.h"
#include "IndexSpace.h"
#include "LanesText.h"
#include <set>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Attention;
using families::AttentionSide;

/// Parameters of functions at a score, and at an element of the result.
static constexpr StringLiteral kPlaceScore = "OPERAND_PARAMETERS, long b, long "
                                             "m, long n",
                               kPlaceOut = "OPERAND_PARAMETERS, long b, long "
                                           "m, long e";

namespace {
/// Q, K or V as a matrix of each batch: columns are what neighbours of a row
/// are counted by.
struct Matrix {
  StringRef name;
  const AttentionSide &side;
  linalg::GenericOp op;
  ArrayRef<Lin> loops;
  ArrayRef<unsigned> rows, columns;
  StringRef row, column;
};

/// Writes one header.
class HeaderWriter : families::AttentionMacros {
public:
  HeaderWriter(const Attention &attention, const Machine &machine)
      : AttentionMacros(attention) {
    families::setUpHost(*this, machine);
    program.helper("exp_f32");
    program.helper("iota");
  }

  std::optional<families::CoreInstance> run(std::string &why) {
    const ArrayRef<Lin> keys = attention.keysLoops;
    const ArrayRef<Lin> values = attention.valuesLoops;
    const Matrix matrices[] = {{"Q", attention.q, attention.keysOp, keys,
                                attention.m, attention.d, "m", "d"},
                               {"K", attention.k, attention.keysOp, keys,
                                attention.n, attention.d, "n", "d"},
                               {"V", attention.v, attention.valuesOp, values,
                                attention.n, attention.e, "n", "e"}};
    writeMacros();
    for (const Matrix &matrix : matrices)
      writeAccess(matrix);
    std::vector<unsigned> slice = sliceVars(ArrayRef(matrices).drop_front());
    define("SLICES", families::sizeOf(program, slice));
    writeOperands(*attention.keysOp->getBlock(), attention.resultElem);
    writeSlice(slice);
    for (const Matrix &matrix : matrices) {
      writeElement(matrix);
      writeElements(matrix, matrix.rows, matrix.row);
      writeElements(matrix, matrix.columns, matrix.column);
    }
    writeScores();
    writeFinish();
    define("SCORE_WORK", scoreWork);
    define("FINISH_WORK", finishWork);
    return families::takeHostCore(*this, why);
  }

private:
  /// About how many instructions a vector along a group takes.
  int64_t workOf(ArrayRef<unsigned> group,
                 llvm::function_ref<void(Program &, Scope &)> compute) const {
    std::optional<unsigned> inner = families::innermost(program, group);
    int64_t work = 0;
    for (bool isVector : {true, false}) {
      if (isVector && !inner)
        continue;
      Program scratch = program;
      std::string lines;
      Scope scope(scratch, lines, 0);
      if (isVector)
        scope.vectorVar = inner;
      compute(scratch, scope);
      work = families::workOfLines(lines) + 1;
      if (isVector && scratch.failure.empty())
        return work;
    }
    // Lane by lane.
    return (work + 4) * int64_t(program.lanes);
  }

  void writeMacros() {
    writeSizes();
    defineElem("OUT", attention.resultElem);
    define("HAS_ZERO_ROWS", attention.hasZeroRows);
    define("CAUSAL", attention.causalOffset.has_value());
    define("CAUSAL_OFFSET", attention.causalOffset.value_or(0));
  }

  CValue factorAt(const Matrix &matrix, Scope &scope) const {
    return scope.bodyAt(matrix.op, matrix.side.factor, matrix.loops);
  }

  /// The type of elements, and along which of its sides neighbours of what is
  /// loaded for one lie together.
  void writeAccess(const Matrix &matrix) {
    defineElem(matrix.name, matrix.side.elem);
    auto load = [&](Scope &scope) { factorAt(matrix, scope); };
    for (auto [group, name] : {std::pair(matrix.rows, matrix.row),
                               std::pair(matrix.columns, matrix.column)})
      define(matrix.name + "_ALONG_" + name.upper(),
             families::isAlong(*this, group, load));
  }

  /// The variables of batches that an element of some matrix depends on.
  std::vector<unsigned> sliceVars(ArrayRef<Matrix> matrices) const {
    std::set<unsigned> seen;
    auto note = [&](const Lin &place) {
      for (auto [var, coefficient] : place.terms)
        if (coefficient != 0)
          seen.insert(var);
    };
    for (const Matrix &matrix : matrices) {
      Program scratch = program;
      std::string unused;
      Scope scope(scratch, unused, 0);
      scope.onLoad = [&](const Buffer &, const Lin &place) { note(place); };
      scope.onIndex = note;
      factorAt(matrix, scope);
    }
    std::vector<unsigned> vars;
    for (unsigned var : attention.batch)
      if (seen.count(var))
        vars.push_back(var);
    return vars;
  }

  /// Which of the keys and values a batch has.
  void writeSlice(ArrayRef<unsigned> vars) {
    Lin place;
    for (unsigned var : vars)
      place = place * program.vars[var].extent + Lin::ofVar(var);
    os << "FK_INLINE long sliceOf(long b) {\n";
    writeVars(attention.batch, "b", "long");
    os << "  return " << program.linText(place) << ";\n}\n";
  }

  std::string parametersOf(const Matrix &matrix) const {
    return ("OPERAND_PARAMETERS, long b, long " + matrix.row + ", long " +
            matrix.column)
        .str();
  }
  void writeMatrixVars(const Matrix &matrix) {
    writeVars(attention.batch, "b", "long");
    writeVars(matrix.rows, matrix.row, "long");
    writeVars(matrix.columns, matrix.column, "long");
  }

  void writeElement(const Matrix &matrix) {
    os << "FK_INLINE float element" << matrix.name << "("
       << parametersOf(matrix) << ") {\n";
    writeMatrixVars(matrix);
    std::string body;
    Scope scope(program, body, 1);
    CValue value = scope.convert(factorAt(matrix, scope), Elem::F32);
    os << body << "  return " << value.text << ";\n}\n";
  }

  void writeElements(const Matrix &matrix, ArrayRef<unsigned> group,
                     StringRef index) {
    os << "FK_INLINE vf32 elements" << matrix.name << "_" << index.upper()
       << "(" << parametersOf(matrix) << ", long count) {\n";
    writeMatrixVars(matrix);
    families::writeLanes(*this, group, index, [&](Program &, Scope &scope) {
      CValue value = factorAt(matrix, scope);
      value = scope.splat(scope.convert(value, Elem::F32));
      scope.line("return " + value.text + ";");
    });
    std::string next = index.str() + " + i",
                row = matrix.row == index ? next : matrix.row.str(),
                column = matrix.column == index ? next : matrix.column.str();
    families::writeLaneByLane(*this, "element" + matrix.name +
                                         "(OPERANDS, b, " + row + ", " +
                                         column + ")");
  }

  CValue scoreOf(Program &of, Scope &scope) {
    const bool isVector = scope.vectorVar.has_value();
    scope.onOpaque = [&of, isVector, this](Scope &, Value value,
                                           ArrayRef<Lin>) -> CValue {
      if (value.getDefiningOp() != attention.keysOp) {
        of.fail("a score is no function of its sum");
        return {};
      }
      return {"acc", Elem::F32, isVector};
    };
    return scope.convert(
        scope.reductionElement(attention.most, attention.mostLoops), Elem::F32);
  }

  /// What scores are of sums: of a sum, and of those of neighbouring keys.
  void writeScores() {
    os << "FK_INLINE float score(" << kPlaceScore << ", float acc) {\n";
    writeScoreVars("long");
    std::string body;
    Scope scope(program, body, 1);
    CValue value = scoreOf(program, scope);
    os << body << "  return " << value.text << ";\n}\n"
       << "FK_INLINE vf32 scores(" << kPlaceScore
       << ", vf32 acc, long count) {\n";
    writeScoreVars("long");
    scoreWork = workOf(attention.n,
                       [&](Program &of, Scope &inner) { scoreOf(of, inner); });
    families::writeLanes(*this, attention.n, "n",
                         [&](Program &of, Scope &scope) {
                           CValue value = scope.splat(scoreOf(of, scope));
                           scope.line("return " + value.text + ";");
                         });
    families::writeLaneByLane(*this, "score(OPERANDS, b, m, n + i, acc[i])");
  }

  void writeFinish() {
    Lin linear = Scope::linear(attention.result, attention.index);
    os << "FK_INLINE long outOffset(long b, long m, long e) {\n";
    writeResultVars("long");
    os << "  return " << program.linText(linear) << ";\n}\n";
    os << "FK_INLINE OUT_TYPE finish(" << kPlaceOut << ", float acc) {\n";
    writeResultVars("long");
    std::string body;
    Scope scope(program, body, 1);
    CValue value = resultOf(program, scope);
    families::writeReturn(*this, attention.resultElem, body, value);
    finishWork = workOf(
        attention.e, [&](Program &of, Scope &inner) { resultOf(of, inner); });
    os << "FK_INLINE void finishColumns(OUT_TYPE *restrict out, " << kPlaceOut
       << ", vf32 acc, long count) {\n";
    writeResultVars("long");
    families::writeStoredLanes(
        *this, attention.e, "e", attention.resultElem, linear,
        [&](Program &of, Scope &scope) { return resultOf(of, scope); });
    os << "  for (long i = 0; i < LANES; ++i)\n    if (i < count)\n"
       << "      out[outOffset(b, m, e + i)] = finish(OPERANDS, b, m, e + i, "
          "acc[i]);\n}\n";
  }

  int64_t scoreWork = 1, finishWork = 1;
};
} // namespace

std::optional<families::CoreInstance>
families::describeForHost(const Attention &attention, const Machine &machine,
                          std::string &why) {
  return HeaderWriter(attention, machine).run(why);
}
