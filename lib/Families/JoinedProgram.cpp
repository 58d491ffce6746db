//===- JoinedProgram.cpp - One C program of several -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/JoinedProgram.h"
#include "CNames.h"
#include "CPieces.h"
#include "CText.h"

using namespace llvm;
using namespace fastk;
using families::CName;
using families::CPiece;
using families::JoinedProgram;

static constexpr StringLiteral kEntry = "fastk_kernel";

bool JoinedProgram::addShared(StringRef text, std::string &why) {
  std::optional<std::vector<CPiece>> parts = readPieces(text, shared, why);
  if (!parts)
    return false;
  for (const CPiece &piece : *parts) {
    std::string words = piece.text.trim().str();
    if (pieces.count(words))
      continue;
    for (const CName &each : piece.names)
      if (each.isDefined &&
          !definitions.try_emplace(each.name.str(), words).second) {
        why = "two parts of the program define '" + each.name.str() +
              "', each in its own way";
        return false;
      }
    program += words + "\n";
    shared += words + "\n";
    pieces.insert(std::move(words));
  }
  return true;
}

/// What a program defines, and nothing that it only declares: that would be
/// none of its parts.
static bool collectDefined(StringRef text, ArrayRef<CPiece> parts,
                           StringSet<> &names, std::string &why) {
  for (const CPiece &piece : parts)
    for (const CName &each : piece.names)
      if (each.isDefined)
        names.insert(each.name);
  for (const CPiece &piece : parts)
    for (const CName &each : piece.names)
      if (!names.contains(each.name)) {
        why = "in " + families::quoteLine(text, each.declaration) + ": '" +
              each.name.str() +
              "' is declared, and not defined: include what declares it, or "
              "define it";
        return false;
      }
  return true;
}

/// The piece under other names, of which the entry is the program's own.
static std::string partOf(const CPiece &piece, const StringSet<> &names,
                          StringRef suffix) {
  std::string result;
  StringRef rest = piece.text;
  for (const CName &each : piece.names) {
    if (each.name != kEntry || each.declaration.starts_with("#"))
      continue;
    size_t before = each.declaration.begin() - rest.begin();
    result += families::renamed(rest.take_front(before), names, suffix);
    result += "static ";
    rest = rest.drop_front(before);
  }
  return result + families::renamed(rest, names, suffix);
}

bool JoinedProgram::addPart(StringRef text, StringRef suffix,
                            std::string &why) {
  std::optional<std::vector<CPiece>> parts = readPieces(text, shared, why);
  StringSet<> names;
  if (!parts || !collectDefined(text, *parts, names, why) ||
      !canRename(text, names, why))
    return false;
  const StringSet<> used = namesIn(text);
  for (const auto &name : names) {
    std::string renamed = (name.getKey() + suffix).str();
    if (used.contains(renamed)) {
      why = "the program uses '" + renamed + "', which is the name that '" +
            name.getKey().str() + "' would have as a part of another one";
      return false;
    }
  }
  for (const CPiece &piece : *parts)
    program += partOf(piece, names, suffix);
  program += "\n";
  return true;
}

bool families::canJoin(const Instance &instance, StringRef suffix,
                       std::string &why) {
  StringRef text = instance.program;
  JoinedProgram alone;
  return alone.addShared(text.take_front(instance.helpers), why) &&
         alone.addPart(text.drop_front(instance.helpers), suffix, why);
}
