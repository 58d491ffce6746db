//===- ConvolutionHeaderC.cpp - A convolution as macros and vector C ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionMacros.h"
#include "IndexSpace.h"
#include "LanesText.h"
#include "fastk/Families/Convolution.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Convolution;
using families::ConvolutionPlace;
using families::innermost;
using families::isAlong;

namespace {
using Names = ArrayRef<StringRef>;
using Group = SmallVector<unsigned>;

/// Writes one header.
class HeaderWriter : families::ConvolutionMacros {
public:
  HeaderWriter(const Convolution &convolution, const Machine &machine)
      : ConvolutionMacros(convolution) {
    families::setUpHost(*this, machine);
    for (const families::ConvolutionAxis &axis : convolution.axes)
      if (axis.var)
        positions.push_back(*axis.var);
    terms = convolution.inChannels;
    for (const families::ConvolutionAxis &axis : convolution.axes)
      if (axis.kernelVar)
        terms.push_back(*axis.kernelVar);
    if (std::optional<unsigned> var = convolution.axes.back().inputVar)
      columns.push_back(*var);
  }

  std::optional<families::CoreInstance> run(std::string &why) {
    writeMacros();
    writeAccess();
    writeOperands(*convolution.op->getBlock(), convolution.resultElem);
    writeX();
    writeW();
    writeFinish();
    return families::takeHostCore(*this, why);
  }

private:
  /// How plain factors lie, and along what neighbours of what is loaded for an
  /// element lie together.
  void writeAccess() {
    writeBuffer("X", convolution.x);
    auto ofX = [&](Scope &scope) { xAt(scope); };
    define("X_ALONG_G", isAlong(*this, convolution.groups, ofX));
    define("X_ALONG_C", isAlong(*this, convolution.inChannels, ofX));
    define("X_ALONG_X", isAlong(*this, columns, ofX));
    writeBuffer("W", convolution.w);
    auto ofW = [&](Scope &scope) { wAt(scope); };
    define("W_ALONG_G", isAlong(*this, convolution.groups, ofW));
    define("W_ALONG_O", isAlong(*this, convolution.outChannels, ofW));
    define("W_ALONG_C", isAlong(*this, convolution.inChannels, ofW));
    define("W_ALONG_K", isAlong(*this, terms, ofW));
    writeResultOrder();
    define("FINISH_IS_SUM", families::finishIsSum(*this, convolution));
  }
  void writeBuffer(StringRef name, const ConvolutionPlace &place) {
    if (place.isPlain)
      os << "#define " << name << "_BUFFER in" << place.input << "\n";
  }
  void writeResultOrder() {
    Lin linear = Scope::linear(convolution.result, convolution.index);
    for (auto [name, group] :
         {std::pair<StringRef, const Group *>("G", &convolution.groups),
          {"O", &convolution.outChannels},
          {"P", &positions}}) {
      std::optional<unsigned> inner = innermost(program, *group);
      define("OUT_ALONG_" + name, inner && linear.coefficient(*inner) == 1);
    }
  }

  CValue xAt(Scope &scope) const {
    return scope.at(convolution.input, convolution.inputIndex);
  }
  CValue wAt(Scope &scope) const {
    return scope.bodyAt(convolution.op, convolution.wFactor, convolution.loops);
  }

  /// Begins a function of coordinates.
  void open(StringRef type, StringRef name, Names coordinates,
            StringRef more = "") {
    os << "FK_INLINE " << type << " " << name << "(OPERAND_PARAMETERS, long "
       << llvm::join(coordinates, ", long ") << more << ") {\n";
  }
  /// What a function of one element computes.
  void closeElement(llvm::function_ref<CValue(Scope &)> compute) {
    std::string body;
    Scope scope(program, body, 1);
    CValue value = compute(scope);
    os << body << "  return (float)" << value.text << ";\n}\n";
  }
  static std::string nextAlong(Names coordinates, StringRef index) {
    std::string text = "(OPERANDS";
    for (StringRef each : coordinates)
      text += (", " + each + (each == index ? " + i" : "")).str();
    return text + ")";
  }
  /// What a function of a vector along a group computes.
  void closeElements(ArrayRef<unsigned> group, StringRef index,
                     const Twine &element,
                     llvm::function_ref<CValue(Scope &)> compute) {
    families::writeLanes(*this, group, index, [&](Program &, Scope &scope) {
      CValue value = scope.splat(scope.convert(compute(scope), Elem::F32));
      scope.line("return " + value.text + ";");
    });
    families::writeLaneByLane(*this, element);
  }

  void writeX() {
    std::array<StringRef, 6> coordinates = {"n", "g", "c", "z", "y", "x"};
    auto vars = [&] {
      writeVars(convolution.batch, "n", "long");
      writeVars(convolution.groups, "g", "long");
      writeVars(convolution.inChannels, "c", "long");
    };
    auto at = [&](Scope &scope) { return xAt(scope); };
    os << "// z, y and x are of X as it lies, and in range.\n";
    open("float", "elementX", coordinates);
    vars();
    closeElement(at);
    for (auto [name, index, group] :
         {std::tuple<StringRef, StringRef, const Group *>("elementsX_G", "g",
                                                          &convolution.groups),
          {"elementsX_C", "c", &convolution.inChannels},
          {"elementsX_X", "x", &columns}}) {
      open("vf32", name, coordinates, ", long count");
      vars();
      closeElements(*group, index, "elementX" + nextAlong(coordinates, index),
                    at);
    }
    os << "// z, y and x are a window's, anywhere.\n";
    open("float", "paddedX", coordinates);
    closePadded("unsigned long", "0.0f");
  }

  void writeW() {
    std::array<StringRef, 6> coordinates = {"g", "o", "c", "kz", "ky", "kx"};
    std::array<StringRef, 3> ofTerm = {"g", "o", "k"};
    auto outer = [&] {
      writeVars(convolution.groups, "g", "long");
      writeVars(convolution.outChannels, "o", "long");
    };
    auto vars = [&] {
      outer();
      writeVars(convolution.inChannels, "c", "long");
      for (auto [name, axis] : llvm::zip_equal(
               ArrayRef(coordinates).take_back(3), convolution.axes))
        writeVar(axis.kernelVar, name, "long");
    };
    auto at = [&](Scope &scope) { return wAt(scope); };
    open("float", "elementW", coordinates);
    vars();
    closeElement(at);
    for (auto [name, index, group] :
         {std::tuple<StringRef, StringRef, const Group *>("elementsW_G", "g",
                                                          &convolution.groups),
          {"elementsW_O", "o", &convolution.outChannels},
          {"elementsW_C", "c", &convolution.inChannels}}) {
      open("vf32", name, coordinates, ", long count");
      vars();
      closeElements(*group, index, "elementW" + nextAlong(coordinates, index),
                    at);
    }
    os << "// k is c, kz, ky and kx as one index, the last fastest.\n";
    open("float", "termW", ofTerm);
    outer();
    writeVars(terms, "k", "long");
    closeElement(at);
    open("vf32", "elementsW_K", ofTerm, ", long count");
    outer();
    writeVars(terms, "k", "long");
    closeElements(terms, "k", "termW" + nextAlong(ofTerm, "k"), at);
  }

  void writeFinish() {
    std::array<StringRef, 6> coordinates = {"n", "g", "o", "z", "y", "x"};
    os << "FK_INLINE long outOffset(long " << llvm::join(coordinates, ", long ")
       << ") {\n";
    writeResultVars("long");
    Lin linear = Scope::linear(convolution.result, convolution.index);
    os << "  return " << program.linText(linear) << ";\n}\n";
    open("OUT_TYPE", "finish", coordinates, ", float acc");
    writeResultVars("long");
    families::writeFinishBody(*this, convolution);
    for (auto [name, index, group] :
         {std::tuple<StringRef, StringRef, const Group *>("finishG", "g",
                                                          &convolution.groups),
          {"finishO", "o", &convolution.outChannels}}) {
      openFinish(name, coordinates);
      writeResultVars("long");
      closeFinish(*group, index, nextAlong(coordinates, index));
    }
    os << "// p is z, y and x as one index, the last fastest.\n";
    openFinish("finishP", {"n", "g", "o", "p"});
    writeVars(convolution.batch, "n", "long");
    writeVars(convolution.groups, "g", "long");
    writeVars(convolution.outChannels, "o", "long");
    writeVars(positions, "p", "long");
    closeFinish(positions, "p",
                "(OPERANDS, n, g, o, (p + i) / (OUT_Y * OUT_X), "
                "(p + i) / OUT_X % OUT_Y, (p + i) % OUT_X)");
  }
  void openFinish(StringRef name, Names coordinates) {
    os << "FK_INLINE void " << name
       << "(OUT_TYPE *restrict out, OPERAND_PARAMETERS, long "
       << llvm::join(coordinates, ", long ") << ", vf32 acc, long count) {\n";
  }
  void closeFinish(ArrayRef<unsigned> group, StringRef index,
                   StringRef neighbour) {
    families::writeFinishLanes(*this, convolution, group, index);
    StringRef place = neighbour.drop_front(StringRef("(OPERANDS, ").size());
    os << "  for (long i = 0; i < LANES; ++i)\n    if (i < count)\n"
       << "      out[outOffset(" << place << "] =\n          finish(OPERANDS, "
       << place.drop_back() << ", acc[i]);\n}\n";
  }

  /// Variables of the result's positions, of the terms of a sum, and of X's
  /// columns.
  Group positions, terms, columns;
};
} // namespace

std::optional<families::CoreInstance>
families::describeForHost(const Convolution &convolution,
                          const Machine &machine, std::string &why) {
  if (!convolution.hasWindow) {
    why = "it has no window that moves";
    return std::nullopt;
  }
  return HeaderWriter(convolution, machine).run(why);
}
