//===- ConvolutionHeader.cpp - A convolution as macros and functions ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionMacros.h"
#include "CudaText.h"
#include "fastk/Families/Convolution.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Convolution;
using families::ConvolutionAxis;

namespace {
using Names = ArrayRef<StringRef>;

/// Writes one header.
class HeaderWriter : families::ConvolutionMacros {
public:
  using ConvolutionMacros::ConvolutionMacros;

  std::optional<std::string> run(std::string &why) {
    writeMacros();
    StringRef pairs = innermost();
    define("PAIRS_ALONG_G", pairs == "g");
    define("PAIRS_ALONG_O", pairs == "o");
    define("PAIRS_ALONG_X", pairs == "x");
    Block &body = *convolution.op->getBlock();
    writeTypes(body, convolution.resultElem);
    writeOperands(body, convolution.resultElem);
    writeX();
    writeW();
    writeFinish(pairs);
    return takeText(why);
  }

private:
  /// The coordinate whose neighbours lie next to each other in the result.
  StringRef innermost() const {
    std::array<StringRef, 6> names = {"", "g", "o", "", "", "x"};
    for (auto [name, extent, stride] : llvm::zip_equal(
             names, convolution.out.extents, convolution.out.strides))
      if (convolution.out.isPlain && extent > 1 && stride == 1)
        return name;
    return "";
  }

  /// Begins a function of coordinates.
  void open(StringRef type, StringRef name, Names coordinates,
            StringRef more = "") {
    os << "FASTK_DEVICE " << type << " " << name << "(";
    if (name != "outOffset")
      os << "OPERAND_PARAMETERS, ";
    os << "i32 " << llvm::join(coordinates, ", i32 ") << more << ") {\n";
  }

  void writeX() {
    std::string type = families::cudaType(convolution.xElem);
    std::array<StringRef, 6> coordinates = {"n", "g", "c", "z", "y", "x"};
    os << "// z, y and x are of X as it lies, and in range.\n";
    open(type, "elementX", coordinates);
    writeVars(convolution.batch, "n");
    writeVars(convolution.groups, "g");
    writeVars(convolution.inChannels, "c");
    std::string body;
    Scope scope(program, body, 1);
    CValue value = scope.at(convolution.input, convolution.inputIndex);
    os << body << "  return " << type << "(" << value.text << ");\n}\n"
       << "// z, y and x are a window's, anywhere.\n";
    open(type, "paddedX", coordinates);
    closePadded("u32", type + "(0.0f)");
  }

  void writeW() {
    std::string type = families::cudaType(convolution.wElem);
    std::array<StringRef, 3> kernel = {"kz", "ky", "kx"};
    open(type, "elementW", {"g", "o", "c", "kz", "ky", "kx"});
    writeVars(convolution.groups, "g");
    writeVars(convolution.outChannels, "o");
    writeVars(convolution.inChannels, "c");
    for (auto [name, axis] : llvm::zip_equal(kernel, convolution.axes))
      writeVar(axis.kernelVar, name);
    std::string body;
    Scope scope(program, body, 1);
    CValue value =
        scope.bodyAt(convolution.op, convolution.wFactor, convolution.loops);
    os << body << "  return " << type << "(" << value.text << ");\n}\n";
  }

  void writeFinish(StringRef pairs) {
    std::array<StringRef, 6> coordinates = {"n", "g", "o", "z", "y", "x"};
    open("i64", "outOffset", coordinates);
    writeResultVars();
    Lin linear = Scope::linear(convolution.result, convolution.index);
    os << "  return " << program.linText(linear) << ";\n}\n";
    constexpr StringRef ofChannels[] = {"g", "o"};
    HeaderText::writeFinish(convolution, coordinates,
                            ArrayRef<StringRef>(ofChannels), pairs,
                            [&] { writeResultVars(); });
  }
};
} // namespace

std::optional<families::CoreInstance>
families::describeCore(const Convolution &convolution, std::string &why) {
  // Programs for GPUs count them in 32 bits.
  double in = convolution.batchSize * convolution.groupCount, out = in;
  for (const ConvolutionAxis &axis : convolution.axes) {
    in *= axis.in;
    out *= axis.out;
  }
  if (std::max(in, out) > std::numeric_limits<int32_t>::max()) {
    why = "its pictures have more than 2^31 pixels";
    return std::nullopt;
  }
  std::optional<std::string> header = HeaderWriter(convolution).run(why);
  if (!header)
    return std::nullopt;
  CoreInstance core;
  core.header = std::move(*header);
  core.hidesFastFunctions = hidesFastFunctions(convolution);
  core.inputs = convolution.program.buffers.size();
  core.isProduct = !convolution.hasWindow;
  core.buffers["X"] = "in" + std::to_string(convolution.x.input);
  core.buffers["W"] = "in" + std::to_string(convolution.w.input);
  core.buffers["OUT"] = "out0";
  return core;
}
