//===- KeptText.h - What is computed once for many sums ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What becomes of a sum is often a function of a few numbers of its channel or
// its row, which take longer to compute than all else: a batch norm divides by
// a root. Programs compute them once for all sums of a channel.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_KEPTTEXT_H
#define FASTK_LIB_FAMILIES_KEPTTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace fastk::families {

struct KeptText {
  /// The floats that are kept, by name.
  std::vector<std::string> names;
  /// Lines that compute them.
  std::string keep;
  /// All lines, those of what is kept as `kept.v[NUMBER]`.
  std::string finish;
  /// Whether any of them depends on the last of the fixed parameters.
  bool isOfLast = false;
  /// Whether each sum has an element of an operand of its own: a residual.
  bool loadsEach = false;
};

/// Takes apart lines `const TYPE NAME = TEXT;`, of which each uses names of
/// those before and parameters: what needs no parameters but \p fixed is kept.
/// Nothing is kept where a line is another, or where that would be many
/// numbers.
KeptText keepLines(llvm::StringRef lines, llvm::ArrayRef<llvm::StringRef> fixed,
                   llvm::ArrayRef<llvm::StringRef> others);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_KEPTTEXT_H
