//===- JoinedProgram.h - One C program of several ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances of families as parts of a larger program: types and helpers are
// there once, and what each part defines has a suffix, so that parts that
// define the same names stand side by side. What a person wrote stays what it
// was, comments and all.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_JOINEDPROGRAM_H
#define FASTK_FAMILIES_JOINEDPROGRAM_H

#include "fastk/Families/Family.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <set>
#include <string>

namespace fastk::families {

class JoinedProgram {
public:
  /// Adds definitions under their own names; those that are there already, in
  /// the same words, are left out. False: \p why names one that is there in
  /// others.
  bool addShared(llvm::StringRef text, std::string &why);
  /// Adds a program, of which every name that it defines gets the suffix. Its
  /// fastk_kernel becomes a function of the program alone. False: \p why names
  /// the line that cannot be renamed, and the rule that it breaks.
  bool addPart(llvm::StringRef text, llvm::StringRef suffix, std::string &why);

  /// Adds a text as it is.
  void add(llvm::StringRef text) { program += text; }

  const std::string &text() const { return program; }

private:
  std::string program;
  /// All that was added as shared: macros that parts may use.
  std::string shared;
  /// Pieces that are there, and by which each name is defined.
  std::set<std::string> pieces;
  std::map<std::string, std::string> definitions;
};

/// Whether an instance of a family for the host can be a part under a suffix.
/// False: \p why says why not.
bool canJoin(const Instance &instance, llvm::StringRef suffix,
             std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_JOINEDPROGRAM_H
