//===- CNames.cpp - Other names for what a C program defines --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CNames.h"
#include "CMacros.h"
#include "CText.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;
using families::CMacros;
using families::CToken;
using families::readTokens;
using Kind = CToken::Kind;

/// Tokens of a directive's own text.
static std::vector<CToken> partsOf(StringRef directive) {
  return readTokens(directive, /*hasDirectives=*/false);
}

//===----------------------------------------------------------------------===//
// Pasted names
//===----------------------------------------------------------------------===//

/// Of tokens of a directive: whether `##` begins at that one.
static bool isPaste(ArrayRef<CToken> tokens, size_t at) {
  return at + 1 < tokens.size() && tokens[at].text == "#" &&
         tokens[at + 1].text == "#";
}

/// Whether a macro makes a name of two there, as in `STRIDE_##axis`, that is
/// one of `names`: then the suffix belongs behind it.
static bool isNamePasted(ArrayRef<CToken> tokens, size_t at,
                         const StringSet<> &names) {
  if (tokens[at].kind != Kind::Name || !isPaste(tokens, at + 1) ||
      at + 3 >= tokens.size() || tokens[at + 3].kind != Kind::Name ||
      isPaste(tokens, at + 4) || (at >= 2 && isPaste(tokens, at - 2)))
    return false;
  return any_of(names, [&](const auto &name) {
    return name.getKey().size() > tokens[at].text.size() &&
           name.getKey().starts_with(tokens[at].text);
  });
}

/// Whether a macro makes a name of two that cannot be told to be the program's
/// own.
static bool pastesNames(ArrayRef<CToken> parts, const StringSet<> &names) {
  for (size_t i = 0; i < parts.size(); ++i)
    if (isPaste(parts, i) && (i == 0 || !isNamePasted(parts, i - 1, names)))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void collectNames(ArrayRef<CToken> tokens, StringSet<> &names) {
  for (const CToken &token : tokens) {
    if (token.kind == Kind::Directive)
      collectNames(partsOf(token.text), names);
    else if (token.kind == Kind::Name)
      names.insert(token.text);
  }
}

StringSet<> families::namesIn(StringRef program) {
  StringSet<> names;
  collectNames(readTokens(program), names);
  return names;
}

/// Whether a directive's words mean themselves.
static bool isKept(StringRef directive) {
  StringRef kind = families::directiveOf(directive);
  StringRef rest = families::restOfDirective(directive);
  return kind == "error" || kind == "warning" || kind == "line" ||
         (kind.starts_with("include") &&
          (rest.starts_with("<") || rest.starts_with("\"")));
}

/// A comment behind a number. Whoever changes the number of a part changes what
/// the program around it has to give it: it is none that a search may vary.
static std::string commentOf(StringRef text) {
  StringRef values = text.drop_front(2).ltrim();
  return values.consume_front("tune:") ? "// one of" + values.str()
                                       : text.str();
}

static std::string renameAll(ArrayRef<CToken> tokens, const StringSet<> &names,
                             StringRef suffix, bool isDirective) {
  std::string result;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const CToken &token = tokens[i];
    if (isDirective && isNamePasted(tokens, i, names)) {
      result += (token.text + "##" + tokens[i + 3].text + "##" + suffix).str();
      i += 3;
      continue;
    }
    if (token.kind == Kind::Directive && !isKept(token.text))
      result += renameAll(partsOf(token.text), names, suffix,
                          /*isDirective=*/true);
    else if (token.kind == Kind::Comment)
      result += commentOf(token.text);
    else
      result += token.text;
    if (token.kind == Kind::Name && names.contains(token.text))
      result += suffix;
  }
  return result;
}

std::string families::renamed(StringRef text, const StringSet<> &names,
                              StringRef suffix) {
  return renameAll(readTokens(text), names, suffix, /*isDirective=*/false);
}

//===----------------------------------------------------------------------===//
// What keeps its name
//===----------------------------------------------------------------------===//

/// Words of OpenMP and clang in pragmas, where a program's name would be
/// renamed in their place.
static bool isPragmaWord(StringRef word) {
  static constexpr StringLiteral words[] = {"GCC",
                                            "ON",
                                            "OFF",
                                            "STDC",
                                            "acquire",
                                            "aligned",
                                            "allocate",
                                            "assume_safety",
                                            "atomic",
                                            "barrier",
                                            "capture",
                                            "clang",
                                            "close",
                                            "collapse",
                                            "contract",
                                            "copyin",
                                            "copyprivate",
                                            "critical",
                                            "declare",
                                            "depend",
                                            "diagnostic",
                                            "disable",
                                            "distribute",
                                            "dynamic",
                                            "enable",
                                            "fast",
                                            "final",
                                            "firstprivate",
                                            "flush",
                                            "fp",
                                            "full",
                                            "grainsize",
                                            "guided",
                                            "ignored",
                                            "in",
                                            "inout",
                                            "interleave",
                                            "lastprivate",
                                            "linear",
                                            "loop",
                                            "masked",
                                            "master",
                                            "max",
                                            "mergeable",
                                            "min",
                                            "monotonic",
                                            "nogroup",
                                            "none",
                                            "nonmonotonic",
                                            "nontemporal",
                                            "nounroll",
                                            "nowait",
                                            "num_tasks",
                                            "num_threads",
                                            "off",
                                            "omp",
                                            "on",
                                            "optimize",
                                            "order",
                                            "ordered",
                                            "out",
                                            "parallel",
                                            "pop",
                                            "precise",
                                            "primary",
                                            "priority",
                                            "private",
                                            "proc_bind",
                                            "push",
                                            "read",
                                            "reassociate",
                                            "reciprocal",
                                            "reduction",
                                            "relaxed",
                                            "release",
                                            "runtime",
                                            "safelen",
                                            "schedule",
                                            "section",
                                            "sections",
                                            "seq_cst",
                                            "shared",
                                            "simd",
                                            "simdlen",
                                            "single",
                                            "spread",
                                            "target",
                                            "task",
                                            "taskgroup",
                                            "taskloop",
                                            "taskwait",
                                            "taskyield",
                                            "teams",
                                            "threadprivate",
                                            "threads",
                                            "unroll",
                                            "unroll_count",
                                            "untied",
                                            "update",
                                            "vectorize",
                                            "vectorize_width",
                                            "interleave_count",
                                            "warning",
                                            "write"};
  return is_contained(words, word);
}

namespace {
/// Looks for a place where a name is, and a suffix cannot be.
class NameChecker {
public:
  NameChecker(StringRef program, const StringSet<> &names)
      : program(program), names(names) {}

  bool check(ArrayRef<CToken> tokens, bool isDirective) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const CToken &token = tokens[i];
      if (token.kind == Kind::Directive && !checkDirective(token.text))
        return false;
      if (!isDirective && token.kind == Kind::Other && token.text == "\\")
        return fail(token.text, "a backslash that joins lines stands outside "
                                "of directives: leave it out");
      if (token.kind == Kind::Name && isReadString(token.text) &&
          !checkStrings(tokens.drop_front(i + 1)))
        return false;
    }
    return true;
  }

  std::string problem;

private:
  bool fail(StringRef token, const Twine &rule) {
    problem = "in " + families::quoteLine(program, token) + ": " + rule.str();
    return false;
  }

  bool checkDirective(StringRef directive) {
    StringRef kind = families::directiveOf(directive);
    std::vector<CToken> parts = partsOf(directive);
    if (kind == "pragma")
      return checkPragma(directive, parts);
    if (kind == "define" && pastesNames(parts, names))
      return fail(directive, "the program makes names with ## that it does "
                             "not define: as a part of another one it can "
                             "have no other names");
    return check(parts, /*isDirective=*/true);
  }

  bool checkPragma(StringRef directive, ArrayRef<CToken> parts) {
    StringRef last;
    for (const CToken &part : parts) {
      StringRef word = part.text;
      if (word == "push_macro" || word == "pop_macro")
        return fail(directive, "a string names a macro: leave it out");
      if (last == "declare" && (word == "reduction" || word == "mapper"))
        return fail(directive, "what a pragma declares is not understood: "
                               "write it out where it is used");
      if (part.kind == Kind::Name && names.contains(word) && isPragmaWord(word))
        return fail(directive, "'" + word +
                                   "' is a word of pragmas, and the "
                                   "program defines it: name that "
                                   "otherwise");
      if (!part.isBlank())
        last = word;
    }
    return true;
  }

  /// What has strings that the compiler reads, in parentheses.
  static bool isReadString(StringRef word) {
    return word == "_Pragma" || CMacros::isAttribute(word) ||
           families::isAssembly(word);
  }
  bool checkStrings(ArrayRef<CToken> tokens) {
    int open = 0;
    for (const CToken &token : tokens) {
      open += token.text == "(";
      open -= token.text == ")";
      if (open < 1 && token.text == ")")
        return true;
      if (!token.isString())
        continue;
      for (const CToken &part : partsOf(token.text.drop_front().drop_back()))
        if (part.kind == Kind::Name && names.contains(part.text))
          return fail(token.text,
                      "a string that the compiler reads has the program's "
                      "name '" +
                          part.text +
                          "': write a #pragma, or name it "
                          "otherwise");
    }
    return true;
  }

  StringRef program;
  const StringSet<> &names;
};
} // namespace

bool families::canRename(StringRef program, const StringSet<> &names,
                         std::string &why) {
  NameChecker checker(program, names);
  if (checker.check(readTokens(program), /*isDirective=*/false))
    return true;
  why = checker.problem;
  return false;
}
