//===- SessionTest.cpp - A model on its way to its winners ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionFixture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace fastk;

/// How many ops of a kind there are, nested ones too.
template <typename Op>
static int countOf(ModuleOp module) {
  int count = 0;
  module.walk([&](Op) { ++count; });
  return count;
}

TEST_F(SessionTest, WithoutBanksAWorkloadIsAMiss) {
  auto module = applyTo();
  EXPECT_EQ(summary.str(), "1 workload: 0 hits, 1 miss, 0 stale");
  EXPECT_EQ(countOf<WorkloadOp>(*module), 1);
  EXPECT_EQ(said, "");
}

TEST_F(SessionTest, AWinnerOfTheBankIsApplied) {
  auto module = applyTo({FASTK_TEST_BANK});
  EXPECT_EQ(summary.count(WorkloadOutcome::Hit), 1u);
  EXPECT_EQ(countOf<WorkloadOp>(*module), 0);
  EXPECT_EQ(countOf<CallOp>(*module), 1);
}

TEST_F(SessionTest, BanksThatAreOpenedAgainAreAskedByTheNewFilter) {
  auto module = applyTo({FASTK_TEST_BANK});
  WinnerOptions strict;
  strict.banks = {FASTK_TEST_BANK};
  strict.filter.machine = Machine{"a machine that nobody has", "", 1};
  ASSERT_EQ(messageOf(session.openBanks(strict)), "");
  EXPECT_FALSE(session.getMatcher().getFilter().anyMachine);
  EXPECT_EQ(session.getBanks().getBanks().size(), 1u);
}

TEST_F(SessionTest, ATextIsAModelAndItsCallsAreInlined) {
  auto module = session.loadText(R"(
    func.func private @twice(%x: f32) -> f32 {
      %sum = arith.addf %x, %x : f32
      return %sum : f32
    }
    func.func @forward(%x: f32) -> f32 {
      %y = func.call @twice(%x) : (f32) -> f32
      return %y : f32
    })",
                                 "text.mlir");
  ASSERT_TRUE(module) << said;
  ASSERT_TRUE(succeeded(prepareModel(*module, "host")));
  EXPECT_EQ(countOf<func::CallOp>(*module), 0);
  EXPECT_EQ(countOf<func::FuncOp>(*module), 1);
}

TEST_F(SessionTest, AShortageOfMemoryIsAWarningAtTheFunction) {
  auto module = applyTo();
  warnOfShortage(*module, /*bytes=*/1000, "a small device");
  EXPECT_THAT(said, testing::HasSubstr("relu.mlir:1:1: warning: @forward "));
  EXPECT_THAT(said, testing::HasSubstr(" on a small device: run it where there "
                                       "is more"));
  said.clear();
  warnOfShortage(*module, /*bytes=*/1 << 30, "a large device");
  EXPECT_EQ(said, "");
}
