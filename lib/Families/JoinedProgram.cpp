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

/// The text with a suffix at all names of `names`.
static std::string rename(StringRef text, const StringSet<> &names,
                          StringRef suffix, bool hasDirectives = true) {
  std::string result;
  for (const CToken &token : families::readTokens(text, hasDirectives)) {
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

/// Whether a macro makes a name of two.
static bool pastesNames(StringRef text) {
  return any_of(families::readTokens(text), [](const CToken &token) {
    if (token.kind != CToken::Kind::Directive)
      return false;
    auto parts = families::readTokens(token.text, /*hasDirectives=*/false);
    return any_of(zip(parts, drop_begin(parts)), [](const auto &pair) {
      return std::get<0>(pair).text == "#" && std::get<1>(pair).text == "#";
    });
  });
}

bool JoinedProgram::addPart(StringRef text, StringRef suffix,
                            std::string &why) {
  if (pastesNames(text)) {
    why = "the program makes names with ##: as a part of another one it can "
          "have no other names";
    return false;
  }
  const std::vector<CPiece> parts = readPieces(text);
  StringSet<> names;
  for (const CPiece &piece : parts)
    for (StringRef name : piece.names)
      names.insert(name);
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
