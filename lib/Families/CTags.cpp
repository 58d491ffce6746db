//===- CTags.cpp - Tags and constants of C types --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CTags.h"

using namespace llvm;
using namespace fastk;
using families::CMacros;
using families::CName;
using families::CToken;
using Kind = CToken::Kind;

static size_t behindBrackets(ArrayRef<CToken> words, size_t place) {
  int open = 0;
  for (; place < words.size(); ++place) {
    StringRef text = words[place].text;
    open += text == "(" || text == "[" || text == "{";
    open -= text == ")" || text == "]" || text == "}";
    if (open == 0)
      return place + 1;
  }
  return place;
}

static bool isName(ArrayRef<CToken> words, size_t place) {
  return place < words.size() && words[place].kind == Kind::Name;
}

static bool is(ArrayRef<CToken> words, size_t place, StringRef text) {
  return place < words.size() && words[place].text == text;
}

/// From the brace on.
static StringRef nameConstants(ArrayRef<CToken> words, StringRef declaration,
                               const CMacros &macros,
                               std::vector<CName> &names) {
  for (size_t i = 1; i < words.size();) {
    StringRef text = words[i].text, last = words[i - 1].text;
    if (text == "}")
      return "";
    if (text == "(" || text == "[" || text == "{") {
      i = behindBrackets(words, i);
      continue;
    }
    if (isName(words, i) && ((i == 1 && last == "{") || last == ",")) {
      if (macros.knows(text) || is(words, i + 1, "("))
        return text;
      names.push_back({text, declaration});
    }
    ++i;
  }
  return "";
}

StringRef families::nameTags(ArrayRef<CToken> words, StringRef declaration,
                             const CMacros &macros, std::vector<CName> &names) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (!isTagWord(words[i].text))
      continue;
    bool isEnum = words[i].text == "enum";
    size_t next = i + 1;
    while (isName(words, next) && CMacros::isAttribute(words[next].text) &&
           is(words, next + 1, "("))
      next = behindBrackets(words, next + 1);
    StringRef tag;
    if (isName(words, next))
      tag = words[next++].text;
    if (isEnum && is(words, next, ":"))
      for (++next; isName(words, next);)
        ++next;
    if (!is(words, next, "{"))
      continue;
    if (!tag.empty())
      names.push_back({tag, declaration});
    if (!isEnum)
      continue;
    StringRef made =
        nameConstants(words.drop_front(next), declaration, macros, names);
    if (!made.empty())
      return made;
  }
  return "";
}
