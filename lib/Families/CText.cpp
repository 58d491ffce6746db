//===- CText.cpp - The text of a C program, piece by piece ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CText.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;
using families::CPiece;
using families::CToken;
using Kind = CToken::Kind;

static bool isInName(char c) { return isAlnum(c) || c == '_'; }

/// Up to the end of the line, without it; lines that a backslash ends go on.
static size_t lineLength(StringRef text) {
  size_t at = text.find('\n');
  while (at != StringRef::npos && at > 0 && text[at - 1] == '\\')
    at = text.find('\n', at + 1);
  return std::min(at, text.size());
}

/// A string or a character, with its quotes.
static size_t quotedLength(StringRef text) {
  size_t at = 1;
  while (at < text.size() && text[at] != text[0])
    at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

/// As the preprocessor reads numbers: 0x1p-3f is one.
static size_t numberLength(StringRef text) {
  size_t at = 1;
  while (at < text.size() && (isInName(text[at]) || text[at] == '.' ||
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
    return {Kind::Comment, text.take_front(text.find("*/", 2) == StringRef::npos
                                               ? text.size()
                                               : text.find("*/", 2) + 2)};
  if (first == '#' && isLineStart)
    return {Kind::Directive, text.take_front(lineLength(text))};
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

/// The word behind '#'.
static StringRef directiveOf(StringRef text) {
  return text.drop_front().ltrim().take_while(isInName);
}

namespace {
/// Reads one piece after the other.
class PieceReader {
public:
  explicit PieceReader(StringRef program)
      : tokens(families::readTokens(program)) {}

  std::vector<CPiece> run() {
    std::vector<CPiece> pieces;
    while (at < tokens.size()) {
      CPiece piece;
      const char *begin = tokens[at].text.begin();
      readPiece(piece);
      piece.text = StringRef(begin, tokens[at - 1].text.end() - begin);
      if (!piece.text.trim().empty())
        pieces.push_back(piece);
    }
    return pieces;
  }

private:
  bool is(StringRef text) const {
    return at < tokens.size() && tokens[at].text == text;
  }
  void skipBlanks() {
    while (at < tokens.size() &&
           (tokens[at].kind == Kind::Space || tokens[at].kind == Kind::Comment))
      ++at;
  }

  void readPiece(CPiece &piece) {
    skipBlanks();
    if (at == tokens.size())
      return;
    if (tokens[at].kind != Kind::Directive) {
      readDeclaration(piece);
      return;
    }
    StringRef directive = tokens[at++].text, word = directiveOf(directive);
    if (word == "define") {
      StringRef rest = directive.drop_front().ltrim().drop_front(word.size());
      piece.names.push_back(rest.ltrim().take_while(isInName));
    }
    if (!word.starts_with("if"))
      return;
    // All up to its end.
    while (at < tokens.size()) {
      skipBlanks();
      if (at < tokens.size() && tokens[at].kind == Kind::Directive) {
        StringRef next = directiveOf(tokens[at].text);
        if (next == "endif") {
          ++at;
          return;
        }
        if (next == "else" || next.starts_with("elif")) {
          ++at;
          continue;
        }
      }
      readPiece(piece);
    }
  }

  /// Up to its semicolon, or its body's end.
  void readDeclaration(CPiece &piece) {
    SmallVector<StringRef> words;
    // Braces where each condition begins that surrounds this place.
    SmallVector<int> conditions;
    int braces = 0, parentheses = 0;
    bool isFunction = false, isDone = false;
    for (; at < tokens.size() && !isDone; ++at) {
      const CToken &token = tokens[at];
      if (token.kind == Kind::Directive) {
        StringRef word = directiveOf(token.text);
        if (word.starts_with("if"))
          conditions.push_back(braces);
        else if (word.starts_with("el") && !conditions.empty())
          braces = conditions.back();
        else if (word == "endif" && !conditions.empty())
          conditions.pop_back();
        continue;
      }
      if (token.kind == Kind::Space || token.kind == Kind::Comment)
        continue;
      StringRef text = token.text;
      if (text == "{" && braces++ == 0 && parentheses == 0)
        isFunction = !words.empty() && words.back() == ")";
      if (braces == 0 || (!isFunction && braces == 1))
        words.push_back(text);
      if (text == "(")
        ++parentheses;
      else if (text == ")")
        --parentheses;
      else if (text == "}" && --braces == 0)
        isDone = isFunction;
      else if (text == ";" && braces == 0 && parentheses == 0)
        isDone = true;
    }
    nameDeclared(words, piece.names);
  }

  static bool isWord(StringRef text) {
    return isInName(text[0]) && !isDigit(text[0]);
  }

  /// Names of a declaration from its tokens; of a body's only those of an enum.
  static void nameDeclared(ArrayRef<StringRef> words,
                           std::vector<StringRef> &names) {
    SmallVector<StringRef> outer;
    int nested = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      StringRef word = words[i];
      bool hasTag =
          i > 0 && (words[i - 1] == "struct" || words[i - 1] == "union" ||
                    words[i - 1] == "enum");
      if (hasTag && isWord(word) && i + 1 < words.size() && words[i + 1] == "{")
        names.push_back(word);
      if (word == "(" || word == "{" || word == "[") {
        bool isEnum = word == "{" && is_contained(outer, "enum");
        if (isEnum && nested == 0)
          nameConstants(words.drop_front(i + 1), names);
        // Where a function's parameters begin, or a variable's extents.
        if (nested == 0 && word != "{")
          outer.push_back(word);
        ++nested;
      } else if (word == ")" || word == "}" || word == "]") {
        --nested;
      } else if (nested == 0) {
        outer.push_back(word);
      }
    }
    nameOuter(outer, names);
  }

  static void nameConstants(ArrayRef<StringRef> words,
                            std::vector<StringRef> &names) {
    bool isNext = true;
    for (StringRef word : words) {
      if (word == "}")
        return;
      if (isNext && isWord(word))
        names.push_back(word);
      isNext = word == ",";
    }
  }

  /// The name before a list of parameters, or the last one before a value, an
  /// extent or the end; attributes have lists of their own.
  static void nameOuter(ArrayRef<StringRef> outer,
                        std::vector<StringRef> &names) {
    StringRef last;
    bool isTag = false;
    for (size_t i = 0; i < outer.size(); ++i) {
      StringRef word = outer[i];
      if (word == "__attribute__" || word == "_Alignas") {
        ++i; // Its parenthesis.
        continue;
      }
      if (word == "(" || word == "=" || word == "[" || word == ";")
        break;
      if (!isWord(word))
        continue;
      isTag = i > 0 && (outer[i - 1] == "struct" || outer[i - 1] == "union" ||
                        outer[i - 1] == "enum");
      last = word;
    }
    if (!last.empty() && !isTag && last != "struct" && last != "union" &&
        last != "enum")
      names.push_back(last);
  }

  std::vector<CToken> tokens;
  size_t at = 0;
};
} // namespace

std::vector<CPiece> families::readPieces(StringRef program) {
  return PieceReader(program).run();
}
