//===- Outcomes.cpp - What became of what was sent ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outcomes.h"
#include "Tool.h"
#include "fastk/Support/PlainText.h"
#include <numeric>

using namespace fastk;
using namespace fastk::bank;

void Outcomes::tell(const SyncOutcome &outcome) {
  static constexpr llvm::StringLiteral kWords[] = {"stored", "replaced", "kept",
                                                   "left out"};
  ++counts[outcome.kind];
  llvm::outs() << kWords[outcome.kind] << ": " << plainText(outcome.place)
               << (outcome.why.empty() ? "" : ": ") << plainText(outcome.why)
               << "\n";
  llvm::outs().flush();
}

static size_t sumOf(llvm::ArrayRef<size_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), size_t(0));
}

bool Outcomes::isEmpty() const { return sumOf(counts) == 0; }

int Outcomes::finish() const {
  size_t all = sumOf(counts);
  llvm::outs() << all << " " << (all == 1 ? one : many) << ": "
               << counts[SyncOutcome::Stored] << " stored, "
               << counts[SyncOutcome::Replaced] << " " << replaced << ", "
               << counts[SyncOutcome::Kept] << " " << kept << ", "
               << counts[SyncOutcome::LeftOut] << " left out\n";
  return counts[SyncOutcome::LeftOut] ? kExitRefused : kExitDone;
}
