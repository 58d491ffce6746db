//===- ScanText.h - Scans as MLIR's text ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on tensors as an importer gives it: what is scanned, the scan,
// what becomes of a prefix.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_SCANTEXT_H
#define FASTK_FAMILIES_SCANTEXT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fastk::families {

/// Dimensions are letters.
struct ScanText {
  /// An element is `%NAME`, in f32.
  struct Operand {
    std::string name, dims, type = "f32";
  };

  std::string name = "f";
  std::map<char, int64_t> extents = {{'r', 8}, {'c', 64}};
  /// Of the result, and the one that is scanned.
  std::string dims = "rc";
  char along = 'c';
  /// From the back; the prefix before each element, the first one neutral.
  bool isReversed = false, isExclusive = false;
  std::vector<Operand> operands = {{"x", "rc"}}, finishOperands;
  /// Lines that make `value`, in f32, of the operands.
  std::string lines, value = "%x";
  /// An op of two f32, and its neutral value.
  std::string combiner = "arith.addf", neutral = "0.0";
  /// Lines that make `finishValue`, in f32, of `%y` and the finish operands.
  std::string finishLines, finishValue = "%y";
  std::string result = "f32";

  /// A `func.func`.
  std::string str() const;
  int64_t elements(llvm::StringRef dims) const;

private:
  std::string tensor(llvm::StringRef dims, llvm::StringRef type) const;
  void writeReversed(llvm::raw_ostream &os, llvm::StringRef made,
                     llvm::StringRef from) const;
  /// The name of what is scanned.
  std::string writeScanned(llvm::raw_ostream &os) const;
};

/// The random scan of that number among those of `seed`.
struct ScanSample {
  ScanText text;
  /// "r 65, c 1000; sum of f32 rc along c", for people.
  std::string about;
};
ScanSample sampleScan(uint64_t seed, uint64_t number);

} // namespace fastk::families

#endif // FASTK_FAMILIES_SCANTEXT_H
