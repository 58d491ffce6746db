//===- LocalPoolTest.cpp - Compiling, judging, and what made the verdict --===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PoolFixture.h"
#include "fastk/Target/DeviceDescription.h"
#include "llvm/Support/Program.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

using LocalPool = PoolFixture;

TEST_F(LocalPool, ProvenanceIsOfContent) {
  auto first = provenance(*module);
  EXPECT_EQ(first.size(), 4u);
  for (const auto &[name, digest] : first)
    EXPECT_EQ(digest.size(), 64u) << name << " is " << digest;
  EXPECT_EQ(first, provenance(*module)) << "in another folder, compiled again";

  auto other = workload(128);
  auto otherWorkload = provenance(*other);
  EXPECT_EQ(otherWorkload["worker"], first["worker"]);
  EXPECT_NE(otherWorkload["default lowering"], first["default lowering"]);
  EXPECT_NE(otherWorkload["oracle"], first["oracle"]);

  options.worker = script("worker", "exec " FASTK_WORKER " \"$@\"\n");
  auto otherWorker = provenance(*module);
  EXPECT_NE(otherWorker["worker"], first["worker"]);
  EXPECT_EQ(otherWorker["default lowering"], first["default lowering"]);
  EXPECT_EQ(otherWorker["oracle"], first["oracle"]);
}

// A compiler that emits other code for the default lowering alone.
TEST_F(LocalPool, ProvenanceSeesAnotherBaseline) {
  auto first = provenance(*module);
  options.jobs.compiler =
      script("compiler", "said=$(" FASTK_OPT " \"$@\") || exit 1\n"
                         "case $1 in *=program) said=${said}0;; esac\n"
                         "echo $said\n");
  auto second = provenance(*module);
  EXPECT_NE(second["default lowering"], first["default lowering"]);
  EXPECT_EQ(second["oracle"], first["oracle"]);
}

// Another way of compiling C: the same default lowering, other variants.
TEST_F(LocalPool, ProvenanceSeesAnotherCCompiler) {
  auto first = provenance(*module);
  options.jobs.compiler =
      script("compiler",
             "text=$(cat)\n"
             "said=$(printf '%s' \"$text\" | " FASTK_OPT " \"$@\") || exit 1\n"
             "case $text in *fastk_kernel*) "
             "said=\"object $(printf %064d 7)\";; esac\n"
             "echo $said\n");
  auto second = provenance(*module);
  EXPECT_NE(second["C compiler"], first["C compiler"]);
  EXPECT_EQ(second["C compiler"].size(), 64u);
  EXPECT_EQ(second["default lowering"], first["default lowering"]);
}

// Where clang-22 is installed later it links instead of cc: other files of the
// same code, and no verdict rests on that.
TEST_F(LocalPool, ProvenanceDoesNotSeeAnotherLinker) {
  auto linkedAs = [&](const std::string &library) {
    // Stands before the linker in PATH, and has it write something else.
    std::string bin = folder.file("bin-" + library);
    EXPECT_FALSE(llvm::sys::fs::create_directories(bin));
    for (const char *name : {"clang-22", "cc"}) {
      auto real = llvm::sys::findProgramByName(name);
      if (real)
        script("bin-" + library + "/" + name,
               "case \" $* \" in *' -shared '*) exec " + *real +
                   " \"$@\" -Wl,-soname," + library + ";; esac\nexec " + *real +
                   " \"$@\"\n");
    }
    options.jobs.compiler =
        script("compiler-" + library,
               "PATH=" + bin + ":$PATH exec " FASTK_OPT " \"$@\"\n");
    return provenance(*module);
  };
  auto first = linkedAs("one"), second = linkedAs("another");
  EXPECT_EQ(first["default lowering"].size(), 64u);
  EXPECT_EQ(first, second);
}

// What does not say what it compiled is another version's.
TEST_F(LocalPool, ACompilerWithoutADigestIsNone) {
  options.jobs.compiler = script("compiler", FASTK_OPT " \"$@\" > /dev/null\n");
  auto parts = pool()->provenance(TestContext::loweringOf(*module), {});
  ASSERT_FALSE(static_cast<bool>(parts));
  EXPECT_THAT(llvm::toString(parts.takeError()),
              testing::HasSubstr("does not say the digest"));
}

TEST_F(LocalPool, CompileTimeoutHasItsOwnStatus) {
  // Enough for the default lowering and the oracle on a busy machine.
  options.jobs.compileSeconds = 10;
  // Sleeps over C programs; the rest it compiles.
  options.jobs.compiler =
      script("compiler", "text=$(cat)\n"
                         "case $text in *'language = c'*|*fastk_kernel*) "
                         "exec sleep 300;; esac\n"
                         "printf '%s' \"$text\" | " FASTK_OPT " \"$@\"\n");
  Variant variant;
  variant.language = Language::c;
  variant.program = "void fastk_kernel(const float *x, float *y, void *w) {}";
  LoweringOp workload = TestContext::loweringOf(*module);
  auto verdict = pool()->evaluate({workload, variant}, {});
  ASSERT_TRUE(static_cast<bool>(verdict));
  EXPECT_EQ((*verdict)->status, worker::Status::CompileTimeout)
      << worker::toString((*verdict)->status) << ": " << (*verdict)->reason;
  EXPECT_EQ((*verdict)->reason, "compiling took longer than 10 s");
  // It survives the journal.
  std::string error;
  auto reread = worker::parseVerdict(worker::toJSON(**verdict), error);
  ASSERT_TRUE(reread) << error;
  EXPECT_EQ(reread->status, worker::Status::CompileTimeout);
}

// Without a compiler nothing can be searched: no evaluation is spent on it.
TEST_F(LocalPool, WithoutACompilerThereIsNoSearch) {
  options.jobs.compiler =
      script("compiler", "text=$(cat)\n"
                         "case $text in *'language = c'*|*fastk_kernel*) "
                         "echo 'x: error: clang-22 is not in PATH: install it' "
                         ">&2; exit 1;; esac\n"
                         "printf '%s' \"$text\" | " FASTK_OPT " \"$@\"\n");
  std::unique_ptr<Evaluator> evaluator = pool();
  EXPECT_EQ(
      llvm::toString(evaluator->check({Language::schedule, Language::c}, {})),
      "");
  auto parts = evaluator->provenance(TestContext::loweringOf(*module), {});
  ASSERT_FALSE(static_cast<bool>(parts));
  EXPECT_EQ(llvm::toString(parts.takeError()),
            "C programs cannot be compiled here: clang-22 is not in PATH: "
            "install it");
  // Schedules are compiled without it, and do not rest on it.
  EXPECT_EQ(llvm::toString(evaluator->check({Language::schedule}, {})), "");
  std::vector<std::string> unused;
  EXPECT_EQ(
      provenance(*module, Languages{Language::schedule}, &unused)["C compiler"],
      "does not compile");
  EXPECT_THAT(unused, testing::ElementsAre("C compiler"));
}

TEST_F(LocalPool, WhereCMayComeItsCompilerIsAPart) {
  for (const std::optional<Languages> &expected :
       {std::optional<Languages>(), std::optional(Languages{Language::c})}) {
    std::vector<std::string> unused;
    EXPECT_EQ(provenance(*module, expected, &unused)["C compiler"].size(), 64u);
    EXPECT_TRUE(unused.empty());
  }
}

// What the machine lacks is said by an exit code of its own: it is no fault of
// a variant, whenever it shows.
TEST_F(LocalPool, AToolThatIsMissingIsAnErrorNotAVerdict) {
  options.jobs.compiler =
      script("compiler", "text=$(cat)\n"
                         "case $text in *'language = c'*|*fastk_kernel*) "
                         "echo 'x: error: clang-22 is not in PATH: install it' "
                         ">&2; exit 69;; esac\n"
                         "printf '%s' \"$text\" | " FASTK_OPT " \"$@\"\n");
  Variant variant;
  variant.language = Language::c;
  variant.program = "void fastk_kernel(const float *in, float *out) {}";
  auto verdict =
      pool()->evaluate({TestContext::loweringOf(*module), variant}, {});
  ASSERT_FALSE(static_cast<bool>(verdict));
  EXPECT_EQ(llvm::toString(verdict.takeError()),
            "C programs cannot be compiled here: clang-22 is not in PATH: "
            "install it");
}

// The compiler of CUDA-C is looked for where CUDA-C may come, and only where it
// is compiled here.
TEST_F(LocalPool, WithoutNvrtcThereIsNoSearchInCuda) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto missing = [&](const Languages &languages) {
    ::setenv("FASTK_CUDA_PATH", folder.file("none").c_str(), 1);
    options.jobs.target = describeDevice("sm_90a")->target();
    options.worker = script("worker", "exit 0\n");
    fputs(llvm::toString(pool()->check(languages, {})).c_str(), stderr);
    _exit(0);
  };
  EXPECT_EXIT(missing({Language::schedule, Language::cuda}),
              testing::ExitedWithCode(0),
              "CUDA-C cannot be compiled here: no CUDA compiler: libnvrtc was "
              "not found; run scripts/install-deps.sh --cuda");
  EXPECT_EXIT(missing({Language::schedule, Language::gpu}),
              testing::ExitedWithCode(0), "^$");
}

TEST_F(LocalPool, ProgramsCanBeJudgedHere) {
  std::string text = llvm::toString(pool()->check({}, {}));
  EXPECT_EQ(text, "");
}

TEST_F(LocalPool, AWorkerThatCannotJudgeIsNamed) {
  options.worker = script(
      "worker", "test \"$*\" = '--check host' || exit 2\n"
                "echo 'fastk-worker: error: no process can be started' >&2\n"
                "exit 1\n");
  EXPECT_EQ(llvm::toString(pool()->check({}, {})),
            "programs cannot be judged here: no process can be started");
}

TEST_F(LocalPool, WhatTheSandboxLacksIsTold) {
  options.worker = script("worker", "echo 'missing: landlock, no-network'\n");
  auto evaluator = pool();
  std::string told;
  RequestContext context;
  context.note = [&](const std::string &text) { told += text; };
  EXPECT_EQ(llvm::toString(evaluator->check({}, context)), "");
  EXPECT_THAT(
      told, testing::HasSubstr("programs run without landlock, no-network: "));
}

TEST_F(LocalPool, ProgramThatDoesNotCompileIsRefused) {
  Variant variant;
  variant.language = Language::c;
  variant.program = "void fastk_kernel(";
  auto verdict =
      pool()->evaluate({TestContext::loweringOf(*module), variant}, {});
  ASSERT_TRUE(static_cast<bool>(verdict));
  EXPECT_EQ((*verdict)->status, worker::Status::Refused);
  EXPECT_THAT((*verdict)->reason,
              testing::MatchesRegex("does not compile: kernel.c:1:[0-9]+: "
                                    "error: expected parameter declarator"));
}

TEST_F(LocalPool, CancelledIsAnErrorNotAVerdict) {
  auto evaluator = pool();
  RequestContext context;
  int ticks = 0;
  context.whileWaiting = [&] { ++ticks; };
  context.stopRequested = [] { return true; };
  Variant variant;
  variant.language = Language::c;
  variant.program = "void fastk_kernel(const float *x, float *y, void *w) {}";
  LoweringOp workload = TestContext::loweringOf(*module);
  auto verdict = evaluator->evaluate({workload, variant}, context);
  ASSERT_FALSE(static_cast<bool>(verdict));
  EXPECT_EQ(llvm::toString(verdict.takeError()), "interrupted");
  EXPECT_GT(ticks, 0);
  // One that has compiled nothing yet.
  auto parts = pool()->provenance(workload, context);
  ASSERT_FALSE(static_cast<bool>(parts));
  llvm::consumeError(parts.takeError());
}

// For a GPU a job has device code and plans; the source goes as it is.
TEST_F(LocalPool, JobsForAGPU) {
  auto onDevice = workload(64, "cuda:sm_90a");
  options.jobs.target = describeDevice("sm_90a")->target();
  worker::Verdict answer;
  answer.status = worker::Status::Wrong;
  answer.reason = "as told";
  writeAll(folder.file("answer"), worker::toJSON(answer));
  // What the job names lies there while the worker runs.
  options.worker = script(
      "worker", "cat > " + folder.file("job") + "\n" +
                    "cp $(grep -o '[^\"]*\\.cu' " + folder.file("job") + ") " +
                    folder.file("candidate") + "\n" + "cp $(grep -o " +
                    "'[^\"]*\\.ptx' " + folder.file("job") + " | head -1) " +
                    folder.file("oracle") + "\n" + "cat " +
                    folder.file("answer") + "\n");
  Variant variant = deviceVariant(64);
  auto verdict =
      pool()->evaluate({TestContext::loweringOf(*onDevice), variant}, {});
  ASSERT_TRUE(static_cast<bool>(verdict))
      << llvm::toString(verdict.takeError());
  EXPECT_EQ((*verdict)->reason, "as told");
  std::string error;
  auto job = worker::parseJob(readAll(folder.file("job")), error);
  ASSERT_TRUE(job) << error;
  EXPECT_EQ(job->device, worker::DeviceKind::Cuda);
  EXPECT_EQ(job->machine, "NVIDIA H200");
  EXPECT_GT(job->floorNs, 0);
  EXPECT_EQ(job->oracle.code, worker::Code::PTX);
  EXPECT_EQ(job->baseline.code, worker::Code::PTX);
  EXPECT_EQ(job->candidate.code, worker::Code::CUDA);
  ASSERT_TRUE(job->candidate.plan);
  EXPECT_EQ(worker::toJSON(*job->candidate.plan),
            worker::toJSON(*variant.plan));
  EXPECT_EQ(readAll(folder.file("candidate")), variant.program);
  EXPECT_THAT(readAll(folder.file("oracle")), testing::HasSubstr("sm_90a"));
}

// It is judged as where nothing is timed, and not dropped for being slow.
TEST_F(LocalPool, AFirstMeasurementIsBrief) {
  options.worker = script("worker", "cat > " + folder.file("job") + "\n");
  auto jobOf = [&](bool timesBriefly) {
    Variant variant;
    variant.language = Language::c;
    variant.program = "void fastk_kernel(const float *x, float *y, void *w) {}";
    EvaluationRequest request{TestContext::loweringOf(*module), variant};
    request.timesBriefly = timesBriefly;
    // It gives no verdict.
    llvm::consumeError(pool()->evaluate(request, {}).takeError());
    std::string error;
    auto job = worker::parseJob(readAll(folder.file("job")), error);
    EXPECT_TRUE(job) << error;
    return job.value_or(worker::Job());
  };
  options.jobs.timeSeconds = 0;
  worker::Job brief = jobOf(true), other = jobOf(false);
  EXPECT_EQ(brief.mode, worker::Mode::Evaluate);
  EXPECT_TRUE(brief.validate.full);
  EXPECT_EQ(brief.time.maxSeconds, 0.1);
  EXPECT_EQ(brief.time.screenRatio, 0);
  EXPECT_EQ(brief.profile.when, worker::ProfileOptions::When::Never);
  EXPECT_EQ(other.mode, worker::Mode::Evaluate);
  EXPECT_FALSE(other.validate.full);
  EXPECT_EQ(other.time.maxSeconds, 2);
  EXPECT_EQ(other.time.screenRatio, 1.3);
}

// What cannot run is refused with the rule, and no worker is asked.
TEST_F(LocalPool, WhatCannotRunIsRefused) {
  auto onDevice = workload(64, "cuda:sm_90a");
  LoweringOp device = TestContext::loweringOf(*onDevice);
  LoweringOp host = TestContext::loweringOf(*module);
  options.worker = script("worker", "exit 7\n");
  auto reasonOf = [&](LoweringOp workload, const Variant &variant) {
    auto verdict = pool()->evaluate({workload, variant}, {});
    if (!verdict)
      return llvm::toString(verdict.takeError());
    EXPECT_EQ((*verdict)->status, worker::Status::Refused);
    return (*verdict)->reason;
  };
  EXPECT_THAT(reasonOf(device, deviceVariant(4096)),
              testing::StartsWith("its plan breaks a rule: $.steps[0].block"));
  EXPECT_THAT(reasonOf(host, deviceVariant(64)),
              testing::HasSubstr("'cuda' is for GPUs: search with --target="));
  Variant unplanned = deviceVariant(64);
  unplanned.plan.reset();
  EXPECT_THAT(reasonOf(device, unplanned),
              testing::HasSubstr("needs a plan that launches it"));
  Variant inC;
  inC.language = Language::c;
  EXPECT_THAT(reasonOf(device, inC), testing::HasSubstr("'c' is for the host"));
}

} // namespace
