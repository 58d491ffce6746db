//===- ContractionText.h - A contraction as MLIR's text ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on tensors as an importer gives it: what makes the factors, the
// sum of products, what becomes of the sums.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_CONTRACTIONTEXT_H
#define FASTK_FAMILIES_CONTRACTIONTEXT_H

#include "fastk/Families/SumText.h"
#include <cstdint>
#include <string>

namespace fastk::families {

/// A product of two tensors, whose dimensions are letters of "bmnk".
struct ContractionText : SumText {
  int64_t batch = 1, m = 64, n = 128, k = 32;
  std::string a = "mk", b = "nk";
  Prologue prologueA, prologueB;

  ContractionText() {
    out = "mn";
    operands = {{"bias", "n"}};
  }

  int64_t extent(char dim) const override {
    return dim == 'b' ? batch : dim == 'm' ? m : dim == 'n' ? n : k;
  }
  /// A `func.func`.
  std::string str() const;

private:
  void writeSum(llvm::raw_ostream &os, llvm::StringRef left,
                llvm::StringRef right) const;
};

/// The random contraction of that number among those of `seed`.
struct ContractionSample {
  ContractionText text;
  /// "m 65, n 128, k 257; A km f16, relu; ...", for people.
  std::string about;
};
ContractionSample sampleContraction(uint64_t seed, uint64_t number);

} // namespace fastk::families

#endif // FASTK_FAMILIES_CONTRACTIONTEXT_H
