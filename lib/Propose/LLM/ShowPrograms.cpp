//===- ShowPrograms.cpp - Programs and families in prompts ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "ReadReply.h"
#include "WritePrompts.h"
#include "fastk/Propose/Parameters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fastk;

/// Bytes that programs may take in a prompt.
static constexpr size_t kMaxParentBytes = 40000, kMaxParentsBytes = 24000;
/// Of the idea of a program in another language, which is told in its place.
static constexpr size_t kMaxForeignBytes = 1200;

/// The plan as its program's author wrote it.
static std::string planOf(const Variant &variant) {
  std::string text = families::templateOf(variant.program);
  if (!text.empty())
    return text;
  if (variant.plan)
    return worker::toJSON(*variant.plan);
  if (variant.workspaceBytes)
    return formatv("{{\"workspace_bytes\": {0}}", variant.workspaceBytes);
  return "";
}

std::string llm::fenced(StringRef tag, StringRef text) {
  // Longer than any fence inside.
  size_t longest = 2, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  std::string fence(longest + 1, '`');
  return fence + tag.str() + "\n" + text.str() +
         (text.ends_with("\n") ? "" : "\n") + fence + "\n";
}

/// A family as whoever writes one is to give it.
static std::string showFamily(const families::Family &family) {
  llm::FamilyTexts texts = llm::textsOf(family);
  return llm::fenced("cuda", texts.program) + "\n" +
         llm::fenced("json", texts.plan) + "\n" +
         llm::fenced("json", texts.rules);
}

std::string llm::PromptWriter::showProgram(const TriedVariant &tried,
                                           size_t most) const {
  const Variant &variant = tried.variant;
  if (variant.language != language.language)
    return "(Its program is " +
           promptLanguageOf(variant.language).program.str() +
           (variant.parameters.empty()
                ? std::string()
                : " with " +
                      join(llvm::map_range(variant.parameters,
                                           [](const auto &each) {
                                             return each.first + " = " +
                                                    std::to_string(each.second);
                                           }),
                           ", ")) +
           "; it cannot be edited as text: write " + language.program.str() +
           " of your own. Its idea: " +
           cleanLine(tried.idea.text, kMaxForeignBytes) + ")\n";
  if (std::optional<families::Family> family =
          task ? families::familyIn(variant.program) : std::nullopt) {
    std::string text = showFamily(*family);
    return text.size() > most ? "(Its program is too long to be shown here.)\n"
                              : text;
  }
  std::string program = families::withoutTemplate(variant.program),
              plan = planOf(variant);
  if (program.size() + plan.size() > most)
    return "(Its program is too long to be shown here.)\n";
  return fenced(language.tag, program) +
         (plan.empty() ? "" : "\n" + fenced("json", plan));
}

std::string llm::bullets(ArrayRef<std::string> lines) {
  std::string text;
  for (const std::string &line : lines)
    text += "- " + line + "\n";
  return text;
}

/// Where two variants are one program with other values of its tuned numbers:
/// what is different, as "UNROLL = 8".
static std::optional<std::string> otherNumbers(const Variant &variant,
                                               const Variant &shown) {
  if (variant.language != shown.language || variant.parameters.empty())
    return std::nullopt;
  std::string program = variant.program, different;
  for (auto &[name, value] : shown.parameters) {
    auto own = variant.parameters.find(name);
    if (own == variant.parameters.end())
      return std::nullopt;
    if (own->second == value)
      continue;
    program = families::withValue(program, name, value);
    different += (different.empty() ? "" : ", ") + name + " = " +
                 std::to_string(own->second);
  }
  if (program != shown.program || different.empty())
    return std::nullopt;
  return different;
}

std::string llm::PromptWriter::parents() const {
  std::string text = showKnownFamilies();
  if (context.parents.empty())
    return text.empty()
               ? "None yet: every idea starts afresh (parent \"none\"). What "
                 "has to be beaten is the default lowering.\n"
               : text;
  size_t left = kMaxParentsBytes;
  for (auto [index, tried] : llvm::enumerate(context.parents)) {
    text += formatv("## P{0}: {1}\n\n", index + 1,
                    cleanLine(tried.idea.title, 100));
    text += bullets(factsOf(context, tried, gpu ? &*gpu : nullptr));
    std::string program;
    for (size_t other = 0; other < index && program.empty(); ++other)
      if (std::optional<std::string> different =
              otherNumbers(tried.variant, context.parents[other].variant))
        program =
            formatv("The program of P{0} with {1}.\n", other + 1, *different);
    if (program.empty())
      program = showProgram(tried, left);
    left -= std::min(left, program.size());
    text += "\n" + program + "\n";
  }
  return text;
}

/// The families that there are, in words: whoever realises an idea that builds
/// on one gets it in full.
std::string llm::PromptWriter::showKnownFamilies() const {
  std::string text;
  if (!task)
    return text;
  for (auto [label, family] : zip_equal(task->labels(), task->known)) {
    text +=
        formatv("## {0}: family {1}, of the core {2}\n\n{3}. {4}\n\n", label,
                family->name, family->core, family->title, family->text);
    std::string why;
    if (family->core != task->core.core)
      why = "the workload is no " + family->core;
    else if (!families::instantiate(*family, task->core, 1, why).empty())
      why.clear();
    text += why.empty() ? "It serves this workload.\n\n"
                        : "It does not serve this workload: " + why + ".\n\n";
  }
  return text;
}

std::string llm::PromptWriter::showParent(const Idea &idea) const {
  std::string names;
  if (task)
    for (auto [label, family] : zip_equal(task->labels(), task->known))
      names +=
          "(" + label + " of an idea is the family " + family->name + ".)\n\n";
  if (const families::Family *family =
          task ? findParent(*task, idea.parent) : nullptr)
    return names +
           formatv("The family {0}, of the core {1}: {2}.\n\n{3}\n",
                   family->name, family->core, family->title,
                   showFamily(*family))
               .str() +
           "Change of it as much as the idea asks for.\n";
  const TriedVariant *parent = findTried(context, idea.parent);
  if (!parent)
    return names + "None: the idea starts afresh.\n";
  return names + cleanLine(parent->idea.title, 100) + ":\n\n" +
         bullets(factsOf(context, *parent, gpu ? &*gpu : nullptr)) + "\n" +
         showProgram(*parent, kMaxParentBytes) +
         "\nChange of it as much as the idea asks for.\n";
}

std::string llm::PromptWriter::showFailed(const TriedVariant &tried) const {
  return showProgram(tried, kMaxParentBytes);
}
