//===- Parameters.cpp - Numbers that a program declares -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"
#include "fastk/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;
using namespace fastk;

/// More than anybody tunes by hand; what follows is passed over.
static constexpr size_t kMaxTuned = 16, kMaxValues = 32, kMaxNames = 1000;
static constexpr StringLiteral kPlanMark = "// fastk-plan: ";

//===----------------------------------------------------------------------===//
// Numbers of a program
//===----------------------------------------------------------------------===//

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

/// An integer as tuned parameters have it: no expression.
static std::optional<int64_t> readInteger(StringRef text) {
  text = text.trim();
  int64_t value;
  if (text.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

llm::ProgramNumbers llm::readNumbers(StringRef program) {
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

std::string llm::withValue(StringRef program, StringRef name, int64_t value) {
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

//===----------------------------------------------------------------------===//
// Plan templates
//===----------------------------------------------------------------------===//

std::optional<json::Value> llm::parseUntrusted(StringRef text,
                                               std::string &problem) {
  // The parser recurses; nothing that we read is nested deeply.
  if (isJSONNestedDeeper(text, 64)) {
    problem = "nested more than 64 levels deep";
    return std::nullopt;
  }
  Expected<json::Value> value = json::parse(json::fixUTF8(text));
  if (value)
    return std::move(*value);
  problem = "not JSON: " + toString(value.takeError());
  return std::nullopt;
}

static bool isNumeric(StringRef field) {
  static const StringSet<> fields = {
      "grid", "block",   "cluster", "shared_bytes",    "bytes", "value", "dims",
      "box",  "strides", "i32",     "element_strides", "i64",   "format"};
  return fields.contains(field);
}

/// A buffer with an offset that is an expression: "ws0+", "4 * TILE".
static std::optional<std::pair<StringRef, StringRef>>
splitOffset(StringRef text) {
  auto [buffer, offset] = text.split('+');
  StringRef number = buffer.trim();
  if (offset.empty() ||
      (!number.consume_front("in") && !number.consume_front("out") &&
       !number.consume_front("ws")) ||
      number.empty() || !all_of(number, isDigit))
    return std::nullopt;
  return std::pair(buffer.trim(), offset.trim());
}

/// Calls `visit` on every string that holds an expression, with its place.
/// Stops when it says false.
static bool forEachExpression(
    json::Value &value, bool isNumber, const std::string &place,
    function_ref<bool(json::Value &, const std::string &)> visit) {
  if (json::Object *object = value.getAsObject()) {
    // In a fixed order: the first problem is the one that is told.
    std::vector<std::string> fields;
    for (auto &[name, field] : *object)
      fields.push_back(name.str());
    llvm::sort(fields);
    for (const std::string &name : fields)
      if (!forEachExpression(*object->get(name), isNumeric(name),
                             place + "." + name, visit))
        return false;
    return true;
  }
  if (json::Array *array = value.getAsArray()) {
    for (size_t i = 0; i < array->size(); ++i)
      if (!forEachExpression((*array)[i], isNumber,
                             place + "[" + std::to_string(i) + "]", visit))
        return false;
    return true;
  }
  std::optional<StringRef> text = value.getAsString();
  if (!text)
    return true;
  if (!isNumber) {
    auto parts = splitOffset(*text);
    if (!parts || readInteger(parts->second))
      return true;
  }
  return visit(value, place);
}

bool llm::hasExpressions(StringRef plan) {
  std::string problem;
  std::optional<json::Value> value = parseUntrusted(plan, problem);
  return value && !forEachExpression(
                      *value, false, "$",
                      [](json::Value &, const std::string &) { return false; });
}

static bool evaluateAll(json::Value &plan, const llm::Names &names,
                        std::string &problem) {
  return forEachExpression(
      plan, false, "$", [&](json::Value &value, const std::string &place) {
        StringRef text = *value.getAsString();
        auto parts = splitOffset(text);
        std::optional<int64_t> number = llm::evaluateExpression(
            parts ? parts->second : text, names, problem);
        if (!number) {
          problem = "the plan's " + place + ": " + problem;
          return false;
        }
        if (parts)
          value = parts->first.str() + "+" + std::to_string(*number);
        else
          value = *number;
        return true;
      });
}

static std::string print(const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  return text;
}

/// What is obvious: extents that are no list, a format that is not named.
static void complete(json::Object &plan) {
  if (!plan.get("format"))
    plan["format"] = 1;
  json::Array *steps = plan.getArray("steps");
  if (!steps)
    return;
  for (json::Value &step : *steps)
    if (json::Object *object = step.getAsObject())
      for (StringRef field : {"grid", "block", "cluster"})
        if (json::Value *extent = object->get(field))
          if (extent->getAsInteger())
            *extent = json::Array{*extent->getAsInteger()};
}

std::optional<worker::LaunchPlan>
llm::makePlan(StringRef text, const Names &names, std::string &problem) {
  std::optional<json::Value> value = parseUntrusted(text, problem);
  if (!value) {
    problem = "the plan is " + problem;
    return std::nullopt;
  }
  if (!value->getAsObject()) {
    problem = "the plan must be one JSON object with \"format\" and \"steps\"";
    return std::nullopt;
  }
  if (!evaluateAll(*value, names, problem))
    return std::nullopt;
  complete(*value->getAsObject());
  std::optional<worker::LaunchPlan> plan =
      worker::parseLaunchPlan(print(*value), problem);
  if (!plan)
    problem = "the plan: " + problem;
  return plan;
}

std::optional<int64_t> llm::makeWorkspace(StringRef text, const Names &names,
                                          std::string &problem) {
  std::optional<json::Value> value = parseUntrusted(text, problem);
  if (!value) {
    problem = "the plan is " + problem;
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  const json::Value *bytes = object ? object->get("workspace_bytes") : nullptr;
  if (!object || object->size() != (bytes ? 1 : 0)) {
    problem = "the plan of a C program must be {\"workspace_bytes\": N} and "
              "nothing else";
    return std::nullopt;
  }
  if (!bytes)
    return 0;
  std::optional<int64_t> number = bytes->getAsInteger();
  if (std::optional<StringRef> expression = bytes->getAsString()) {
    number = evaluateExpression(*expression, names, problem);
    if (!number) {
      problem = "the plan's workspace_bytes: " + problem;
      return std::nullopt;
    }
  }
  constexpr int64_t most = int64_t(8) << 30;
  if (!number || *number < 0 || *number > most) {
    problem = "the plan's workspace_bytes must be a whole number of bytes from "
              "0 to 8 GiB";
    return std::nullopt;
  }
  return number;
}

std::string llm::withoutTemplate(StringRef program) {
  std::string result;
  while (!program.empty()) {
    auto [line, rest] = program.split('\n');
    bool hasEnd = line.size() < program.size();
    program = rest;
    if (line.starts_with(kPlanMark.rtrim()))
      continue;
    result += line;
    if (hasEnd)
      result += '\n';
  }
  return result;
}

std::string llm::templateOf(StringRef program) {
  std::string result;
  while (!program.empty()) {
    auto [line, rest] = program.split('\n');
    program = rest;
    if (line.consume_front(kPlanMark))
      result += line;
  }
  return result;
}

std::string llm::withTemplate(StringRef program, StringRef plan) {
  std::string result = withoutTemplate(program), problem;
  std::optional<json::Value> value = parseUntrusted(plan, problem);
  if (!value)
    return result;
  if (!StringRef(result).ends_with("\n"))
    result += '\n';
  // Broken behind commas, for people. Strings stay whole.
  std::string text = print(*value), line;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    line += c;
    if (isString && c == '\\')
      line += text[++i];
    else if (c == '"')
      isString = !isString;
    if (!isString && c == ',' && line.size() > 85) {
      result += kPlanMark.str() + line + "\n";
      line.clear();
    }
  }
  return result + kPlanMark.str() + line + "\n";
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

Variant llm::makeVariant(Language language, StringRef program, StringRef plan) {
  Variant variant;
  variant.language = language;
  variant.program = withoutTemplate(program);
  ProgramNumbers numbers = readNumbers(variant.program);
  for (const TunedParameter &parameter : numbers.tuned)
    variant.parameters[parameter.name] = parameter.value;
  if (language == Language::cuda) {
    variant.plan = makePlan(plan, numbers.names, variant.problem);
    if (variant.plan && hasExpressions(plan))
      variant.program = withTemplate(variant.program, plan);
  } else if (!plan.trim().empty()) {
    std::optional<int64_t> bytes =
        makeWorkspace(plan, numbers.names, variant.problem);
    variant.workspaceBytes = bytes.value_or(0);
    std::string problem;
    std::optional<json::Value> value = parseUntrusted(plan, problem);
    if (bytes && value->getAsObject()->getString("workspace_bytes"))
      variant.program = withTemplate(variant.program, plan);
  }
  return variant;
}

/// The variant with one number changed; nothing when it cannot be.
static std::optional<Variant> changed(const Variant &variant, StringRef name,
                                      int64_t value) {
  Variant next = variant;
  next.program = llm::withValue(variant.program, name, value);
  next.parent = digestOf(variant);
  llm::ProgramNumbers numbers = llm::readNumbers(next.program);
  next.parameters.clear();
  for (const llm::TunedParameter &parameter : numbers.tuned)
    next.parameters[parameter.name] = parameter.value;
  std::string plan = llm::templateOf(next.program), problem;
  if (plan.empty())
    return next;
  if (next.language == Language::cuda) {
    next.plan = llm::makePlan(plan, numbers.names, problem);
    return next.plan ? std::optional(next) : std::nullopt;
  }
  std::optional<int64_t> bytes =
      llm::makeWorkspace(plan, numbers.names, problem);
  next.workspaceBytes = bytes.value_or(0);
  return bytes ? std::optional(next) : std::nullopt;
}

std::vector<Variant> llm::neighboursOf(const Variant &variant,
                                       ArrayRef<std::string> tried, int count,
                                       const PlanCheck *check) {
  std::vector<Variant> result;
  if (!variant.problem.empty())
    return result;
  ProgramNumbers numbers = readNumbers(variant.program);
  std::set<std::string> seen(tried.begin(), tried.end());
  seen.insert(digestOf(variant));
  // One step of each number, then two, ...
  for (int step = 1; step < static_cast<int>(kMaxValues); ++step)
    for (const TunedParameter &parameter : numbers.tuned) {
      int at = llvm::find(parameter.values, parameter.value) -
               parameter.values.begin();
      for (int to : {at - step, at + step}) {
        if (static_cast<int>(result.size()) >= count)
          return result;
        if (to < 0 || to >= static_cast<int>(parameter.values.size()))
          continue;
        std::optional<Variant> next =
            changed(variant, parameter.name, parameter.values[to]);
        if (!next || !seen.insert(digestOf(*next)).second)
          continue;
        if (check && next->plan &&
            !worker::verifyLaunchPlan(*next->plan, check->inputBytes,
                                      check->outputBytes, check->limits)
                 .empty())
          continue;
        result.push_back(std::move(*next));
      }
    }
  return result;
}
