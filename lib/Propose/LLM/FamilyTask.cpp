//===- FamilyTask.cpp - Families that language models write ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FamilyTask.h"
#include "EmbeddedPrompts.h"
#include "fastk/Propose/Cores.h"
#include "fastk/Propose/Parameters.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fastk;
using families::Family;

static constexpr StringLiteral kParent = "family:";

std::vector<std::string> llm::FamilyTask::labels() const {
  std::vector<std::string> labels;
  for (size_t i = 0; i < known.size(); ++i)
    labels.push_back("F" + std::to_string(i + 1));
  return labels;
}

std::unique_ptr<llm::FamilyTask>
llm::familyTaskOf(const ProposalContext &context, ArrayRef<Family> known) {
  StringRef arch = context.target.target;
  if (!arch.consume_front("cuda:"))
    return nullptr;
  std::vector<families::CoreInstance> cores = coresOf(context);
  if (cores.empty())
    return nullptr;
  auto task = std::make_unique<FamilyTask>();
  task->core = std::move(cores.front());
  task->arch = arch.str();
  auto text = embeddedPrompts().find("core-" + task->core.core);
  if (text == embeddedPrompts().end())
    return nullptr;
  task->interface =
      embeddedPrompts().find("core-headers")->second + text->second;
  for (const Family &family : known)
    if (family.target == arch)
      task->known.push_back(&family);
  auto isOfCore = [&](const Family *family) {
    return family->core == task->core.core;
  };
  if (any_of(task->known, isOfCore))
    llvm::erase_if(task->known, std::not_fn(isOfCore));
  return task;
}

std::string llm::parentOf(const Family &family) {
  return kParent.str() + family.name;
}

const Family *llm::findParent(const FamilyTask &task, StringRef parent) {
  if (!parent.consume_front(kParent))
    return nullptr;
  auto found = find_if(
      task.known, [&](const Family *family) { return family->name == parent; });
  return found == task.known.end() ? nullptr : *found;
}

/// The reply's rules as a family.json: what the idea says, and the compiler
/// knows, is not the reply's to say.
static std::optional<std::string> completeRules(const llm::FamilyTask &task,
                                                const Idea &idea,
                                                StringRef rules,
                                                std::string &problem) {
  std::optional<json::Value> value = families::parseUntrusted(rules, problem);
  if (!value)
    return std::nullopt;
  json::Object *object = value->getAsObject();
  if (!object) {
    problem = "no JSON object";
    return std::nullopt;
  }
  (*object)["format"] = 1;
  (*object)["core"] = task.core.core;
  (*object)["target"] = task.arch;
  (*object)["title"] = idea.title;
  (*object)["text"] = idea.text;
  (*object)["category"] = stringify(idea.category);
  return formatv("{0:2}\n", *value).str();
}

Variant llm::makeFamilyVariant(const FamilyTask &task, const Idea &idea,
                               const ProgramReply &reply) {
  Variant variant;
  variant.language = Language::cuda;
  std::string problem;
  std::optional<std::string> rules =
      completeRules(task, idea, reply.rules, problem);
  if (!rules) {
    variant.problem = "the rules cannot be read: " + problem;
    return variant;
  }
  Expected<Family> family =
      families::parseFamily("the rules", *rules, reply.program, reply.plan);
  if (!family) {
    variant.problem = toString(family.takeError());
    return variant;
  }
  family->name = slugOf(idea.title);
  std::vector<families::Instance> instances =
      families::instantiate(*family, task.core, 1, problem);
  if (instances.empty()) {
    variant.problem = "the family does not serve the workload: " + problem;
    return variant;
  }
  return makeVariant(Language::cuda,
                     families::withFamily(instances.front(), *family),
                     instances.front().plan);
}

llm::FamilyTexts llm::textsOf(const Family &family) {
  FamilyTexts texts{family.program, family.plan, ""};
  json::Object rules = families::rulesOf(family), own;
  for (StringRef field : {"requirements", "legal", "choose", "cost"})
    own[field] = std::move(rules[field]);
  texts.rules = formatv("{0:1}\n", json::Value(std::move(own)));
  return texts;
}
