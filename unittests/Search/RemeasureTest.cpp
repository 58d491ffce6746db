//===- RemeasureTest.cpp - Stored winners, measured once more -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Remeasure.h"
#include "SearchTestUtils.h"
#include "llvm/Config/llvm-config.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

/// A stored winner whose program is what the scripted evaluator reads.
class Remeasure : public testing::Test {
protected:
  std::unique_ptr<Winner> winner(const std::string &program,
                                 Precision precision = Precision::ieee) {
    auto workload = context.workload(8);
    auto winner = std::make_unique<Winner>();
    winner->module =
        buildWinner(TestContext::loweringOf(*workload), Language::c, program,
                    64, "host", precision, makeRecord(500));
    return winner;
  }
  Remeasurement measure(const Winner &winner, const Winner *rival = nullptr,
                        bool isOfStranger = false) {
    TargetDescription device;
    device.model = "another machine";
    device.threads = 3;
    auto result = remeasure(winner, rival, device, evaluator, isOfStranger);
    EXPECT_TRUE(static_cast<bool>(result));
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    return std::move(*result);
  }

  TestContext context;
  ScriptedEvaluator evaluator;
};

TEST_F(Remeasure, HoldsAndHasTheNewRecord) {
  auto stored = winner("ok 250");
  Remeasurement result = measure(*stored);
  EXPECT_EQ(result.problem, "");
  ASSERT_TRUE(result.winner);
  LoweringOp lowering = TestContext::loweringOf(*result.winner);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*result.winner)));
  // The same winner, by all that makes one.
  EXPECT_EQ(lowering.getSeal(), stored->getLowering().getSeal());
  WinnerRecord record = WinnerRecord::fromAttribute(lowering.getRecordAttr());
  EXPECT_EQ(record.medianNs, 250);
  EXPECT_EQ(record.baselineNs, 1000);
  EXPECT_EQ(record.speedup, 4);
  EXPECT_EQ(record.machine, "another machine");
  EXPECT_EQ(record.cpu, hostCpu());
  // How it was found stays.
  EXPECT_EQ(record.ideaId, "test/idea");
  EXPECT_EQ(record.parameters.at("mr"), 6);
  // It is judged as a would-be winner, by its own class.
  EXPECT_EQ(evaluator.calls, std::vector<std::string>({"promote ok 250"}));
}

// What gave other bits once is not deterministic, whatever comes later.
TEST_F(Remeasure, RecordsWhetherBitsRepeat) {
  auto stored = winner("ok 250");
  bool measured = true;
  evaluator.alter = [&](worker::Verdict &verdict, const EvaluationRequest &) {
    verdict.audit.bitwiseDeterministic = measured;
  };
  for (auto [now, expected] : {std::pair(true, true), std::pair(false, false),
                               std::pair(true, false)}) {
    measured = now;
    Remeasurement result = measure(*stored);
    ASSERT_TRUE(result.winner);
    stored->module = std::move(result.winner);
    EXPECT_EQ(stored->getRecord().bitwiseDeterministic, expected);
  }
}

TEST_F(Remeasure, WrongIsNoWinner) {
  Remeasurement result = measure(*winner("wrong"));
  EXPECT_EQ(result.problem, "wrong: because it is wrong");
  EXPECT_FALSE(result.winner);
  EXPECT_FALSE(result.isNoise);
}

TEST_F(Remeasure, NotSurelyFasterIsNoWinner) {
  Remeasurement result = measure(*winner("ok 985"));
  EXPECT_THAT(result.problem, HasSubstr("of the default lowering's speed"));
  EXPECT_FALSE(result.winner);
}

TEST_F(Remeasure, LooserThanStoredIsNoWinner) {
  evaluator.precision = worker::Precision::TF32;
  EXPECT_THAT(measure(*winner("ok 250")).problem,
              HasSubstr("its precision did not hold"));
  EXPECT_EQ(measure(*winner("ok 250", Precision::tf32)).problem, "");
}

// A class that was measured once is not tightened by a lucky second time.
TEST_F(Remeasure, TighterThanStoredStaysLooser) {
  Remeasurement result = measure(*winner("ok 250", Precision::half));
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(TestContext::loweringOf(*result.winner).getPrecision(),
            Precision::half);
}

TEST_F(Remeasure, NoiseSaysNothingOfTheWinner) {
  evaluator.control = worker::Ratio{1.1, 1.05, 1.2};
  Remeasurement result = measure(*winner("ok 250"));
  EXPECT_THAT(result.problem, HasSubstr("too noisy"));
  EXPECT_TRUE(result.isNoise);
  EXPECT_FALSE(result.winner);
}

TEST_F(Remeasure, MediansThatContradictThePairsAreNoise) {
  evaluator.alter = [](worker::Verdict &verdict, const EvaluationRequest &) {
    verdict.timing.baseline->medianNs = 240;
  };
  Remeasurement result = measure(*winner("ok 250"));
  EXPECT_THAT(result.problem, HasSubstr("medians of all calls say 0.96 times"));
  EXPECT_TRUE(result.isNoise);
  EXPECT_FALSE(result.winner);
}

TEST_F(Remeasure, BesideItsRival) {
  auto rival = winner("ok 300");
  EXPECT_TRUE(measure(*winner("ok 250"), rival.get()).beatsRival);
  EXPECT_EQ(evaluator.incumbents, std::vector<std::string>({"ok 300"}));
  EXPECT_FALSE(measure(*winner("ok 350"), rival.get()).beatsRival);
  // As fast: the interval has 1 in it.
  EXPECT_FALSE(measure(*winner("ok 300 b"), rival.get()).beatsRival);
}

/// A merge once recorded 15.38 times for a program that gains 1.69.
TEST_F(Remeasure, WhatContradictsItsRecordIsMeasuredAgain) {
  for (bool again : {false, true}) {
    auto stored = winner("ok 250");
    LoweringOp lowering = stored->getLowering();
    WinnerRecord record = stored->getRecord();
    record.machine = "another machine";
    record.cpu = hostCpu();
    record.threads = 3;
    record.speedup = 1.69;
    record.speedupLow = 1.66;
    record.speedupHigh = 1.72;
    record.mlirVersion = LLVM_VERSION_STRING;
    record.fastkVersion = FASTK_VERSION;
    lowering.setRecordAttr(record.toAttribute(lowering.getContext()));
    evaluator.calls.clear();
    evaluator.alter = [&](worker::Verdict &verdict,
                          const EvaluationRequest &request) {
      double gain = request.repeat == 0 || again ? 15.38 : 1.7;
      verdict.timing.speedupOverBaseline =
          worker::Ratio{gain, gain * 0.99, gain * 1.01};
      verdict.timing.baseline->p10Ns = 250 * gain;
    };
    Remeasurement result = measure(*stored);
    EXPECT_EQ(result.problem, "");
    EXPECT_EQ(evaluator.calls.size(), 2u);
    if (again)
      EXPECT_THAT(result.contradiction,
                  HasSubstr("15.38x (15.23 to 15.53) where its record says "
                            "1.69x (1.66 to 1.72), and again with 15.38x"));
    else
      EXPECT_EQ(result.contradiction, "");
    ASSERT_TRUE(result.winner);

    // What a stranger recorded is contradicted by nothing, and says nothing.
    evaluator.calls.clear();
    Remeasurement ofStranger =
        measure(*stored, /*rival=*/nullptr, /*isOfStranger=*/true);
    EXPECT_EQ(evaluator.calls.size(), 1u);
    EXPECT_EQ(ofStranger.contradiction, "");
    ASSERT_TRUE(ofStranger.winner);
    EXPECT_EQ(WinnerRecord::fromAttribute(
                  TestContext::loweringOf(*ofStranger.winner).getRecordAttr())
                  .speedup,
              15.38);

    // Of another machine or version nothing is contradicted.
    record.threads = 4;
    lowering.setRecordAttr(record.toAttribute(lowering.getContext()));
    evaluator.calls.clear();
    EXPECT_EQ(measure(*stored).contradiction, "");
    EXPECT_EQ(evaluator.calls.size(), 1u);
  }
}

/// The rival is timed beside: what it gains now says whether to believe it.
TEST_F(Remeasure, WhatContradictsTheRivalsRecordIsMeasuredAgain) {
  auto rival = winner("ok 300");
  LoweringOp lowering = rival->getLowering();
  WinnerRecord record = rival->getRecord();
  record.machine = "another machine";
  record.cpu = hostCpu();
  record.threads = 3;
  record.speedup = 2;
  record.speedupLow = 1.98;
  record.speedupHigh = 2.02;
  record.mlirVersion = LLVM_VERSION_STRING;
  record.fastkVersion = FASTK_VERSION;
  lowering.setRecordAttr(record.toAttribute(lowering.getContext()));
  Remeasurement result = measure(*winner("ok 250"), rival.get());
  EXPECT_EQ(evaluator.calls.size(), 2u);
  EXPECT_THAT(result.contradiction,
              HasSubstr("of its rival, whose record says 2.00x"));
}

TEST_F(Remeasure, NoWorkerIsAnError) {
  TargetDescription device;
  auto stored = winner("nonsense");
  auto result = remeasure(*stored, nullptr, device, evaluator);
  ASSERT_FALSE(static_cast<bool>(result));
  EXPECT_THAT(llvm::toString(result.takeError()),
              HasSubstr("no worker answers"));
}

} // namespace
