//===- WindowText.h - Reduced windows as MLIR's text ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on tensors as an importer gives it: what is combined, a pad, the
// op that combines windows, what becomes of what it makes.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_WINDOWTEXT_H
#define FASTK_FAMILIES_WINDOWTEXT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fastk::families {

/// Dimensions are letters: z, y and x are those that windows move over.
struct WindowText {
  /// An element is `%NAME`, in f32.
  struct Operand {
    std::string name, dims, type = "f32";
  };
  struct Axis {
    int64_t in = 16, window = 3, stride = 1, dilation = 1;
    /// What is padded before and behind.
    int64_t low = 0, high = 0;
    int64_t reach() const { return (window - 1) * dilation + 1; }
    int64_t out() const { return (in + low + high - reach()) / stride + 1; }
  };

  std::string name = "f";
  /// The other dimensions' extents.
  std::map<char, int64_t> extents = {{'n', 2}, {'c', 3}};
  std::map<char, Axis> axes = {{'y', {}}, {'x', {}}};
  /// Of what is padded, and of the result.
  std::string dims = "ncyx", out = "ncyx";
  /// The first one is padded, after `lines` have made `value` of all, in f32.
  /// Without lines the elements are the operand's, in its type.
  std::vector<Operand> operands = {{"e", "ncyx"}}, finishOperands;
  std::string lines, value = "%e";
  /// An op of two numbers, its neutral value, and what is padded.
  std::string combiner = "arith.maximumf", neutral = "0xFF800000",
              padding = "0xFF800000";
  /// Combines in f32 or in the elements' type.
  bool isNarrow = false;
  /// Divides by the number of a window's elements that are not padded.
  bool dividesByCount = false;
  /// Lines that make `finishValue`, in f32, of `%r` and the finish operands.
  std::string finishLines, finishValue = "%r";
  std::string result = "f32";

  /// A `func.func`.
  std::string str() const;
  int64_t elements(llvm::StringRef dims, bool ofResult) const;
  int64_t terms() const;

private:
  int64_t extent(char dim, bool ofResult) const;
  std::string tensor(llvm::StringRef dims, llvm::StringRef type,
                     bool ofResult) const;
  /// The type of what is padded.
  std::string elementType() const;
  std::string paddedTensor() const;
  std::string sumType() const { return isNarrow ? elementType() : "f32"; }
  /// The windows' letters, as of axes in the order of `dims`.
  std::string windowDims() const;
  std::string writeElements(llvm::raw_ostream &os) const;
  std::string writePad(llvm::raw_ostream &os, llvm::StringRef from) const;
  void writeWindows(llvm::raw_ostream &os, llvm::StringRef from) const;
  void writeCount(llvm::raw_ostream &os) const;
  void writeResult(llvm::raw_ostream &os) const;
};

/// The random windows of that number among those of `seed`.
struct WindowSample {
  WindowText text;
  /// "n 2, c 3, y 16 by 3 ...; maximum of f32 ncyx", for people.
  std::string about;
};
WindowSample sampleWindow(uint64_t seed, uint64_t number);

} // namespace fastk::families

#endif // FASTK_FAMILIES_WINDOWTEXT_H
