//===- ConvolutionText.h - A convolution as MLIR's text ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on tensors as an importer gives it: what makes the factors, zeros
// around X and between its elements, the sum of products, what becomes of it.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_CONVOLUTIONTEXT_H
#define FASTK_FAMILIES_CONVOLUTIONTEXT_H

#include "fastk/Families/SumText.h"
#include <cstdint>
#include <string>
#include <vector>

namespace fastk::families {

/// Dimensions are letters: n, g, c and o; C is g and c in one, O is g and o; z,
/// y, x are the result's, Z, Y, X the input's, u, v, w the kernel's.
struct ConvolutionText : SumText {
  struct Axis {
    int64_t in = 12, kernel = 3, stride = 1, dilation = 1;
    /// Zeros before and after, and the distance of neighbours among zeros.
    int64_t low = 1, high = 1, inputDilation = 1;

    int64_t padded() const { return low + (in - 1) * inputDilation + 1 + high; }
    /// Less than 1: the window does not fit.
    int64_t out() const {
      int64_t room = padded() - (kernel - 1) * dilation - 1;
      return room < 0 ? 0 : room / stride + 1;
    }
  };

  int64_t batch = 2, groups = 1, inChannels = 8, outChannels = 16;
  /// The last is x.
  std::vector<Axis> axes = {Axis(), Axis()};
  std::string x = "ncYX", w = "ocvw";
  Prologue prologueX, prologueW;

  ConvolutionText() {
    out = "noyx";
    operands = {{"bias", "o"}};
  }

  int64_t extent(char dim) const override;
  /// Products that are summed.
  int64_t terms() const;
  /// A `func.func`.
  std::string str() const;

private:
  /// The axis of a letter z, y, x; nothing: there is none.
  const Axis *axisOf(char dim) const;
  std::string expanded(llvm::StringRef dims) const;
  std::string paddedTensor() const;
  std::string writeZeros(llvm::raw_ostream &os, llvm::StringRef from) const;
  std::string writeReshape(llvm::raw_ostream &os, llvm::StringRef op,
                           llvm::StringRef from, llvm::StringRef fromType,
                           llvm::StringRef to, llvm::StringRef dims) const;
  std::string sumOp() const;
  void writeSum(llvm::raw_ostream &os, llvm::StringRef left,
                llvm::StringRef right) const;
};

/// The random convolution of that number among those of `seed`.
struct ConvolutionSample {
  ConvolutionText text;
  /// "n 2, c 8, o 16; x 33 by 3; X ncX f16, relu; ...", for people.
  std::string about;
};
ConvolutionSample sampleConvolution(uint64_t seed, uint64_t number);

} // namespace fastk::families

#endif // FASTK_FAMILIES_CONVOLUTIONTEXT_H
