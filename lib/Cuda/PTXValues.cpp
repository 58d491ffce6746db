//===- PTXValues.cpp - Values that a thread computes alike ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXValues.h"
#include <algorithm>

using namespace fastk::cuda;

static bool isRegister(PTXToken token) {
  char c = token[0];
  return c == '%' || c == '_' || c == '$' || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

/// Registers that the machine sets, and never changes.
static bool isOfThread(PTXToken token) {
  for (std::string_view name :
       {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%cluster"})
    if (token.compare(0, name.size(), name) == 0)
      return true;
  return false;
}

/// Equal operands give equal results. The leader that elect.sync elects among
/// the same threads is the same, says the PTX manual.
static bool isPure(const PTXStatement &each) {
  for (const char *name :
       {"mov",  "setp",  "set",  "selp", "and", "or",   "xor", "not",
        "shl",  "shr",   "add",  "sub",  "mul", "mad",  "min", "max",
        "div",  "rem",   "cvt",  "bfe",  "bfi", "cvta", "neg", "abs",
        "lop3", "elect", "prmt", "popc", "clz"})
    if (each.isA(name))
      return true;
  return each.isA("ld.param") || each.isA("shfl.sync");
}

/// How many tokens behind the opcode belong to its first operand, the result.
static size_t resultEnd(const PTXStatement &each) {
  int depth = 0;
  for (size_t i = 1; i < each.tokens.size(); ++i) {
    PTXToken token = each.tokens[i];
    depth += token == "{" || token == "[";
    depth -= token == "}" || token == "]";
    if (token == "," && depth == 0)
      return i;
  }
  return each.tokens.size();
}

PTXValues::PTXValues(const PTXFunction &function) : function(function) {
  for (size_t i = 0; i < function.statements.size(); ++i) {
    const PTXStatement &each = function.statements[i];
    for (size_t k = 1; k < resultEnd(each); ++k)
      if (isRegister(each.tokens[k]))
        setters[each.tokens[k]].push_back(i);
  }
}

std::string PTXValues::of(PTXToken name, int depth) const {
  constexpr int deepest = 12;
  constexpr size_t longest = 600;
  if (!isRegister(name) || isOfThread(name))
    return std::string(name);
  auto known = setters.find(name);
  if (known == setters.end() || known->second.size() != 1 || depth > deepest)
    return "";
  const PTXStatement &each = function.statements[known->second.front()];
  if (each.isGuarded || !isPure(each))
    return "";
  std::string text = std::string(each.opcode()) + "(";
  size_t end = resultEnd(each);
  // Which of its results: "%p1|%p2".
  text +=
      std::to_string(std::find(each.tokens.begin(), each.tokens.end(), name) -
                     each.tokens.begin());
  for (size_t k = end; k < each.tokens.size() && text.size() < longest; ++k) {
    // A parameter, or a variable's address.
    bool isName = each.isA("ld.param") || setters.count(each.tokens[k]) == 0;
    bool isSpecial = each.tokens[k][0] == '%';
    std::string part = isName && !isSpecial ? std::string(each.tokens[k])
                                            : of(each.tokens[k], depth + 1);
    if (part.empty())
      return "";
    text += " " + part;
  }
  return text.size() < longest ? text + ")" : "";
}

/// Which statements a thread may come to from the first, by all ways but one:
/// from \p jump to the \p way-th that may follow it.
static std::vector<char> reachedWithout(const PTXFunction &function,
                                        size_t jump, size_t way) {
  std::vector<char> isReached(function.statements.size(), 0);
  std::vector<size_t> work = {0};
  isReached[0] = 1;
  while (!work.empty()) {
    size_t at = work.back();
    work.pop_back();
    const std::vector<size_t> &next = function.statements[at].next;
    for (size_t i = 0; i < next.size(); ++i)
      if (!isReached[next[i]] && !(at == jump && i == way)) {
        isReached[next[i]] = 1;
        work.push_back(next[i]);
      }
  }
  return isReached;
}

PTXConditions fastk::cuda::conditionsAt(const PTXFunction &function,
                                        const PTXValues &values, size_t at) {
  PTXConditions conditions;
  const PTXStatement &own = function.statements[at];
  if (std::string text = own.isGuarded ? values.of(own.guard) : "";
      !text.empty())
    conditions[text] = !own.isGuardNegated;
  for (size_t i = 0; i < function.statements.size(); ++i) {
    const PTXStatement &each = function.statements[i];
    if (!each.isGuarded || !each.isA("bra") || each.next.size() != 2)
      continue;
    std::string text = values.of(each.guard);
    if (text.empty())
      continue;
    // Of the ways from this jump one leads here, in whatever turn.
    for (size_t way : {0, 1})
      if (!reachedWithout(function, i, way)[at])
        conditions[text] = (way == 0) != each.isGuardNegated;
  }
  return conditions;
}

Executed fastk::cuda::isExecuted(const PTXStatement &each,
                                 const PTXValues &values,
                                 const PTXConditions &conditions) {
  if (!each.isGuarded)
    return Executed::Always;
  auto known = conditions.find(values.of(each.guard));
  if (known == conditions.end())
    return Executed::Perhaps;
  return known->second != each.isGuardNegated ? Executed::Always
                                              : Executed::Never;
}

std::vector<size_t> fastk::cuda::nextUnder(const PTXFunction &function,
                                           const PTXValues &values,
                                           const PTXConditions &conditions,
                                           size_t at) {
  const PTXStatement &each = function.statements[at];
  if (!each.isA("bra") || each.next.size() != 2)
    return each.next;
  switch (isExecuted(each, values, conditions)) {
  case Executed::Always:
    return {each.next[0]};
  case Executed::Never:
    return {each.next[1]};
  case Executed::Perhaps:
    break;
  }
  return each.next;
}
