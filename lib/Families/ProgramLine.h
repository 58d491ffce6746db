//===- ProgramLine.h - Lines of a program that say numbers ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan, rules and costs know of a program: its macros and constants.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_PROGRAMLINE_H
#define FASTK_LIB_FAMILIES_PROGRAMLINE_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

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

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_PROGRAMLINE_H
