//===- ProgramState.h - What is known after lines of a program --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of macros and constants, line by line, and which lines the
// preprocessor would leave out.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_PROGRAMSTATE_H
#define FASTK_LIB_FAMILIES_PROGRAMSTATE_H

#include "ProgramLine.h"
#include "fastk/Families/Expression.h"
#include "llvm/ADT/SmallVector.h"

namespace fastk::families {

/// A ProgramLine whose names have places and whose expression was read.
struct ReadLine {
  ProgramLine::Kind kind = ProgramLine::Kind::Define;
  unsigned place = 0;
  /// Of a definition its value, of `#if` and its like the condition; nothing:
  /// it is no expression.
  std::optional<Expression> expression;

  ReadLine(const ProgramLine &line, NameTable &table);
};

class ProgramState {
public:
  /// Goes on by a line. True: it defines or undefines a name, and counts. Under
  /// a condition that cannot be decided lines count, as far as anybody knows.
  bool counts(const ReadLine &line);
  /// Gives a name its number, or takes it. The number, where it is known: what
  /// is none leaves the name as it is.
  std::optional<int64_t> define(const ReadLine &line);
  void set(unsigned place, int64_t number);
  void forget(unsigned place);

  llvm::ArrayRef<NameValue> values() const { return known; }
  std::optional<int64_t> numberOf(unsigned place) const;
  /// Whether no `#if` is open.
  bool isOutermost() const { return branches.empty(); }

private:
  /// The branches of one `#if`: whether the present one may be taken, and
  /// whether one is taken for certain, so that later ones are not.
  struct Branch {
    bool mayBeTaken = false, isOver = false;
  };
  void enter(Branch &branch, const ReadLine &line);
  NameValue &at(unsigned place);

  std::vector<NameValue> known;
  llvm::SmallVector<Branch> branches;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_PROGRAMSTATE_H
