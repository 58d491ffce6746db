//===- ConvolutionMacros.h - A convolution as macros ---------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CONVOLUTIONMACROS_H
#define FASTK_LIB_FAMILIES_CONVOLUTIONMACROS_H

#include "HeaderText.h"
#include "fastk/Families/Convolution.h"

namespace fastk::families {

/// What the headers of a convolution in CUDA-C and in C have in common.
class ConvolutionMacros : public HeaderText {
public:
  explicit ConvolutionMacros(const Convolution &convolution)
      : HeaderText(convolution.program), convolution(convolution) {}

protected:
  void writeMacros();
  /// An axis's variable, where it has one.
  void writeVar(std::optional<unsigned> var, llvm::StringRef index,
                llvm::StringRef type = "i32") {
    if (var)
      writeVars(*var, index, type);
  }
  void writeResultVars(llvm::StringRef type = "i32");
  /// Lines that return an element of X at a window's coordinates, or zero; by
  /// the name of an unsigned type of coordinates.
  void closePadded(llvm::StringRef coordinate, llvm::StringRef zero);

  const Convolution &convolution;

private:
  void writeSizes();
  void writePlace(llvm::StringRef name, const ConvolutionPlace &place,
                  catalog::Elem elem,
                  std::array<llvm::StringRef, 6> coordinates);
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CONVOLUTIONMACROS_H
