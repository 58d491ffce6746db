//===- StageFamilies.cpp - Families that write stages ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Catalog/StageFamilies.h"
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

std::optional<StageFamilies::Filled>
StageFamilies::fillIn(const CoreInstance &core, const WantedNumbers &wanted,
                      std::string &why) {
  why = "there is none for the host";
  std::string reasons;
  const Filled *best = nullptr;
  for (const Family &family : families) {
    if (!family.isFor("host") || family.core != core.core)
      continue;
    auto [place, isNew] = known.try_emplace(
        {family.name, families::headerOf(core), wanted}, std::nullopt, "");
    auto &[filled, reason] = place->second;
    if (isNew)
      filled = fillIn(family, core, wanted, reason);
    if (!filled)
      reasons += (reasons.empty() ? "" : "; ") + family.name + ": " + reason;
    else if (!best || filled->instance.cost < best->instance.cost)
      best = &*filled;
  }
  if (best)
    return *best;
  if (!reasons.empty())
    why = reasons;
  return std::nullopt;
}
