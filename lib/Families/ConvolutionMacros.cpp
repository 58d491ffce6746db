//===- ConvolutionMacros.cpp - A convolution as macros --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionMacros.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::ConvolutionMacros;
using families::ConvolutionPlace;

/// Bytes at which a tensor map's buffer and rows begin.
static constexpr int64_t kMapAlignment = 16;

void ConvolutionMacros::writeMacros() {
  os << "// A convolution: sum[n, g, o, z, y, x] = sum over c, kz, ky, kx of "
        "X[n, g, c, ...] * W[g, o, c, kz, ky, kx].\n";
  writeSizes();
  defineElem("X", convolution.xElem);
  writePlace("X", convolution.x, convolution.xElem,
             {"N", "G", "C", "Z", "Y", "X"});
  defineElem("W", convolution.wElem);
  writePlace("W", convolution.w, convolution.wElem,
             {"G", "O", "C", "Z", "Y", "X"});
  defineElem("OUT", convolution.resultElem);
  writePlace("OUT", convolution.out, convolution.resultElem,
             {"N", "G", "O", "Z", "Y", "X"});
}

void ConvolutionMacros::writeSizes() {
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

void ConvolutionMacros::writePlace(StringRef name,
                                   const ConvolutionPlace &place, Elem elem,
                                   std::array<StringRef, 6> coordinates) {
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
  for (auto [coordinate, stride] : llvm::zip_equal(coordinates, place.strides))
    define(name + "_STRIDE_" + coordinate, stride);
}

void ConvolutionMacros::writeResultVars(StringRef type) {
  writeVars(convolution.batch, "n", type);
  writeVars(convolution.groups, "g", type);
  writeVars(convolution.outChannels, "o", type);
  for (auto [name, axis] : llvm::zip_equal(
           std::array<StringRef, 3>{"z", "y", "x"}, convolution.axes))
    writeVar(axis.var, name, type);
}

void ConvolutionMacros::closePadded(StringRef coordinate, StringRef zero) {
  std::string isThere, arguments;
  for (auto [name, upper] : {std::pair("z", "Z"), {"y", "Y"}, {"x", "X"}}) {
    std::string dilation = std::string("INPUT_DILATION_") + upper;
    std::string place = std::string(name) + " / " + dilation;
    isThere += (isThere.empty() ? "" : " && ") + std::string(name) + " % " +
               dilation + " == 0 && (" + coordinate.str() + ")(" + place +
               ") < IN_" + upper;
    arguments += ", " + place;
  }
  os << "  return " << isThere << "\n             ? elementX(OPERANDS, n, g, c"
     << arguments << ")\n             : " << zero << ";\n}\n";
}
