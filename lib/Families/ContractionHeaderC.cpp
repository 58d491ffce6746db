//===- ContractionHeaderC.cpp - A contraction as macros and vector C ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of vectors are written three times: for all lanes along a group of
// loops that is one index to all that is loaded; or, where it is none, for
// lanes that lie in its innermost loop, and lane by lane for the others.
//
//===----------------------------------------------------------------------===//

#include "ContractionMacros.h"
#include "CudaText.h"
#include "fastk/Families/Contraction.h"
#include "llvm/ADT/STLExtras.h"

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
    program.dialect = Program::Dialect::C;
    program.knowsBF16 = true;
    program.lanes = machine.lanes();
    program.threads = machine.threads;
  }

  std::optional<families::CoreInstance> run(std::string &why) {
    writeMacros();
    writeAccess("A", contraction.a, contraction.m, "M");
    writeAccess("B", contraction.b, contraction.n, "N");
    define("OUT_PLAIN",
           contraction.resultM.has_value() && contraction.resultN == 1);
    define("FINISH_IS_SUM", finishIsSum());
    writeOperands(*contraction.op->getBlock(), contraction.resultElem);
    writeElement("A", contraction.a);
    writeElement("B", contraction.b);
    writeElements("A_K", contraction.a, contraction.k, "k");
    writeElements("A_M", contraction.a, contraction.m, "m");
    writeElements("B_K", contraction.b, contraction.k, "k");
    writeElements("B_N", contraction.b, contraction.n, "n");
    writeFinish();
    writeFinishColumns();
    if (!program.failure.empty()) {
      why = program.failure;
      return std::nullopt;
    }
    // Programs move vectors, whatever elements need.
    for (const char *helper : {"transpose", "load_f32", "store_f32"})
      program.helper(helper);
    families::CoreInstance core;
    core.header = preamble(program) + families::kTypesOfC.str();
    core.helperBytes = core.header.size();
    core.header += text;
    core.inputs = contraction.program.buffers.size();
    return core;
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
    define(name + "_ALONG_" + group, isAlong(side, outer));
    define(name + "_ALONG_K", isAlong(side, contraction.k));
  }
  bool isAlong(const ContractionSide &side, ArrayRef<unsigned> group) {
    std::optional<unsigned> inner = innermost(group);
    bool isTogether = false;
    Program scratch = program;
    std::string unused;
    Scope scope(scratch, unused, 0);
    scope.onLoad = [&](const Buffer &, const Lin &place) {
      isTogether |= inner && place.coefficient(*inner) == 1;
    };
    scope.bodyAt(contraction.op, side.factor, contraction.loops);
    return isTogether;
  }
  /// The innermost loop of more than one step.
  std::optional<unsigned> innermost(ArrayRef<unsigned> group) const {
    for (unsigned var : llvm::reverse(group))
      if (program.vars[var].extent > 1)
        return var;
    return std::nullopt;
  }

  /// Whether an element of the result is the f32 sum itself.
  bool finishIsSum() {
    Program scratch = program;
    std::string text;
    Scope scope(scratch, text, 0);
    return contraction.resultElem == Elem::F32 &&
           finishValue(scratch, scope, false).text == "acc";
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
    CValue value = scope.bodyAt(contraction.op, side.factor, contraction.loops);
    os << body << "  return (float)" << value.text << ";\n}\n";
  }

  /// Lines that compute a vector along `group`, by `compute`, in lanes up to
  /// `count`, and leave the function; where they do not, another way follows.
  void writeLanes(ArrayRef<unsigned> group, StringRef index,
                  llvm::function_ref<void(Program &, Scope &)> compute) {
    std::optional<unsigned> inner = innermost(group);
    if (!inner)
      return;
    MergedVars whole;
    for (unsigned var : group)
      if (program.vars[var].extent > 1)
        whole.parts.push_back(var);
    Program merged = program;
    if (whole.parts.size() > 1)
      whole.merged = merged.newVar("all", contraction.sizeOf(group));
    else
      whole.merged = *inner;
    std::string lines = "  if (count >= LANES) {\n";
    auto attempt = [&](Program &scratch, unsigned along, bool isPartial) {
      Scope scope(scratch, lines, 2);
      scope.vectorVar = along;
      if (along != *inner)
        scope.merged.push_back(whole);
      if (isPartial)
        scope.partial = "count";
      compute(scratch, scope);
    };
    attempt(merged, whole.merged, false);
    lines += "  } else {\n";
    attempt(merged, whole.merged, true);
    lines += "  }\n";
    if (merged.failure.empty()) {
      if (whole.merged != *inner)
        os << "  const long all = " << index << ";\n";
      os << lines;
      merged.vars.resize(program.vars.size());
      program = merged;
      return;
    }
    Program scratch = program;
    lines = "  if (count >= LANES && " + program.vars[*inner].name +
            " + LANES <= " + std::to_string(program.vars[*inner].extent) +
            ") {\n";
    attempt(scratch, *inner, false);
    if (!scratch.failure.empty())
      return;
    os << lines << "  }\n";
    program = scratch;
  }

  void writeElements(StringRef name, const ContractionSide &side,
                     ArrayRef<unsigned> group, StringRef index) {
    os << "FK_INLINE vf32 elements" << name << "(" << placeOfSide(side)
       << ", long count) {\n";
    writeSideVars(side);
    writeLanes(group, index, [&](Program &, Scope &scope) {
      CValue value =
          scope.bodyAt(contraction.op, side.factor, contraction.loops);
      value = scope.splat(scope.convert(value, Elem::F32));
      scope.line("return " + value.text + ";");
    });
    std::string next = index.str() + " + i";
    os << "  vf32 lanes = (vf32)0.0f;\n  for (long i = 0; i < LANES; ++i)\n"
       << "    if (i < count)\n      lanes[i] = element" << name[0]
       << "(OPERANDS, b, ";
    if (index == "k")
      os << (isOfA(side) ? "m" : "n") << ", " << next;
    else
      os << next << ", k";
    os << ");\n  return lanes;\n}\n";
  }

  CValue finishValue(Program &of, Scope &scope, bool isVector) {
    scope.onOpaque = [&of, isVector, this](Scope &inner, Value value,
                                           ArrayRef<Lin>) -> CValue {
      if (value != contraction.op->getResult(0)) {
        of.fail("what surrounds the sums is not elementwise");
        return {};
      }
      return families::sumWithStart(contraction, inner, isVector);
    };
    return scope.at(contraction.result, contraction.index);
  }

  void writeFinish() {
    os << "FK_INLINE long outOffset(long b, long m, long n) {\n";
    writeResultVars("long");
    Lin linear = Scope::linear(contraction.result, contraction.index);
    os << "  return " << program.linText(linear) << ";\n}\n";
    os << "FK_INLINE OUT_TYPE finish(" << kPlaceOut << ", float acc) {\n";
    writeResultVars("long");
    std::string body;
    Scope scope(program, body, 1);
    CValue value = finishValue(program, scope, false);
    os << body << "  return "
       << (contraction.resultElem == Elem::BF16 ? program.helper("narrows_bf16")
                                                : "(OUT_TYPE)")
       << "(" << value.text << ");\n}\n";
  }

  void writeFinishColumns() {
    os << "FK_INLINE void finishColumns(OUT_TYPE *restrict out, " << kPlaceOut
       << ", vf32 acc, long count) {\n";
    writeResultVars("long");
    Buffer out;
    out.pointer = "out";
    out.elem = contraction.resultElem;
    Lin linear = Scope::linear(contraction.result, contraction.index);
    writeLanes(contraction.n, "n", [&](Program &of, Scope &scope) {
      CValue value = finishValue(of, scope, true);
      scope.store(out, linear, value);
      scope.line("return;");
    });
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
