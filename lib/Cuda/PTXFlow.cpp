//===- PTXFlow.cpp - What is under way at a statement ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXFlow.h"

using namespace fastk::cuda;

std::vector<unsigned> fastk::cuda::factsBefore(
    const PTXFunction &function, unsigned first,
    const std::function<unsigned(const PTXStatement &, unsigned)> &step) {
  const std::vector<PTXStatement> &statements = function.statements;
  std::vector<unsigned> facts(statements.size(), 0);
  std::vector<char> isReached(statements.size(), 0);
  std::vector<size_t> work;
  if (!statements.empty()) {
    isReached[0] = 1;
    facts[0] = first;
    work.push_back(0);
  }
  while (!work.empty()) {
    size_t at = work.back();
    work.pop_back();
    unsigned out = step(statements[at], facts[at]);
    // What may not be executed may leave all as it was.
    if (statements[at].isGuarded)
      out |= facts[at];
    for (size_t next : statements[at].next) {
      if (isReached[next] && (facts[next] | out) == facts[next])
        continue;
      isReached[next] = 1;
      facts[next] |= out;
      work.push_back(next);
    }
  }
  return facts;
}

static constexpr unsigned openFact = 1;

static unsigned stepWgmma(const PTXStatement &each, unsigned facts) {
  if (each.isA("wgmma.fence") || each.isA("wgmma.mma_async"))
    return openFact;
  return each.isA("wgmma.wait_group") ? 0 : facts;
}

void fastk::cuda::step(const PTXStatement &each, WgmmaState &state) {
  state.isOpen = stepWgmma(each, state.isOpen ? openFact : 0) & openFact;
}

/// Backwards: which statements a product follows with no fence between.
static void findAhead(const PTXFunction &function,
                      std::vector<WgmmaState> &states) {
  const std::vector<PTXStatement> &statements = function.statements;
  std::vector<std::vector<size_t>> previous(statements.size());
  std::vector<size_t> work;
  for (size_t i = 0; i < statements.size(); ++i) {
    for (size_t next : statements[i].next)
      previous[next].push_back(i);
    if (statements[i].isA("wgmma.mma_async"))
      work.push_back(i);
  }
  while (!work.empty()) {
    size_t at = work.back();
    work.pop_back();
    if (states[at].isAhead || statements[at].isA("wgmma.fence"))
      continue;
    states[at].isAhead = true;
    work.insert(work.end(), previous[at].begin(), previous[at].end());
  }
}

std::vector<WgmmaState> fastk::cuda::wgmmaStates(const PTXFunction &function) {
  std::vector<WgmmaState> states;
  for (unsigned facts : factsBefore(function, 0, stepWgmma))
    states.push_back({(facts & openFact) != 0, false});
  findAhead(function, states);
  return states;
}

std::vector<char> fastk::cuda::jumpTargets(const PTXFunction &function) {
  std::vector<char> isTarget(function.statements.size(), 0);
  for (size_t i = 0; i < function.statements.size(); ++i)
    for (size_t next : function.statements[i].next)
      if (next != i + 1)
        isTarget[next] = 1;
  return isTarget;
}
