//===- CMacros.cpp - The macros of a C program ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;
using families::CMacros;
using families::CToken;

StringRef CMacros::nameOf(StringRef directive) {
  return restOfDirective(directive).take_while(
      [](char c) { return isAlnum(c) || c == '_'; });
}

bool CMacros::isAttribute(StringRef word) {
  return word == "__attribute__" || word == "__attribute" ||
         word == "_Alignas" || word == "alignas" || word == "__declspec";
}

CMacros::CMacros(ArrayRef<CToken> program, ArrayRef<CToken> shared) {
  read(shared);
  read(program);
}

void CMacros::read(ArrayRef<CToken> tokens) {
  for (const CToken &token : tokens) {
    if (token.kind != CToken::Kind::Directive ||
        directiveOf(token.text) != "define")
      continue;
    StringRef name = nameOf(token.text);
    StringRef rest = token.text.substr(name.end() - token.text.begin());
    Macro macro;
    if (rest.starts_with("(")) {
      macro.isCalled = true;
      rest = rest.split(')').second;
    }
    for (const CToken &word : readTokens(rest, /*hasDirectives=*/false))
      // A backslash ends a line.
      if (!word.isBlank() && word.text != "\\")
        macro.words.push_back(word);
    macros[name].push_back(std::move(macro));
  }
}

bool CMacros::isCalled(StringRef name) const {
  auto found = macros.find(name);
  return found != macros.end() &&
         any_of(found->second, [](const Macro &each) { return each.isCalled; });
}

/// Macros of one macro, as many as people write.
static constexpr unsigned kMostSeen = 64;

CMacros::Type CMacros::typeOf(StringRef name, StringSet<> &seen) const {
  auto found = macros.find(name);
  if (found == macros.end() || seen.size() == kMostSeen)
    return Type::Named;
  if (!seen.insert(name).second)
    return Type::None;
  Type type = Type::None;
  for (const Macro &macro : found->second) {
    int open = 0;
    for (const CToken &word : macro.words) {
      open += word.text == "(" || word.text == "[";
      open -= word.text == ")" || word.text == "]";
      if (open || word.kind != CToken::Kind::Name || isQualifier(word.text) ||
          isAttribute(word.text))
        continue;
      type = std::max(type, isType(word.text) ? Type::Known
                                              : typeOf(word.text, seen));
    }
  }
  return type;
}

bool CMacros::isHarmless(StringRef name, bool isAttribute,
                         StringSet<> &seen) const {
  auto found = macros.find(name);
  if (found == macros.end() || seen.contains(name))
    return true;
  if (seen.size() == kMostSeen)
    return false;
  seen.insert(name);
  return all_of(found->second, [&](const Macro &macro) {
    int open = 0;
    for (auto [i, word] : enumerate(macro.words)) {
      StringRef text = word.text;
      open += text == "(" || text == "[";
      open -= text == ")" || text == "]";
      if (open < 0)
        return false;
      bool isName = word.kind == CToken::Kind::Name;
      if (open || text == ")" || text == "]")
        continue;
      if (!isName && (isAttribute || text != "*"))
        return false;
      if (isAttribute && !CMacros::isAttribute(text) && !knows(text))
        return false;
      if (isName && !isHarmless(text, isAttribute, seen))
        return false;
    }
    return open == 0;
  });
}
