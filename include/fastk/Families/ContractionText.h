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

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fastk::families {

/// A product of two tensors, whose dimensions are letters of "bmnk".
struct ContractionText {
  /// How elements of a factor come from those of its operand.
  struct Prologue {
    /// Lines of a body that make `%a1`, of the factor's type, of `%a0`. Empty:
    /// the elements are the operand's.
    std::string lines;
    /// The type of `%a0`; empty: the factor's.
    std::string stored;
    /// Dimensions of one more operand, whose element is `%s0`; empty: none.
    std::string scale;
  };
  /// An operand of what becomes of a sum, of the factors' type: its element is
  /// `%NAME32` in f32.
  struct Operand {
    std::string name, dims;
  };

  std::string name = "f";
  int64_t batch = 1, m = 64, n = 128, k = 32;
  std::string a = "mk", b = "nk", out = "mn";
  /// Of the factors' elements and of the result's.
  std::string type = "f16", result = "f16";
  Prologue prologueA, prologueB;
  std::vector<Operand> operands = {{"bias", "n"}};
  /// Lines of a body that make `value` of `%x`, a sum in f32; `%zero` is there.
  std::string tail = "%v = arith.addf %x, %zero : f32", value = "%v";

  int64_t extent(char dim) const {
    return dim == 'b' ? batch : dim == 'm' ? m : dim == 'n' ? n : k;
  }
  int64_t elements(llvm::StringRef dims) const;
  /// A `func.func`.
  std::string str() const;

private:
  std::string tensor(llvm::StringRef dims, llvm::StringRef element) const;
  void writeArguments(llvm::raw_ostream &os) const;
  /// The factor's name.
  std::string writePrologue(llvm::raw_ostream &os, const Prologue &prologue,
                            llvm::StringRef operand,
                            llvm::StringRef dims) const;
  void writeSum(llvm::raw_ostream &os, llvm::StringRef left,
                llvm::StringRef right) const;
  void writeTail(llvm::raw_ostream &os) const;
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
