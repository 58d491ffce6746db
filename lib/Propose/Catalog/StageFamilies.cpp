//===- StageFamilies.cpp - Families that write stages ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Catalog/StageFamilies.h"
#include "fastk/Families/JoinedProgram.h"
#include "fastk/Support/ShippedFolder.h"

using namespace fastk;
using families::CoreInstance;
using families::Family;
using families::WantedNumbers;
using fastk::catalog::StageFamilies;

llvm::Expected<StageFamilies> StageFamilies::shipped() {
  std::optional<std::string> folder = shippedFolder("families");
  if (!folder)
    return StageFamilies();
  llvm::Expected<std::vector<Family>> families =
      families::readFamiliesOf("host", *folder);
  if (!families)
    return families.takeError();
  return StageFamilies(std::move(*families));
}

std::optional<StageFamilies::Filled>
StageFamilies::fillIn(const Family &family, const CoreInstance &core,
                      const WantedNumbers &wanted, std::string &why) {
  std::optional<families::Instance> instance =
      families::instantiateNear(family, core, wanted, why);
  if (!instance)
    return std::nullopt;
  Filled filled;
  filled.family = family.name;
  filled.numbers = families::readNumbers(instance->program);
  std::optional<int64_t> bytes =
      families::makeWorkspace(instance->plan, filled.numbers.names, why);
  if (!bytes)
    return std::nullopt;
  filled.workspaceBytes = *bytes;
  filled.instance = std::move(*instance);
  return filled;
}

const StageFamilies::Filled *StageFamilies::answer(const Family &family,
                                                   const CoreInstance &core,
                                                   const WantedNumbers &wanted,
                                                   llvm::StringRef suffix,
                                                   std::string &why) {
  auto [place, isNew] =
      known.try_emplace({family.name, families::headerOf(core), wanted});
  Answer &answer = place->second;
  if (isNew)
    answer.filled = fillIn(family, core, wanted, answer.why);
  if (!answer.filled) {
    why = answer.why;
    return nullptr;
  }
  auto [refusal, isFirst] = answer.refusals.try_emplace(suffix.str());
  if (isFirst &&
      !families::canJoin(answer.filled->instance, suffix, refusal->second))
    refusal->second =
        "its program is no part of another one: " + refusal->second;
  why = refusal->second;
  return why.empty() ? &*answer.filled : nullptr;
}

std::optional<StageFamilies::Filled>
StageFamilies::fillIn(const CoreInstance &core, const WantedNumbers &wanted,
                      llvm::StringRef suffix, std::string &why) {
  why = "there is none for the host";
  std::string reasons;
  const Filled *best = nullptr;
  for (const Family &family : families) {
    if (!family.isFor("host") || family.core != core.core)
      continue;
    std::string reason;
    const Filled *filled = answer(family, core, wanted, suffix, reason);
    if (!filled)
      reasons += (reasons.empty() ? "" : "; ") + family.name + ": " + reason;
    else if (!best || filled->instance.cost < best->instance.cost)
      best = filled;
  }
  if (best)
    return *best;
  if (!reasons.empty())
    why = reasons;
  return std::nullopt;
}
