//===- ReadFamily.cpp - Families as folders -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Family.h"
#include "fastk/Support/Nesting.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace fastk;
using families::Family;

static constexpr int64_t kFormat = 1;

static Error fail(const Twine &file, const Twine &why) {
  return createStringError(file + ": " + why);
}

static std::string pathOf(StringRef folder, StringRef name) {
  SmallString<256> path(folder);
  sys::path::append(path, name);
  return std::string(path);
}

static Expected<std::string> readFile(StringRef folder, StringRef name) {
  std::string path = pathOf(folder, name);
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/true);
  if (std::error_code code = buffer.getError())
    return fail(path, "cannot read: " + code.message() +
                          "; a family is a folder with family.json, plan.json "
                          "and kernel.cu, or for the host with family.json and "
                          "kernel.c");
  return (*buffer)->getBuffer().str();
}

namespace llvm::json {
static bool fromJSON(const Value &value, Family::Rule &rule, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("require", rule.expression) &&
         map.map("because", rule.because);
}

/// "NAME = EXPRESSION", or the expression alone.
static bool fromJSON(const Value &value, Family::CostLine &line, Path path) {
  std::string text;
  if (!fromJSON(value, text, path))
    return false;
  StringRef rest = StringRef(text).ltrim();
  StringRef name =
      rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
  rest = rest.drop_front(name.size()).ltrim();
  bool isNamed =
      !name.empty() && rest.consume_front("=") && !rest.starts_with("=");
  line = {isNamed ? name.str() : "", isNamed ? rest.trim().str() : text};
  return true;
}
} // namespace llvm::json

/// The plan that a host program's workspace is.
static std::string hostPlanOf(const Family &family) {
  if (family.workspaceBytes.empty())
    return "{}";
  return formatv("{0}", json::Value(json::Object{
                            {"workspace_bytes", family.workspaceBytes}}))
      .str();
}

/// The target that rules name; empty: they cannot be read.
static std::string targetIn(StringRef rules) {
  Expected<json::Value> value = parseShallowJSON(rules);
  if (!value) {
    consumeError(value.takeError());
    return "";
  }
  const json::Object *object = value->getAsObject();
  return object ? object->getString("target").value_or("").str() : "";
}

Expected<Family> families::parseFamily(StringRef file, StringRef rules,
                                       StringRef program, StringRef plan) {
  Family family;
  Expected<json::Value> value = parseShallowJSON(rules);
  if (!value)
    return fail(file, toString(value.takeError()));
  json::Path::Root root("family");
  json::ObjectMapper map(*value, root);
  int64_t format = 0;
  if (!map || !map.map("format", format) || !map.map("core", family.core) ||
      !map.map("target", family.target) || !map.map("title", family.title) ||
      !map.map("text", family.text) || !map.map("category", family.category) ||
      !map.map("requirements", family.requirements) ||
      !map.map("legal", family.legal) || !map.map("choose", family.chosen) ||
      !map.map("cost", family.cost) ||
      !map.mapOptional("workspace_bytes", family.workspaceBytes))
    return fail(file, toString(root.getError()));
  if (format != kFormat)
    return fail(file, "is of format " + Twine(format) +
                          ", and this fastk "
                          "reads format " +
                          Twine(kFormat));
  static constexpr StringLiteral kFields[] = {
      "format",       "core",  "target", "title", "text",           "category",
      "requirements", "legal", "choose", "cost",  "workspace_bytes"};
  for (const auto &[name, field] : *value->getAsObject())
    if (!is_contained(kFields, StringRef(name)))
      return fail(file, "unknown field '" + StringRef(name) + "'; known are " +
                            join(std::begin(kFields), std::end(kFields), ", "));
  if (family.cost.empty() || !family.cost.back().name.empty() ||
      any_of(drop_end(family.cost),
             [](const Family::CostLine &line) { return line.name.empty(); }))
    return fail(file, "\"cost\" must be a list that ends in the estimate, an "
                      "expression; lines before it are \"NAME = EXPRESSION\"");
  if (none_of(cores(),
              [&](const Core &core) { return core.name == family.core; }))
    return fail(file, "unknown core '" + family.core +
                          "'; choose one of: " + listCores());
  family.program = program.str();
  family.plan = plan.str();
  std::string all = sha256(rules) + sha256(family.program);
  if (family.isForHost())
    family.plan = hostPlanOf(family);
  else
    all += sha256(family.plan);
  family.digest = sha256(all);
  if (!family.isForHost() && !family.workspaceBytes.empty())
    return fail(file, "\"workspace_bytes\" is for families for the host; "
                      "plan.json has the workspaces of a GPU's");
  std::vector<TunedParameter> tuned = readNumbers(family.program).tuned;
  for (const std::string &name : family.chosen)
    if (none_of(tuned,
                [&](const TunedParameter &each) { return each.name == name; }))
      return fail(file, "'" + name + "' of \"choose\" is no parameter of " +
                            family.programFile() + ": write `#define " + name +
                            " VALUE // tune: VALUES` there");
  return family;
}

json::Object families::rulesOf(const Family &family) {
  auto listOf = [](ArrayRef<Family::Rule> rules) {
    json::Array list;
    for (const Family::Rule &rule : rules)
      list.push_back(json::Object{{"require", rule.expression},
                                  {"because", rule.because}});
    return list;
  };
  json::Array cost;
  for (const Family::CostLine &line : family.cost)
    cost.push_back(line.name.empty() ? line.expression
                                     : line.name + " = " + line.expression);
  json::Object rules{{"format", kFormat},
                     {"core", family.core},
                     {"target", family.target},
                     {"title", family.title},
                     {"text", family.text},
                     {"category", family.category},
                     {"requirements", listOf(family.requirements)},
                     {"legal", listOf(family.legal)},
                     {"choose", json::Array(family.chosen)},
                     {"cost", std::move(cost)}};
  if (!family.workspaceBytes.empty())
    rules["workspace_bytes"] = family.workspaceBytes;
  return rules;
}

Expected<Family> families::readFamily(StringRef folder) {
  // "DIR/" is DIR.
  while (folder.size() > 1 && folder.consume_back("/"))
    ;
  Expected<std::string> rules = readFile(folder, "family.json");
  if (!rules)
    return rules.takeError();
  bool isForHost = targetIn(*rules) == "host";
  Expected<std::string> program =
      readFile(folder, isForHost ? "kernel.c" : "kernel.cu");
  if (!program)
    return program.takeError();
  std::string planFile = pathOf(folder, "plan.json"), plan;
  if (isForHost && sys::fs::exists(planFile))
    return fail(planFile, "a family for the host has no plan: say its "
                          "\"workspace_bytes\" in family.json, and remove this "
                          "file");
  if (!isForHost)
    if (Error error = readFile(folder, "plan.json").moveInto(plan))
      return std::move(error);
  Expected<Family> family =
      parseFamily(pathOf(folder, "family.json"), *rules, *program, plan);
  if (!family)
    return family.takeError();
  family->name = sys::path::filename(folder).str();
  family->folder = folder.str();
  return family;
}

/// Adds the families of a folder, in the order of their names.
static Error addFamilies(StringRef folder, bool isInner,
                         std::vector<Family> &families) {
  std::error_code code;
  std::vector<std::string> folders;
  for (sys::fs::directory_iterator entry(folder, code), end;
       !code && entry != end; entry.increment(code))
    // Hidden ones are somebody's own: .git, what a pull is about to place.
    if (!sys::path::filename(entry->path()).starts_with(".") &&
        sys::fs::is_directory(entry->path()))
      folders.push_back(entry->path());
  if (code)
    return fail(folder, "cannot read: " + code.message());
  // Not as the system lists them.
  llvm::sort(folders);
  for (const std::string &each : folders) {
    SmallString<256> file(each);
    sys::path::append(file, "family.json");
    if (!isInner && !sys::fs::exists(file)) {
      if (Error error = addFamilies(each, /*isInner=*/true, families))
        return error;
      continue;
    }
    Expected<Family> family = families::readFamily(each);
    if (!family)
      return family.takeError();
    families.push_back(std::move(*family));
  }
  return Error::success();
}

Expected<std::vector<Family>> families::readFamilies(StringRef folder) {
  std::vector<Family> families;
  if (Error error = addFamilies(folder, /*isInner=*/false, families))
    return std::move(error);
  return families;
}

Expected<std::vector<Family>> families::readFamiliesOf(StringRef target,
                                                       StringRef folder) {
  StringRef arch = target;
  arch.consume_front("cuda:");
  SmallString<256> own(folder);
  sys::path::append(own, arch);
  if (arch.empty() || !sys::fs::is_directory(own))
    return std::vector<Family>();
  return readFamilies(own);
}
