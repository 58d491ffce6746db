//===- OnceProgress.cpp - Progress of a search that asks again ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnceProgress.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace fastk;

namespace {
class OnceProgress : public SearchProgress {
public:
  explicit OnceProgress(std::unique_ptr<SearchProgress> shown)
      : shown(std::move(shown)) {}

  void note(StringRef text) override {
    if (said.insert(text).second)
      shown->note(text);
  }
  void preparing(StringRef what) override { shown->preparing(what); }
  void tick() override { shown->tick(); }
  void asking(StringRef model, size_t prompts,
              const ModelCosts &costs) override {
    shown->asking(model, prompts, costs);
  }
  void evaluating(const SearchStanding &standing) override {
    if (!rounds.contains(standing.round))
      shown->evaluating(standing);
  }
  void evaluated(const SearchStanding &standing, StringRef status,
                 StringRef reason) override {
    if (!rounds.contains(standing.round))
      shown->evaluated(standing, status, reason);
  }
  void roundEnded(const SearchStanding &standing) override {
    if (rounds.insert(standing.round).second)
      shown->roundEnded(standing);
  }
  void ended() override { shown->ended(); }

private:
  std::unique_ptr<SearchProgress> shown;
  StringSet<> said, rounds;
};
} // namespace

std::unique_ptr<SearchProgress>
fastk::createOnceProgress(std::unique_ptr<SearchProgress> shown) {
  return std::make_unique<OnceProgress>(std::move(shown));
}
