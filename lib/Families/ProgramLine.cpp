//===- ProgramLine.cpp - Lines of a program that say numbers --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramLine.h"
#include "fastk/Families/Numbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;
using namespace fastk::families;
using Kind = ProgramLine::Kind;

/// The value up to a comment, and the comment.
static std::pair<StringRef, StringRef> splitComment(StringRef text) {
  size_t at = std::min(text.find("//"), text.find("/*"));
  if (at == StringRef::npos)
    return {text.trim(), ""};
  StringRef comment = text.substr(at + 2).trim();
  comment.consume_back("*/");
  return {text.take_front(at).trim(), comment.trim()};
}

static bool isInName(char c) { return isAlnum(c) || c == '_'; }

static StringRef takeName(StringRef &text) {
  StringRef name = text.take_while(isInName);
  text = text.drop_front(name.size());
  return name.empty() || isDigit(name[0]) ? StringRef() : name;
}

static StringRef takeTune(StringRef comment) {
  return comment.consume_front("tune:") ? comment : StringRef();
}

/// `NAME = 128 : i64` behind the '#': an attribute alias of MLIR, which is to
/// its texts what a macro is to C.
static std::optional<ProgramLine> readAlias(StringRef name, StringRef rest) {
  auto [text, comment] = splitComment(rest);
  ProgramLine line;
  line.name = name;
  line.value = text.split(':').first.trim();
  line.tune = takeTune(comment);
  return readInteger(line.value) ? std::optional(line) : std::nullopt;
}

/// What stands behind the '#'.
static std::optional<ProgramLine> readDirective(StringRef rest) {
  rest = rest.ltrim();
  StringRef word = takeName(rest);
  ProgramLine line;
  if (word == "define") {
    rest = rest.ltrim();
    line.name = takeName(rest);
    if (line.name.empty())
      return std::nullopt;
    // Those with parameters have no value.
    if (!rest.empty() && isSpace(rest[0])) {
      auto [value, comment] = splitComment(rest);
      line.value = value;
      line.tune = takeTune(comment);
    }
    return line;
  }
  rest = rest.ltrim();
  if (rest.consume_front("="))
    return readAlias(word, rest);
  auto [text, comment] = splitComment(rest);
  if (word == "undef") {
    line.kind = Kind::Undefine;
    line.name = takeName(text);
    return line;
  }
  static const std::pair<StringRef, Kind> kinds[] = {
      {"if", Kind::If},       {"ifdef", Kind::If},  {"ifndef", Kind::If},
      {"elif", Kind::ElseIf}, {"else", Kind::Else}, {"endif", Kind::EndIf}};
  const auto *found =
      find_if(kinds, [&](const auto &each) { return each.first == word; });
  if (found == std::end(kinds))
    return std::nullopt;
  line.kind = found->second;
  line.condition = text.str();
  if (word == "ifdef" || word == "ifndef")
    line.condition =
        (word == "ifdef" ? "defined(" : "!defined(") + text.str() + ")";
  return line;
}

/// `constexpr int NAME = VALUE;`.
static std::optional<ProgramLine> readConstant(StringRef rest) {
  bool isConstant = false;
  for (bool again = true; again;) {
    again = false;
    for (StringRef word : {"static ", "inline ", "constexpr ", "const "})
      if (rest.consume_front(word)) {
        isConstant |= word == "constexpr " || word == "const ";
        again = true;
        rest = rest.ltrim();
      }
  }
  if (!isConstant)
    return std::nullopt;
  bool hasType = false;
  for (StringRef type : {"unsigned ", "int ", "long ", "u32 ", "i32 ", "u64 ",
                         "i64 ", "size_t ", "long "})
    if (rest.consume_front(type)) {
      hasType = true;
      rest = rest.ltrim();
    }
  if (!hasType)
    return std::nullopt;
  ProgramLine line;
  line.name = takeName(rest);
  rest = rest.ltrim();
  if (line.name.empty() || !rest.consume_front("="))
    return std::nullopt;
  size_t end = rest.find(';');
  if (end == StringRef::npos)
    return std::nullopt;
  auto [behind, comment] = splitComment(rest.substr(end + 1));
  if (!behind.empty())
    return std::nullopt;
  line.value = rest.take_front(end).trim();
  line.tune = takeTune(comment);
  return line;
}

std::optional<ProgramLine> families::readProgramLine(StringRef line) {
  StringRef rest = line.trim();
  return rest.consume_front("#") ? readDirective(rest) : readConstant(rest);
}
