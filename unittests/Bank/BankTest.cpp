//===- BankTest.cpp - Storing and finding winners -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankTestUtils.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <chrono>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

static WriteResult mustWrite(Bank &bank, mlir::ModuleOp module) {
  auto result = bank.write(module, "{}\n");
  EXPECT_TRUE(static_cast<bool>(result))
      << (result ? "" : llvm::toString(result.takeError()));
  return *result;
}

static Bank mustOpen(const std::string &path) {
  auto bank = Bank::open(path);
  EXPECT_TRUE(static_cast<bool>(bank));
  return std::move(*bank);
}

TEST(Bank, MissingFolderIsEmpty) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.file("none"));
  EXPECT_EQ(bank.size(), 0u);
  BankLookup found =
      bank.lookup(keyOf(context, 8), accepting(), &context.context);
  EXPECT_FALSE(found.winner);
  EXPECT_EQ(found.reason, "no winner for this key");
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("none")));
}

TEST(Bank, FindsWhatWasWritten) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.file("bank"));
  auto module = makeWinner(context, 8, 500);
  LoweringOp lowering = TestContext::loweringOf(*module);
  WriteResult result = mustWrite(bank, *module);
  EXPECT_EQ(result.outcome, WriteOutcome::Stored);
  EXPECT_EQ(result.folder, folder.file("bank/host/add-8xf32-") +
                               lowering.getKey().take_front(8).str());
  // Both the bank that wrote and one that is opened afterwards have it.
  for (const Bank &each : {bank, mustOpen(folder.file("bank"))}) {
    BankLookup found =
        each.lookup(lowering.getKey(), accepting(), &context.context);
    ASSERT_TRUE(found.winner) << found.reason;
    EXPECT_EQ(*found.winner->getLowering().getSource(), *lowering.getSource());
    EXPECT_EQ(found.winner->getRecord().medianNs, 500);
    EXPECT_EQ(found.winner->getLowering().getWorkspace(), 64u);
  }
  EXPECT_EQ(readAll(result.folder + "/kernel.c"), *lowering.getSource());
  EXPECT_EQ(readAll(result.folder + "/trajectory.json"), "{}\n");
  EXPECT_THAT(readAll(result.folder + "/lowering.mlir"),
              testing::StartsWith("// RUN: fastk-opt %s\n"));
}

TEST(Bank, TargetAndPrecisionMustMatch) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  mustWrite(bank, *makeWinner(context, 8, 500, "", Precision::tf32));
  std::string key = keyOf(context, 8);
  BankLookup strict = bank.lookup(key, accepting(), &context.context);
  EXPECT_FALSE(strict.winner);
  EXPECT_EQ(strict.reason, "only winners of a looser precision: tf32");
  EXPECT_TRUE(
      bank.lookup(key, accepting(Precision::tf32), &context.context).winner);
  EXPECT_TRUE(
      bank.lookup(key, accepting(Precision::half), &context.context).winner);
  BankLookup other = bank.lookup(key, accepting(Precision::half, "cuda:sm_90a"),
                                 &context.context);
  EXPECT_FALSE(other.winner);
  EXPECT_EQ(other.reason, "only winners for other targets: host");
}

TEST(Bank, FastestOfTheAcceptedPrecisionsWins) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  mustWrite(bank, *makeWinner(context, 8, 500, "", Precision::ieee));
  mustWrite(bank, *makeWinner(context, 8, 100, "", Precision::half));
  mustWrite(bank, *makeWinner(context, 8, 700, "", Precision::tf32));
  EXPECT_EQ(bank.size(), 3u);
  auto precisionFor = [&](Precision loosest) {
    BankLookup found =
        bank.lookup(keyOf(context, 8), accepting(loosest), &context.context);
    return found.winner->getLowering().getPrecision();
  };
  EXPECT_EQ(precisionFor(Precision::ieee), Precision::ieee);
  EXPECT_EQ(precisionFor(Precision::tf32), Precision::ieee);
  EXPECT_EQ(precisionFor(Precision::half), Precision::half);
}

TEST(Bank, FasterReplacesSlowerOnly) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  EXPECT_EQ(mustWrite(bank, *makeWinner(context, 8, 500)).outcome,
            WriteOutcome::Stored);
  EXPECT_EQ(mustWrite(bank, *makeWinner(context, 8, 600)).outcome,
            WriteOutcome::KeptExisting);
  // Less than 1 % is noise.
  EXPECT_EQ(mustWrite(bank, *makeWinner(context, 8, 497)).outcome,
            WriteOutcome::KeptExisting);
  EXPECT_EQ(mustWrite(bank, *makeWinner(context, 8, 400)).outcome,
            WriteOutcome::Replaced);
  EXPECT_EQ(bank.size(), 1u);
  BankLookup found =
      bank.lookup(keyOf(context, 8), accepting(), &context.context);
  ASSERT_TRUE(found.winner);
  EXPECT_EQ(found.winner->getRecord().medianNs, 400);
}

/// The same winner as another machine measured it.
static mlir::OwningOpRef<mlir::ModuleOp> measuredOn(TestContext &context,
                                                    Machine machine,
                                                    double medianNs,
                                                    double speedup) {
  auto module = makeWinner(context, 8, medianNs, machine.str());
  WinnerRecord record = makeRecord(medianNs);
  record.machine = machine.model;
  record.cpu = machine.cpu;
  record.threads = machine.threads;
  record.speedup = speedup;
  TestContext::loweringOf(*module).setRecordAttr(
      record.toAttribute(&context.context));
  return module;
}

static double medianFound(const Bank &bank, TestContext &context,
                          const WinnerFilter &filter) {
  BankLookup found = bank.lookup(keyOf(context, 8), filter, &context.context);
  EXPECT_EQ(found.winner == nullptr, !found.reason.empty());
  return found.winner ? found.winner->getRecord().medianNs : 0;
}

// Each of them is a winner where it was measured.
TEST(Bank, WinnersOfSeveralMachinesStandSideBySide) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  Machine home = makeRecord(1).getMachine();
  Machine more = {home.model, "", 4}, other = {"other", "", home.threads};
  EXPECT_EQ(mustWrite(bank, *measuredOn(context, home, 500, 2)).outcome,
            WriteOutcome::Stored);
  for (const Machine &machine : {more, other}) {
    EXPECT_EQ(mustWrite(bank, *measuredOn(context, machine, 400, 1.5)).outcome,
              WriteOutcome::Stored);
    EXPECT_EQ(mustWrite(bank, *measuredOn(context, machine, 450, 9)).outcome,
              WriteOutcome::KeptExisting);
    EXPECT_EQ(mustWrite(bank, *measuredOn(context, machine, 300, 1.5)).outcome,
              WriteOutcome::Replaced);
  }
  EXPECT_EQ(bank.size(), 3u);
  Bank reopened = mustOpen(folder.str());
  for (auto [machine, median] :
       {std::pair(home, 500.), std::pair(more, 300.), std::pair(other, 300.)}) {
    WinnerFilter filter = accepting();
    filter.machine = machine;
    EXPECT_EQ(medianFound(reopened, context, filter), median) << machine.str();
  }
}

TEST(Bank, OtherMachineIsAMissUnlessAskedFor) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  mustWrite(bank, *measuredOn(context, {"fast", "", 2}, 100, 1.2));
  mustWrite(bank, *measuredOn(context, {"slow", "", 2}, 900, 3));
  WinnerFilter filter = accepting();
  BankLookup missed = bank.lookup(keyOf(context, 8), filter, &context.context);
  EXPECT_FALSE(missed.winner);
  EXPECT_TRUE(missed.otherMachine);
  EXPECT_EQ(missed.reason,
            "measured on fast with 2 threads; this is test machine with 2 "
            "threads (--winners-from=any takes it all the same)");
  EXPECT_THAT(bank.explainMiss(keyOf(context, 8), filter, "add", "8xf32",
                               &context.context),
              HasSubstr("measured on slow with 2 threads"));
  // Their nanoseconds say nothing here, their gains a little.
  filter.anyMachine = true;
  EXPECT_EQ(medianFound(bank, context, filter), 900);
  // One of this machine goes first, however it compares.
  mustWrite(bank, *measuredOn(context, filter.machine, 950, 1.1));
  EXPECT_EQ(medianFound(bank, context, filter), 950);
}

/// A winner of which a promotion said that its bits repeat, or not, or nothing.
static mlir::OwningOpRef<mlir::ModuleOp> withBits(TestContext &context,
                                                  std::optional<bool> bits,
                                                  double medianNs,
                                                  llvm::StringRef tag = "") {
  auto module = makeWinner(context, 8, medianNs, tag);
  WinnerRecord record = makeRecord(medianNs);
  record.bitwiseDeterministic = bits;
  TestContext::loweringOf(*module).setRecordAttr(
      record.toAttribute(&context.context));
  return module;
}

// Nobody asked whether those of older records repeat their bits.
TEST(Bank, BitsThatRepeatMayBeRequired) {
  TestContext context;
  WinnerFilter any = accepting(), required = accepting();
  required.requireDeterministic = true;
  for (std::optional<bool> bits :
       {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    TemporaryFolder folder;
    Bank bank = mustOpen(folder.str());
    mustWrite(bank, *withBits(context, bits, 500));
    EXPECT_EQ(medianFound(bank, context, any), 500);
    BankLookup found =
        bank.lookup(keyOf(context, 8), required, &context.context);
    std::string explained = bank.explainMiss(keyOf(context, 8), required, "add",
                                             "8xf32", &context.context);
    if (bits == true) {
      ASSERT_TRUE(found.winner) << found.reason;
      EXPECT_EQ(found.winner->getRecord().bitwiseDeterministic, true);
      EXPECT_THAT(explained, HasSubstr(": matches"));
      continue;
    }
    std::string reason =
        bits ? "not deterministic: runs on the same operands gave other bits"
             : "not known to be deterministic: its record does not say so";
    EXPECT_FALSE(found.winner);
    EXPECT_TRUE(found.otherBits);
    EXPECT_EQ(found.reason,
              reason + ", and --require-deterministic asks for it");
    EXPECT_THAT(explained, HasSubstr(reason));
  }
}

// Whoever requires the same bits finds a winner, whatever others store.
TEST(Bank, TheFastestOfThoseThatRepeatStandsBesideTheFastest) {
  TestContext context;
  WinnerFilter any = accepting(), required = accepting();
  required.requireDeterministic = true;
  for (std::optional<bool> other :
       {std::optional<bool>(), std::optional(false)})
    for (bool repeatingFirst : {false, true}) {
      TemporaryFolder folder;
      Bank bank = mustOpen(folder.str());
      for (bool repeats : {repeatingFirst, !repeatingFirst})
        EXPECT_EQ(mustWrite(bank, repeats ? *withBits(context, true, 500)
                                          : *withBits(context, other, 400))
                      .outcome,
                  WriteOutcome::Stored);
      EXPECT_EQ(medianFound(bank, context, any), 400);
      EXPECT_EQ(medianFound(bank, context, required), 500);
      // Each is compared with its own kind.
      EXPECT_EQ(mustWrite(bank, *withBits(context, true, 600)).outcome,
                WriteOutcome::KeptExisting);
      EXPECT_EQ(mustWrite(bank, *withBits(context, other, 450)).outcome,
                WriteOutcome::KeptExisting);
      EXPECT_EQ(mustWrite(bank, *withBits(context, true, 450)).outcome,
                WriteOutcome::Replaced);
      EXPECT_EQ(medianFound(bank, context, any), 400);
      EXPECT_EQ(medianFound(bank, context, required), 450);
      EXPECT_EQ(bank.size(), 2u);
    }
}

// One that repeats and is as fast needs nobody beside it.
TEST(Bank, WhatRepeatsAndIsFasterReplaces) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  mustWrite(bank, *withBits(context, std::nullopt, 500));
  EXPECT_EQ(mustWrite(bank, *withBits(context, true, 400)).outcome,
            WriteOutcome::Replaced);
  EXPECT_EQ(mustWrite(bank, *withBits(context, false, 450)).outcome,
            WriteOutcome::KeptExisting);
  EXPECT_EQ(bank.size(), 1u);
}

// The same program again changes nothing, unless more is known of its bits.
TEST(Bank, WhatIsLearnedOfTheSameProgramIsKept) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  auto write = [&](std::optional<bool> bits) {
    return mustWrite(bank, *withBits(context, bits, 500)).outcome;
  };
  auto known = [&] {
    return bank.lookup(keyOf(context, 8), accepting(), &context.context)
        .winner->getRecord()
        .bitwiseDeterministic;
  };
  EXPECT_EQ(write(std::nullopt), WriteOutcome::Stored);
  EXPECT_EQ(write(true), WriteOutcome::Replaced);
  EXPECT_EQ(known(), true);
  EXPECT_EQ(write(std::nullopt), WriteOutcome::KeptExisting);
  EXPECT_EQ(write(true), WriteOutcome::KeptExisting);
  EXPECT_EQ(write(false), WriteOutcome::Replaced);
  // Once is enough.
  EXPECT_EQ(write(true), WriteOutcome::KeptExisting);
  EXPECT_EQ(known(), false);
  EXPECT_EQ(bank.size(), 1u);
}

TEST(BankStack, ThisMachineBeatsTheFirstBank) {
  TestContext context;
  TemporaryFolder folder;
  std::string first = folder.file("first"), second = folder.file("second");
  Bank one = mustOpen(first), two = mustOpen(second);
  mustWrite(one, *measuredOn(context, {"other", "", 2}, 100, 9));
  mustWrite(two, *makeWinner(context, 8, 700));
  auto stack = BankStack::open({first, second});
  ASSERT_TRUE(static_cast<bool>(stack));
  for (bool any : {false, true}) {
    WinnerFilter filter = accepting();
    filter.anyMachine = any;
    BankLookup found =
        stack->lookup(keyOf(context, 8), filter, &context.context);
    ASSERT_TRUE(found.winner) << found.reason;
    EXPECT_EQ(found.winner->getRecord().medianNs, 700);
  }
}

TEST(Machine, ComparesWhatTimesDependOn) {
  Machine machine = {"Xeon @ 2.20GHz", "skylake, 512-bit vectors", 8};
  auto changed = [&](auto change) {
    Machine other = machine;
    change(other);
    EXPECT_EQ(machine.isComparable(other), other.isComparable(machine));
    return machine.isComparable(other);
  };
  EXPECT_TRUE(changed([](Machine &) {}));
  EXPECT_TRUE(changed([](Machine &m) { m.model = "Xeon @ 2.80GHz"; }));
  EXPECT_TRUE(changed([](Machine &m) { m.cpu = ""; }));
  EXPECT_FALSE(changed([](Machine &m) { m.cpu = "skylake, 256-bit vectors"; }));
  EXPECT_FALSE(changed([](Machine &m) { m.model = "Xeon Gold @ 2.20GHz"; }));
  EXPECT_FALSE(changed([](Machine &m) { m.threads = 4; }));
  EXPECT_FALSE(Machine().isComparable(Machine()));
  Machine here = Machine::host(3);
  EXPECT_EQ(here.threads, 3);
  EXPECT_TRUE(here.isComparable(Machine::host(3)));
  EXPECT_EQ(here.cpu, hostCpu());
}

TEST(Bank, DefaultLoweringNeedsNoProgram) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  auto workload = context.workload(8);
  WinnerRecord record = makeRecord(900);
  auto module =
      buildWinner(TestContext::loweringOf(*workload), Language::generic, "", 0,
                  "host", Precision::ieee, record);
  mustWrite(bank, *module);
  EXPECT_TRUE(
      bank.lookup(keyOf(context, 8), accepting(), &context.context).winner);
}

TEST(BankStack, FirstBankWinsAndTakesNewWinners) {
  TestContext context;
  TemporaryFolder folder;
  std::string first = folder.file("first"), second = folder.file("second");
  Bank shipped = mustOpen(second);
  mustWrite(shipped, *makeWinner(context, 8, 100));
  mustWrite(shipped, *makeWinner(context, 16, 100));
  auto stack = BankStack::open({first, second});
  ASSERT_TRUE(static_cast<bool>(stack));
  auto stored = stack->write(*makeWinner(context, 8, 500), "{}");
  ASSERT_TRUE(static_cast<bool>(stored));
  EXPECT_THAT(stored->folder, testing::StartsWith(first));
  auto medianOf = [&](int64_t size) {
    return stack->lookup(keyOf(context, size), accepting(), &context.context)
        .winner->getRecord()
        .medianNs;
  };
  EXPECT_EQ(medianOf(8), 500);
  EXPECT_EQ(medianOf(16), 100);
  EXPECT_EQ(
      stack->lookup(keyOf(context, 24), accepting(), &context.context).reason,
      "no winner for this key");
}

TEST(Bank, ExplainsAMiss) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  mustWrite(bank, *makeWinner(context, 16, 100));
  mustWrite(bank, *makeWinner(context, 8, 100, "", Precision::half));
  std::string text = bank.explainMiss(keyOf(context, 8), accepting(), "add",
                                      "8xf32", &context.context);
  size_t precision = text.find("its precision is half, accepted is ieee");
  size_t shapes = text.find("its shapes are 16xf32, wanted 8xf32");
  ASSERT_NE(precision, std::string::npos) << text;
  ASSERT_NE(shapes, std::string::npos) << text;
  EXPECT_LT(precision, shapes) << "the nearest comes first";
  EXPECT_THAT(bank.explainMiss(keyOf(context, 8), accepting(), "softmax",
                               "8xf32", &context.context),
              HasSubstr("its precision is half"));
  EXPECT_THAT(bank.explainMiss(keyOf(context, 24), accepting(), "softmax",
                               "8xf32", &context.context),
              HasSubstr("2 winners, none named 'softmax'"));
}

// The winner of the first release loads, and would be written the same today.
TEST(Bank, FormatOneDoesNotDrift) {
  TestContext context;
  context.context.loadDialect<mlir::linalg::LinalgDialect>();
  std::string folder = FASTK_TEST_BANK "/host/relu-64x128xf32-0e03df74";
  auto winner = Bank::load(folder, &context.context);
  ASSERT_TRUE(static_cast<bool>(winner)) << llvm::toString(winner.takeError());
  EXPECT_EQ(printLoweringFile((*winner)->getLowering()),
            readAll(folder + "/lowering.mlir"));
}

// What a compile pays for a big bank: opening it and one lookup.
TEST(Bank, ThousandWinnersOpenFast) {
  TestContext context;
  TemporaryFolder folder;
  llvm::sys::fs::create_directories(folder.file("host"));
  std::string key;
  for (int64_t size = 1; size <= 1000; ++size) {
    auto module = makeWinner(context, size, 100);
    LoweringOp lowering = TestContext::loweringOf(*module);
    std::string path =
        folder.file("host/add-" + std::to_string(size) + "xf32-" +
                    lowering.getKey().take_front(8).str());
    llvm::sys::fs::create_directories(path);
    writeAll(path + "/lowering.mlir", printLoweringFile(lowering));
    writeAll(path + "/kernel.c", *lowering.getSource());
    if (size == 500)
      key = lowering.getKey().str();
  }
  using Clock = std::chrono::steady_clock;
  auto milliseconds = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  // The least of a few: others take the processor now and then.
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    auto begin = Clock::now();
    mustOpen(folder.str());
    least = std::min(least, milliseconds(Clock::now() - begin));
  }
  auto start = Clock::now();
  Bank bank = mustOpen(folder.str());
  auto opened = Clock::now();
  bool hit = bank.lookup(key, accepting(), &context.context).winner != nullptr;
  auto found = Clock::now();
  size_t listed = bank.list().size();
  auto end = Clock::now();
  EXPECT_EQ(bank.size(), 1000u);
  EXPECT_TRUE(hit);
  EXPECT_EQ(listed, 1000u);
  RecordProperty("open_ms", std::to_string(milliseconds(opened - start)));
  printf("open %.2f ms, lookup %.2f ms, list %.2f ms\n",
         milliseconds(opened - start), milliseconds(found - opened),
         milliseconds(end - found));
  // Measured 2 ms; the bound leaves room for a busy or a sanitized machine and
  // still fails when opening begins to read or parse what it lists.
  EXPECT_LT(least, 100);
}

/// A winner in CUDA-C for x + x on eight floats.
static mlir::OwningOpRef<mlir::ModuleOp>
makeDeviceWinner(TestContext &context, double medianNs, int64_t blocks) {
  auto workload = context.workload(8);
  WinnerRecord record = makeRecord(medianNs);
  record.machine = "NVIDIA H200";
  record.threads = 0;
  record.shapes = "8xf32";
  worker::LaunchPlan plan;
  worker::Launch launch;
  launch.kernel = "k";
  launch.grid = {blocks, 1, 1};
  launch.block = {32, 1, 1};
  launch.arguments = {worker::BufferRef{},
                      worker::BufferRef{worker::BufferRef::Space::Output}};
  plan.steps.push_back(launch);
  return buildWinner(TestContext::loweringOf(*workload), Language::cuda,
                     "extern \"C\" __global__ void k() {}", 0, "cuda:sm_90a",
                     Precision::ieee, record, &plan);
}

TEST(Bank, DeviceWinnersComeWithTheirPlan) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  auto module = makeDeviceWinner(context, 500, 1);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  WriteResult stored = mustWrite(bank, *module);
  EXPECT_THAT(stored.folder, HasSubstr("/sm_90a/add-8xf32-"));
  EXPECT_TRUE(llvm::sys::fs::exists(stored.folder + "/kernel.cu"));
  WinnerFilter filter{"cuda:sm_90a", Precision::ieee,
                      Machine::of("cuda:sm_90a"), false};
  EXPECT_EQ(filter.machine.str(), "NVIDIA H200");
  std::string key = keyOf(context, 8);
  BankLookup found = bank.lookup(key, filter, &context.context);
  ASSERT_TRUE(found.winner) << found.reason;
  auto plan = readPlan(found.winner->getLowering());
  ASSERT_TRUE(mlir::succeeded(plan));
  EXPECT_EQ(worker::toJSON(*plan),
            worker::toJSON(*readPlan(TestContext::loweringOf(*module))));
  // Another GPU of the same architecture is another machine.
  filter.machine.model = "NVIDIA H100 PCIe";
  found = bank.lookup(key, filter, &context.context);
  EXPECT_FALSE(found.winner);
  EXPECT_TRUE(found.otherMachine);
  EXPECT_EQ(found.reason, "measured on NVIDIA H200; this is compiled for "
                          "NVIDIA H100 PCIe (--winners-from=any takes it all "
                          "the same)");
  // So is one that nothing is known of.
  filter.machine = Machine::of("cuda:sm_80");
  EXPECT_EQ(filter.refuseMachine(*bank.list().front().header),
            "measured on NVIDIA H200; this is compiled for an unknown machine");
}

// The same program launched in another way is another winner.
TEST(Bank, APlanMakesAnotherWinner) {
  TestContext context;
  TemporaryFolder folder;
  Bank bank = mustOpen(folder.str());
  mustWrite(bank, *makeDeviceWinner(context, 500, 1));
  EXPECT_EQ(mustWrite(bank, *makeDeviceWinner(context, 300, 1)).outcome,
            WriteOutcome::KeptExisting);
  EXPECT_EQ(mustWrite(bank, *makeDeviceWinner(context, 300, 2)).outcome,
            WriteOutcome::Replaced);
}
