//===- CText.cpp - The tokens of a C program ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;
using families::CToken;
using Kind = CToken::Kind;

static bool isInName(char c) { return isAlnum(c) || c == '_'; }

/// Whether the next line belongs to the one that this is; clang passes over
/// blanks behind the backslash.
static bool goesOn(StringRef line) {
  return line.rtrim(" \t\r").ends_with("\\");
}

/// Up to the end of the line, without it; lines that a backslash ends go on.
static size_t lineLength(StringRef text) {
  size_t at = text.find('\n');
  while (at != StringRef::npos && goesOn(text.take_front(at)))
    at = text.find('\n', at + 1);
  return std::min(at, text.size());
}

static size_t commentLength(StringRef text) {
  size_t end = text.find("*/", 2);
  return end == StringRef::npos ? text.size() : end + 2;
}

/// A string or a character, with its quotes. An apostrophe of a text that is no
/// program, as under `#if 0`, ends with its line.
static size_t quotedLength(StringRef text) {
  size_t at = 1;
  while (at < text.size() && text[at] != text[0]) {
    if (text[at] == '\n')
      return at;
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

/// The same of a directive, whose comments may have several lines.
static size_t directiveLength(StringRef text) {
  size_t at = 1;
  while (at < text.size()) {
    StringRef rest = text.drop_front(at);
    if (rest.starts_with("//"))
      return at + lineLength(rest);
    if (rest[0] == '\n' && !goesOn(text.take_front(at)))
      return at;
    at += rest.starts_with("/*")              ? commentLength(rest)
          : rest[0] == '"' || rest[0] == '\'' ? quotedLength(rest)
                                              : 1;
  }
  return text.size();
}

/// As the preprocessor reads numbers: 0x1p-3f is one.
static size_t numberLength(StringRef text) {
  size_t at = 1;
  while (at < text.size() && (isInName(text[at]) || text[at] == '.' ||
                              (text[at] == '\'' && at + 1 < text.size() &&
                               isInName(text[at + 1])) ||
                              ((text[at] == '+' || text[at] == '-') &&
                               StringRef("eEpP").contains(text[at - 1]))))
    ++at;
  return at;
}

/// The first token; `isLineStart`: nothing but space stands before it.
static CToken firstToken(StringRef text, bool isLineStart) {
  char first = text[0];
  if (isSpace(first))
    return {Kind::Space, text.take_while([](char c) { return isSpace(c); })};
  if (text.starts_with("//"))
    return {Kind::Comment, text.take_front(lineLength(text))};
  if (text.starts_with("/*"))
    return {Kind::Comment, text.take_front(commentLength(text))};
  if (first == '#' && isLineStart)
    return {Kind::Directive, text.take_front(directiveLength(text))};
  if (first == '"' || first == '\'')
    return {Kind::Other, text.take_front(quotedLength(text))};
  if (isDigit(first) || (first == '.' && text.size() > 1 && isDigit(text[1])))
    return {Kind::Other, text.take_front(numberLength(text))};
  if (isInName(first))
    return {Kind::Name, text.take_while(isInName)};
  return {Kind::Other, text.take_front(1)};
}

std::vector<CToken> families::readTokens(StringRef text, bool hasDirectives) {
  std::vector<CToken> tokens;
  bool isLineStart = hasDirectives;
  while (!text.empty()) {
    CToken token = firstToken(text, isLineStart);
    if (token.kind == Kind::Space)
      isLineStart |= hasDirectives && token.text.contains('\n');
    else if (token.kind != Kind::Comment)
      isLineStart = false;
    text = text.drop_front(token.text.size());
    tokens.push_back(token);
  }
  return tokens;
}

StringRef families::directiveOf(StringRef directive) {
  return directive.drop_front().ltrim().take_while(isInName);
}

StringRef families::restOfDirective(StringRef directive) {
  StringRef word = directiveOf(directive);
  return directive.substr(word.end() - directive.begin()).ltrim();
}

static bool isOneOf(StringRef word, ArrayRef<StringLiteral> words) {
  return is_contained(words, word);
}

bool families::isQualifier(StringRef word) {
  static constexpr StringLiteral words[] = {
      "typedef",       "extern",       "static",       "inline",
      "__inline",      "__inline__",   "_Noreturn",    "noreturn",
      "_Thread_local", "thread_local", "__thread",     "register",
      "auto",          "const",        "__const",      "volatile",
      "__volatile",    "__volatile__", "restrict",     "__restrict",
      "__restrict__",  "constexpr",    "__extension__"};
  return isOneOf(word, words);
}

bool families::isType(StringRef word) {
  static constexpr StringLiteral words[] = {
      "void",       "char",       "short",      "int",        "long",
      "float",      "double",     "signed",     "__signed__", "unsigned",
      "_Bool",      "bool",       "_Complex",   "__int128",   "_Float16",
      "__fp16",     "__bf16",     "_Float32",   "_Float64",   "_Float128",
      "__float128", "_Decimal32", "_Decimal64", "_Decimal128"};
  return isOneOf(word, words);
}

bool families::isTypeOfParts(StringRef word) {
  return word == "_Atomic" || word == "_BitInt" || word == "typeof" ||
         word == "__typeof" || word == "__typeof__" || word == "typeof_unqual";
}

bool families::isTagWord(StringRef word) {
  return word == "struct" || word == "union" || word == "enum";
}

bool families::isAssembly(StringRef word) {
  return word == "asm" || word == "__asm" || word == "__asm__";
}

std::string families::quoteLine(StringRef program, StringRef part) {
  constexpr size_t kMost = 60;
  size_t at = part.begin() - program.begin();
  size_t begin = program.take_front(at).rfind('\n');
  StringRef line = program.substr(begin == StringRef::npos ? 0 : begin + 1)
                       .split('\n')
                       .first;
  line = line.trim();
  return line.size() <= kMost ? "'" + line.str() + "'"
                              : "'" + line.take_front(kMost).str() + "...'";
}
