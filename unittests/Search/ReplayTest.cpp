//===- ReplayTest.cpp - Searches that run again from a record -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Replay.h"
#include "AskingWorld.h"
#include "fastk/Propose/LLM/ReplayModel.h"
#include "fastk/Support/Sha256.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

namespace {

SearchOptions smallOptions() {
  SearchOptions options;
  options.rounds = 3;
  options.ideas = 4;
  options.implementations = 2;
  options.roundSweep = 3;
  options.finalSweep = 4;
  options.seed = 11;
  return options;
}

/// Ideas like those of the other tests' worlds, some of which are mended.
std::unique_ptr<World> makeWorld() {
  auto world = std::make_unique<World>(20, hill);
  world->proposer.repairTo = [](std::string program) {
    return program.find("mended") == std::string::npos ? program + " mended"
                                                       : ok(800, program);
  };
  world->evaluator.secondsPerCall = 0.1;
  return world;
}

/// What the driver makes of a journal.
Cassette cassetteOf(const std::string &journal, World &world,
                    bool isComplete = true, bool answersLater = false) {
  Cassette cassette;
  cassette.path = "run.jsonl";
  auto recorded = Journal::recordedIn(journal);
  if (!recorded || !*recorded) {
    ADD_FAILURE() << llvm::toString(recorded.takeError());
    return cassette;
  }
  cassette.searches.push_back(std::move(**recorded));
  RecordedSearch &search = cassette.searches.front();
  search.workload = TestContext::loweringOf(*world.module).getKey().str();
  search.isComplete = isComplete;
  search.answersLater = answersLater;
  search.cpu = "recording CPU";
  // What is replayed was a file.
  auto read = parseCassette(toText(cassette), "run.jsonl");
  EXPECT_TRUE(passed(read));
  return std::move(*read);
}

/// Searches with what is recorded alone. The clock of `world` runs all the
/// same, and must not matter.
llvm::Expected<SearchResult> replay(World &world, const Cassette &cassette,
                                    const SearchOptions &options,
                                    Journal *journal = nullptr,
                                    Proposer *proposer = nullptr) {
  auto evaluator =
      createReplayEvaluator(std::make_shared<const Cassette>(cassette));
  SearchInput live = world.input(journal);
  double ticks = 0;
  if (!proposer)
    proposer = &world.proposer;
  SearchInput input{live.workload,
                    proposer,
                    *evaluator,
                    journal,
                    /*progress=*/nullptr,
                    live.seeds,
                    [&] { return ticks += 1000; },
                    live.stopRequested,
                    live.provenance,
                    live.known,
                    &cassette.searches.front()};
  return runSearch(input, options);
}

/// The same to the end, in a fresh journal; what that records.
std::string replayToTheEnd(const Cassette &cassette,
                           const SearchOptions &options,
                           const std::string &expected,
                           double expectedSeconds) {
  MemoryFolder folder;
  auto world = makeWorld();
  auto journal = world->openJournal(folder.str(), options);
  auto result = replay(*world, cassette, options, journal.get());
  if (!passed(result))
    return "";
  EXPECT_EQ(summary(*world, *result), expected);
  EXPECT_EQ(result->answeredSeconds, expectedSeconds);
  EXPECT_EQ(result->counts.replayed, 0);
  EXPECT_TRUE(world->evaluator.calls.empty());
  const RecordedSearch &search = cassette.searches.front();
  return toText(
      cassetteOf(folder.str(), *world, search.isComplete, search.answersLater));
}

std::string problemOf(llvm::Expected<SearchResult> result) {
  return result ? "" : llvm::toString(result.takeError());
}

/// The journal that a search of `options` leaves.
struct Recorded {
  explicit Recorded(const SearchOptions &options) : world(makeWorld()) {
    result =
        world->search(options, world->openJournal(folder.str(), options).get());
    cassette = cassetteOf(folder.str(), *world);
    text = summary(*world, result);
  }
  MemoryFolder folder;
  std::unique_ptr<World> world;
  SearchResult result;
  Cassette cassette;
  std::string text;
};

} // namespace

TEST(Replay, ComesToTheSameEnd) {
  Recorded recorded(smallOptions());
  ASSERT_TRUE(recorded.result.winner);
  EXPECT_GT(recorded.result.counts.repairs, 0);
  EXPECT_GT(recorded.result.answeredSeconds, 1);
  std::string again =
      replayToTheEnd(recorded.cassette, smallOptions(), recorded.text,
                     recorded.result.answeredSeconds);
  EXPECT_EQ(again, toText(recorded.cassette));
}

TEST(Replay, IsResumedLikeAnySearch) {
  SearchOptions options = smallOptions();
  Recorded recorded(options);
  MemoryFolder folder;
  // The user stops it again and again.
  for (int allowed = 5;; allowed += 5) {
    ASSERT_LT(allowed, 1000);
    auto world = makeWorld();
    int asked = 0;
    world->stopRequested = [&] { return ++asked > allowed; };
    auto journal = world->openJournal(folder.str(), options);
    auto result = replay(*world, recorded.cassette, options, journal.get());
    ASSERT_TRUE(passed(result));
    if (result->end == SearchEnd::Interrupted)
      continue;
    EXPECT_EQ(summary(*world, *result), recorded.text);
    EXPECT_EQ(result->answeredSeconds, recorded.result.answeredSeconds);
    EXPECT_EQ(toText(cassetteOf(folder.str(), *world)),
              toText(recorded.cassette));
    break;
  }
}

TEST(Replay, AsksInBatchesWhereAnswersCameLater) {
  // Answers come a few at a time, in an order of their own, and late.
  ScriptedEvaluator::Spool spool;
  SearchOptions options = smallOptions();
  MemoryFolder folder;
  std::string expected;
  double seconds = 0;
  auto world = makeWorld();
  for (int pass = 1; expected.empty(); ++pass) {
    ASSERT_LT(pass, 1000);
    world = makeWorld();
    world->evaluator.spool = &spool;
    world->evaluator.now = 100 * pass;
    SearchResult result =
        world->search(options, world->openJournal(folder.str(), options).get());
    if (result.end != SearchEnd::Pending) {
      expected = summary(*world, result);
      seconds = result.answeredSeconds;
    }
    std::vector<std::string> waiting = spool.unanswered();
    std::reverse(waiting.begin(), waiting.end());
    for (size_t i = 0; i < waiting.size() && i < 3; ++i)
      spool.answered.insert(waiting[i]);
  }
  Cassette cassette = cassetteOf(folder.str(), *world, /*isComplete=*/true,
                                 /*answersLater=*/true);
  EXPECT_EQ(replayToTheEnd(cassette, options, expected, seconds),
            toText(cassette));
  // One after the other the search takes another way.
  cassette.searches.front().answersLater = false;
  auto other = makeWorld();
  auto result = replay(*other, cassette, options);
  EXPECT_TRUE(!result || summary(*other, *result) != expected);
  consumeError(result.takeError());
}

TEST(Replay, BeginsWithWhatTheRecordedSearchBeganWith) {
  SearchOptions options = smallOptions();
  MemoryFolder folder;
  auto recording = makeWorld();
  SearchSeed seed;
  seed.idea = {"bank/winner", IdeaCategory::Compute, "known", "Do it."};
  seed.variant = recording->proposer.make(4, 9);
  seed.variant.ideaId = seed.idea.id;
  recording->seeds = {seed};
  SearchResult result = recording->search(
      options, recording->openJournal(folder.str(), options).get());
  ASSERT_EQ(result.history.front().variant.ideaId, "bank/winner");
  Cassette cassette = cassetteOf(folder.str(), *recording);
  ASSERT_EQ(cassette.searches.front().seeds.size(), 1u);
  MemoryFolder fresh;
  auto world = makeWorld();
  auto journal = world->openJournal(fresh.str(), options);
  auto replayed = replay(*world, cassette, options, journal.get());
  ASSERT_TRUE(passed(replayed));
  ASSERT_TRUE(world->seeds.empty());
  EXPECT_EQ(summary(*world, *replayed), summary(*recording, result));
  EXPECT_EQ(toText(cassetteOf(fresh.str(), *world)), toText(cassette));
}

TEST(Replay, MinutesEndItWhereTheyEndedTheRecordedSearch) {
  SearchOptions options = smallOptions();
  options.budget.minutes = 2.0 / 60;
  Recorded recorded(options);
  ASSERT_EQ(recorded.result.end, SearchEnd::Budget);
  ASSERT_TRUE(recorded.result.winner);
  EXPECT_EQ(replayToTheEnd(recorded.cassette, options, recorded.text,
                           recorded.result.answeredSeconds),
            toText(recorded.cassette));
}

TEST(Replay, ALargerShareOfTheEvaluationsEndsIt) {
  SearchOptions options = smallOptions();
  options.budget.evaluations = 20;
  Recorded recorded(options);
  ASSERT_EQ(recorded.result.end, SearchEnd::Budget);
  ASSERT_TRUE(recorded.result.winner);
  replayToTheEnd(recorded.cassette, options, recorded.text,
                 recorded.result.answeredSeconds);
  options.budget.evaluations = 40;
  replayToTheEnd(recorded.cassette, options, recorded.text,
                 recorded.result.answeredSeconds);
  // Without a limit there is no reason to end there.
  options.budget.evaluations = 0;
  auto world = makeWorld();
  EXPECT_THAT(problemOf(replay(*world, recorded.cassette, options)),
              HasSubstr("run.jsonl: holds no verdict evaluate/"));
}

TEST(Replay, AnotherWayIsAnError) {
  Recorded recorded(smallOptions());
  SearchOptions options = smallOptions();
  options.ideas = 5;
  // A limit does not hide it: answers are left that nobody asked for.
  options.budget.evaluations = 1000;
  auto world = makeWorld();
  std::string problem = problemOf(replay(*world, recorded.cassette, options));
  EXPECT_THAT(problem, HasSubstr("run.jsonl: holds no verdict evaluate/"));
  EXPECT_THAT(problem, HasSubstr("... on a variant of 'scripted/12': the "
                                 "recorded search did not try it; search as "
                                 "it was recorded"));
}

TEST(Replay, ASearchThatWasNotAtItsEnd) {
  SearchOptions options = smallOptions();
  options.budget.evaluations = 1000;
  MemoryFolder folder;
  auto recording = makeWorld();
  int asked = 0;
  recording->stopRequested = [&] { return ++asked > 20; };
  SearchResult result = recording->search(
      options, recording->openJournal(folder.str(), options).get());
  ASSERT_EQ(result.end, SearchEnd::Interrupted);
  Cassette cassette =
      cassetteOf(folder.str(), *recording, /*isComplete=*/false);
  auto world = makeWorld();
  EXPECT_THAT(problemOf(replay(*world, cassette, options)),
              HasSubstr("the recorded search did not try it, or not yet: it "
                        "was pending or interrupted when it was recorded"));
}

TEST(Replay, AnotherWorkloadIsAnError) {
  Recorded recorded(smallOptions());
  Cassette cassette = recorded.cassette;
  cassette.searches.front().workload = std::string(64, '0');
  auto world = makeWorld();
  EXPECT_THAT(problemOf(replay(*world, cassette, smallOptions())),
              HasSubstr("is recorded there; search as it was recorded"));
}

//===----------------------------------------------------------------------===//
// With language models
//===----------------------------------------------------------------------===//

namespace {
/// An asking world whose clock runs, and some of whose replies fail.
struct ModelWorld : AskingWorld {
  ModelWorld() {
    auto say = model.say;
    model.say = [this, say](const Prompt &prompt) -> std::optional<Reply> {
      evaluator.now += 0.25;
      if (prompt.sample == 1 && prompt.user == "asking/1-0")
        return failing(ModelFailure::Timeout);
      if (prompt.sample == 1 && prompt.user == "asking/2-0")
        return saying("bad");
      return say(prompt);
    };
  }
};
} // namespace

TEST(Replay, RepliesComeFromTheRecordToo) {
  TemporaryFolder folder;
  ModelWorld world;
  auto journal = world.journalIn(folder);
  auto result = world.run(journal.get());
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->counts.statuses["unreadable"], 1);
  Cassette cassette = cassetteOf(folder.str() + "/journal", world);
  EXPECT_GT(cassette.searches.front().exchanges.size(), 9u);

  std::string path = folder.file("run.jsonl");
  ASSERT_TRUE(passed(writeCassette(cassette, path)));
  auto model = createReplayModel(path);
  ASSERT_TRUE(passed(model));
  AskingProposer asking(**model);
  ModelWorld again;
  auto second = again.openJournal(folder.file("second"), again.options);
  auto replayed = replay(again, cassette, again.options, second.get(), &asking);
  ASSERT_TRUE(passed(replayed));
  EXPECT_EQ(summary(again, *replayed), summary(world, *result));
  EXPECT_EQ(replayed->answeredSeconds, result->answeredSeconds);
  EXPECT_EQ(replayed->models.exchanges, result->models.exchanges);
  EXPECT_EQ(replayed->models.inputTokens, result->models.inputTokens);
  EXPECT_EQ(again.model.calls, 0);
  EXPECT_EQ(toText(cassetteOf(folder.file("second"), again)), toText(cassette));
}

// What had failed was answered by a later run, behind all rounds: so it is in
// the replay.
TEST(Replay, WhatWasAskedAgainIsAskedAgain) {
  TemporaryFolder folder;
  auto searchOnce = [&](ModelWorld &world) {
    auto journal = world.journalIn(folder);
    auto result = world.run(journal.get());
    EXPECT_TRUE(passed(result));
    return std::move(*result);
  };
  ModelWorld first, world;
  size_t tried = searchOnce(first).history.size();
  SearchResult result = searchOnce(world);
  EXPECT_EQ(world.model.asked.size(), 1u);
  EXPECT_EQ(result.history.size(), tried + 1);
  Cassette cassette = cassetteOf(folder.str() + "/journal", world);

  std::string path = folder.file("run.jsonl");
  ASSERT_TRUE(passed(writeCassette(cassette, path)));
  auto model = createReplayModel(path);
  ASSERT_TRUE(passed(model));
  AskingProposer asking(**model);
  ModelWorld again;
  auto second = again.openJournal(folder.file("second"), again.options);
  auto replayed = replay(again, cassette, again.options, second.get(), &asking);
  ASSERT_TRUE(passed(replayed));
  EXPECT_EQ(summary(again, *replayed), summary(world, result));
  EXPECT_TRUE(replayed->modelFailures.empty());
  EXPECT_EQ(again.model.calls, 0);
}

TEST(Replay, TokensEndItWhereTheyEndedTheRecordedSearch) {
  TemporaryFolder folder;
  AskingWorld world;
  world.options.budget.tokens = 3000;
  auto journal = world.journalIn(folder);
  auto result = world.run(journal.get());
  ASSERT_TRUE(passed(result));
  ASSERT_EQ(result->end, SearchEnd::Budget) << result->detail;
  Cassette cassette = cassetteOf(folder.str() + "/journal", world);
  std::string path = folder.file("run.jsonl");
  ASSERT_TRUE(passed(writeCassette(cassette, path)));
  // The second time with a larger share, as after a workload that was pending.
  for (int64_t tokens : {3000, 3200}) {
    auto model = createReplayModel(path);
    ASSERT_TRUE(passed(model));
    AskingProposer asking(**model);
    AskingWorld again;
    again.options.budget.tokens = tokens;
    auto replayed =
        replay(again, cassette, again.options, /*journal=*/nullptr, &asking);
    ASSERT_TRUE(passed(replayed));
    EXPECT_EQ(summary(again, *replayed), summary(world, *result));
  }
}

// How much of which limit was spent is not known: the replay's are the user's.
TEST(Replay, ALimitOfTheRecordedSearchIsNotTakenForTheReplays) {
  SearchOptions options = smallOptions();
  options.budget.evaluations = 8;
  Recorded recorded(options);
  EXPECT_THAT(recorded.result.detail, HasSubstr("budget of 8 evaluations"));
  options.budget.evaluations = 100;
  auto world = makeWorld();
  auto replayed = replay(*world, recorded.cassette, options);
  ASSERT_TRUE(passed(replayed));
  EXPECT_EQ(replayed->end, SearchEnd::Budget);
  EXPECT_EQ(replayed->detail, "the recorded search asked for nothing more: a "
                              "limit had ended it");
  EXPECT_TRUE(replayed->isReplay);
}

//===----------------------------------------------------------------------===//
// Journals
//===----------------------------------------------------------------------===//

TEST(Replay, ALiveJournalIsNotTaken) {
  SearchOptions options = smallOptions();
  Recorded recorded(options);
  auto world = makeWorld();
  SearchInput input = world->input();
  input.recording = &recorded.cassette.searches.front();
  auto journal =
      Journal::open(recorded.folder.str(), bindingOf(input, options));
  ASSERT_FALSE(static_cast<bool>(journal));
  EXPECT_THAT(llvm::toString(journal.takeError()),
              HasSubstr("belongs to another search: evaluator was absent and "
                        "is now replay"));
}

TEST(Replay, TheWinnerIsOfTheRecordingMachine) {
  SearchOptions options = smallOptions();
  Recorded recorded(options);
  auto world = makeWorld();
  SearchInput input = world->input();
  input.recording = &recorded.cassette.searches.front();
  EXPECT_EQ(winnerRecord(input, options, recorded.result).cpu, "recording CPU");
}

TEST(Replay, WhatIsInAJournal) {
  SearchOptions options = smallOptions();
  Recorded recorded(options);
  const RecordedSearch &search = recorded.cassette.searches.front();
  EXPECT_EQ(search.verdicts.size(),
            static_cast<size_t>(recorded.result.counts.evaluations));
  EXPECT_THAT(
      search.binding,
      testing::Contains(std::pair<std::string, std::string>("rounds", "3")));
  EXPECT_THAT(search.binding,
              testing::Contains(std::pair<std::string, std::string>(
                  "worker", std::string(64, 'a'))));
  // It is read while a search holds it, and left as it is.
  auto journal = recorded.world->openJournal(recorded.folder.str(), options);
  std::string path = recorded.folder.file("journal.jsonl");
  std::string content = readAll(path) + "{\"check\":\"cut";
  writeAll(path, content);
  EXPECT_EQ(toText(cassetteOf(recorded.folder.str(), *recorded.world)),
            toText(recorded.cassette));
  EXPECT_EQ(readAll(path), content);

  auto none = Journal::recordedIn(recorded.folder.file("none"));
  ASSERT_TRUE(passed(none));
  EXPECT_FALSE(*none);
  content[content.find("evaluation")] = 'E';
  writeAll(path, content);
  auto damaged = Journal::recordedIn(recorded.folder.str());
  ASSERT_FALSE(static_cast<bool>(damaged));
  EXPECT_THAT(llvm::toString(damaged.takeError()),
              HasSubstr("the line was changed or damaged"));
}

TEST(Replay, ATextThatIsMissingInTheJournal) {
  TemporaryFolder folder;
  ModelWorld world;
  ASSERT_TRUE(passed(world.run(world.journalIn(folder).get())));
  std::string texts = folder.str() + "/journal/texts/";
  std::string digest = sha256("You write kernels.");
  ASSERT_FALSE(llvm::sys::fs::remove(texts + digest + ".md",
                                     /*IgnoreNonExisting=*/false));
  auto recorded = Journal::recordedIn(folder.str() + "/journal");
  ASSERT_FALSE(static_cast<bool>(recorded));
  EXPECT_THAT(llvm::toString(recorded.takeError()), HasSubstr(digest));
}
