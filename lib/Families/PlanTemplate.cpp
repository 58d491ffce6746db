//===- PlanTemplate.cpp - Plans with expressions --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Numbers.h"
#include "fastk/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;

static constexpr StringLiteral kPlanMark = "// fastk-plan: ";

std::optional<json::Value> families::parseUntrusted(StringRef text,
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
  static const StringSet<> fields = {"grid",
                                     "block",
                                     "cluster",
                                     "shared_bytes",
                                     "bytes",
                                     "value",
                                     "dims",
                                     "box",
                                     "strides",
                                     "i32",
                                     "element_strides",
                                     "i64",
                                     "format",
                                     "when",
                                     "overlaps_previous",
                                     "cooperative",
                                     "zero"};
  return fields.contains(field);
}

/// Fields that are "128B" or "none" where they are no expression of a number of
/// bytes.
static bool isSize(StringRef field) {
  return field == "l2_promotion" || field == "swizzle";
}

static bool isSizeWord(StringRef text) {
  return text == "none" ||
         (text.consume_back("B") && families::readInteger(text));
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
    for (const std::string &name : fields) {
      json::Value &field = *object->get(name);
      std::optional<StringRef> text = field.getAsString();
      bool isNumber =
          isNumeric(name) || (isSize(name) && text && !isSizeWord(*text));
      if (!forEachExpression(field, isNumber, place + "." + name, visit))
        return false;
    }
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
    if (!parts || families::readInteger(parts->second))
      return true;
  }
  return visit(value, place);
}

bool families::hasExpressions(StringRef plan) {
  std::string problem;
  std::optional<json::Value> value = parseUntrusted(plan, problem);
  return value && !forEachExpression(
                      *value, false, "$",
                      [](json::Value &, const std::string &) { return false; });
}

/// Fields that hold a truth value.
static bool isTruth(StringRef place) {
  return place.ends_with(".overlaps_previous") ||
         place.ends_with(".cooperative") || place.ends_with(".zero");
}

static bool evaluateAll(json::Value &plan, const families::Names &names,
                        std::string &problem) {
  return forEachExpression(
      plan, false, "$", [&](json::Value &value, const std::string &place) {
        StringRef text = *value.getAsString();
        auto parts = splitOffset(text);
        std::optional<int64_t> number = families::evaluateExpression(
            parts ? parts->second : text, names, problem);
        if (!number) {
          problem = "the plan's " + place + ": " + problem;
          return false;
        }
        if (parts)
          value = parts->first.str() + "+" + std::to_string(*number);
        else if (isTruth(place))
          value = *number != 0;
        else if (isSize(StringRef(place).rsplit('.').second))
          value = *number ? std::to_string(*number) + "B" : "none";
        else
          value = *number;
        return true;
      });
}

/// What an entry of a list says of whether it is there: true where it says
/// nothing.
static std::optional<bool> isThere(const json::Value &entry,
                                   const families::Names &names,
                                   std::string &problem) {
  const json::Object *object = entry.getAsObject();
  const json::Value *when = object ? object->get("when") : nullptr;
  if (!when)
    return true;
  if (std::optional<int64_t> number = when->getAsInteger())
    return *number != 0;
  std::optional<StringRef> text = when->getAsString();
  if (!text) {
    problem = "\"when\" must be an expression";
    return std::nullopt;
  }
  std::optional<int64_t> number =
      families::evaluateExpression(*text, names, problem);
  return number ? std::optional(*number != 0) : std::nullopt;
}

/// Drops the entries of lists whose "when" is 0. What stands under "is" takes
/// the place of the others: {"when": "SPLIT > 1", "is": "ws0"}.
static bool resolveConditions(json::Value &value, const families::Names &names,
                              const std::string &place, std::string &problem) {
  if (json::Object *object = value.getAsObject()) {
    for (auto &[name, field] : *object)
      if (!resolveConditions(field, names, place + "." + name.str(), problem))
        return false;
    return true;
  }
  json::Array *array = value.getAsArray();
  if (!array)
    return true;
  json::Array kept;
  for (auto [index, entry] : enumerate(*array)) {
    std::string here = place + "[" + std::to_string(index) + "]";
    std::optional<bool> stays = isThere(entry, names, problem);
    if (!stays) {
      problem = "the plan's " + here + ".when: " + problem;
      return false;
    }
    if (!*stays)
      continue;
    if (json::Object *object = entry.getAsObject()) {
      object->erase("when");
      if (json::Value *is = object->get("is")) {
        json::Value taken = std::move(*is);
        entry = std::move(taken);
      }
    }
    if (!resolveConditions(entry, names, here, problem))
      return false;
    kept.push_back(std::move(entry));
  }
  *array = std::move(kept);
  return true;
}

/// Gives the entries of a list, whose names are taken off, numbers.
static std::map<std::string, size_t> numberEntries(json::Object &plan,
                                                   StringRef list) {
  std::map<std::string, size_t> numbers;
  if (json::Array *array = plan.getArray(list))
    for (auto [index, entry] : enumerate(*array))
      if (json::Object *object = entry.getAsObject())
        if (std::optional<StringRef> name = object->getString("name")) {
          numbers.emplace(name->str(), index);
          object->erase("name");
        }
  return numbers;
}

/// Puts numbers for names: "map:A" and "ws:sums+4 * N".
static bool resolveNames(json::Value &value,
                         const std::map<std::string, size_t> &maps,
                         const std::map<std::string, size_t> &workspaces,
                         std::string &problem) {
  if (json::Object *object = value.getAsObject()) {
    for (auto &[name, field] : *object)
      if (!resolveNames(field, maps, workspaces, problem))
        return false;
    return true;
  }
  if (json::Array *array = value.getAsArray())
    return all_of(*array, [&](json::Value &entry) {
      return resolveNames(entry, maps, workspaces, problem);
    });
  std::optional<StringRef> text = value.getAsString();
  for (auto [prefix, numbers] : {std::pair(StringRef("map"), &maps),
                                 std::pair(StringRef("ws"), &workspaces)}) {
    StringRef rest = text.value_or("");
    if (!rest.consume_front(prefix) || !rest.consume_front(":"))
      continue;
    StringRef name = rest.take_until([](char c) { return c == '+'; });
    auto found = numbers->find(name.trim().str());
    if (found == numbers->end()) {
      problem = "the plan has no '" + text->str() +
                "': name an entry of its tensor maps or workspaces, which "
                "is there whenever this is";
      return false;
    }
    value = prefix.str() + std::to_string(found->second) +
            rest.drop_front(name.size()).str();
    return true;
  }
  return true;
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
families::makePlan(StringRef text, const Names &names, std::string &problem) {
  std::optional<json::Value> value = parseUntrusted(text, problem);
  if (!value) {
    problem = "the plan is " + problem;
    return std::nullopt;
  }
  if (!value->getAsObject()) {
    problem = "the plan must be one JSON object with \"format\" and \"steps\"";
    return std::nullopt;
  }
  if (!resolveConditions(*value, names, "$", problem))
    return std::nullopt;
  auto maps = numberEntries(*value->getAsObject(), "tensor_maps");
  auto workspaces = numberEntries(*value->getAsObject(), "workspaces");
  if (!resolveNames(*value, maps, workspaces, problem) ||
      !evaluateAll(*value, names, problem))
    return std::nullopt;
  complete(*value->getAsObject());
  std::optional<worker::LaunchPlan> plan =
      worker::parseLaunchPlan(print(*value), problem);
  if (!plan)
    problem = "the plan: " + problem;
  return plan;
}

std::optional<int64_t> families::makeWorkspace(StringRef text,
                                               const Names &names,
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

std::string families::withoutTemplate(StringRef program) {
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

std::string families::templateOf(StringRef program) {
  std::string result;
  while (!program.empty()) {
    auto [line, rest] = program.split('\n');
    program = rest;
    if (line.consume_front(kPlanMark))
      result += line;
  }
  return result;
}

std::string families::withTemplate(StringRef program, StringRef plan) {
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
