//===- PTXTokens.cpp - PTX as tokens --------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXTokens.h"
#include <algorithm>

using namespace fastk::cuda;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) ||
         c == '_' || c == '$';
}

size_t fastk::cuda::lineOf(std::string_view ptx, PTXToken token) {
  auto end = ptx.begin() + (token.data() - ptx.data());
  return 1 + size_t(std::count(ptx.begin(), end, '\n'));
}

bool fastk::cuda::tokenizePTX(std::string_view ptx,
                              std::vector<PTXToken> &tokens,
                              std::string &error) {
  size_t line = 1;
  auto fail = [&](const std::string &what) {
    error = "PTX line " + std::to_string(line) + ": " + what;
    return false;
  };
  for (unsigned char c : ptx) {
    line += c == '\n';
    if (c == '\\')
      return fail("a backslash: write asm texts without escapes but \\n and "
                  "\\t");
    if (c >= 127 || (c < 32 && c != '\n' && c != '\t'))
      return fail("a character that is not printable ASCII");
  }
  line = 1;
  for (size_t i = 0; i < ptx.size();) {
    char c = ptx[i];
    if (c == '\n') {
      ++line;
      ++i;
      continue;
    }
    if (c == ' ' || c == '\t') {
      ++i;
      continue;
    }
    if (ptx.compare(i, 2, "//") == 0) {
      while (i < ptx.size() && ptx[i] != '\n')
        ++i;
      continue;
    }
    if (ptx.compare(i, 2, "/*") == 0) {
      size_t end = ptx.find("*/", i + 2);
      if (end == ptx.npos)
        return fail("a comment without end");
      for (; i < end + 2; ++i)
        line += ptx[i] == '\n';
      continue;
    }
    if (c == '"') {
      size_t end = ptx.find_first_of("\"\n", i + 1);
      if (end == ptx.npos || ptx[end] == '\n')
        return fail("a string without end");
      tokens.push_back(ptx.substr(i, end + 1 - i));
      i = end + 1;
      continue;
    }
    if (c == '#' || c == '`')
      return fail(std::string("unexpected '") + c + "'");
    size_t begin = i;
    if (isDigit(c)) {
      // 12, 0x1F, 0f3F800000, 9.0
      while (i < ptx.size() &&
             (isWord(ptx[i]) ||
              (ptx[i] == '.' && i + 1 < ptx.size() && isDigit(ptx[i + 1]))))
        ++i;
    } else if (isWord(c) || c == '%' || c == '.') {
      ++i;
      // Suffixes: ".x" and "::x".
      for (;;) {
        while (i < ptx.size() && isWord(ptx[i]))
          ++i;
        if (i + 1 < ptx.size() && ptx[i] == '.' && isWord(ptx[i + 1]))
          ++i;
        else if (i + 2 < ptx.size() && ptx.compare(i, 2, "::") == 0 &&
                 isWord(ptx[i + 2]))
          i += 2;
        else
          break;
      }
    } else {
      ++i;
    }
    tokens.push_back(ptx.substr(begin, i - begin));
  }
  return true;
}
