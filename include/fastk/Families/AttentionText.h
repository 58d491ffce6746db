//===- AttentionText.h - Attention as MLIR's text ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on tensors as an importer gives it: products of queries and keys,
// scores, a softmax over the keys, products with values, what becomes of them.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_ATTENTIONTEXT_H
#define FASTK_FAMILIES_ATTENTIONTEXT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fastk::families {

/// Dimensions are letters: batches b, heads of keys h, queries' heads of each
/// g, rows m, keys n, columns d and e.
struct AttentionText {
  /// One more operand of scores, or of what becomes of the products: its
  /// element is `%NAME32` in f32, or of type i1 `%NAME1`.
  struct Operand {
    std::string name, dims, type;
  };

  std::string name = "f";
  std::map<char, int64_t> extents = {{'b', 2},   {'h', 2},  {'g', 1}, {'m', 64},
                                     {'n', 128}, {'d', 32}, {'e', 32}};
  std::string q = "bhgmd", k = "bhnd", v = "bhne", out = "bhgme";
  /// Of the operands' elements and of the result's.
  std::string type = "f16", result = "f16";
  /// Queries and the result have one dimension for h and g, which follow each
  /// other.
  bool mergesHeads = false;
  std::vector<Operand> scoreOperands, tailOperands;
  /// Lines of a body that make `score` of `%x`, a sum in f32; %row and %key
  /// are m and n, %hidden is minus infinity.
  std::string scoreLines = "    %s = arith.mulf %x, %scale : f32\n",
              score = "%s";
  double scale = 0.125;
  /// Weights of rows without a key are 0; weights are divided after the second
  /// product; weights are rounded to `type` before it.
  bool hasZeroRows = false, dividesLast = false, roundsWeights = false;
  /// Lines that make `value` of `%y`, an element of the second product.
  std::string tail, value = "%y";

  int64_t elements(llvm::StringRef dims) const;
  /// A `func.func`.
  std::string str() const;

private:
  std::string tensor(llvm::StringRef dims, llvm::StringRef element) const;
  std::string merged(llvm::StringRef dims, llvm::StringRef element) const;
  void writeProduct(llvm::raw_ostream &os, llvm::StringRef made,
                    llvm::StringRef left, llvm::StringRef leftDims,
                    llvm::StringRef leftType, llvm::StringRef right,
                    llvm::StringRef rightDims, llvm::StringRef dims,
                    char reduced) const;
  void writeElements(llvm::raw_ostream &os, llvm::StringRef made,
                     llvm::StringRef from, llvm::StringRef argument,
                     llvm::StringRef fromDims,
                     const std::vector<Operand> &operands,
                     llvm::StringRef lines, llvm::StringRef value,
                     llvm::StringRef dims, llvm::StringRef type) const;
  void writeReduction(llvm::raw_ostream &os, llvm::StringRef made,
                      llvm::StringRef from, llvm::StringRef fromType,
                      llvm::StringRef type, llvm::StringRef start,
                      llvm::StringRef lines) const;
  void writeWeights(llvm::raw_ostream &os) const;
};

/// The random attention of that number among those of `seed`.
struct AttentionSample {
  AttentionText text;
  /// "b 2, h 3 of 2, m 65, n 129, d 64; f16; causal; ...", for people.
  std::string about;
};
AttentionSample sampleAttention(uint64_t seed, uint64_t number);
/// The same for the host: of f32 more often than not, one query or few among
/// them, and with fewer products.
AttentionSample sampleHostAttention(uint64_t seed, uint64_t number);

} // namespace fastk::families

#endif // FASTK_FAMILIES_ATTENTIONTEXT_H
