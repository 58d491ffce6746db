//===- Trials.cpp - All that was tried in a search ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trials.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace llvm;
using namespace fastk;

void Trials::add(Trial trial) {
  seen.push_back(trial.tried);
  trials.push_back(std::move(trial));
}

std::vector<size_t> Trials::survivors() const {
  std::vector<size_t> order;
  for (size_t i = 0; i < trials.size(); ++i)
    if (trials[i].speedup > 0)
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(-trials[a].speedup, a) <
           std::make_pair(-trials[b].speedup, b);
  });
  return order;
}

std::optional<size_t> Trials::bestSince(size_t first) const {
  std::optional<size_t> fastest;
  for (size_t i = first; i < trials.size(); ++i)
    if (trials[i].speedup > 0 &&
        (!fastest || trials[i].speedup > trials[*fastest].speedup))
      fastest = i;
  return fastest;
}

std::vector<TriedVariant> Trials::chooseParents(int count,
                                                std::mt19937_64 &random) const {
  std::vector<size_t> order = survivors();
  std::vector<size_t> chosen;
  if (!order.empty()) {
    auto wanted = static_cast<size_t>(std::max(count, 1));
    chosen.push_back(*leader);
    // By diversity: the fastest of each other idea, of new categories first.
    std::set<std::string> ideas = {bestTrial().idea.id};
    std::set<IdeaCategory> categories = {bestTrial().idea.category};
    for (bool newCategory : {true, false})
      for (size_t index : order) {
        const Idea &idea = trials[index].idea;
        // The last place, of three or more, is drawn from all that is left.
        if (chosen.size() + (wanted >= 3 ? 1 : 0) >= wanted)
          break;
        if (ideas.count(idea.id) ||
            (newCategory && categories.count(idea.category)))
          continue;
        ideas.insert(idea.id);
        categories.insert(idea.category);
        chosen.push_back(index);
      }
    std::vector<size_t> rest;
    for (size_t index : order)
      if (!is_contained(chosen, index))
        rest.push_back(index);
    while (chosen.size() < wanted && !rest.empty()) {
      // Not std::uniform_int_distribution: its results differ between
      // libraries.
      size_t pick = random() % rest.size();
      chosen.push_back(rest[pick]);
      rest.erase(rest.begin() + pick);
    }
  }
  // Best first.
  llvm::sort(chosen, [&](size_t a, size_t b) {
    return std::make_tuple(a != *leader, -trials[a].speedup, a) <
           std::make_tuple(b != *leader, -trials[b].speedup, b);
  });
  std::vector<TriedVariant> parents;
  for (size_t index : chosen)
    parents.push_back(trials[index].tried);
  return parents;
}

TrajectoryRow fastk::rowOf(StringRef round, const Trial &trial) {
  TrajectoryRow row;
  row.round = round.str();
  row.seconds = trial.tried.seconds;
  row.baselineSeconds = trial.tried.seconds * trial.speedup;
  row.precision = trial.verdict.precision;
  row.ideaId = trial.idea.id;
  row.title = trial.idea.title;
  row.category = stringify(trial.idea.category).str();
  row.parameters = trial.tried.variant.parameters;
  return row;
}
