//===- LocalFleetTest.cpp - Workers side by side on this machine ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/LocalFleet.h"
#include "PoolFixture.h"
#include <csignal>

using namespace fastk;
using namespace fastk::test;

namespace {

/// Programs for the host, which a worker judges in place of a GPU's.
class LocalFleet : public PoolFixture {
protected:
  std::unique_ptr<Evaluator> fleet() {
    LocalFleetOptions fleet{options, folder.file("jobs"), {0, 2}};
    auto made = createLocalFleet(fleet);
    if (!made) {
      ADD_FAILURE() << llvm::toString(made.takeError());
      return nullptr;
    }
    return std::move(*made);
  }
  /// A worker as the fleet's, which has no GPU to start one for.
  std::string withoutGpus() {
    return script("worker",
                  "test \"$3\" = --gpus=0,2 || exec " FASTK_WORKER " \"$@\"\n"
                  "exec " FASTK_WORKER " \"$1\" \"$2\"\n");
  }
  EvaluationRequest requestOf(const Variant &candidate) {
    EvaluationRequest request{TestContext::loweringOf(*module), candidate};
    request.firstOfBatch = true;
    return request;
  }
  Variant doubling() {
    Variant variant;
    variant.language = Language::c;
    variant.program =
        "void fastk_kernel(const float *x, float *y, void *workspace) {\n"
        "  for (long i = 0; i < 64; ++i) y[i] = x[i] + x[i];\n}\n";
    return variant;
  }
};

TEST_F(LocalFleet, AnswersAreWaitedFor) {
  options.worker = withoutGpus();
  std::unique_ptr<Evaluator> evaluator = fleet();
  ASSERT_TRUE(evaluator);
  EXPECT_TRUE(evaluator->waits());
  Variant variant = doubling();
  auto first = evaluator->evaluate(requestOf(variant), {});
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  EXPECT_FALSE(first->has_value());
  int ticks = 0;
  RequestContext context;
  context.whileWaiting = [&] { ++ticks; };
  auto answered = evaluator->waitForAnswers(context);
  ASSERT_TRUE(bool(answered)) << llvm::toString(answered.takeError());
  EXPECT_EQ(answered->size(), 1u);
  EXPECT_GT(ticks, 0);
  auto second = evaluator->evaluate(requestOf(variant), {});
  ASSERT_TRUE(bool(second)) << llvm::toString(second.takeError());
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->status, worker::Status::OK) << (*second)->reason;
  // Nothing is pending any more.
  auto none = evaluator->waitForAnswers({});
  ASSERT_TRUE(bool(none)) << llvm::toString(none.takeError());
  EXPECT_TRUE(none->empty());
}

/// Verdicts of a fleet and of a pool compare: one worker made them.
TEST_F(LocalFleet, IsOfThePoolsProvenance) {
  auto ofPool = pool()->provenance(TestContext::loweringOf(*module), {});
  auto ofFleet = fleet()->provenance(TestContext::loweringOf(*module), {});
  ASSERT_TRUE(bool(ofPool)) << llvm::toString(ofPool.takeError());
  ASSERT_TRUE(bool(ofFleet)) << llvm::toString(ofFleet.takeError());
  ASSERT_EQ(ofPool->size(), ofFleet->size());
  for (size_t i = 0; i < ofPool->size(); ++i)
    EXPECT_EQ((*ofPool)[i].content, (*ofFleet)[i].content) << (*ofPool)[i].name;
}

TEST_F(LocalFleet, SaysWhyItsWorkersEnded) {
  options.worker =
      script("worker", "echo 'fastk-worker: error: gpu 0: is lost' >&2\n"
                       "exit 1\n");
  std::unique_ptr<Evaluator> evaluator = fleet();
  ASSERT_TRUE(evaluator);
  Variant variant = doubling();
  auto first = evaluator->evaluate(requestOf(variant), {});
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  auto answered = evaluator->waitForAnswers({});
  ASSERT_FALSE(bool(answered));
  std::string told = llvm::toString(answered.takeError());
  EXPECT_EQ(told.find("the workers of this machine's GPUs have ended:\n"
                      "fastk-worker: error: gpu 0: is lost\n"),
            0u)
      << told;
  EXPECT_NE(told.find("workers.log has all that they said"), std::string::npos)
      << told;
}

} // namespace
