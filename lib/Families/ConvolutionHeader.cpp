//===- ConvolutionHeader.cpp - A convolution as macros and functions ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaText.h"
#include "HeaderText.h"
#include "fastk/Families/Convolution.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Convolution;
using families::ConvolutionPlace;

/// Bytes at which a tensor map's buffer and rows begin.
static constexpr int64_t kMapAlignment = 16;

namespace {
using Names = ArrayRef<StringRef>;

/// Writes one header.
class HeaderWriter : families::HeaderText {
public:
  HeaderWriter(const Convolution &convolution)
      : HeaderText(convolution.program), convolution(convolution) {}

  std::optional<std::string> run(std::string &why) {
    os << "// A convolution: sum[n, g, o, z, y, x] = sum over c, kz, ky, kx of "
          "X[n, g, c, ...] * W[g, o, c, kz, ky, kx].\n";
    writeSizes();
    std::array<StringRef, 6> ofX = {"N", "G", "C", "Z", "Y", "X"};
    std::array<StringRef, 6> ofW = {"G", "O", "C", "Z", "Y", "X"};
    std::array<StringRef, 6> ofResult = {"N", "G", "O", "Z", "Y", "X"};
    defineElem("X", convolution.xElem);
    writePlace("X", convolution.x, convolution.xElem, ofX);
    defineElem("W", convolution.wElem);
    writePlace("W", convolution.w, convolution.wElem, ofW);
    defineElem("OUT", convolution.resultElem);
    writePlace("OUT", convolution.out, convolution.resultElem, ofResult);
    StringRef pairs = innermost();
    define("PAIRS_ALONG_G", pairs == "g");
    define("PAIRS_ALONG_O", pairs == "o");
    define("PAIRS_ALONG_X", pairs == "x");
    // Rounding to the result hides what fast functions are off by.
    os << families::cudaTypes(bytesOf(convolution.resultElem) == 2);
    writeOperands(*convolution.op->getBlock(), convolution.resultElem);
    writeX();
    writeW();
    writeFinish(pairs);
    return takeText(why);
  }

private:
  void writeSizes() {
    define("BATCH", convolution.batchSize);
    define("GROUPS", convolution.groupCount);
    define("IN_CHANNELS", convolution.inChannelCount);
    define("OUT_CHANNELS", convolution.outChannelCount);
    for (auto [name, axis] : llvm::zip_equal(
             std::array<StringRef, 3>{"Z", "Y", "X"}, convolution.axes)) {
      define("IN_" + name, axis.in);
      define("OUT_" + name, axis.out);
      define("KERNEL_" + name, axis.kernel);
      define("STRIDE_" + name, axis.stride);
      define("DILATION_" + name, axis.dilation);
      define("PADDING_" + name, axis.padding);
      define("INPUT_DILATION_" + name, axis.inputDilation);
    }
  }

  void writePlace(StringRef name, const ConvolutionPlace &place, Elem elem,
                  Names coordinates) {
    auto isAligned = [&](int64_t elements) {
      return elements * bytesOf(elem) % kMapAlignment == 0;
    };
    // Neighbours along one coordinate lie together; rows of them begin where a
    // map can say.
    unsigned together = 0;
    bool isMapped = place.isPlain && isAligned(place.offset);
    for (auto [extent, stride] : llvm::zip_equal(place.extents, place.strides))
      if (extent > 1 && stride == 1)
        ++together;
      else if (extent > 1)
        isMapped &= isAligned(stride);
    define(name + "_PLAIN", place.isPlain);
    define(name + "_ALIGNED", isMapped && together == 1);
    define(name + "_OFFSET", place.offset * bytesOf(elem));
    for (auto [coordinate, stride] :
         llvm::zip_equal(coordinates, place.strides))
      define(name + "_STRIDE_" + coordinate, stride);
  }

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
  void writeVar(std::optional<unsigned> var, StringRef index) {
    if (var)
      writeVars(*var, index);
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
    std::string isThere, arguments;
    for (auto [name, upper] : {std::pair("z", "Z"), {"y", "Y"}, {"x", "X"}}) {
      std::string dilation = std::string("INPUT_DILATION_") + upper;
      std::string place = std::string(name) + " / " + dilation;
      isThere += (isThere.empty() ? "" : " && ") + std::string(name) + " % " +
                 dilation + " == 0 && (u32)(" + place + ") < IN_" + upper;
      arguments += ", " + place;
    }
    os << "  return " << isThere
       << "\n             ? elementX(OPERANDS, n, g, c" << arguments
       << ")\n             : " << type << "(0.0f);\n}\n";
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
    // As a number in registers, so that two are converted at once.
    open("float", "finishValue", coordinates, ", float acc");
    writeResultVars();
    std::string body;
    Scope scope(program, body, 1);
    scope.onOpaque = [&](Scope &inner, Value value, ArrayRef<Lin>) -> CValue {
      if (value != convolution.op->getResult(0)) {
        program.fail("what surrounds the sums is not elementwise");
        return {};
      }
      return families::sumWithStart(convolution, inner);
    };
    CValue value = scope.at(convolution.result, convolution.index);
    os << body << "  return " << value.text << ";\n}\n";
    writeRounded(convolution.resultElem, coordinates, pairs);
  }
  void writeResultVars() {
    writeVars(convolution.batch, "n");
    writeVars(convolution.groups, "g");
    writeVars(convolution.outChannels, "o");
    for (auto [name, axis] : llvm::zip_equal(
             std::array<StringRef, 3>{"z", "y", "x"}, convolution.axes))
      writeVar(axis.var, name);
  }

  const Convolution &convolution;
};
} // namespace

std::optional<families::CoreInstance>
families::describeCore(const Convolution &convolution, std::string &why) {
  std::optional<std::string> header = HeaderWriter(convolution).run(why);
  if (!header)
    return std::nullopt;
  CoreInstance core;
  core.header = std::move(*header);
  core.inputs = convolution.program.buffers.size();
  core.buffers["X"] = "in" + std::to_string(convolution.x.input);
  core.buffers["W"] = "in" + std::to_string(convolution.w.input);
  core.buffers["OUT"] = "out0";
  return core;
}
