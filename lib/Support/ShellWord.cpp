//===- ShellWord.cpp - Words of commands that people copy -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/ShellWord.h"

using namespace llvm;

std::string fastk::shellWord(StringRef word) {
  static constexpr StringLiteral kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-+=,./:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == StringRef::npos)
    return word.str();
  std::string quoted = word.str();
  for (size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos;
       at += 4)
    quoted.replace(at, 1, "'\\''");
  return "'" + quoted + "'";
}
