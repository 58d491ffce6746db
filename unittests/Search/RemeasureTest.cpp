//===- RemeasureTest.cpp - Stored winners, measured once more -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Remeasure.h"
#include "SearchTestUtils.h"
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
  Remeasurement measure(const Winner &winner, const Winner *rival = nullptr) {
    TargetDescription device;
    device.model = "another machine";
    device.threads = 3;
    auto result = remeasure(winner, rival, device, evaluator);
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

TEST_F(Remeasure, BesideItsRival) {
  auto rival = winner("ok 300");
  EXPECT_TRUE(measure(*winner("ok 250"), rival.get()).beatsRival);
  EXPECT_EQ(evaluator.incumbents, std::vector<std::string>({"ok 300"}));
  EXPECT_FALSE(measure(*winner("ok 350"), rival.get()).beatsRival);
  // As fast: the interval has 1 in it.
  EXPECT_FALSE(measure(*winner("ok 300 b"), rival.get()).beatsRival);
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
