//===- Numbers.cpp - Numbers that a program declares ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramLine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;
using namespace fastk;
using families::Names;
using families::ProgramConditions;
using families::ProgramLine;

/// More than anybody tunes by hand; what follows is passed over.
static constexpr size_t kMaxTuned = 16, kMaxValues = 32, kMaxNames = 1000;

std::optional<int64_t> families::readInteger(StringRef text) {
  text = text.trim();
  int64_t value;
  if (text.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

/// Gives a name its value, or takes it. The value, where it is known.
static std::optional<int64_t> define(const ProgramLine &line, Names &names) {
  std::string ignored;
  if (line.kind == ProgramLine::Kind::Undefine) {
    names.erase(line.name.str());
    return std::nullopt;
  }
  std::optional<int64_t> value =
      families::evaluateExpression(line.value, names, ignored);
  if (value)
    names[line.name.str()] = *value;
  return value;
}

families::ProgramNumbers families::readNumbers(StringRef program) {
  ProgramNumbers numbers;
  std::set<std::string> ambiguous;
  ProgramConditions conditions;
  while (!program.empty() && numbers.names.size() < kMaxNames) {
    auto [line, rest] = program.split('\n');
    program = rest;
    std::optional<ProgramLine> definition = readProgramLine(line);
    if (!definition || !conditions.counts(*definition, numbers.names))
      continue;
    std::string name = definition->name.str();
    auto known = numbers.names.find(name);
    std::optional<int64_t> before = known == numbers.names.end()
                                        ? std::nullopt
                                        : std::optional(known->second);
    std::optional<int64_t> value = define(*definition, numbers.names);
    if (before && value != before &&
        definition->kind == ProgramLine::Kind::Define)
      ambiguous.insert(name);
    if (!value)
      continue;
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

families::ProgramDefinitions::ProgramDefinitions(StringRef program)
    : program(program.str()),
      conditions(std::make_unique<ProgramConditions>()) {
  StringRef rest = this->program;
  while (!rest.empty() && lines.size() < kMaxNames) {
    auto [line, behind] = rest.split('\n');
    rest = behind;
    if (std::optional<ProgramLine> read = readProgramLine(line))
      lines.push_back(std::move(*read));
  }
}

families::ProgramDefinitions::~ProgramDefinitions() = default;

/// Whether an expression may have the name in it.
static bool mayName(StringRef text, StringRef name) {
  return text.contains(name);
}

/// The lines that define each name, or take it.
static StringMap<unsigned> countNames(ArrayRef<ProgramLine> lines) {
  StringMap<unsigned> counts;
  for (const ProgramLine &line : lines)
    if (line.kind == ProgramLine::Kind::Define ||
        line.kind == ProgramLine::Kind::Undefine)
      ++counts[line.name];
  return counts;
}

void families::ProgramDefinitions::fixAllBut(
    ArrayRef<TunedParameter> parameters) {
  std::vector<std::string> moving;
  for (const TunedParameter &each : parameters)
    moving.push_back(each.name);
  auto moves = [&](const ProgramLine &line) {
    return any_of(moving, [&](StringRef name) {
      return line.name == name || mayName(line.value, name) ||
             mayName(line.condition, name);
    });
  };
  for (; fixedLines < lines.size() && !moves(lines[fixedLines]); ++fixedLines)
    if (conditions->counts(lines[fixedLines], fixed))
      define(lines[fixedLines], fixed);
  // Further on, what is under no condition, and said once.
  StringMap<unsigned> counts = countNames(lines);
  std::vector<ProgramLine> left(lines.begin(), lines.begin() + fixedLines);
  bool isUnconditional = conditions->isOutermost();
  int depth = 0;
  for (ProgramLine &line : drop_begin(lines, fixedLines)) {
    depth += line.kind == ProgramLine::Kind::If;
    depth -= line.kind == ProgramLine::Kind::EndIf;
    // A condition before it does not know it yet.
    bool isAlone = line.kind == ProgramLine::Kind::Define && depth == 0 &&
                   isUnconditional && counts.lookup(line.name) == 1 &&
                   none_of(left, [&](const ProgramLine &before) {
                     return mayName(before.condition, line.name);
                   });
    if (isAlone && !moves(line) && define(line, fixed)) {
      conditions->counts(line, fixed);
      continue;
    }
    if (!line.name.empty())
      moving.push_back(line.name.str());
    left.push_back(std::move(line));
  }
  lines = std::move(left);
}

families::Names
families::ProgramDefinitions::evaluate(const Names &parameters) const {
  Names names = parameters;
  names.insert(fixed.begin(), fixed.end());
  ProgramConditions conditions = *this->conditions;
  for (const ProgramLine &line : drop_begin(lines, fixedLines)) {
    if (conditions.counts(line, names) && !parameters.count(line.name.str()))
      define(line, names);
  }
  return names;
}

families::Names families::ProgramDefinitions::fixedNames() const {
  Names names = fixed;
  for (const ProgramLine &line : drop_begin(lines, fixedLines))
    names.erase(line.name.str());
  return names;
}

std::string families::withValue(StringRef program, StringRef name,
                                int64_t value) {
  std::string result;
  Names names;
  ProgramConditions conditions;
  bool isDone = false;
  while (!program.empty()) {
    auto [line, rest] = program.split('\n');
    bool hasEnd = line.size() < program.size();
    program = rest;
    std::optional<ProgramLine> definition =
        isDone ? std::nullopt : readProgramLine(line);
    bool counts = definition && conditions.counts(*definition, names);
    if (counts && definition->name == name && !definition->tune.empty() &&
        readInteger(definition->value)) {
      size_t at = definition->value.data() - line.data();
      result += line.take_front(at).str() + std::to_string(value) +
                line.substr(at + definition->value.size()).str();
      isDone = true;
    } else {
      result += line;
      if (counts)
        define(*definition, names);
    }
    if (hasEnd)
      result += '\n';
  }
  return result;
}
