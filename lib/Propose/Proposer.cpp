//===- Proposer.cpp - Where ideas and variants come from ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Proposer.h"

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

Proposer::~Proposer() = default;

llvm::Expected<std::vector<Variant>>
Proposer::neighbours(const ProposalContext &context, const Variant &variant,
                     int count) {
  return std::vector<Variant>();
}

llvm::Expected<std::optional<Variant>>
Proposer::repair(const ProposalContext &context, const Idea &idea,
                 const TriedVariant &failed) {
  return std::optional<Variant>();
}
