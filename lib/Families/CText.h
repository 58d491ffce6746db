//===- CText.h - The text of a C program, piece by piece --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of C as it takes to give what a program defines other names: tokens,
// so that strings and comments stay what they are, and what stands outside of
// all braces.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CTEXT_H
#define FASTK_LIB_FAMILIES_CTEXT_H

#include "llvm/ADT/StringRef.h"
#include <vector>

namespace fastk::families {

/// A directive is all of its logical line.
struct CToken {
  enum class Kind { Space, Comment, Directive, Name, Other };
  Kind kind = Kind::Other;
  llvm::StringRef text;
};

/// The tokens of a text, which are all of it. Of a directive's own text there
/// are no directives: \p hasDirectives is false.
std::vector<CToken> readTokens(llvm::StringRef text, bool hasDirectives = true);

/// A directive, a declaration or a function, with the comments before it; of a
/// condition (`#if`) all that it surrounds.
struct CPiece {
  llvm::StringRef text;
  /// Macros, functions, types, tags and variables that it defines.
  std::vector<llvm::StringRef> names;
};

/// What a program has outside of all braces, in order.
std::vector<CPiece> readPieces(llvm::StringRef program);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CTEXT_H
