//===- ResumeTest.cpp - Searches that were killed go on -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchTestUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include <csignal>
#include <fcntl.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk;
using namespace fastk::test;

namespace {

SearchOptions optionsOf(const StrategyKind *strategy) {
  SearchOptions options;
  options.strategy = strategy;
  options.rounds = 3;
  options.ideas = 4;
  options.implementations = 2;
  options.roundSweep = 3;
  options.finalSweep = 4;
  options.seed = 11;
  return options;
}

/// World with repairs: idea 3, 8, ... are wrong at first.
std::unique_ptr<World> makeWorld() {
  auto world = std::make_unique<World>(20, hill);
  world->proposer.repairTo = [](const std::string &program) {
    return program.find("mended") == std::string::npos ? program + " mended"
                                                       : ok(800, program);
  };
  return world;
}

void expectDisjoint(const std::vector<std::string> &first,
                    const std::vector<std::string> &second,
                    const std::string &where) {
  for (const std::string &call : second)
    EXPECT_FALSE(llvm::is_contained(first, call))
        << where << ": evaluated again: " << call;
}

/// All strategies that there are.
class Resume : public testing::TestWithParam<const StrategyKind *> {};

// The journal of a whole search, cut after every event and at every byte of the
// last events, resumes to the same end; no evaluation that a whole line records
// is made again, and none is missing.
TEST_P(Resume, FromEveryCut) {
  SearchOptions options = optionsOf(GetParam());
  MemoryFolder folder;
  auto whole = makeWorld();
  SearchResult reference =
      whole->search(options, whole->openJournal(folder.str(), options).get());
  ASSERT_TRUE(reference.winner) << reference.noWinnerReason;
  std::string expected = summary(*whole, reference);
  std::string path = folder.file("journal.jsonl");
  std::string text = readAll(path);

  std::vector<size_t> ends;
  std::vector<size_t> cuts = {0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      ends.push_back(i + 1);
  ASSERT_GT(ends.size(), 30u);
  for (size_t end : ends)
    cuts.push_back(end);
  for (size_t byte = ends[ends.size() - 4]; byte < text.size(); ++byte)
    cuts.push_back(byte);
  // And one place within each earlier line.
  for (size_t i = 0; i + 1 < ends.size(); ++i)
    cuts.push_back((ends[i] + ends[i + 1]) / 2);

  for (size_t cut : cuts) {
    std::string kept = text.substr(0, cut);
    writeAll(path, kept);
    size_t recorded = 0;
    size_t lastEnd =
        kept.rfind('\n') == std::string::npos ? 0 : kept.rfind('\n') + 1;
    llvm::StringRef wholeLines = llvm::StringRef(kept).take_front(lastEnd);
    recorded = wholeLines.count("\"type\":\"evaluation\"");
    auto world = makeWorld();
    auto journal = world->openJournal(folder.str(), options);
    ASSERT_TRUE(journal) << cut;
    EXPECT_EQ(journal->note().empty(), lastEnd == kept.size()) << cut;
    SearchResult resumed = world->search(options, journal.get());
    ASSERT_EQ(summary(*world, resumed), expected) << "cut at " << cut;
    ASSERT_EQ(world->evaluator.calls.size(),
              whole->evaluator.calls.size() - recorded)
        << "cut at " << cut;
    EXPECT_EQ(resumed.counts.replayed, static_cast<int>(recorded));
    journal.reset();
    ASSERT_EQ(llvm::StringRef(readAll(path)).count('\n'), ends.size());
  }
}

// A finished journal answers everything.
TEST_P(Resume, FinishedSearchAsksNothing) {
  SearchOptions options = optionsOf(GetParam());
  MemoryFolder folder;
  auto first = makeWorld(), second = makeWorld();
  std::string expected = summary(
      *first,
      first->search(options, first->openJournal(folder.str(), options).get()));
  std::string before = readAll(folder.file("journal.jsonl"));
  EXPECT_EQ(
      summary(*second,
              second->search(options,
                             second->openJournal(folder.str(), options).get())),
      expected);
  EXPECT_TRUE(second->evaluator.calls.empty());
  EXPECT_EQ(second->proposer.asked, 0);
  EXPECT_EQ(readAll(folder.file("journal.jsonl")), before);
}

TEST_P(Resume, AfterAnInterrupt) {
  SearchOptions options = optionsOf(GetParam());
  auto whole = makeWorld();
  std::string expected = summary(*whole, whole->search(options));
  for (size_t after = 0; after < whole->evaluator.calls.size(); ++after) {
    MemoryFolder folder;
    auto first = makeWorld(), second = makeWorld();
    first->stopRequested = [&] {
      return first->evaluator.calls.size() >= after;
    };
    SearchResult interrupted =
        first->search(options, first->openJournal(folder.str(), options).get());
    EXPECT_EQ(interrupted.end, SearchEnd::Interrupted);
    SearchResult resumed = second->search(
        options, second->openJournal(folder.str(), options).get());
    EXPECT_EQ(summary(*second, resumed), expected);
    // The interrupt came during the last evaluation: if that failed it is not
    // believed, and made again.
    std::vector<std::string> kept = first->evaluator.calls;
    if (!kept.empty() && !llvm::StringRef(kept.back()).contains("ok "))
      kept.pop_back();
    expectDisjoint(kept, second->evaluator.calls, std::to_string(after));
    EXPECT_EQ(kept.size() + second->evaluator.calls.size(),
              whole->evaluator.calls.size());
  }
}

/// A search in a process of its own, with its journal, a log of the evaluations
/// it began and, at the end, its summary in `folder`.
pid_t startSearch(const MemoryFolder &folder, const SearchOptions &options) {
  pid_t child = fork();
  if (child != 0)
    return child;
  auto world = makeWorld();
  int log =
      ::open(folder.file("calls").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  auto *evaluator = &world->evaluator;
  evaluator->onCall = [&](size_t count) {
    std::string line = evaluator->calls[count - 1] + "\n";
    if (::write(log, line.data(), line.size()) < 0)
      _exit(3);
    // Evaluations take time, so that kills fall into them too.
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  };
  auto journal =
      Journal::open(folder.file("journal"), bindingOf(world->input(), options));
  if (!journal)
    _exit(1);
  SearchInput input = world->input(journal->get());
  auto result = runSearch(input, options);
  if (!result)
    _exit(2);
  writeAll(folder.file("end"), summary(*world, *result));
  _exit(0);
}

// Killed with -9 at random moments until it ends by itself. Evaluations are
// counted by a log beside the journal, so they are counted whatever becomes of
// that.
TEST_P(Resume, AfterKillMinusNine) {
  SearchOptions options = optionsOf(GetParam());
  auto whole = makeWorld();
  std::string expected = summary(*whole, whole->search(options));
  using Clock = std::chrono::steady_clock;
  Clock::duration unkilled;
  {
    MemoryFolder folder;
    auto start = Clock::now();
    int status;
    waitpid(startSearch(folder, options), &status, 0);
    unkilled = Clock::now() - start;
    ASSERT_EQ(status, 0);
  }
  std::mt19937 random(GetParam() - searchStrategies().begin() + 1);
  int allKills = 0;
  int trial = 0;
  for (; trial < 10 || allKills < 10; ++trial) {
    MemoryFolder folder;
    int kills = 0;
    for (bool ended = false; !ended;) {
      pid_t child = startSearch(folder, options);
      std::this_thread::sleep_for(unkilled * (random() % 1000) / 1000);
      kill(child, SIGKILL);
      int status;
      waitpid(child, &status, 0);
      if (WIFSIGNALED(status)) {
        ++kills;
      } else {
        ASSERT_EQ(WEXITSTATUS(status), 0);
        ended = true;
      }
      ASSERT_LT(kills, 1000);
    }
    allKills += kills;
    EXPECT_EQ(readAll(folder.file("end")), expected);
    // What is in the journal is never evaluated again; what a kill kept from
    // getting there is, at most one evaluation for each kill.
    std::string log = readAll(folder.file("calls"));
    std::set<std::string> unique;
    int count = 0;
    for (llvm::StringRef line :
         llvm::split(llvm::StringRef(log).rtrim(), '\n')) {
      unique.insert(line.str());
      ++count;
    }
    EXPECT_EQ(unique, std::set<std::string>(whole->evaluator.calls.begin(),
                                            whole->evaluator.calls.end()));
    EXPECT_LE(count, static_cast<int>(unique.size()) + kills);
  }
  printf("%d kills in %d searches of %zu evaluations\n", allKills, trial,
         whole->evaluator.calls.size());
}

INSTANTIATE_TEST_SUITE_P(Strategies, Resume,
                         testing::ValuesIn(llvm::to_vector(
                             llvm::make_pointer_range(searchStrategies()))),
                         [](const auto &info) {
                           // GoogleTest takes no hyphen in a name.
                           std::string name = info.param->name.str();
                           llvm::replace(name, '-', '_');
                           return name;
                         });

} // namespace
