//===- CText.h - The tokens of a C program ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of C as it takes to tell names from strings and comments.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CTEXT_H
#define FASTK_LIB_FAMILIES_CTEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace fastk::families {

/// A directive is all of its logical line.
struct CToken {
  enum class Kind { Space, Comment, Directive, Name, Other };
  Kind kind = Kind::Other;
  llvm::StringRef text;

  bool isBlank() const { return kind == Kind::Space || kind == Kind::Comment; }
  bool isString() const {
    return kind == Kind::Other && text.starts_with("\"");
  }
};

/// The tokens of a text, which are all of it. Of a directive's own text there
/// are no directives: \p hasDirectives is false.
std::vector<CToken> readTokens(llvm::StringRef text, bool hasDirectives = true);

/// The word behind a directive's '#', and what stands behind that.
llvm::StringRef directiveOf(llvm::StringRef directive);
llvm::StringRef restOfDirective(llvm::StringRef directive);

/// What words are: storage and qualifiers, a type's, one that has a parenthesis
/// behind it, what begins a type with a tag, and what begins assembly.
bool isQualifier(llvm::StringRef word);
bool isType(llvm::StringRef word);
bool isTypeOfParts(llvm::StringRef word);
bool isTagWord(llvm::StringRef word);
bool isAssembly(llvm::StringRef word);

/// The line of a program that a part of it begins in, for messages: quoted,
/// and no longer than a person reads.
std::string quoteLine(llvm::StringRef program, llvm::StringRef part);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CTEXT_H
