//===- SumText.h - What surrounds sums of products, as text -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What texts of contractions and of convolutions have in common: how elements
// of a factor come from those of its operand, and what becomes of a sum.
// Dimensions are letters.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_SUMTEXT_H
#define FASTK_FAMILIES_SUMTEXT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fastk::families {

struct SumText {
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
  /// The result's dimensions.
  std::string out;
  /// Of the factors' elements and of the result's.
  std::string type = "f16", result = "f16";
  std::vector<Operand> operands;
  /// Lines of a body that make `value` of `%x`, a sum in f32; `%zero` is there.
  std::string tail = "%v = arith.addf %x, %zero : f32", value = "%v";

  virtual ~SumText() = default;
  virtual int64_t extent(char dim) const = 0;
  int64_t elements(llvm::StringRef dims) const;

protected:
  std::string tensor(llvm::StringRef dims, llvm::StringRef element) const;
  /// Arguments of a function: a factor's scale, if it has one, and what becomes
  /// of a sum needs.
  void writeScale(llvm::raw_ostream &os, const Prologue &prologue,
                  llvm::StringRef operand) const;
  void writeTailArguments(llvm::raw_ostream &os) const;
  /// The type of a factor's operand.
  llvm::StringRef storedType(const Prologue &prologue) const;
  /// The factor's name.
  std::string writePrologue(llvm::raw_ostream &os, const Prologue &prologue,
                            llvm::StringRef operand,
                            llvm::StringRef dims) const;
  /// The body of the op that sums.
  void writeProduct(llvm::raw_ostream &os) const;
  /// Makes `%made` of sums of that name.
  void writeTail(llvm::raw_ostream &os, llvm::StringRef sums) const;
};

} // namespace fastk::families

#endif // FASTK_FAMILIES_SUMTEXT_H
