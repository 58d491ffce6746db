//===- ReductionText.h - Reductions of rows as MLIR's text ---- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on tensors as an importer gives it: what is reduced, statistics of
// rows one after the other, and what becomes of an element or of a row.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_REDUCTIONTEXT_H
#define FASTK_FAMILIES_REDUCTIONTEXT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fastk::families {

/// Dimensions are letters; which are reduced is the text's, too.
struct ReductionText {
  struct Operand {
    std::string name, dims, type;
  };
  /// A reduction of f32 values: lines of a body that make `value` of the
  /// operands (%NAME, in f32) and the statistics before it (%NAME).
  struct Statistic {
    std::string name, lines, value;
    /// "arith.addf", "arith.maximumf", and what it starts at.
    std::string combiner = "arith.addf", start = "0.0";
  };

  std::string name = "f";
  std::map<char, int64_t> extents = {{'r', 8}, {'c', 64}};
  /// Of the operand x and, if it has columns, of the result; those that are
  /// reduced.
  std::string dims = "rc", reduced = "c";
  std::vector<Operand> operands = {{"x", "rc", "f32"}};
  std::vector<Statistic> statistics;
  /// Lines that make `value` of operands and statistics, in f32.
  std::string tail, value;
  std::string result = "f32";
  /// The result has an element for each row.
  bool isPerRow = false;

  /// A `func.func`.
  std::string str() const;
  int64_t elements(llvm::StringRef dims) const;
  /// Dimensions that are not reduced.
  std::string rows() const;

private:
  std::string tensor(llvm::StringRef dims, llvm::StringRef type) const;
};

/// The random reduction of that number among those of `seed`.
struct ReductionSample {
  ReductionText text;
  /// "r 65, c 1000; softmax of f32 rc", for people.
  std::string about;
};
ReductionSample sampleReduction(uint64_t seed, uint64_t number);

} // namespace fastk::families

#endif // FASTK_FAMILIES_REDUCTIONTEXT_H
