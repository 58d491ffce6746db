//===- PTXFunctions.cpp - The functions of PTX and their flow -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXFunctions.h"
#include <map>

using namespace fastk::cuda;

bool PTXStatement::has(std::string_view part) const {
  std::string_view word = opcode();
  for (size_t at = word.find('.'); at != word.npos; at = word.find('.', at)) {
    size_t end = word.find_first_of(".:", ++at);
    if (word.substr(at, end == word.npos ? end : end - at) == part)
      return true;
  }
  return false;
}

bool PTXStatement::isA(std::string_view name) const {
  std::string_view word = opcode();
  return word.compare(0, name.size(), name) == 0 &&
         (word.size() == name.size() || word[name.size()] == '.' ||
          word[name.size()] == ':');
}

static bool isLabelBegin(PTXToken token) {
  char c = token[0];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}

namespace {

/// Reads one function's body. Labels are local to their braces, since the text
/// of one `asm` may stand in a function many times.
class BodyReader {
public:
  BodyReader(std::string_view ptx, const std::vector<PTXToken> &tokens,
             size_t &at, PTXFunction &function)
      : ptx(ptx), tokens(tokens), at(at), function(function) {}

  bool read(std::string &error) {
    parents = {0};
    size_t scope = 0;
    for (; at < tokens.size(); ++at) {
      PTXToken token = tokens[at];
      if (token == ";")
        continue;
      if (token == "{") {
        parents.push_back(scope);
        scope = parents.size() - 1;
        ++depth;
      } else if (token == "}") {
        if (depth-- == 0) {
          ++at;
          return connect(error);
        }
        scope = parents[scope];
      } else if (isLabelBegin(token) && at + 1 < tokens.size() &&
                 tokens[at + 1] == ":") {
        labels[{scope, token}] = function.statements.size();
        lastLabel = token;
        ++at;
      } else {
        statement(scope);
      }
    }
    error = "a function in the PTX has no end";
    return false;
  }

private:
  size_t offset(size_t token) const {
    return size_t(tokens[token].data() - ptx.data());
  }

  /// Leaves `at` on the ';'.
  void statement(size_t scope) {
    PTXStatement read;
    read.begin = offset(at);
    if (tokens[at] == "@") {
      read.isGuarded = true;
      read.isGuardNegated = at + 1 < tokens.size() && tokens[at + 1] == "!";
      at += read.isGuardNegated ? 3 : 2;
      if (at <= tokens.size())
        read.guard = tokens[at - 1];
    }
    int braces = 0;
    for (; at < tokens.size(); ++at) {
      braces += tokens[at] == "{";
      braces -= tokens[at] == "}";
      if (tokens[at] == ";" && braces <= 0)
        break;
      read.tokens.push_back(tokens[at]);
    }
    if (read.tokens.empty())
      return;
    read.end = at < tokens.size() ? offset(at) + 1 : ptx.size();
    if (read.tokens[0] == ".branchtargets")
      tables[lastLabel] = read.tokens;
    if (read.tokens[0][0] == '.')
      return;
    scopes.push_back(scope);
    function.statements.push_back(std::move(read));
  }

  bool find(size_t scope, PTXToken label, size_t &target) const {
    for (;; scope = parents[scope]) {
      if (auto known = labels.find({scope, label}); known != labels.end()) {
        target = known->second;
        return true;
      }
      if (scope == 0)
        return false;
    }
  }

  bool connect(std::string &error) {
    for (size_t i = 0; i < function.statements.size(); ++i) {
      PTXStatement &each = function.statements[i];
      std::vector<PTXToken> targets;
      if (each.isA("bra") && each.tokens.size() > 1)
        targets = {each.tokens[1]};
      if (each.isA("brx"))
        for (PTXToken token : tables[each.tokens.back()])
          if (isLabelBegin(token))
            targets.push_back(token);
      for (PTXToken label : targets) {
        size_t target = 0;
        if (!find(scopes[i], label, target))
          return error = "the PTX jumps to '" + std::string(label) +
                         "', which is nowhere",
                 false;
        if (target < function.statements.size())
          each.next.push_back(target);
      }
      bool isLast = each.isA("bra") || each.isA("brx") || each.isA("ret") ||
                    each.isA("exit") || each.isA("trap");
      if ((!isLast || each.isGuarded) && i + 1 < function.statements.size())
        each.next.push_back(i + 1);
    }
    return true;
  }

  std::string_view ptx;
  const std::vector<PTXToken> &tokens;
  size_t &at;
  PTXFunction &function;
  int depth = 0;
  /// Of each scope the one around it, of each statement its scope.
  std::vector<size_t> parents, scopes;
  std::map<std::pair<size_t, PTXToken>, size_t> labels;
  std::map<PTXToken, std::vector<PTXToken>> tables;
  PTXToken lastLabel;
};

} // namespace

/// The name behind .entry, or behind .func and its result list.
static std::string_view nameIn(const std::vector<PTXToken> &head) {
  size_t i = 0;
  while (i < head.size() && head[i] != ".func" && head[i] != ".entry")
    ++i;
  if (++i < head.size() && head[i] == "(")
    while (i < head.size() && head[i++] != ")")
      ;
  while (i < head.size() && head[i][0] == '.')
    ++i;
  return i < head.size() ? head[i] : std::string_view();
}

bool fastk::cuda::readPTXFunctions(std::string_view ptx,
                                   std::vector<PTXFunction> &functions,
                                   std::string &error) {
  std::vector<PTXToken> tokens, head;
  if (!tokenizePTX(ptx, tokens, error))
    return false;
  auto says = [&](std::string_view word) {
    for (PTXToken token : head)
      if (token == word)
        return true;
    return false;
  };
  int braces = 0;
  for (size_t at = 0; at < tokens.size();) {
    PTXToken token = tokens[at++];
    if (token == ".version" || token == ".address_size" || token == ".target") {
      head.clear();
      continue;
    }
    if (token == "{" && braces == 0 && (says(".entry") || says(".func"))) {
      functions.emplace_back();
      functions.back().name = nameIn(head);
      functions.back().isEntry = says(".entry");
      if (!BodyReader(ptx, tokens, at, functions.back()).read(error))
        return false;
      head.clear();
      continue;
    }
    braces += token == "{";
    braces -= token == "}";
    if (token == ";" && braces == 0)
      head.clear();
    else
      head.push_back(token);
  }
  return true;
}
