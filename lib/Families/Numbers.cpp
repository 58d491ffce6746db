//===- Numbers.cpp - Numbers that a program declares ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Numbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;
using namespace fastk;

/// More than anybody tunes by hand; what follows is passed over.
static constexpr size_t kMaxTuned = 16, kMaxValues = 32, kMaxNames = 1000;

namespace {
/// A line that gives an integer a name.
struct Definition {
  StringRef name;
  /// Without comments.
  StringRef value;
  /// What stands behind "tune:"; empty: nothing.
  StringRef tune;
};
} // namespace

/// The value up to a comment, and the comment.
static std::pair<StringRef, StringRef> splitComment(StringRef text) {
  size_t at = std::min(text.find("//"), text.find("/*"));
  if (at == StringRef::npos)
    return {text.trim(), ""};
  StringRef comment = text.substr(at + 2).trim();
  comment.consume_back("*/");
  return {text.take_front(at).trim(), comment.trim()};
}

static StringRef takeName(StringRef &text) {
  StringRef name =
      text.take_while([](char c) { return isAlnum(c) || c == '_'; });
  text = text.drop_front(name.size());
  return name.empty() || isDigit(name[0]) ? StringRef() : name;
}

/// `#define NAME VALUE` or `constexpr int NAME = VALUE;`.
static std::optional<Definition> readDefinition(StringRef line) {
  Definition result;
  StringRef rest = line.trim();
  if (rest.consume_front("#")) {
    rest = rest.ltrim();
    if (!rest.consume_front("define ") && !rest.consume_front("define\t"))
      return std::nullopt;
    rest = rest.ltrim();
    result.name = takeName(rest);
    // Not one with parameters.
    if (result.name.empty() || rest.empty() || !isSpace(rest[0]))
      return std::nullopt;
  } else {
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
    result.name = takeName(rest);
    rest = rest.ltrim();
    if (result.name.empty() || !rest.consume_front("="))
      return std::nullopt;
    size_t end = rest.find(';');
    if (end == StringRef::npos)
      return std::nullopt;
    auto [value, comment] = splitComment(rest.substr(end + 1));
    if (!value.empty())
      return std::nullopt;
    result.value = rest.take_front(end).trim();
    if (comment.consume_front("tune:"))
      result.tune = comment;
    return result;
  }
  auto [value, comment] = splitComment(rest);
  result.value = value;
  if (comment.consume_front("tune:"))
    result.tune = comment;
  return result.value.empty() ? std::nullopt : std::optional(result);
}

std::optional<int64_t> families::readInteger(StringRef text) {
  text = text.trim();
  int64_t value;
  if (text.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

families::ProgramNumbers families::readNumbers(StringRef program) {
  ProgramNumbers numbers;
  std::set<std::string> ambiguous;
  while (!program.empty() && numbers.names.size() < kMaxNames) {
    auto [line, rest] = program.split('\n');
    program = rest;
    std::optional<Definition> definition = readDefinition(line);
    if (!definition)
      continue;
    std::string name = definition->name.str(), ignored;
    std::optional<int64_t> value =
        evaluateExpression(definition->value, numbers.names, ignored);
    auto known = numbers.names.find(name);
    if (known != numbers.names.end() && value != known->second)
      ambiguous.insert(name);
    if (!value)
      continue;
    numbers.names[name] = *value;
    std::optional<int64_t> plain = readInteger(definition->value);
    if (definition->tune.empty() || !plain ||
        numbers.tuned.size() >= kMaxTuned ||
        any_of(numbers.tuned,
               [&](const TunedParameter &each) { return each.name == name; }))
      continue;
    TunedParameter parameter{name, *plain, {*plain}};
    SmallVector<StringRef> values;
    definition->tune.split(values, ',');
    for (StringRef text : ArrayRef(values).take_front(kMaxValues))
      if (std::optional<int64_t> each = readInteger(text))
        parameter.values.push_back(*each);
    sort(parameter.values);
    parameter.values.erase(llvm::unique(parameter.values),
                           parameter.values.end());
    if (parameter.values.size() > 1)
      numbers.tuned.push_back(std::move(parameter));
  }
  for (const std::string &name : ambiguous) {
    numbers.names.erase(name);
    llvm::erase_if(numbers.tuned, [&](const TunedParameter &each) {
      return each.name == name;
    });
  }
  return numbers;
}

families::ProgramDefinitions::ProgramDefinitions(StringRef program) {
  while (!program.empty() && definitions.size() < kMaxNames) {
    auto [line, rest] = program.split('\n');
    program = rest;
    if (std::optional<Definition> definition = readDefinition(line))
      definitions.emplace_back(definition->name.str(), definition->value.str());
  }
}

families::Names
families::ProgramDefinitions::evaluate(const Names &parameters) const {
  Names names = parameters;
  for (const auto &[name, expression] : definitions) {
    std::string ignored;
    if (parameters.count(name))
      continue;
    if (std::optional<int64_t> value =
            evaluateExpression(expression, names, ignored))
      names[name] = *value;
  }
  return names;
}

std::string families::withValue(StringRef program, StringRef name,
                                int64_t value) {
  std::string result;
  bool isDone = false;
  while (!program.empty()) {
    auto [line, rest] = program.split('\n');
    bool hasEnd = line.size() < program.size();
    program = rest;
    std::optional<Definition> definition =
        isDone ? std::nullopt : readDefinition(line);
    if (definition && definition->name == name && !definition->tune.empty() &&
        readInteger(definition->value)) {
      size_t at = definition->value.data() - line.data();
      result += line.take_front(at).str() + std::to_string(value) +
                line.substr(at + definition->value.size()).str();
      isDone = true;
    } else {
      result += line;
    }
    if (hasEnd)
      result += '\n';
  }
  return result;
}
