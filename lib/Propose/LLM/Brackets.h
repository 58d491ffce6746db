//===- Brackets.h - The brackets of a text of JSON --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_BRACKETS_H
#define FASTK_LIB_PROPOSE_LLM_BRACKETS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace fastk::llm {

/// Calls `visit` for each bracket outside of strings, with its place and how
/// deep it is: 1 for the outermost, the same for an opening one and the one
/// that closes it. Stops when `visit` returns true, and returns whether it did.
inline bool
findBracket(::llvm::StringRef text,
            ::llvm::function_ref<bool(size_t at, int depth)> visit) {
  int depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        isString = false;
    } else if (c == '"') {
      isString = true;
    } else if (c == '{' || c == '[') {
      if (visit(i, ++depth))
        return true;
    } else if (c == '}' || c == ']') {
      if (visit(i, depth--))
        return true;
    }
  }
  return false;
}

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_BRACKETS_H
