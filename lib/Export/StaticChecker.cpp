//===- StaticChecker.cpp - Words that KernelBench refuses -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticChecker.h"
#include "llvm/ADT/StringExtras.h"

using namespace fastk;
using llvm::StringRef;

static bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// How long the word is that begins \p text; 0 where none does.
static size_t wordLength(StringRef text) {
  return text.take_while(isWord).size();
}

/// The text between quotes that \p text begins with, raw ones included; empty
/// where it begins otherwise.
static StringRef takeQuoted(StringRef text) {
  if (text.starts_with("R\"")) {
    size_t open = text.find('(');
    if (open == StringRef::npos)
      return text;
    std::string close = (")" + text.substr(2, open - 2) + "\"").str();
    size_t end = text.find(close, open);
    return text.take_front(end == StringRef::npos ? text.size()
                                                  : end + close.size());
  }
  char quote = text.front();
  if (quote != '"' && quote != '\'')
    return {};
  size_t at = 1;
  while (at < text.size() && text[at] != quote && text[at] != '\n')
    at += text[at] == '\\' ? 2 : 1;
  return text.take_front(at + 1);
}

static std::string reword(StringRef comment) {
  std::string text;
  while (!comment.empty()) {
    size_t length = wordLength(comment);
    StringRef word = comment.take_front(length ? length : 1);
    text += word == "pass"     ? "passage"
            : word == "try"    ? "trying"
            : word == "except" ? "excepting"
                               : word;
    comment = comment.drop_front(word.size());
  }
  return text;
}

std::string fastk::avoidRefusedWords(StringRef code) {
  std::string text;
  auto take = [&](size_t length) {
    StringRef piece = code.take_front(length);
    code = code.drop_front(piece.size());
    return piece;
  };
  while (!code.empty()) {
    if (code.starts_with("//")) {
      text += take(code.find('\n'));
    } else if (code.starts_with("/*")) {
      size_t end = code.find("*/", 2);
      text += reword(take(end == StringRef::npos ? code.size() : end + 2));
    } else if (StringRef quoted = takeQuoted(code); !quoted.empty()) {
      text += take(quoted.size());
    } else if (size_t length = wordLength(code)) {
      StringRef word = take(length);
      text += word == "pass" ? "pass_" : word;
      // What separates digits is no quote.
      if (llvm::isDigit(word.front()) && code.starts_with("'"))
        text += take(1);
    } else {
      text += take(1);
    }
  }
  return text;
}

/// As the checker looks: whether `pass`, `try:` or `except` and what it catches
/// begins \p rest.
static bool isRefused(StringRef word, StringRef rest) {
  StringRef next = rest.ltrim();
  if (word == "pass")
    return true;
  if (word == "try")
    return next.starts_with(":");
  return word == "except" &&
         (next.starts_with(":") ||
          (next.size() < rest.size() && wordLength(next) > 0));
}

std::string fastk::findRefusedWord(StringRef text) {
  std::string seen;
  for (StringRef line : llvm::split(text, '\n'))
    seen += line.split('#').first.split("//").first.str() + "\n";
  for (StringRef rest = seen; !rest.empty();) {
    size_t length = wordLength(rest);
    StringRef word = rest.take_front(length ? length : 1);
    rest = rest.drop_front(word.size());
    if (isRefused(word, rest))
      return word.str();
  }
  return {};
}
