//===- CPieces.cpp - What a C program declares, piece by piece ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPieces.h"
#include "CMacros.h"
#include "CTags.h"
#include "CText.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace fastk;
using families::CMacros;
using families::CName;
using families::CPiece;
using families::CToken;
using families::isAssembly;
using families::isQualifier;
using families::isTagWord;
using families::isType;
using families::isTypeOfParts;
using Kind = CToken::Kind;

/// Conditions and parentheses inside of each other, as many as people write.
static constexpr unsigned kMostNested = 64;

static bool isOpening(StringRef text) {
  return text == "(" || text == "[" || text == "{";
}

namespace {
/// Reads one piece after the other.
class PieceReader {
public:
  PieceReader(StringRef program, StringRef shared)
      : program(program), tokens(families::readTokens(program)),
        macros(tokens, families::readTokens(shared)) {}

  std::optional<std::vector<CPiece>> run(std::string &why) {
    std::vector<CPiece> pieces;
    while (at < tokens.size()) {
      CPiece piece;
      const char *begin = tokens[at].text.begin();
      if (!readPiece(piece, 0)) {
        why = problem;
        return std::nullopt;
      }
      piece.text = textFrom(begin);
      if (!piece.text.trim().empty())
        pieces.push_back(std::move(piece));
    }
    return pieces;
  }

private:
  //===--------------------------------------------------------------------===//
  // Tokens
  //===--------------------------------------------------------------------===//

  bool failAt(StringRef token, const Twine &rule) {
    if (problem.empty())
      problem = "in " + families::quoteLine(program, token) + ": " + rule.str();
    return false;
  }
  bool fail(const Twine &rule) {
    return failAt(tokens[std::min(at, tokens.size() - 1)].text, rule);
  }
  /// What was read since then.
  StringRef textFrom(const char *begin) const {
    return StringRef(begin, tokens[at - 1].text.end() - begin);
  }
  void skipBlanks() {
    while (at < tokens.size() && tokens[at].isBlank())
      ++at;
  }

  static bool isConditional(StringRef directive) {
    StringRef word = families::directiveOf(directive);
    return word.starts_with("if") || word.starts_with("el") || word == "endif";
  }
  /// The next token of a declaration; null: a condition, or the end.
  const CToken *tokenFrom(size_t place) const {
    for (; place < tokens.size(); ++place)
      if (tokens[place].kind == Kind::Directive
              ? isConditional(tokens[place].text)
              : !tokens[place].isBlank())
        break;
    return place < tokens.size() && tokens[place].kind != Kind::Directive
               ? &tokens[place]
               : nullptr;
  }
  /// Goes there; empty: there is none.
  StringRef word() {
    while (at < tokens.size()) {
      if (tokens[at].kind == Kind::Directive) {
        if (isConditional(tokens[at].text))
          return "";
        noteDirective(tokens[at].text);
      } else if (!tokens[at].isBlank()) {
        return tokens[at].text;
      }
      ++at;
    }
    return "";
  }
  /// The one behind that; and the one behind it.
  StringRef wordBehind(unsigned count = 1) {
    word();
    const CToken *token = tokenFrom(at);
    for (; count && token; --count)
      token = tokenFrom(token - tokens.data() + 1);
    return token ? token->text : "";
  }
  static bool isName(StringRef text) {
    return !text.empty() && (isAlpha(text[0]) || text[0] == '_');
  }
  bool isAttribute(StringRef text) const {
    return CMacros::isAttribute(text) || text == "_Pragma";
  }

  //===--------------------------------------------------------------------===//
  // Directives
  //===--------------------------------------------------------------------===//

  void noteDirective(StringRef directive) {
    if (families::directiveOf(directive) != "define")
      return;
    found->push_back({CMacros::nameOf(directive), directive});
    // What it declares where it stands in a body.
    SmallVector<CToken> parts;
    for (const CToken &token :
         families::readTokens(directive, /*hasDirectives=*/false))
      // A backslash ends a line.
      if (!token.isBlank() && token.text != "\\")
        parts.push_back(token);
    nameTags(parts, directive);
  }

  bool readPiece(CPiece &piece, unsigned nested) {
    skipBlanks();
    if (at == tokens.size())
      return true;
    found = &piece.names;
    if (tokens[at].kind != Kind::Directive)
      return readDeclaration();
    StringRef directive = tokens[at].text;
    StringRef kind = families::directiveOf(directive);
    if (!isConditional(directive)) {
      noteDirective(directive);
      ++at;
      return problem.empty();
    }
    if (!kind.starts_with("if"))
      return fail("there is no #if before it");
    if (nested == kMostNested)
      return fail("conditions are too deep inside of each other");
    // All up to its end.
    for (++at; at < tokens.size();) {
      skipBlanks();
      if (at == tokens.size())
        break;
      if (tokens[at].kind == Kind::Directive) {
        StringRef next = families::directiveOf(tokens[at].text);
        if (next == "endif" || next.starts_with("el")) {
          ++at;
          if (next == "endif")
            return true;
          continue;
        }
      }
      if (!readPiece(piece, nested + 1))
        return false;
    }
    return failAt(directive, "it has no #endif");
  }

  //===--------------------------------------------------------------------===//
  // Brackets
  //===--------------------------------------------------------------------===//

  using Brackets = SmallVector<char>;
  /// A condition inside of brackets: what is open before it, and at the end of
  /// each of its branches.
  struct Condition {
    Brackets before;
    std::optional<Brackets> end;
    bool hasElse = false;
  };

  bool passCondition(StringRef directive, Brackets &open,
                     SmallVectorImpl<Condition> &conditions) {
    StringRef kind = families::directiveOf(directive);
    if (kind.starts_with("if")) {
      conditions.push_back({open, std::nullopt, false});
      return true;
    }
    if (conditions.empty())
      return fail("a condition that begins before a declaration ends inside "
                  "of it: let it surround all of it, or lines of its body");
    Condition &last = conditions.back();
    bool isLast = kind == "endif";
    if ((last.end && *last.end != open) ||
        (isLast && !last.hasElse && last.before != open))
      return fail("branches of a condition leave other brackets open: let "
                  "each close what it opens");
    last.hasElse |= kind == "else";
    last.end = open;
    if (isLast)
      conditions.pop_back();
    else
      open = last.before;
    return true;
  }

  /// From a bracket to what is behind the one that closes it.
  bool skipBrackets() {
    StringRef first = tokens[at].text;
    Brackets open;
    SmallVector<Condition> conditions;
    do {
      if (at == tokens.size())
        return failAt(first, "nothing closes '" + first + "'");
      const CToken &token = tokens[at];
      if (token.kind == Kind::Directive) {
        if (!isConditional(token.text))
          noteDirective(token.text);
        else if (!passCondition(token.text, open, conditions))
          return false;
      } else if (isOpening(token.text)) {
        open.push_back(token.text == "(" ? ')' : token.text == "[" ? ']' : '}');
      } else if (token.kind == Kind::Other &&
                 StringRef(")]}").contains(token.text)) {
        if (open.empty() || open.pop_back_val() != token.text[0])
          return fail("nothing opens '" + token.text + "'");
      } else if (open.empty() && !token.isBlank()) {
        return fail("a condition ends behind what it closes: let it surround "
                    "whole declarations");
      }
      ++at;
    } while (!open.empty() || !conditions.empty());
    return true;
  }
  bool skipParenthesis() {
    if (word() != "(")
      return fail("a '(' is expected");
    return skipBrackets();
  }
  bool skipAttributes() {
    for (;;) {
      if (isAttribute(word())) {
        ++at;
        if (!skipParenthesis())
          return false;
      } else if (word() == "[" && wordBehind() == "[") {
        if (!skipBrackets())
          return false;
      } else {
        return true;
      }
    }
  }

  //===--------------------------------------------------------------------===//
  // Declarations
  //===--------------------------------------------------------------------===//

  bool readDeclaration() {
    const char *begin = tokens[at].text.begin();
    size_t first = at, known = found->size();
    size_t body = 0;
    if (!readDeclared(body))
      return false;
    SmallVector<CToken> outside;
    for (const CToken &token :
         ArrayRef(tokens).slice(first, (body ? body : at) - first))
      if (!token.isBlank() && token.kind != Kind::Directive)
        outside.push_back(token);
    StringRef text = textFrom(begin);
    nameTags(outside, text);
    for (CName &each : drop_begin(*found, known))
      if (each.declaration.empty())
        each.declaration = text;
    return problem.empty();
  }

  /// `body` is where a function's begins.
  bool readDeclared(size_t &body) {
    if (word() == ";") {
      ++at;
      return true;
    }
    if (word() == "_Static_assert" || word() == "static_assert") {
      ++at;
      return skipParenthesis() && expect(";");
    }
    if (isAssembly(word()))
      return fail("assembly outside of functions is not understood: leave it "
                  "out");
    Specifiers specifiers;
    if (!readSpecifiers(specifiers))
      return false;
    if (word() == ";") {
      ++at;
      return specifiers.hasTag ||
             failAt(tokens[at - 1].text,
                    "it declares nothing: what a macro declares is not seen, "
                    "so write it out");
    }
    for (bool isFirst = true;; isFirst = false) {
      Declarator declarator;
      if (!readDeclarator(declarator, 0) || !readBehind(declarator.name))
        return false;
      bool hasBody = word() == "{";
      if (hasBody && (!isFirst || !declarator.isFunction || specifiers.isType))
        return fail("a body is expected behind a function alone");
      bool isElsewhere = declarator.isFunction || specifiers.isExternal;
      found->push_back(
          {declarator.name, "",
           specifiers.isType || hasBody || word() == "=" || !isElsewhere});
      if (hasBody) {
        body = at;
        return skipBrackets();
      }
      if (word() == "=" && !skipValue())
        return false;
      if (word() == ",") {
        ++at;
        continue;
      }
      return expect(";",
                    " behind the declaration of '" + declarator.name + "'");
    }
  }

  /// Something is missing here.
  bool failExpected(const Twine &what) {
    if (at < tokens.size() && tokens[at].kind == Kind::Directive)
      return fail("a condition surrounds a part of a declaration: let it "
                  "surround all of it, or lines of its body");
    return fail(what + " is expected");
  }
  bool expect(StringRef text, const Twine &where = "") {
    if (word() != text)
      return failExpected("a '" + text + "'" + where);
    ++at;
    return true;
  }

  struct Specifiers {
    bool isType = false, isExternal = false, hasType = false, hasTag = false;
  };

  bool readSpecifiers(Specifiers &specifiers) {
    for (;;) {
      if (!skipAttributes())
        return false;
      StringRef text = word();
      if (!isName(text))
        break;
      if (isTypeOfParts(text) && wordBehind() == "(") {
        ++at;
        if (!skipParenthesis())
          return false;
        specifiers.hasType = true;
      } else if (isTagWord(text)) {
        if (!skipTag())
          return false;
        specifiers.hasType = specifiers.hasTag = true;
      } else if (isQualifier(text) || text == "_Atomic" || isType(text)) {
        specifiers.isType |= text == "typedef";
        specifiers.isExternal |= text == "extern";
        specifiers.hasType |= isType(text);
        ++at;
      } else {
        bool isSpecifier = false;
        if (!passName(specifiers.hasType, isSpecifier))
          return false;
        if (!isSpecifier)
          break;
      }
    }
    return specifiers.hasType || failExpected("a type");
  }

  /// A name among specifiers: a macro's, a type's, or what is declared.
  bool passName(bool &hasType, bool &isSpecifier) {
    StringRef name = word(), next = wordBehind();
    isSpecifier = true;
    if (macros.knows(name)) {
      CMacros::Type type = macros.typeOf(name);
      if (hasType && type == CMacros::Type::Named)
        return failMacro(name);
      hasType |= type != CMacros::Type::None;
      return passMacro();
    }
    isSpecifier = !hasType;
    if (hasType)
      return true;
    // Parameters begin with a type, and a pointer to a function with a star.
    if (next != "*" && !isName(next) &&
        !(next == "(" && (wordBehind(2) == "*" || wordBehind(2) == "^")))
      return fail("'" + name +
                  "' has no type: what a macro declares is not "
                  "seen, so write it out");
    hasType = true;
    ++at;
    return true;
  }

  /// A macro in place of specifiers or attributes, with its arguments.
  bool passMacro() {
    StringRef name = word();
    bool isCall = macros.isCalled(name) && wordBehind() == "(";
    if (isCall ? !macros.isAttributeMacro(name) : !macros.hasWordsAlone(name))
      return failMacro(name);
    ++at;
    return !isCall || skipParenthesis();
  }
  bool failMacro(StringRef name) {
    return fail("'" + name +
                "' is a macro, and what it declares is not seen: "
                "write it out");
  }

  /// struct Block : long { ... }
  bool skipTag() {
    ++at;
    if (!skipAttributes())
      return false;
    if (isName(word()))
      ++at;
    if (word() == ":") {
      ++at;
      while (isName(word()))
        ++at;
    }
    return word() != "{" || skipBrackets();
  }

  struct Declarator {
    StringRef name;
    bool isFunction = false;
    /// A pointer, an array or a function.
    bool isMade = false;
  };

  bool readDeclarator(Declarator &declarator, unsigned nested) {
    if (nested == kMostNested)
      return fail("parentheses are too deep inside of each other");
    bool isPointer = false;
    for (;;) {
      if (!skipAttributes())
        return false;
      StringRef text = word(), next = wordBehind();
      bool isStar = text == "*" || text == "^";
      isPointer |= isStar;
      if (isStar || isQualifier(text))
        ++at;
      else if (!macros.knows(text) || !isName(next))
        break;
      else if (macros.typeOf(text) != CMacros::Type::None)
        return failMacro(text);
      else if (!passMacro())
        return false;
    }
    if (word() == "(") {
      ++at;
      if (!readDeclarator(declarator, nested + 1) || !expect(")"))
        return false;
    } else {
      declarator.name = word();
      if (!isName(declarator.name) || isType(declarator.name) ||
          isTagWord(declarator.name))
        return failExpected("a name");
      if (macros.knows(declarator.name))
        return failMacro(declarator.name);
      ++at;
    }
    for (bool isCall = false; word() == "(" || word() == "[";) {
      if (isCall && word() == "(")
        return fail("a function makes no function: write parentheses around "
                    "no name but a pointer's");
      isCall = word() == "(";
      declarator.isFunction |= isCall && !declarator.isMade;
      declarator.isMade = true;
      if (!skipBrackets())
        return false;
    }
    declarator.isMade |= isPointer;
    return true;
  }

  /// Attributes behind a declarator, macros in place of them among them.
  bool readBehind(StringRef name) {
    for (;;) {
      if (!skipAttributes())
        return false;
      if (isAssembly(word()))
        return fail("a name that assembly gives '" + name +
                    "' stays the same: leave it out");
      if (!isName(word()))
        return true;
      if (!macros.isAttributeMacro(word()))
        return failExpected("a ';' behind the declaration of '" + name + "'");
      if (!passMacro())
        return false;
    }
  }

  bool skipValue() {
    for (++at; word() != "," && word() != ";";)
      if (word().empty())
        return failExpected("a ';' behind a value");
      else if (!isOpening(word()))
        ++at;
      else if (!skipBrackets())
        return false;
    return true;
  }

  /// Of types in words of a declaration.
  void nameTags(ArrayRef<CToken> words, StringRef declaration) {
    StringRef made = families::nameTags(words, declaration, macros, *found);
    if (!made.empty())
      failAt(made, "'" + made +
                       "' is a macro, and which constants it makes is "
                       "not seen: write them out");
  }

  StringRef program;
  std::vector<CToken> tokens;
  CMacros macros;
  size_t at = 0;
  /// Names of the piece that is read.
  std::vector<CName> *found = nullptr;
  std::string problem;
};
} // namespace

std::optional<std::vector<CPiece>>
families::readPieces(StringRef program, StringRef shared, std::string &why) {
  return PieceReader(program, shared).run(why);
}
