//===- IdeaShares.cpp - How many ideas each proposer is asked for ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdeaShares.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace fastk;

std::vector<int> fastk::shareIdeas(ArrayRef<ProposerYield> yields, int total) {
  int count = static_cast<int>(yields.size());
  std::vector<int> shares(count, 0);
  if (count == 0)
    return shares;
  bool isNew =
      any_of(yields, [](const ProposerYield &each) { return each.ideas == 0; });
  if (isNew || total <= count) {
    for (int i = 0; i < total; ++i)
      ++shares[i % count];
    return shares;
  }
  int ideas = 0;
  double cost = 0;
  for (const ProposerYield &each : yields) {
    ideas += each.ideas;
    cost += each.cost;
  }
  double meanCost = cost / ideas;
  // Gains and the bonus for what was seldom asked, both per price relative to
  // the mean; the best gain counts 1, as the rule wants rewards in [0, 1].
  std::vector<double> rewards;
  for (const ProposerYield &each : yields) {
    double price = meanCost > 0 ? each.cost / each.ideas / meanCost : 1;
    rewards.push_back(each.gain / each.ideas / std::max(price, 0.05));
  }
  double best = *std::max_element(rewards.begin(), rewards.end());
  std::vector<double> scores;
  double sum = 0;
  for (auto [yield, reward] : zip_equal(yields, rewards)) {
    double score = (best > 0 ? reward / best : 0) +
                   std::sqrt(2 * std::log(double(ideas)) / yield.ideas);
    scores.push_back(score);
    sum += score;
  }
  // One for each, and the rest by score; what rounding leaves goes to the
  // largest remainders, the first of equal ones.
  int left = total - count;
  std::vector<std::pair<double, int>> remainders;
  int given = 0;
  for (int i = 0; i < count; ++i) {
    double exact = sum > 0 ? left * scores[i] / sum : double(left) / count;
    int whole = static_cast<int>(exact);
    shares[i] = 1 + whole;
    given += whole;
    remainders.emplace_back(whole - exact, i);
  }
  llvm::sort(remainders);
  for (int i = 0; i < left - given; ++i)
    ++shares[remainders[i].second];
  return shares;
}
