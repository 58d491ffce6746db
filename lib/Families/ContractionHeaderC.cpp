//===- ContractionHeaderC.cpp - A contraction as macros and vector C ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionMacros.h"
#include "LanesText.h"
#include "fastk/Families/Contraction.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Contraction;
using families::ContractionSide;

/// Parameters of functions at an element.
static constexpr StringLiteral kPlaceM = "OPERAND_PARAMETERS, long b, long m, "
                                         "long k",
                               kPlaceN = "OPERAND_PARAMETERS, long b, long n, "
                                         "long k",
                               kPlaceOut = "OPERAND_PARAMETERS, long b, long "
                                           "m, long n";

namespace {
/// Writes one header.
class HeaderWriter : families::ContractionMacros {
public:
  HeaderWriter(const Contraction &contraction, const Machine &machine)
      : ContractionMacros(contraction) {
    families::setUpHost(*this, machine);
  }

  std::optional<families::CoreInstance> run(std::string &why) {
    writeMacros();
    writeAccess("A", contraction.a, contraction.m, "M");
    writeAccess("B", contraction.b, contraction.n, "N");
    define("OUT_PLAIN",
           contraction.resultM.has_value() && contraction.resultN == 1);
    define("FINISH_IS_SUM", families::finishIsSum(*this, contraction));
    writeOperands(*contraction.op->getBlock(), contraction.resultElem);
    writeElement("A", contraction.a);
    writeElement("B", contraction.b);
    writeElements("A_K", contraction.a, contraction.k, "k");
    writeElements("A_M", contraction.a, contraction.m, "m");
    writeElements("B_K", contraction.b, contraction.k, "k");
    writeElements("B_N", contraction.b, contraction.n, "n");
    writeFinish();
    writeFinishColumns();
    return families::takeHostCore(*this, why);
  }

private:
  bool isOfA(const ContractionSide &side) const {
    return &side == &contraction.a;
  }
  StringRef placeOfSide(const ContractionSide &side) const {
    return isOfA(side) ? kPlaceM : kPlaceN;
  }

  /// Where a plain factor lies, and along which group neighbours of what is
  /// loaded for an element lie together.
  void writeAccess(const Twine &name, const ContractionSide &side,
                   ArrayRef<unsigned> outer, StringRef group) {
    define(name + "_" + group + "_STRIDE", side.outer);
    define(name + "_K_STRIDE", side.k);
    if (side.isPlain)
      os << "#define " << name << "_BUFFER in" << side.input << "\n";
    auto load = [&](Scope &scope) { factorAt(side, scope); };
    define(name + "_ALONG_" + group, families::isAlong(*this, outer, load));
    define(name + "_ALONG_K", families::isAlong(*this, contraction.k, load));
  }
  CValue factorAt(const ContractionSide &side, Scope &scope) const {
    return scope.bodyAt(contraction.op, side.factor, contraction.loops);
  }

  void writeSideVars(const ContractionSide &side) {
    writeVars(contraction.batch, "b", "long");
    if (isOfA(side))
      writeVars(contraction.m, "m", "long");
    else
      writeVars(contraction.n, "n", "long");
    writeVars(contraction.k, "k", "long");
  }

  void writeElement(const Twine &name, const ContractionSide &side) {
    os << "FK_INLINE float element" << name << "(" << placeOfSide(side)
       << ") {\n";
    writeSideVars(side);
    std::string body;
    Scope scope(program, body, 1);
    CValue value = factorAt(side, scope);
    os << body << "  return (float)" << value.text << ";\n}\n";
  }

  void writeElements(StringRef name, const ContractionSide &side,
                     ArrayRef<unsigned> group, StringRef index) {
    os << "FK_INLINE vf32 elements" << name << "(" << placeOfSide(side)
       << ", long count) {\n";
    writeSideVars(side);
    families::writeLanes(*this, group, index, [&](Program &, Scope &scope) {
      CValue value = factorAt(side, scope);
      value = scope.splat(scope.convert(value, Elem::F32));
      scope.line("return " + value.text + ";");
    });
    std::string next = index.str() + " + i", outer = isOfA(side) ? "m" : "n";
    families::writeLaneByLane(
        *this, Twine("element") + name.take_front() + "(OPERANDS, b, " +
                   (index == "k" ? outer + ", " + next : next + ", k") + ")");
  }

  void writeFinish() {
    os << "FK_INLINE long outOffset(long b, long m, long n) {\n";
    writeResultVars("long");
    Lin linear = Scope::linear(contraction.result, contraction.index);
    os << "  return " << program.linText(linear) << ";\n}\n";
    os << "FK_INLINE OUT_TYPE finish(" << kPlaceOut << ", float acc) {\n";
    writeResultVars("long");
    families::writeFinishBody(*this, contraction);
  }

  void writeFinishColumns() {
    os << "FK_INLINE void finishColumns(OUT_TYPE *restrict out, " << kPlaceOut
       << ", vf32 acc, long count) {\n";
    writeResultVars("long");
    families::writeFinishLanes(*this, contraction, contraction.n, "n");
    os << "  for (long i = 0; i < LANES; ++i)\n    if (i < count)\n"
       << "      out[outOffset(b, m, n + i)] = finish(OPERANDS, b, m, n + i, "
          "acc[i]);\n}\n";
  }
};
} // namespace

std::optional<families::CoreInstance>
families::describeForHost(const Contraction &contraction,
                          const Machine &machine, std::string &why) {
  return HeaderWriter(contraction, machine).run(why);
}
