//===- PointwiseText.h - Pointwise work as MLIR's text ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on tensors as an importer gives it: what moves elements of the
// operands, and one op that makes an element of the result of theirs.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_POINTWISETEXT_H
#define FASTK_FAMILIES_POINTWISETEXT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fastk::families {

/// Dimensions are letters; capital ones are those of a table that indices
/// choose from.
struct PointwiseText {
  /// An element is `%NAME`, in f32 or, of type i1, as it is.
  struct Operand {
    std::string name, dims, type = "f32";
    /// How the tensor of these dimensions is made of the operand, along one of
    /// them: a slice with so many elements before and behind it; the operand
    /// with so many elements of 1.5 around it; the operand, of `before`
    /// elements, followed by another; the operand in reverse. Or what one more
    /// operand for each capital dimension of `table` gathers from it.
    enum { Plain, Sliced, Padded, Joined, Reversed, Gathered } made = Plain;
    char along = 0;
    int64_t before = 0, behind = 0;
    /// Of a gather: the operand's dimensions, those of the indices, their type,
    /// and whether negative ones count from the end.
    std::string table = {}, indexDims = {}, indexType = "i64";
    bool wraps = false;
  };

  std::string name = "f";
  std::map<char, int64_t> extents = {{'r', 8}, {'c', 64}};
  /// Of the result.
  std::string dims = "rc";
  std::vector<Operand> operands = {{"x", "rc"}};
  /// Lines that make `value`, in f32, of the operands.
  std::string lines, value = "%x";
  std::string result = "f32";

  /// A `func.func`.
  std::string str() const;
  int64_t elements(llvm::StringRef dims) const;
  /// Of what is an argument of the function.
  int64_t elements(const Operand &operand) const;

private:
  std::string tensor(llvm::StringRef dims, llvm::StringRef type, char along = 0,
                     int64_t more = 0) const;
  /// The operand's arguments of the function.
  std::string argumentsOf(const Operand &operand) const;
  /// Elements that the argument has more along `along` than the dimension.
  static int64_t moreOf(const Operand &operand);
  void writeMade(llvm::raw_ostream &os, const Operand &operand) const;
  void writeReversed(llvm::raw_ostream &os, const Operand &operand) const;
  void writeGathered(llvm::raw_ostream &os, const Operand &operand) const;
};

/// The random pointwise workload of that number among those of `seed`.
struct PointwiseSample {
  PointwiseText text;
  /// "r 65, c 1000; x cr f32, gelu; ...", for people.
  std::string about;
};
PointwiseSample samplePointwise(uint64_t seed, uint64_t number);

} // namespace fastk::families

#endif // FASTK_FAMILIES_POINTWISETEXT_H
