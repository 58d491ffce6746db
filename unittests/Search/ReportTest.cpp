//===- ReportTest.cpp - Tables, reports, winners of a search --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

TEST(Report, TrajectoryTable) {
  World world(6, hill);
  world.floorSeconds = 100e-9;
  SearchOptions options;
  options.rounds = 1;
  SearchResult result = world.search(options);
  std::string text;
  llvm::raw_string_ostream os(text);
  printTrajectory(result, "add 8xf32", os);
  EXPECT_THAT(text, HasSubstr("round        time  % of baseline  % of floor  "
                              "precision  idea"))
      << text;
  EXPECT_THAT(text, HasSubstr("0         1.00 us          100.0        10.0  "
                              "ieee       default lowering"))
      << text;
  EXPECT_THAT(text, HasSubstr("promoted   300 ns          333.3        33.3  "
                              "ieee       idea 4 (p=7)"))
      << text;
  EXPECT_THAT(text, HasSubstr("winner: 300 ns, 3.33x (3.30 to 3.37) the "
                              "default lowering"))
      << text;
}

TEST(Report, NothingFoundSaysWhy) {
  World world(2, [](int idea, int p) {
    return "wrong " + std::to_string(idea) + std::to_string(p);
  });
  SearchResult result = world.search(SearchOptions());
  std::string text;
  llvm::raw_string_ostream os(text);
  printTrajectory(result, "add", os);
  EXPECT_THAT(text, HasSubstr("nothing passed of 4 evaluated")) << text;
  EXPECT_THAT(
      text, HasSubstr("  could not beat the default lowering, which stays: no "
                      "variant passed: 4 wrong\n"))
      << text;
}

static std::string tableOf(const SearchResult &result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printTrajectory(result, "add", os);
  return text;
}

TEST(Report, DefaultLoweringUnbeatenIsSaidPlainly) {
  World world(2, [](int idea, int p) { return ok(1250, std::to_string(p)); });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.implementations = 1;
  std::string text = tableOf(world.search(options));
  EXPECT_THAT(text, HasSubstr("could not beat the default lowering, which "
                              "stays: the best variant reached 80.0 % of the "
                              "default lowering's speed, and more than 102.0 % "
                              "is needed\n"));
  EXPECT_THAT(text, HasSubstr("1      1.25 us           80.0")) << text;
  EXPECT_THAT(text, testing::Not(HasSubstr("winner:")));
  EXPECT_THAT(text, testing::Not(HasSubstr("promoted")));
  EXPECT_THAT(text, HasSubstr("  1 evaluation, 1 ok, 2 duplicates skipped, "));
}

TEST(Report, ABankWithAWinnerKeepsIt) {
  World world(2, [](int idea, int p) { return ok(1250, std::to_string(p)); });
  SearchInput input = world.input();
  input.bankHasWinner = true;
  auto result = runSearch(input, SearchOptions());
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_THAT(
      tableOf(*result),
      HasSubstr("  no winner, the bank's winner stays: the best variant "
                "reached 80.0 % of the default lowering's speed"));
}

TEST(Report, SlowSaysHowSlow) {
  World world(2, [](int idea, int p) { return ok(2000 + 2000 * idea); });
  world.proposer.sweeps = false;
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &) {
    verdict.status = worker::Status::Slow;
    verdict.reason = "dropped after one trial";
  };
  std::string text = tableOf(world.search(SearchOptions()));
  EXPECT_THAT(text, HasSubstr(", 2 slow (at best 0.50x the default lowering)"));
  EXPECT_THAT(text, HasSubstr("    scripted/0: slow: dropped after one trial"));
}

// Calls in pairs decide how fast it is. The medians of a noisy minute may say
// another number; that it is slower they must not (NoiseTest.cpp).
TEST(Report, WinnersRowSaysWhatWasMeasuredInPairs) {
  World world(1, [](int, int) { return ok(500, "0"); });
  world.proposer.sweeps = false;
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &request) {
    if (request.promote)
      verdict.timing.baseline->medianNs = 700;
  };
  SearchOptions options;
  options.implementations = 1;
  SearchResult result = world.search(options);
  EXPECT_DOUBLE_EQ(result.trajectory.back().baselineSeconds, 1000e-9);
  std::string text = tableOf(result);
  EXPECT_THAT(text, HasSubstr("promoted   500 ns          200.0")) << text;
  EXPECT_THAT(text, HasSubstr("winner: 500 ns, 2.00x"));
}

// What was never measured beside it was not beaten by it.
TEST(Report, NothingEvaluatedIsNotBeaten) {
  World world(0, hill);
  std::string text = tableOf(world.search(SearchOptions()));
  EXPECT_THAT(text,
              HasSubstr("  no winner, the default lowering stays: nothing "
                        "was evaluated\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("could not beat")));
}

TEST(Report, FailedSecondMeasurementIsSaidPlainly) {
  World world(1, [](int, int p) { return "promote-slow 500"; });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.implementations = 1;
  std::string text = tableOf(world.search(options));
  EXPECT_THAT(text,
              HasSubstr("could not beat the default lowering, which stays: "
                        "'idea 0' failed its second measurement: at least "
                        "99.0 % of the default lowering's speed is sure, and "
                        "102.0 % is needed\n"));
  EXPECT_THAT(text, HasSubstr("2 evaluations, 1 ok, 1 second measurement, "));
}

// Whether it can be beaten is not known then.
TEST(Report, InterruptedIsNotBeaten) {
  World world(6, hill);
  world.stopRequested = [&] { return world.evaluator.calls.size() >= 3; };
  std::string text = tableOf(world.search(SearchOptions()));
  EXPECT_THAT(text, testing::Not(HasSubstr("could not beat")));
  EXPECT_THAT(text, HasSubstr("no winner, the default lowering stays: the "
                              "search was interrupted; run it again"));
}

TEST(Report, JsonFile) {
  World world(6, hill);
  TemporaryFolder folder;
  SearchOptions options;
  SearchInput input = world.input();
  auto result = runSearch(input, options);
  ASSERT_TRUE(static_cast<bool>(result));
  std::string path = folder.file("report.json");
  llvm::json::Array workloads;
  workloads.push_back(reportJson(input, options, *result));
  ASSERT_FALSE(static_cast<bool>(writeReport(path, std::move(workloads))));
  auto value = llvm::json::parse(readAll(path));
  ASSERT_TRUE(static_cast<bool>(value));
  auto *workload =
      (*value->getAsObject()->getArray("workloads"))[0].getAsObject();
  EXPECT_EQ(workload->getString("name"), "add");
  EXPECT_EQ(workload->getObject("winner")->getString("idea"), "scripted/4");
  EXPECT_EQ(
      workload->getObject("winner")->getObject("verdict")->getString("status"),
      "ok");
  EXPECT_EQ(workload->getArray("verdicts")->size(), result->history.size());
  EXPECT_EQ(workload->getObject("costs")->getInteger("evaluations"),
            result->counts.evaluations);
}

TEST(Report, WinnerGoesIntoTheBank) {
  World world(6, hill);
  TemporaryFolder folder;
  SearchOptions options;
  SearchInput input = world.input();
  auto result = runSearch(input, options);
  ASSERT_TRUE(result && result->winner);
  auto bank = Bank::open(folder.str());
  auto written = bank->write(*winnerModule(input, options, *result),
                             trajectoryJson(input, options, *result));
  ASSERT_TRUE(static_cast<bool>(written));
  WinnerFilter filter;
  filter.anyMachine = true;
  BankLookup found =
      bank->lookup(keyOf(world.context, 8), filter, &world.context.context);
  ASSERT_TRUE(found.winner) << found.reason;
  WinnerRecord record = found.winner->getRecord();
  EXPECT_EQ(record.cpu, hostCpu());
  EXPECT_EQ(record.title, "idea 4");
  EXPECT_EQ(record.parameters.at("p"), 7);
  EXPECT_EQ(record.medianNs, 300);
  EXPECT_EQ(record.machine, "test machine");
  EXPECT_TRUE(static_cast<bool>(
      llvm::json::parse(readAll(written->folder + "/trajectory.json"))));
}

TEST(Progress, OneLineARoundWithoutATerminal) {
  World world(12, hill);
  std::string text;
  llvm::raw_string_ostream os(text);
  auto progress = createStreamProgress(os, /*isTerminal=*/false, "add 8xf32");
  world.progress = progress.get();
  SearchOptions options;
  options.rounds = 2;
  SearchResult result = world.search(options);
  EXPECT_EQ(llvm::StringRef(text).count('\n'),
            2u + (text.find("sweep") != std::string::npos))
      << text;
  EXPECT_THAT(text, HasSubstr("add 8xf32: round 1/2, "));
  EXPECT_THAT(text, HasSubstr("default lowering: idea 4"));
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, StatusLineOnATerminalIsCleared) {
  World world(12, hill);
  std::string text;
  llvm::raw_string_ostream os(text);
  auto progress = createStreamProgress(os, /*isTerminal=*/true, "add");
  world.progress = progress.get();
  world.search(SearchOptions());
  EXPECT_GT(llvm::StringRef(text).count("\r\x1b[K"), 10u);
  EXPECT_TRUE(llvm::StringRef(text).ends_with("\n") ||
              llvm::StringRef(text).ends_with("\r\x1b[K"));
}

// What takes long shows its seconds, and the shown time goes on by itself.
TEST(Progress, TicksOnATerminal) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double now = 100;
  auto progress =
      createStreamProgress(os, /*isTerminal=*/true, "add", [&] { return now; });
  progress->tick();
  EXPECT_EQ(text, "") << "nothing is shown yet";
  progress->preparing("compiling the oracle");
  EXPECT_EQ(text, "add: compiling the oracle, 0 s");
  now += 0.5;
  progress->tick();
  EXPECT_EQ(text, "add: compiling the oracle, 0 s") << "once a second";
  now += 2;
  progress->tick();
  EXPECT_TRUE(
      llvm::StringRef(text).ends_with("\r\x1b[Kadd: compiling the oracle, 2 s"))
      << text;
  SearchStanding standing;
  standing.round = "1";
  standing.rounds = 5;
  standing.evaluations = 3;
  standing.elapsedSeconds = 40;
  standing.title = "tile";
  progress->evaluating(standing);
  now += 3;
  progress->tick();
  EXPECT_TRUE(llvm::StringRef(text).ends_with(
      "\r\x1b[Kadd: round 1/5, 3 evaluations, 43 s, trying: tile"))
      << text;
  progress->ended();
  EXPECT_TRUE(llvm::StringRef(text).ends_with("\r\x1b[K"));
}

TEST(Progress, NothingButRoundsOfWhatIsQuickWithoutATerminal) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double now = 0;
  auto progress = createStreamProgress(os, /*isTerminal=*/false, "add",
                                       [&] { return now; });
  progress->preparing("compiling the oracle");
  SearchStanding standing;
  standing.round = "1";
  standing.rounds = 5;
  standing.evaluations = 4;
  progress->evaluating(standing);
  now = 1.9;
  progress->tick();
  progress->ended();
  now = 10;
  progress->tick();
  EXPECT_EQ(text, "");
  progress->roundEnded(standing);
  EXPECT_EQ(text, "add: round 1/5, 4 evaluations, 0 s, nothing passed yet\n");
}

// Nobody is to think that it hangs: what takes longer than two seconds is told
// once.
TEST(Progress, WhatTakesLongIsToldWithoutATerminal) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double now = 0;
  auto progress = createStreamProgress(os, /*isTerminal=*/false, "add",
                                       [&] { return now; });
  auto wait = [&](double seconds) {
    for (double end = now + seconds; now < end; now += 0.5)
      progress->tick();
    std::string said;
    std::swap(said, text);
    return said;
  };
  progress->preparing("compiling the oracle");
  EXPECT_EQ(wait(5), "add: compiling the oracle\n");
  progress->ended();
  ModelCosts costs;
  progress->asking("command:x", 2, costs);
  EXPECT_EQ(wait(60), "add: asking command:x 2 prompts\n");
  progress->asking("command:x", 2, costs);
  EXPECT_EQ(wait(60), "add: asking command:x 2 prompts\n");

  // A round of short evaluations takes long, too.
  SearchStanding standing;
  standing.round = "1";
  standing.rounds = 5;
  standing.title = "tile";
  std::string said;
  for (standing.evaluations = 0; standing.evaluations < 9;
       ++standing.evaluations) {
    progress->evaluating(standing);
    said += wait(1);
  }
  EXPECT_EQ(said, "add: round 1/5, 2 evaluations, trying: tile\n");
  progress->roundEnded(standing);
  text.clear();

  // Each second measurement takes seconds, and nothing else tells of it.
  standing.round = "second measurement";
  standing.bestSpeedup = 2;
  progress->evaluating(standing);
  EXPECT_EQ(wait(30), "add: second measurement, 9 evaluations, best 2.00x "
                      "default lowering, trying: tile\n");
  standing.title = "unroll";
  progress->evaluating(standing);
  EXPECT_EQ(wait(30), "add: second measurement, 9 evaluations, best 2.00x "
                      "default lowering, trying: unroll\n");
}
