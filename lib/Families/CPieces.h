//===- CPieces.h - What a C program declares, piece by piece ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of C as it takes to give what a program defines other names: what
// stands outside of all braces. What is not understood is refused: a name that
// is overlooked would be one in two parts of a program.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CPIECES_H
#define FASTK_LIB_FAMILIES_CPIECES_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

/// A macro, function, type, tag, constant or variable.
struct CName {
  llvm::StringRef name;
  /// The directive or declaration, from its first word on.
  llvm::StringRef declaration;
  /// No prototype, and nothing that lies elsewhere.
  bool isDefined = true;
};

/// A directive, a declaration or a function, with the comments before it; of a
/// condition (`#if`) all that it surrounds.
struct CPiece {
  llvm::StringRef text;
  std::vector<CName> names;
};

/// What a program has outside of all braces, in order, and macros that it
/// defines inside of them; \p shared stands before it. Nothing: \p why names
/// the line that cannot be understood, and what is expected there.
std::optional<std::vector<CPiece>>
readPieces(llvm::StringRef program, llvm::StringRef shared, std::string &why);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CPIECES_H
