//===- JournalTest.cpp - Journals that were cut, changed or shared --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Journal/JournalFormat.h"
#include "SearchTestUtils.h"
#include "fastk/Support/Sha256.h"
#include "gmock/gmock.h"
#include <csignal>
#include <sys/resource.h>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

SearchOptions smallOptions() {
  SearchOptions options;
  options.rounds = 2;
  options.ideas = 3;
  options.implementations = 1;
  options.roundSweep = 2;
  options.finalSweep = 3;
  return options;
}

std::string failureOf(World &world, const std::string &directory,
                      const SearchOptions &options) {
  auto journal = Journal::open(directory, bindingOf(world.input(), options));
  if (journal)
    return "";
  return llvm::toString(journal.takeError());
}

TEST(Journal, OtherOptionsAreNamed) {
  World world(8, hill);
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  world.search(options, world.openJournal(folder.str(), options).get());
  options.rounds = 7;
  options.seed = 3;
  std::string message = failureOf(world, folder.str(), options);
  EXPECT_THAT(message, HasSubstr("rounds was 2 and is now 7"));
  EXPECT_THAT(message, HasSubstr("seed was 0 and is now 3"));
  EXPECT_THAT(message, HasSubstr("--journal=DIR"));
  EXPECT_THAT(message, testing::Not(HasSubstr("ideas was")));
}

TEST(Journal, OtherWorkloadIsNamed) {
  World world(8, hill), other(8, hill);
  other.module = other.context.workload(16);
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  world.search(options, world.openJournal(folder.str(), options).get());
  EXPECT_THAT(failureOf(other, folder.str(), options), HasSubstr("key was"));
}

/// Changes the verdicts of a journal as another version would have written
/// them.
void changeVerdicts(const std::string &path, llvm::StringRef from,
                    llvm::StringRef to) {
  std::string changed, content = readAll(path);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(content).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    std::string body = journal::bodyOf(line)->str();
    size_t at = body.find(journal::kVerdictField);
    if (at != body.npos)
      body.replace(body.find(from, at), from.size(), to);
    changed += journal::lineOf(body);
  }
  writeAll(path, changed);
}

// A later version may say more of a verdict in the same format; of one in
// another it is said who can go on.
TEST(Journal, VerdictsOfALaterVersion) {
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  World first(8, hill);
  std::string expected = summary(
      first,
      first.search(options, first.openJournal(folder.str(), options).get()));
  std::string path = folder.file("journal.jsonl");
  changeVerdicts(path, "\"format\":1,", "\"format\":1,\"later\":{\"a\":[]},");
  World second(8, hill);
  SearchResult again =
      second.search(options, second.openJournal(folder.str(), options).get());
  EXPECT_EQ(summary(second, again), expected);
  EXPECT_TRUE(second.evaluator.calls.empty());

  changeVerdicts(path, "\"format\":1,", "\"format\":2,");
  World third(8, hill);
  std::string message = failureOf(third, folder.str(), options);
  EXPECT_THAT(message, HasSubstr("its verdict cannot be read: $.format: is 2"));
  EXPECT_THAT(message, HasSubstr("use that version"));
  EXPECT_THAT(message, HasSubstr("--journal=DIR"));
}

// A worker that was built again: its verdicts are not those of the old one.
TEST(Journal, VerdictsOfOthersAreSetAside) {
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  World first(8, hill);
  std::string expected = summary(
      first,
      first.search(options, first.openJournal(folder.str(), options).get()));
  std::string old = readAll(folder.file("journal.jsonl"));

  World second(8, hill);
  second.provenance[0].content = std::string(64, 'c');
  auto journal = second.openJournal(folder.str(), options);
  ASSERT_TRUE(journal);
  std::string note = journal->note().str();
  EXPECT_THAT(note,
              HasSubstr("worker was aaaaaaaaaaaa and is now cccccccccccc"));
  EXPECT_THAT(note, testing::Not(HasSubstr("oracle")));
  EXPECT_THAT(note, HasSubstr("kept as " + folder.file("journal.1.jsonl")));
  EXPECT_EQ(llvm::StringRef(note).count('\n'), 0u);
  EXPECT_EQ(journal->resumedEvents(), 0u);
  EXPECT_EQ(journal->elapsedSeconds(), 0);
  SearchResult fresh = second.search(options, journal.get());
  EXPECT_EQ(summary(second, fresh), expected);
  EXPECT_EQ(fresh.counts.replayed, 0);
  EXPECT_EQ(second.evaluator.calls, first.evaluator.calls);
  EXPECT_EQ(readAll(folder.file("journal.1.jsonl")), old);
  journal.reset();

  // The new one is resumed, and the old worker's return sets it aside in turn.
  World third(8, hill);
  third.provenance = second.provenance;
  third.search(options, third.openJournal(folder.str(), options).get());
  EXPECT_TRUE(third.evaluator.calls.empty());
  World fourth(8, hill);
  EXPECT_THAT(fourth.openJournal(folder.str(), options)->note().str(),
              HasSubstr("journal.2.jsonl"));
}

// A part that the old journal does not name, or names alone, differs too.
TEST(Journal, PartsThatCameOrWentAreDifferences) {
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  World first(3, hill);
  first.provenance.clear();
  first.search(options, first.openJournal(folder.str(), options).get());
  World second(3, hill);
  EXPECT_THAT(second.openJournal(folder.str(), options)->note().str(),
              HasSubstr("worker was absent and is now aaaaaaaaaaaa"));
  World third(3, hill);
  third.provenance.clear();
  EXPECT_THAT(third.openJournal(folder.str(), options)->note().str(),
              HasSubstr("worker was aaaaaaaaaaaa and is now absent"));
}

// What no variant rests on may come, change and go, also where it was used when
// the journal was made. Where it is used now, it differs as others do.
TEST(Journal, PartsThatAreNotUsedAreNoDifferences) {
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  auto noteOf = [&](const std::string &content, bool isUsed) {
    World world(3, hill);
    world.provenance.push_back({"C compiler", content, isUsed});
    auto journal = world.openJournal(folder.str(), options);
    std::string note = journal->note().str();
    bool hadEvents = journal->resumedEvents() > 0;
    world.search(options, journal.get());
    EXPECT_EQ(world.evaluator.calls.empty(), hadEvents);
    return note;
  };
  EXPECT_EQ(noteOf("does not compile", /*isUsed=*/false), "");
  EXPECT_EQ(noteOf("one", /*isUsed=*/false), "");
  EXPECT_THAT(noteOf("one", /*isUsed=*/true),
              HasSubstr("C compiler was does not compile and is now one"));
  EXPECT_EQ(noteOf("one", /*isUsed=*/true), "");
  EXPECT_EQ(noteOf("another", /*isUsed=*/false), "");
  // None of these has changed what the journal says.
  EXPECT_EQ(noteOf("one", /*isUsed=*/true), "");
}

// Other options are the user's mistake, whoever made the journal: it stays.
TEST(Journal, OtherOptionsComeBeforeOtherMakers) {
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  World first(3, hill), second(3, hill);
  first.search(options, first.openJournal(folder.str(), options).get());
  options.rounds = 7;
  second.provenance.clear();
  EXPECT_THAT(failureOf(second, folder.str(), options),
              HasSubstr("rounds was 2 and is now 7"));
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("journal.1.jsonl")));
}

TEST(Journal, MoreBudgetGoesOn) {
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  options.patience = 100;
  options.budget.evaluations = 6;
  World first(8, hill);
  first.search(options, first.openJournal(folder.str(), options).get());
  EXPECT_EQ(first.evaluator.calls.size(), 6u);
  options.budget.evaluations = 0;
  World second(8, hill), whole(8, hill);
  SearchResult resumed =
      second.search(options, second.openJournal(folder.str(), options).get());
  SearchResult reference = whole.search(options);
  EXPECT_EQ(summary(second, resumed), summary(whole, reference));
  for (const std::string &call : second.evaluator.calls)
    EXPECT_FALSE(llvm::is_contained(first.evaluator.calls, call)) << call;
}

// The bank may change between two runs; the search began with what it had.
TEST(Journal, SeedsAreThoseOfTheBeginning) {
  MemoryFolder folder;
  SearchOptions options;
  options.rounds = 1;
  auto run = [&](World &world, const std::vector<std::string> &programs) {
    for (const std::string &program : programs) {
      SearchSeed seed;
      seed.idea = {"bank/" + program, IdeaCategory::Compute, "known",
                   "It won."};
      seed.variant = world.proposer.make(99, 1);
      seed.variant.ideaId = seed.idea.id;
      seed.variant.program = program;
      world.seeds.push_back(seed);
    }
    return summary(
        world,
        world.search(options, world.openJournal(folder.str(), options).get()));
  };
  World first(20, hill), second(20, hill), third(20, hill);
  int asked = 0;
  first.stopRequested = [&] { return ++asked > 5; };
  run(first, {ok(450, "one"), ok(440, "two")});
  EXPECT_THAT(first.evaluator.calls,
              testing::ElementsAre(ok(450, "one"), ok(440, "two"), testing::_));
  std::string resumed = run(second, {ok(430, "three")});
  EXPECT_THAT(second.evaluator.calls,
              testing::Not(testing::Contains(ok(430, "three"))));
  EXPECT_EQ(run(third, {}), resumed);
  EXPECT_TRUE(third.evaluator.calls.empty());
}

TEST(Journal, ASearchThatBeganWithoutSeedsGoesOnWithoutThem) {
  MemoryFolder folder;
  SearchOptions options;
  options.rounds = 1;
  World first(20, hill), second(20, hill);
  int asked = 0;
  first.stopRequested = [&] { return ++asked > 3; };
  first.search(options, first.openJournal(folder.str(), options).get());
  SearchSeed seed;
  seed.idea.id = "bank/late";
  seed.variant.program = ok(430, "late");
  second.seeds = {seed};
  second.search(options, second.openJournal(folder.str(), options).get());
  EXPECT_THAT(second.evaluator.calls,
              testing::Not(testing::Contains(ok(430, "late"))));
}

TEST(Journal, TheDeviceIsWhatItWasAtTheBeginning) {
  MemoryFolder folder;
  SearchOptions options;
  World world(20, hill);
  TargetDescription device;
  device.target = "cuda:sm_90a";
  device.model = "test \xc2\xb5 machine";
  device.threads = 1 << 20;
  device.hasFma = true;
  device.l3Bytes = int64_t(60) << 30;
  device.memoryBytesPerSecond = 1e12 / 3;
  device.tf32OpsPerSecond = 494.7e12;
  device.measuredIdle = false;
  for (double bandwidth : {1e12 / 3, 5e12, 6e12}) {
    TargetDescription now = device;
    now.memoryBytesPerSecond = bandwidth;
    now.measuredIdle = bandwidth > 1e12;
    auto journal = world.openJournal(folder.str(), options);
    EXPECT_FALSE(journal->hasBegun());
    ASSERT_FALSE(static_cast<bool>(journal->recallDevice(now)));
    EXPECT_EQ(toJSON(now), toJSON(device));
    EXPECT_EQ(now.tf32OpsPerSecond, device.tf32OpsPerSecond);
  }
  auto recorded = Journal::recordedIn(folder.str());
  ASSERT_TRUE(recorded && *recorded);
  EXPECT_EQ(toJSON((*recorded)->device), toJSON(device));
}

TEST(Journal, SecondSearchIsTurnedAway) {
  World world(8, hill);
  MemoryFolder folder;
  auto journal = world.openJournal(folder.str(), smallOptions());
  EXPECT_THAT(failureOf(world, folder.str(), smallOptions()),
              HasSubstr("is in use by process " + std::to_string(getpid())));
}

TEST(Journal, DamageInTheMiddleNamesLineAndRemedy) {
  World world(8, hill);
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  world.search(options, world.openJournal(folder.str(), options).get());
  std::string path = folder.file("journal.jsonl");
  std::string text = readAll(path);
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == '\n')
      starts.push_back(i + 1);
  ASSERT_GT(starts.size(), 8u);
  for (size_t line = 0; line + 1 < starts.size(); ++line) {
    std::string damaged = text;
    damaged[(starts[line] + starts[line + 1]) / 2] ^= 1;
    writeAll(path, damaged);
    std::string message = failureOf(world, folder.str(), options);
    EXPECT_THAT(message,
                HasSubstr("journal.jsonl:" + std::to_string(line + 1) + ":"));
    EXPECT_THAT(message, HasSubstr("keep only the " + std::to_string(line) +
                                   " lines before it"));
    EXPECT_EQ(readAll(path), damaged) << "a damaged journal is left alone";
  }
}

// Any one byte that changes is noticed, or is in the last line.
TEST(Journal, EveryChangedByteIsNoticed) {
  World world(3, hill);
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  options.rounds = 1;
  world.search(options, world.openJournal(folder.str(), options).get());
  std::string path = folder.file("journal.jsonl");
  std::string text = readAll(path);
  size_t lastLine = text.rfind('\n', text.size() - 2) + 1;
  for (size_t at = 0; at < lastLine; at += 5) {
    std::string damaged = text;
    damaged[at] ^= 4;
    writeAll(path, damaged);
    EXPECT_NE(failureOf(world, folder.str(), options), "") << at;
  }
}

TEST(Journal, ChangedProgramIsNamed) {
  World world(3, hill);
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  world.search(options, world.openJournal(folder.str(), options).get());
  std::error_code code;
  llvm::sys::fs::directory_iterator it(folder.file("programs"), code);
  std::string program = it->path();
  writeAll(program, "something else");
  auto journal = world.openJournal(folder.str(), options);
  SearchInput input = world.input(journal.get());
  auto result = runSearch(input, options);
  ASSERT_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  EXPECT_THAT(message, HasSubstr(program));
  EXPECT_THAT(message, HasSubstr("was changed"));
}

TEST(Journal, FileInPlaceOfTheFolder) {
  World world(3, hill);
  MemoryFolder folder;
  writeAll(folder.file("file"), "");
  EXPECT_THAT(failureOf(world, folder.file("file"), smallOptions()),
              HasSubstr(folder.file("file")));
}

// A disk that fills up ends the search with the file's name, and what was
// measured until then is kept. The limit on file sizes stands for the disk.
TEST(Journal, FullDiskKeepsWhatWasMeasured) {
  std::signal(SIGXFSZ, SIG_IGN);
  SearchOptions options = smallOptions();
  World whole(8, hill);
  std::string reference = summary(whole, whole.search(options));
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  for (rlim_t limit : {900, 1500, 3000, 5000, 8000}) {
    MemoryFolder folder;
    World first(8, hill);
    {
      auto journal = first.openJournal(folder.str(), options);
      rlimit small = {limit, old.rlim_max};
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
      SearchInput input = first.input(journal.get());
      auto result = runSearch(input, options);
      setrlimit(RLIMIT_FSIZE, &old);
      ASSERT_FALSE(static_cast<bool>(result)) << limit;
      EXPECT_THAT(llvm::toString(result.takeError()),
                  HasSubstr("cannot append to the journal"));
    }
    World second(8, hill);
    auto journal = second.openJournal(folder.str(), options);
    ASSERT_TRUE(journal);
    EXPECT_EQ(journal->note(), "") << "a failed append leaves no half line";
    SearchResult resumed = second.search(options, journal.get());
    EXPECT_EQ(summary(second, resumed), reference);
    // Only the evaluation whose record found no room is made again.
    EXPECT_LE(first.evaluator.calls.size() + second.evaluator.calls.size(),
              whole.evaluator.calls.size() + 1);
  }
}

// Device code comes back with its plan, to the last bit; another plan for the
// same program is another variant.
TEST(Journal, PlansComeBack) {
  MemoryFolder folder;
  World world(8, hill);
  SearchOptions options = smallOptions();
  std::string error;
  auto plan = worker::parseLaunchPlan(
      R"({"format": 1, "workspaces": [{"bytes": 4097}],
          "tensor_maps": [{"buffer": "in0+16", "type": "f32", "dims": [4],
                           "box": [4]}],
          "steps": [{"memset": "ws0", "bytes": 8, "value": 255},
                    {"launch": "k", "grid": [8, 2], "block": [32],
                     "arguments": ["map0", "out0", {"f64": 0.1},
                                   {"i64": -9007199254740993}]}]})",
      error);
  ASSERT_TRUE(plan) << error;
  Variant variant;
  variant.ideaId = "files/k";
  variant.language = Language::cuda;
  variant.program = "extern \"C\" __global__ void k() {}";
  variant.plan = *plan;
  ASSERT_FALSE(world.openJournal(folder.str(), options)
                   ->recordVariants("realise/1", variant, 0));
  EXPECT_TRUE(llvm::sys::fs::exists(
      folder.file("programs/" + sha256(variant.program) + ".cu")));
  auto found =
      world.openJournal(folder.str(), options)->findVariants("realise/1");
  ASSERT_TRUE(found && *found);
  const Variant &read = (*found)->value.front();
  EXPECT_EQ(read.language, Language::cuda);
  EXPECT_EQ(read.program, variant.program);
  ASSERT_TRUE(read.plan);
  EXPECT_EQ(worker::toJSON(*read.plan), worker::toJSON(*plan));
}

// For those who read a journal; the search itself does not care.
TEST(Journal, TheHeaderTellsOfTheWorkload) {
  MemoryFolder folder;
  World world(8, hill);
  world.floorSeconds = 0.25;
  SearchOptions options = smallOptions();
  world.openJournal(folder.str(), options);
  std::string line = readAll(folder.file("journal.jsonl"));
  auto value = llvm::json::parse(llvm::StringRef(line).trim());
  ASSERT_TRUE(static_cast<bool>(value));
  const llvm::json::Object *about =
      value->getAsObject()->getObject("event")->getObject("about");
  ASSERT_TRUE(about);
  EXPECT_EQ(about->getString("name"), "add");
  EXPECT_EQ(about->getString("shapes"),
            describeShapes(TestContext::loweringOf(*world.module)));
  EXPECT_EQ(about->getNumber("floor_seconds"), 0.25);
  EXPECT_THAT(about->getString("ir")->str(), HasSubstr("fastk.lowering"));

  world.floorSeconds = 0.5;
  EXPECT_EQ(failureOf(world, folder.str(), options), "");
}

} // namespace
