//===- Numbers.cpp - Numbers that a program declares ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Numbers.h"
#include "CNames.h"
#include "ProgramState.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <set>
#include <tuple>

using namespace llvm;
using namespace fastk;
using families::Names;
using families::NameTable;
using families::ProgramLine;
using families::ProgramState;
using families::ReadLine;

/// More than anybody tunes by hand; what follows is passed over.
static constexpr size_t kMaxTuned = 16, kMaxValues = 32, kMaxNames = 1000;

std::optional<int64_t> families::readInteger(StringRef text) {
  text = text.trim();
  int64_t value;
  if (text.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

static Names namesOf(const ProgramState &state, const NameTable &table) {
  Names names;
  for (unsigned place = 0; place < table.size(); ++place)
    if (std::optional<int64_t> number = state.numberOf(place))
      names[table.nameAt(place).str()] = *number;
  return names;
}

namespace {
/// A line as it stands, and as it was read.
struct Line {
  ProgramLine text;
  ReadLine read;
  bool isDefinition() const {
    return text.kind == ProgramLine::Kind::Define ||
           text.kind == ProgramLine::Kind::Undefine;
  }
};
} // namespace

/// The next line that defines or undefines a name and counts, of which the
/// state knows what is before it; `rest` begins behind it then.
static std::optional<Line> nextThatCounts(StringRef &rest, NameTable &table,
                                          ProgramState &state) {
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    std::optional<ProgramLine> text = families::readProgramLine(line);
    if (!text)
      continue;
    Line next{*text, ReadLine(*text, table)};
    if (state.counts(next.read))
      return next;
  }
  return std::nullopt;
}

families::ProgramNumbers families::readNumbers(StringRef program) {
  ProgramNumbers numbers;
  std::set<std::string> ambiguous;
  NameTable table;
  ProgramState state;
  size_t known = 0;
  while (known < kMaxNames) {
    std::optional<Line> line = nextThatCounts(program, table, state);
    if (!line)
      break;
    const auto &[definition, read] = *line;
    std::string name = definition.name.str();
    std::optional<int64_t> before = state.numberOf(read.place);
    std::optional<int64_t> value = state.define(read);
    known += value && !before;
    if (before && value != before &&
        definition.kind == ProgramLine::Kind::Define)
      ambiguous.insert(name);
    if (!value)
      continue;
    std::optional<int64_t> plain = readInteger(definition.value);
    if (definition.tune.empty() || !plain ||
        numbers.tuned.size() >= kMaxTuned ||
        any_of(numbers.tuned,
               [&](const TunedParameter &each) { return each.name == name; }))
      continue;
    TunedParameter parameter{name, *plain, {*plain}};
    SmallVector<StringRef> values;
    definition.tune.split(values, ',');
    for (StringRef text : ArrayRef(values).take_front(kMaxValues))
      if (std::optional<int64_t> each = readInteger(text))
        parameter.values.push_back(*each);
    sort(parameter.values);
    parameter.values.erase(llvm::unique(parameter.values),
                           parameter.values.end());
    if (parameter.values.size() > 1)
      numbers.tuned.push_back(std::move(parameter));
  }
  numbers.names = namesOf(state, table);
  for (const std::string &name : ambiguous) {
    numbers.names.erase(name);
    llvm::erase_if(numbers.tuned, [&](const TunedParameter &each) {
      return each.name == name;
    });
  }
  return numbers;
}

struct families::ProgramDefinitions::Lines {
  std::string program;
  NameTable table;
  /// What says numbers, in the order of the program, of which it is a part; but
  /// for what `fixed` knows.
  std::vector<Line> lines;
  ProgramState fixed;
};

families::ProgramDefinitions::ProgramDefinitions(StringRef program)
    : lines(std::make_unique<Lines>()) {
  lines->program = program.str();
  StringRef rest = lines->program;
  while (!rest.empty() && lines->lines.size() < kMaxNames) {
    auto [line, behind] = rest.split('\n');
    rest = behind;
    if (std::optional<ProgramLine> text = readProgramLine(line))
      lines->lines.push_back({*text, ReadLine(*text, lines->table)});
  }
}

families::ProgramDefinitions::~ProgramDefinitions() = default;

NameTable &families::ProgramDefinitions::table() { return lines->table; }

/// Whether an expression may have the name in it.
static bool mayName(StringRef text, StringRef name) {
  return text.contains(name);
}

/// The lines that define each name, or take it.
static StringMap<unsigned> countNames(ArrayRef<Line> lines) {
  StringMap<unsigned> counts;
  for (const Line &line : lines)
    if (line.isDefinition())
      ++counts[line.text.name];
  return counts;
}

void families::ProgramDefinitions::fixAllBut(
    ArrayRef<TunedParameter> parameters) {
  ProgramState &fixed = lines->fixed;
  std::vector<std::string> moving;
  for (const TunedParameter &each : parameters)
    moving.push_back(each.name);
  auto moves = [&](const ProgramLine &line) {
    return any_of(moving, [&](StringRef name) {
      return line.name == name || mayName(line.value, name) ||
             mayName(line.condition, name);
    });
  };
  std::vector<Line> all = std::move(lines->lines);
  size_t first = 0;
  for (; first < all.size() && !moves(all[first].text); ++first)
    if (fixed.counts(all[first].read))
      fixed.define(all[first].read);
  // Further on, what is under no condition, and said once.
  StringMap<unsigned> counts = countNames(all);
  const bool isUnconditional = fixed.isOutermost();
  std::vector<Line> left;
  auto isAskedBefore = [&](StringRef name) {
    auto asks = [&](const Line &line) {
      return mayName(line.text.condition, name);
    };
    return any_of(ArrayRef(all).take_front(first), asks) || any_of(left, asks);
  };
  int depth = 0;
  for (Line &line : drop_begin(all, first)) {
    depth += line.text.kind == ProgramLine::Kind::If;
    depth -= line.text.kind == ProgramLine::Kind::EndIf;
    // A condition before it does not know it yet.
    bool isAlone = line.text.kind == ProgramLine::Kind::Define && depth == 0 &&
                   isUnconditional && counts.lookup(line.text.name) == 1 &&
                   !isAskedBefore(line.text.name);
    if (isAlone && !moves(line.text) && fixed.define(line.read)) {
      fixed.counts(line.read);
      continue;
    }
    if (!line.text.name.empty())
      moving.push_back(line.text.name.str());
    left.push_back(std::move(line));
  }
  lines->lines = std::move(left);
}

void families::ProgramDefinitions::keepFor(ArrayRef<StringRef> expressions) {
  StringSet<> asked;
  bool grows = true, hasConditions = !lines->fixed.isOutermost();
  auto ask = [&](StringRef text) {
    for (const auto &name : namesIn(text))
      grows |= asked.insert(name.getKey()).second;
  };
  for (StringRef each : expressions)
    ask(each);
  while (grows) {
    grows = false;
    int depth = 0;
    for (const Line &line : lines->lines) {
      depth += line.text.kind == ProgramLine::Kind::If;
      depth -= line.text.kind == ProgramLine::Kind::EndIf;
      if (!line.isDefinition()) {
        if (hasConditions)
          ask(line.text.condition);
      } else if (asked.contains(line.text.name)) {
        ask(line.text.value);
        grows |= depth > 0 && !hasConditions;
        hasConditions |= depth > 0;
      }
    }
  }
  llvm::erase_if(lines->lines, [&](const Line &line) {
    return line.isDefinition() ? !asked.contains(line.text.name)
                               : !hasConditions;
  });
}

void families::ProgramDefinitions::evaluateInto(
    ProgramState &state, ArrayRef<Placed> parameters) const {
  state = lines->fixed;
  for (const auto &[place, value] : parameters)
    state.set(place, value);
  for (const Line &line : lines->lines)
    if (state.counts(line.read) && none_of(parameters, [&](const Placed &each) {
          return each.first == line.read.place;
        }))
      state.define(line.read);
}

Names families::ProgramDefinitions::evaluate(const Names &parameters) const {
  std::vector<Placed> placed;
  for (const auto &[name, value] : parameters)
    placed.emplace_back(lines->table.placeOf(name), value);
  ProgramState state;
  evaluateInto(state, placed);
  return namesOf(state, lines->table);
}

ProgramState families::ProgramDefinitions::fixedState() const {
  ProgramState state = lines->fixed;
  for (const Line &line : lines->lines)
    if (line.isDefinition())
      state.forget(line.read.place);
  return state;
}

Names families::ProgramDefinitions::fixedNames() const {
  return namesOf(fixedState(), lines->table);
}

std::string families::withValue(StringRef program, StringRef name,
                                int64_t value) {
  NameTable table;
  ProgramState state;
  StringRef rest = program;
  while (std::optional<Line> line = nextThatCounts(rest, table, state)) {
    const auto &[definition, read] = *line;
    if (definition.name == name && !definition.tune.empty() &&
        readInteger(definition.value)) {
      size_t at = definition.value.data() - program.data();
      return (program.take_front(at) + Twine(value) +
              program.substr(at + definition.value.size()))
          .str();
    }
    state.define(read);
  }
  return program.str();
}
