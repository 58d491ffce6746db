//===- Proposer.cpp - Where ideas and variants come from ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Proposer.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

using namespace fastk;

namespace {
struct CategoryName {
  IdeaCategory category;
  llvm::StringLiteral name;
};
} // namespace

/// As the design spells them.
static constexpr CategoryName kCategories[] = {
    {IdeaCategory::MemoryAccess, "memory access"},
    {IdeaCategory::Latency, "async and latency hiding"},
    {IdeaCategory::Precision, "data type and precision"},
    {IdeaCategory::Compute, "compute and instructions"},
    {IdeaCategory::Parallelism, "parallelism and occupancy"},
    {IdeaCategory::ControlFlow, "control flow and loops"},
};

llvm::StringRef fastk::stringify(IdeaCategory category) {
  for (const CategoryName &entry : kCategories)
    if (entry.category == category)
      return entry.name;
  llvm_unreachable("all categories are named above");
}

std::optional<IdeaCategory> fastk::parseIdeaCategory(llvm::StringRef text) {
  text = text.trim();
  for (const CategoryName &entry : kCategories)
    if (text.equals_insensitive(entry.name))
      return entry.category;
  return std::nullopt;
}

/// A search asks for the digests of what it has tried again and again, each
/// time that it goes on: a digest costs a hundred times what finding it does.
static constexpr size_t kKnownBytes = size_t(64) << 20;

/// The SHA-256 of a text that may be asked for again.
static std::string knownSha256(llvm::StringRef text) {
  static thread_local llvm::StringMap<std::string> known;
  static thread_local size_t bytes = 0;
  auto [entry, isNew] = known.try_emplace(text);
  if (!isNew)
    return entry->second;
  std::string digest = entry->second = sha256(text);
  bytes += text.size();
  if (bytes > kKnownBytes) {
    known.clear();
    bytes = 0;
  }
  return digest;
}

std::string fastk::digestOf(const Variant &variant) {
  return knownSha256(
      stringifyLanguage(variant.language).str() + " " +
      std::to_string(variant.workspaceBytes) + "\n" +
      (variant.plan ? worker::toJSON(*variant.plan) + "\n" : "") +
      variant.program +
      (variant.problem.empty() ? "" : "\n" + variant.problem));
}

Proposer::~Proposer() = default;

Languages Proposer::languages(const TargetDescription &target) const {
  if (target.target == "host")
    return {Language::schedule, Language::c};
  return {Language::schedule, Language::cuda, Language::gpu, Language::ptx};
}

llvm::Expected<std::vector<Variant>>
Proposer::neighbours(const ProposalContext &context, const Variant &variant,
                     int count) {
  return std::vector<Variant>();
}

Answers<std::vector<Variant>>
Proposer::repair(const ProposalContext &context,
                 llvm::ArrayRef<FailedVariant> failed) {
  return std::vector<std::optional<std::vector<Variant>>>(
      failed.size(), std::vector<Variant>());
}

std::string fastk::sharedProposerName(llvm::StringRef name) {
  auto [prefix, path] = name.split(':');
  bool isCommand = prefix == "command";
  if (!isCommand && prefix != "files" && prefix != "mailbox" &&
      prefix != "replay")
    return name.str();
  if (isCommand)
    path = path.trim().take_until([](char c) { return c == ' '; });
  llvm::SmallString<128> clean(path);
  llvm::sys::path::remove_dots(clean, /*remove_dot_dot=*/true);
  bool isElsewhere =
      llvm::sys::path::is_absolute(clean) || clean.starts_with("..");
  return (prefix + ":" +
          (isElsewhere ? llvm::sys::path::filename(clean) : path))
      .str();
}
