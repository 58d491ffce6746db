//===- JoinedProgram.cpp - One C program of several -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/JoinedProgram.h"
#include "CText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace fastk;
using families::CPiece;
using families::CToken;
using families::JoinedProgram;

static constexpr StringLiteral kEntry = "fastk_kernel";

bool JoinedProgram::addShared(StringRef text, std::string &why) {
  for (const CPiece &piece : readPieces(text)) {
    std::string words = piece.text.trim().str();
    if (pieces.count(words))
      continue;
    for (StringRef name : piece.names)
      if (!definitions.try_emplace(name.str(), words).second) {
        why = "two parts of the program define '" + name.str() +
              "', each in its own way";
        return false;
      }
    program += words + "\n";
    pieces.insert(std::move(words));
  }
  return true;
}

/// A comment behind a number. Whoever changes the number of a part changes what
/// the program around it has to give it: it is none that a search may vary.
static std::string commentOf(StringRef text) {
  StringRef values = text.drop_front(2).ltrim();
  return values.consume_front("tune:") ? "// one of" + values.str()
                                       : text.str();
}

/// Of tokens of a directive: whether `##` begins at that one.
static bool isPaste(ArrayRef<CToken> tokens, size_t at) {
  return at + 1 < tokens.size() && tokens[at].text == "#" &&
         tokens[at + 1].text == "#";
}

/// Whether a macro makes a name of two there, as in `STRIDE_##axis`, that is
/// one of `names`: then the suffix belongs behind it.
static bool isNamePasted(ArrayRef<CToken> tokens, size_t at,
                         const StringSet<> &names) {
  if (tokens[at].kind != CToken::Kind::Name || !isPaste(tokens, at + 1) ||
      at + 3 >= tokens.size() || tokens[at + 3].kind != CToken::Kind::Name ||
      isPaste(tokens, at + 4) || (at >= 2 && isPaste(tokens, at - 2)))
    return false;
  return any_of(names, [&](const auto &name) {
    return name.getKey().size() > tokens[at].text.size() &&
           name.getKey().starts_with(tokens[at].text);
  });
}

/// The text with a suffix at all names of `names`.
static std::string rename(StringRef text, const StringSet<> &names,
                          StringRef suffix, bool hasDirectives = true) {
  std::string result;
  const std::vector<CToken> tokens = families::readTokens(text, hasDirectives);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const CToken &token = tokens[i];
    if (!hasDirectives && isNamePasted(tokens, i, names)) {
      result += (token.text + "##" + tokens[i + 3].text + "##" + suffix).str();
      i += 3;
      continue;
    }
    if (token.kind == CToken::Kind::Directive)
      result += rename(token.text, names, suffix, /*hasDirectives=*/false);
    else if (token.kind == CToken::Kind::Comment)
      result += commentOf(token.text);
    else
      result += token.text;
    if (token.kind == CToken::Kind::Name && names.contains(token.text))
      result += suffix;
  }
  return result;
}

/// Every name that stands in the text.
static void collectNames(StringRef text, StringSet<> &names,
                         bool hasDirectives = true) {
  for (const CToken &token : families::readTokens(text, hasDirectives)) {
    if (token.kind == CToken::Kind::Directive)
      collectNames(token.text, names, /*hasDirectives=*/false);
    else if (token.kind == CToken::Kind::Name)
      names.insert(token.text);
  }
}

/// Whether a macro makes a name of two that cannot be told to be the program's
/// own.
static bool pastesNames(StringRef text, const StringSet<> &names) {
  return any_of(families::readTokens(text), [&](const CToken &token) {
    if (token.kind != CToken::Kind::Directive)
      return false;
    auto parts = families::readTokens(token.text, /*hasDirectives=*/false);
    for (size_t i = 0; i < parts.size(); ++i)
      if (isPaste(parts, i) && (i == 0 || !isNamePasted(parts, i - 1, names)))
        return true;
    return false;
  });
}

bool JoinedProgram::addPart(StringRef text, StringRef suffix,
                            std::string &why) {
  const std::vector<CPiece> parts = readPieces(text);
  StringSet<> used, names;
  collectNames(text, used);
  for (const CPiece &piece : parts)
    for (StringRef name : piece.names)
      names.insert(name);
  for (const auto &name : names) {
    std::string renamed = (name.getKey() + suffix).str();
    if (used.contains(renamed)) {
      why = "the program uses '" + renamed + "', which is the name that '" +
            name.getKey().str() + "' would have as a part of another one";
      return false;
    }
  }
  if (pastesNames(text, names)) {
    why = "the program makes names with ## that it does not define: as a part "
          "of another one it can have no other names";
    return false;
  }
  for (const CPiece &piece : parts) {
    StringRef words = piece.text;
    if (is_contained(piece.names, kEntry)) {
      // Before its first word.
      for (const CToken &token : readTokens(words)) {
        if (token.kind != CToken::Kind::Space &&
            token.kind != CToken::Kind::Comment)
          break;
        program += token.text;
        words = words.drop_front(token.text.size());
      }
      program += "static ";
    }
    program += rename(words, names, suffix);
  }
  program += "\n";
  return true;
}
