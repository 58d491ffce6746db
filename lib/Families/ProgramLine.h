//===- ProgramLine.h - Lines of a program that say numbers ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan, rules and costs know of a program: its macros and constants, and
// which of them the preprocessor would leave out.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_PROGRAMLINE_H
#define FASTK_LIB_FAMILIES_PROGRAMLINE_H

#include "fastk/Families/Numbers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace fastk::families {

/// A line that defines a name, or that says which lines count.
struct ProgramLine {
  enum class Kind { Define, Undefine, If, ElseIf, Else, EndIf };
  Kind kind = Kind::Define;
  llvm::StringRef name;
  /// Of a definition, without comments; empty: a macro without a value, or with
  /// parameters. It is a part of the line.
  llvm::StringRef value;
  /// What stands behind "tune:"; empty: nothing.
  llvm::StringRef tune;
  /// Of `#if`, `#elif`, `#ifdef` and `#ifndef`, as an expression.
  std::string condition;
};

/// Nothing: the line says nothing of numbers.
std::optional<ProgramLine> readProgramLine(llvm::StringRef line);

/// Which lines of a program count, from its first line on.
class ProgramConditions {
public:
  /// Goes on by a line. True: it defines or undefines a name, and counts. Under
  /// a condition that cannot be decided lines count, as far as anybody knows.
  bool counts(const ProgramLine &line, const Names &names);
  /// Whether no `#if` is open.
  bool isOutermost() const { return branches.empty(); }

private:
  /// The branches of one `#if`: whether the present one may be taken, and
  /// whether one is taken for certain, so that later ones are not.
  struct Branch {
    bool mayBeTaken = false, isOver = false;
  };
  /// Whether a condition holds; nothing: nobody knows.
  std::optional<bool> holds(llvm::StringRef condition,
                            const Names &names) const;
  void enter(Branch &branch, llvm::StringRef condition, const Names &names);

  /// Names that are defined so far, parts of the program.
  llvm::DenseSet<llvm::StringRef> defined;
  llvm::SmallVector<Branch> branches;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_PROGRAMLINE_H
