//===- SearchStart.cpp - What a search begins with ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchStart.h"

using namespace llvm;
using namespace fastk;

Expected<std::vector<SearchSeed>>
fastk::recallSeeds(const SearchState &search) {
  const SearchInput &input = search.input;
  std::vector<SearchSeed> seeds =
      input.recording ? input.recording->seeds : input.seeds.vec();
  if (!input.journal)
    return seeds;
  auto variants = input.journal->findVariants(Journal::kSeeds);
  if (!variants)
    return variants.takeError();
  auto ideas = input.journal->findIdeas(Journal::kSeeds);
  if (*variants && ideas) {
    seeds.clear();
    for (auto [idea, variant] : zip((*ideas).value, (*variants)->value))
      seeds.push_back({idea, variant});
    return seeds;
  }
  // What a bank got since the search began is none.
  if (!*variants && input.journal->hasBegun())
    seeds.clear();
  if (seeds.empty())
    return seeds;
  std::vector<Variant> programs;
  std::vector<Idea> texts;
  for (const SearchSeed &seed : seeds) {
    programs.push_back(seed.variant);
    texts.push_back(seed.idea);
  }
  if (!*variants)
    if (Error error = input.journal->recordVariants(Journal::kSeeds, programs,
                                                    search.clock.elapsed()))
      return std::move(error);
  if (Error error = input.journal->recordIdeas(Journal::kSeeds, texts,
                                               search.clock.elapsed()))
    return std::move(error);
  return seeds;
}

Expected<std::vector<Idea>> fastk::recallKnownIdeas(const SearchState &search) {
  const SearchInput &input = search.input;
  // Only those who ask by prompts read them.
  if (!search.asksModels())
    return std::vector<Idea>();
  if (input.journal)
    if (auto recorded = input.journal->findIdeas(Journal::kKnownIdeas))
      return std::move(recorded->value);
  std::vector<Idea> known =
      input.recording ? input.recording->known : input.known.vec();
  if (input.journal)
    if (Error error = input.journal->recordIdeas(Journal::kKnownIdeas, known,
                                                 search.clock.elapsed()))
      return std::move(error);
  return known;
}
