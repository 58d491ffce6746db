//===- CMacros.h - The macros of a C program --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CMACROS_H
#define FASTK_LIB_FAMILIES_CMACROS_H

#include "CText.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace fastk::families {

/// What is known of a program's macros where one stands in a declaration.
/// Nothing is expanded.
class CMacros {
public:
  /// \p shared stands before the program.
  CMacros(llvm::ArrayRef<CToken> program, llvm::ArrayRef<CToken> shared);

  /// The name that a `#define` defines.
  static llvm::StringRef nameOf(llvm::StringRef directive);
  /// Whether a word begins an attribute, in parentheses.
  static bool isAttribute(llvm::StringRef word);

  bool knows(llvm::StringRef name) const { return macros.contains(name); }
  /// Whether some definition of it has parameters.
  bool isCalled(llvm::StringRef name) const;
  /// What a type is named by among its words: none, `int` and its like, or a
  /// name, which may also be what is declared.
  enum class Type { None, Known, Named };
  Type typeOf(llvm::StringRef name) const {
    llvm::StringSet<> seen;
    return typeOf(name, seen);
  }
  /// Whether a name is no macro, or one of words alone: specifiers, that
  /// declare nothing by themselves.
  bool hasWordsAlone(llvm::StringRef name) const {
    llvm::StringSet<> seen;
    return isHarmless(name, /*isAttribute=*/false, seen);
  }
  /// Whether a name is a macro that is attributes, and nothing else.
  bool isAttributeMacro(llvm::StringRef name) const {
    llvm::StringSet<> seen;
    return knows(name) && isHarmless(name, /*isAttribute=*/true, seen);
  }

private:
  struct Macro {
    bool isCalled = false;
    std::vector<CToken> words;
  };
  void read(llvm::ArrayRef<CToken> tokens);
  /// Each macro is looked at once.
  Type typeOf(llvm::StringRef name, llvm::StringSet<> &seen) const;
  bool isHarmless(llvm::StringRef name, bool isAttribute,
                  llvm::StringSet<> &seen) const;

  /// All definitions of each.
  llvm::StringMap<std::vector<Macro>> macros;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CMACROS_H
