//===- StrategyTest.cpp - Strategies that fastk has not -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strategy is a class, and nothing else of a search knows which one it has.
//
//===----------------------------------------------------------------------===//

#include "SearchTestUtils.h"
#include "Strategy/SearchStrategy.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Rounds of one idea of the first proposer, two programs and one step of a
/// sweep.
class Pairs : public SearchStrategy {
public:
  llvm::Error run(SearchMoves &moves) override {
    for (int number = 1; number <= roundsAllowed() && !moves.areRoundsOver();
         ++number) {
      moves.beginRound(number);
      moves.chooseParents(/*count=*/2);
      Answer<AskedIdea> idea = moves.askIdea(/*proposer=*/0);
      if (!idea)
        return idea.takeError();
      if (!*idea) {
        moves.endWithoutIdeas();
        break;
      }
      if (llvm::Error error = attempt(moves, **idea))
        return error;
      if (std::optional<size_t> best = moves.bestOfRound())
        if (llvm::Error error = moves.sweep(*best, /*limit=*/1))
          return error;
      moves.endRound();
    }
    return llvm::Error::success();
  }
  int roundsAllowed() const override { return 4; }
  int patience() const override { return 2; }

protected:
  virtual llvm::Error attempt(SearchMoves &moves, const AskedIdea &idea) {
    return moves.tryIdea(idea, /*count=*/2);
  }
};

/// The same with all that there is to try in one batch.
class PairsTogether : public Pairs {
public:
  bool seedsGoWithFirstRound() const override { return true; }

protected:
  llvm::Error attempt(SearchMoves &moves, const AskedIdea &idea) override {
    return moves.tryIdeas(idea, /*count=*/2).takeError();
  }
};

template <typename Strategy>
std::unique_ptr<SearchStrategy> create(const SearchOptions &) {
  return std::make_unique<Strategy>();
}
constexpr StrategyKind kPairs = {"pairs", create<Pairs>};
constexpr StrategyKind kPairsTogether = {"together", create<PairsTogether>};

SearchOptions optionsOf(const StrategyKind &kind) {
  SearchOptions options;
  options.strategy = &kind;
  // The strategy has its own.
  options.rounds = options.patience = 100;
  options.finalSweep = 0;
  return options;
}

std::vector<int> evaluationsOfRounds(const SearchResult &result) {
  std::vector<int> evaluations;
  for (const TrajectoryRow &row : result.trajectory)
    if (row.round != "0" && row.round != "promoted")
      evaluations.push_back(row.evaluations);
  return evaluations;
}

} // namespace

TEST(Strategy, OfItsOwnDecidesTheRounds) {
  World world(12, hill);
  std::string shown;
  llvm::raw_string_ostream os(shown);
  auto progress = createStreamProgress(os, /*isTerminal=*/false, "add",
                                       [&] { return world.evaluator.now; });
  world.progress = progress.get();
  SearchResult result = world.search(optionsOf(kPairs));
  EXPECT_EQ(result.end, SearchEnd::Rounds);
  // Idea 3 is wrong: there is nothing to climb from.
  EXPECT_THAT(evaluationsOfRounds(result), ElementsAre(3, 3, 3, 2));
  EXPECT_EQ(world.proposer.lastParents, 2u);
  EXPECT_THAT(shown, HasSubstr("round 4/4"));
  ASSERT_TRUE(result.winner) << result.noWinnerReason;
  EXPECT_EQ(result.winner->idea.id, "scripted/2");
}

TEST(Strategy, ItsPatienceEndsTheRounds) {
  World world(12, [](int idea, int p) {
    return ok(500, std::to_string(idea) + "/" + std::to_string(p));
  });
  SearchResult result = world.search(optionsOf(kPairs));
  EXPECT_EQ(result.end, SearchEnd::Stagnation);
  EXPECT_THAT(result.detail, testing::StartsWith("2 rounds gained less"));
  EXPECT_EQ(evaluationsOfRounds(result).size(), 3u);
}

TEST(Strategy, WithoutIdeasIsExhausted) {
  World world(2, hill);
  SearchResult result = world.search(optionsOf(kPairs));
  EXPECT_EQ(result.end, SearchEnd::Exhausted);
  EXPECT_EQ(evaluationsOfRounds(result).size(), 2u);
}

// Where answers come later, it says what the first batch has.
TEST(Strategy, ItsSeedsGoWithTheFirstRoundOrBeforeIt) {
  for (const StrategyKind *kind : {&kPairs, &kPairsTogether}) {
    World world(12, hill);
    ScriptedEvaluator::Spool spool;
    world.evaluator.spool = &spool;
    Idea idea;
    idea.id = "bank/winner";
    Variant variant;
    variant.program = ok(400, "seed");
    world.seeds = {{idea, variant}};
    SearchResult result = world.search(optionsOf(*kind));
    EXPECT_EQ(result.end, SearchEnd::Pending);
    EXPECT_EQ(spool.written.size(), kind == &kPairs ? 1u : 3u);
  }
}

TEST(Strategy, IsResumedFromItsJournal) {
  SearchOptions options = optionsOf(kPairs);
  World first(12, hill), second(12, hill), other(12, hill);
  MemoryFolder folder;
  std::string expected = summary(
      first,
      first.search(options, first.openJournal(folder.str(), options).get()));
  EXPECT_EQ(
      summary(second,
              second.search(options,
                            second.openJournal(folder.str(), options).get())),
      expected);
  EXPECT_TRUE(second.evaluator.calls.empty());
  // The journal is that of this strategy.
  auto journal = Journal::open(
      folder.str(), bindingOf(other.input(), optionsOf(kPairsTogether)));
  ASSERT_FALSE(static_cast<bool>(journal));
  EXPECT_THAT(llvm::toString(journal.takeError()), HasSubstr("strategy"));
}

TEST(Strategy, NamesAreThoseOfTheTable) {
  for (const StrategyKind &kind : searchStrategies())
    EXPECT_EQ(llvm::cantFail(findSearchStrategy(kind.name)), &kind);
  EXPECT_EQ(describeSearchStrategies(), "branching (default) or sequential");
  auto unknown = findSearchStrategy("luck");
  ASSERT_FALSE(static_cast<bool>(unknown));
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "unknown strategy 'luck': choose branching or sequential");
}
