//===- OracleComparisonTest.cpp - Asked once, and what comes of it --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the place of a worker with a GPU a script answers what it is told to.
//
//===----------------------------------------------------------------------===//

#include "PoolFixture.h"
#include "fastk/Target/DeviceDescription.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include <cstdlib>

using namespace fastk;
using namespace fastk::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class OracleComparison : public PoolFixture {
protected:
  OracleComparison() : device(workload(64, "cuda:sm_90a")) {
    if (const char *set = std::getenv("FASTK_CACHE_DIR"))
      saved = set;
    setenv("FASTK_CACHE_DIR", folder.file("cache").c_str(), 1);
    options.jobs.target = describeDevice("sm_90a")->target();
    options.jobs.reproducers = folder.file("reproducers");
    options.worker = script(
        "worker", "cat > " + folder.file("job") + "\n" +
                      "grep -o '\"mode\":\"[a-z]*\"' " + folder.file("job") +
                      " >> " + folder.file("modes") + "\n" +
                      "grep -q compare " + folder.file("job") +
                      " && exec cat " + folder.file("comparison") +
                      "\nexec cat " + folder.file("evaluation") + "\n");
    answer("evaluation", worker::Status::OK, "evaluated");
  }
  ~OracleComparison() override {
    if (saved)
      setenv("FASTK_CACHE_DIR", saved->c_str(), 1);
    else
      unsetenv("FASTK_CACHE_DIR");
  }
  void answer(const std::string &file, worker::Status status,
              const std::string &reason) {
    worker::Verdict verdict;
    verdict.status = status;
    verdict.reason = reason;
    verdict.audit.seed = 4711;
    writeAll(folder.file(file), worker::toJSON(verdict));
  }
  worker::Verdict evaluate(Evaluator &evaluator) {
    RequestContext context;
    context.note = [&](const std::string &text) { notes.push_back(text); };
    Variant variant = deviceVariant(64);
    auto verdict = evaluator.evaluate(
        {TestContext::loweringOf(*device), variant}, context);
    if (!verdict || !*verdict) {
      ADD_FAILURE() << llvm::toString(verdict.takeError());
      return {};
    }
    return **verdict;
  }
  /// What the worker was asked since the last time.
  std::vector<std::string> modes() {
    std::vector<std::string> result;
    std::string text = readAll(folder.file("modes"));
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef line : lines)
      result.push_back(line.split(':').second.trim('"').str());
    writeAll(folder.file("modes"), "");
    return result;
  }

  mlir::OwningOpRef<mlir::ModuleOp> device;
  std::optional<std::string> saved;
  std::vector<std::string> notes;
};

TEST_F(OracleComparison, AgreementIsKept) {
  answer("comparison", worker::Status::OK, "");
  auto first = pool();
  EXPECT_EQ(evaluate(*first).reason, "evaluated");
  EXPECT_THAT(modes(), ElementsAre("compare", "evaluate"));
  EXPECT_EQ(evaluate(*first).reason, "evaluated");
  EXPECT_THAT(modes(), ElementsAre("evaluate"));
  // In another process, too, though not of another device.
  EXPECT_EQ(evaluate(*pool()).reason, "evaluated");
  EXPECT_THAT(modes(), ElementsAre("evaluate"));
  options.jobs.target->model = "Another GPU";
  EXPECT_EQ(evaluate(*pool()).reason, "evaluated");
  EXPECT_THAT(modes(), ElementsAre("compare", "evaluate"));
  EXPECT_TRUE(notes.empty());
}

TEST_F(OracleComparison, DisagreementIsTheVerdict) {
  answer("comparison", worker::Status::Disagreement, "result 0: as told");
  auto evaluator = pool();
  for (int time = 0; time < 2; ++time) {
    worker::Verdict verdict = evaluate(*evaluator);
    EXPECT_EQ(verdict.status, worker::Status::Disagreement);
    EXPECT_THAT(verdict.reason, HasSubstr("result 0: as told. This is a bug of "
                                          "the compiler, not of a kernel"));
    // It survives the journal.
    std::string error;
    auto reread = worker::parseVerdict(worker::toJSON(verdict), error);
    ASSERT_TRUE(reread) << error;
    EXPECT_EQ(reread->status, worker::Status::Disagreement);
  }
  EXPECT_THAT(modes(), ElementsAre("compare"));
  // Nothing of it is kept: a compiler that was mended is asked again.
  EXPECT_EQ(evaluate(*pool()).status, worker::Status::Disagreement);
  EXPECT_THAT(modes(), ElementsAre("compare"));

  LoweringOp lowering = TestContext::loweringOf(*device);
  std::string left = folder.file("reproducers") + "/" +
                     lowering.getKey().take_front(8).str() + "-sm_90a/";
  std::string error;
  auto job = worker::parseJob(readAll(left + "job.json"), error);
  ASSERT_TRUE(job) << error;
  EXPECT_EQ(job->mode, worker::Mode::Compare);
  EXPECT_EQ(job->seed, 4711);
  EXPECT_EQ(job->oracle.path, "oracle.ptx");
  EXPECT_EQ(job->hostOracle->path, "host_oracle.so");
  for (const char *name : {"oracle.ptx", "host_oracle.so", "README"})
    EXPECT_TRUE(llvm::sys::fs::exists(left + name)) << name;
  EXPECT_THAT(readAll(left + "workload.mlir"), HasSubstr("fastk.workload"));
}

TEST_F(OracleComparison, WhatCannotBeComparedIsSaid) {
  // Whether the workload itself can be judged its evaluation tells: smaller
  // sizes of it may have been compared.
  for (worker::Status status : {worker::Status::Error, worker::Status::Unfit}) {
    notes.clear();
    answer("comparison", status, "cannot be loaded");
    EXPECT_EQ(evaluate(*pool()).reason, "evaluated");
    EXPECT_THAT(modes(), ElementsAre("compare", "evaluate"));
    EXPECT_THAT(notes, ElementsAre("the oracle on the GPU is not compared with "
                                   "the host's: cannot be loaded"));
    EXPECT_EQ(evaluate(*pool()).reason, "evaluated");
    EXPECT_THAT(modes(), ElementsAre("compare", "evaluate"));
  }
}

/// One of sixteen million elements goes as one of a million.
TEST_F(OracleComparison, LargeWorkloadsAreComparedSmall) {
  device = workload(int64_t(1) << 24, "cuda:sm_90a");
  answer("comparison", worker::Status::Disagreement, "");
  evaluate(*pool());
  std::string error;
  auto job = worker::parseJob(readAll(folder.file("job")), error);
  ASSERT_TRUE(job) << error;
  EXPECT_THAT(job->inputs[0].shape, ElementsAre(4096));
}

// There is one oracle.
TEST_F(OracleComparison, NothingIsComparedOnTheHost) {
  device = workload(64);
  options.jobs.target.reset();
  Variant variant;
  variant.language = Language::c;
  variant.program = "void fastk_kernel(const float *x, float *y, void *w) {}";
  auto verdict =
      pool()->evaluate({TestContext::loweringOf(*device), variant}, {});
  ASSERT_TRUE(static_cast<bool>(verdict))
      << llvm::toString(verdict.takeError());
  EXPECT_THAT(modes(), ElementsAre("evaluate"));
}

} // namespace
