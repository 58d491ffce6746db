//===- SpoolTest.cpp - What a search that waits does not wait for ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Spool.h"
#include "PoolFixture.h"
#include <chrono>
#include <csignal>
#include <thread>

using namespace fastk;
using namespace fastk::test;

namespace {
class WaitingSpool : public PoolFixture {
protected:
  std::unique_ptr<Evaluator> spool(double waitSeconds = 60) {
    auto made = createSpool({options.jobs, folder.file("spool"), waitSeconds});
    EXPECT_TRUE(static_cast<bool>(made)) << llvm::toString(made.takeError());
    return made ? std::move(*made) : nullptr;
  }
  /// The folders of the jobs that are there.
  std::vector<std::string> jobs() {
    std::vector<std::string> found;
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator at(folder.file("spool"), ec), end;
         at != end && !ec; at.increment(ec))
      if (llvm::sys::path::filename(at->path()).starts_with("job-"))
        found.push_back(at->path());
    return found;
  }
  /// A compiler that says that it was started, and compiles nothing until there
  /// is a file "go".
  std::string compilerThatWaits() {
    return script("compiler", "echo >> " + folder.file("starts") +
                                  "\nwhile [ ! -e " + folder.file("go") +
                                  " ]; do sleep 0.02; done\nexec " FASTK_OPT
                                  " \"$@\"\n");
  }
  /// Waits until there is a job.
  std::vector<std::string> waitForJob(Evaluator &evaluator) {
    RequestContext context;
    context.stopRequested = [&] { return !jobs().empty(); };
    auto answered = evaluator.waitForAnswers(context);
    EXPECT_TRUE(static_cast<bool>(answered));
    return answered ? *answered : std::vector<std::string>();
  }
  static Variant variantOf(const std::string &program) {
    Variant variant;
    variant.language = Language::c;
    variant.program = program;
    return variant;
  }

  const Variant right =
      variantOf("void fastk_kernel(const float *x, float *y, void *w) {\n"
                "  for (int i = 0; i < 64; ++i) y[i] = x[i] + x[i];\n}\n");
};
} // namespace

TEST_F(WaitingSpool, DoesNotWaitForTheCompiler) {
  options.jobs.compiler = compilerThatWaits();
  auto evaluator = spool();
  LoweringOp workload = TestContext::loweringOf(*module);
  auto verdict = evaluator->evaluate({workload, right}, {});
  ASSERT_TRUE(static_cast<bool>(verdict));
  EXPECT_FALSE(verdict->has_value());
  // The same once more is no second one.
  verdict = evaluator->evaluate({workload, right}, {});
  ASSERT_TRUE(static_cast<bool>(verdict));
  EXPECT_FALSE(verdict->has_value());
  EXPECT_EQ(jobs().size(), 0u);
  writeAll(folder.file("go"), "");
  EXPECT_TRUE(waitForJob(*evaluator).empty());
  EXPECT_EQ(jobs().size(), 1u);
  // Oracle, condition, default lowering and candidate.
  EXPECT_EQ(readAll(folder.file("starts")), "\n\n\n\n");
}

// What keeps the compiler from working is said, and nothing is tried for ever.
TEST_F(WaitingSpool, AnErrorEndsTheWaiting) {
  options.jobs.compiler =
      script("compiler", "echo 'error: there is no linker' >&2\nexit 69\n");
  auto evaluator = spool();
  LoweringOp workload = TestContext::loweringOf(*module);
  auto verdict = evaluator->evaluate({workload, right}, {});
  ASSERT_TRUE(static_cast<bool>(verdict));
  EXPECT_FALSE(verdict->has_value());
  auto answered = evaluator->waitForAnswers({});
  ASSERT_FALSE(static_cast<bool>(answered));
  EXPECT_NE(
      llvm::toString(answered.takeError()).find("cannot be compiled here"),
      std::string::npos);
}

// The first of a batch shows that the inputs can tell right from wrong; where
// it becomes no job the next one does.
TEST_F(WaitingSpool, ARefusedFirstOfABatchIsReplaced) {
  options.jobs.compiler = compilerThatWaits();
  auto evaluator = spool();
  LoweringOp workload = TestContext::loweringOf(*module);
  Variant wrong = variantOf("void fastk_kernel(const float *x, float) {");
  EvaluationRequest first{workload, wrong}, second{workload, right};
  first.firstOfBatch = true;
  for (const EvaluationRequest *request : {&first, &second}) {
    auto verdict = evaluator->evaluate(*request, {});
    ASSERT_TRUE(static_cast<bool>(verdict));
    EXPECT_FALSE(verdict->has_value());
  }
  writeAll(folder.file("go"), "");
  waitForJob(*evaluator);
  ASSERT_EQ(jobs().size(), 1u);
  EXPECT_NE(readAll(jobs()[0] + "/job.json").find("\"competitors\":true"),
            std::string::npos);
}

// The search of a workload may have ended before its last program is compiled.
TEST_F(WaitingSpool, KeepsWhatItIsAskedFor) {
  auto evaluator = spool();
  {
    Variant gone = right;
    auto verdict =
        evaluator->evaluate({TestContext::loweringOf(*module), gone}, {});
    ASSERT_TRUE(static_cast<bool>(verdict));
    EXPECT_FALSE(verdict->has_value());
    module = nullptr;
  }
  waitForJob(*evaluator);
  EXPECT_EQ(jobs().size(), 1u);
}

// What the compiler refuses is answered without a worker.
TEST_F(WaitingSpool, ARefusalIsAnAnswer) {
  auto evaluator = spool();
  LoweringOp workload = TestContext::loweringOf(*module);
  Variant wrong = variantOf("void fastk_kernel(const float *x, float) {");
  auto verdict = evaluator->evaluate({workload, wrong}, {});
  ASSERT_TRUE(static_cast<bool>(verdict));
  EXPECT_FALSE(verdict->has_value());
  auto answered = evaluator->waitForAnswers({});
  ASSERT_TRUE(static_cast<bool>(answered));
  EXPECT_EQ(*answered, std::vector<std::string>{workload.getKey().str()});
  verdict = evaluator->evaluate({workload, wrong}, {});
  ASSERT_TRUE(static_cast<bool>(verdict) && verdict->has_value());
  EXPECT_EQ((*verdict)->status, worker::Status::Refused);
  EXPECT_TRUE(
      llvm::StringRef((*verdict)->reason).starts_with("does not compile: "))
      << (*verdict)->reason;
  EXPECT_EQ(jobs().size(), 0u);
}

// One that ends and is run again writes its jobs first.
TEST_F(WaitingSpool, WithoutWaitingJobsAreThereAtOnce) {
  auto evaluator = spool(/*waitSeconds=*/0);
  auto verdict =
      evaluator->evaluate({TestContext::loweringOf(*module), right}, {});
  ASSERT_TRUE(static_cast<bool>(verdict));
  EXPECT_FALSE(verdict->has_value());
  EXPECT_EQ(jobs().size(), 1u);
}

// What still compiles at the end is killed.
TEST_F(WaitingSpool, EndsWithoutItsCompilers) {
  options.jobs.compiler = script("compiler", "echo $$ > " + folder.file("pid") +
                                                 "\nexec sleep 600\n");
  auto begun = std::chrono::steady_clock::now();
  {
    auto evaluator = spool();
    auto verdict =
        evaluator->evaluate({TestContext::loweringOf(*module), right}, {});
    ASSERT_TRUE(static_cast<bool>(verdict));
    while (!llvm::sys::fs::exists(folder.file("pid")) ||
           readAll(folder.file("pid")).empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pid_t pid = std::stoi(readAll(folder.file("pid")));
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}
