//===- EmbeddedFamily.cpp - Families that travel with instances -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is all that a search keeps of a variant, and a bank of a winner. So
// the family is a part of it: a mark where its own program begins, and lines of
// comment with its rules and, for a GPU, its plan,
//
//   // fastk-family: {"name": ..., "rules": {...}, "plan": {...}}
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Family.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fastk;
using families::Family;

static constexpr StringLiteral kBegin = "// fastk-family begins\n";
static constexpr StringLiteral kMark = "// fastk-family: ";

std::string families::withFamily(const Instance &instance,
                                 const Family &family) {
  std::string problem;
  std::optional<json::Value> plan = parseUntrusted(family.plan, problem);
  StringRef program = instance.program;
  std::string text = program.take_front(instance.header).str() + kBegin.str() +
                     program.drop_front(instance.header).str();
  if (!plan)
    return text;
  if (!StringRef(text).ends_with("\n"))
    text += '\n';
  json::Object parts{{"name", family.name}, {"rules", rulesOf(family)}};
  if (!family.isForHost())
    parts["plan"] = std::move(*plan);
  std::string whole = formatv("{0:1}", json::Value(std::move(parts)));
  for (StringRef rest = whole; !rest.empty();) {
    auto [line, more] = rest.split('\n');
    text += kMark.str() + line.str() + "\n";
    rest = more;
  }
  return text;
}

std::optional<Family> families::familyIn(StringRef program) {
  size_t begin = program.find(kBegin);
  if (begin == StringRef::npos)
    return std::nullopt;
  std::string kernel, whole;
  const std::string own =
      withoutTemplate(program.drop_front(begin + kBegin.size()));
  for (StringRef rest = own; !rest.empty();) {
    auto [line, more] = rest.split('\n');
    if (line.consume_front(kMark))
      whole += line.str() + "\n";
    else
      kernel += line.str() + "\n";
    rest = more;
  }
  std::string problem;
  std::optional<json::Value> value = parseUntrusted(whole, problem);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  const json::Value *rules = object ? object->get("rules") : nullptr,
                    *plan = object ? object->get("plan") : nullptr;
  if (!rules)
    return std::nullopt;
  Expected<Family> family =
      parseFamily("family.json", formatv("{0:2}\n", *rules).str(), kernel,
                  plan ? formatv("{0:2}\n", *plan).str() : "");
  if (!family) {
    consumeError(family.takeError());
    return std::nullopt;
  }
  if (!family->isForHost() && !plan)
    return std::nullopt;
  family->name = object->getString("name").value_or("").str();
  return std::move(*family);
}
