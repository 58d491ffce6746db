//===- IdeaShares.h - How many ideas each proposer is asked for -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of several language models in one search the better one, for its price, is
// asked for more. A bandit's rule (UCB1, Auer et al. 2002), over what an idea
// gained per what it cost, as ShinkaEvolve chooses among models.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_PROPOSALS_IDEASHARES_H
#define FASTK_LIB_SEARCH_PROPOSALS_IDEASHARES_H

#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace fastk {

/// What a proposer's ideas of all rounds came to.
struct ProposerYield {
  int ideas = 0;
  /// Sum over its ideas of log2(best speed of the idea / best speed before its
  /// round), where positive.
  double gain = 0;
  /// Money, or tokens where prices are unknown; the same unit for all.
  double cost = 0;
};

/// Splits `total` ideas; each gets at least one, while there are enough. Equal
/// shares (the first ones get the remainder) while any has none yet.
std::vector<int> shareIdeas(llvm::ArrayRef<ProposerYield> yields, int total);

} // namespace fastk

#endif // FASTK_LIB_SEARCH_PROPOSALS_IDEASHARES_H
