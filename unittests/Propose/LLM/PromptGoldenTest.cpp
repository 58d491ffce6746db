//===- PromptGoldenTest.cpp - Whole prompts, to be read by people ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/*.md hold one prompt of each kind. After a change that is meant, run
// the test with FASTK_WRITE_GOLDEN=1 and review the difference.
//
//===----------------------------------------------------------------------===//

#include "LLMTestUtils.h"
#include "fastk/Propose/Parameters.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include <cstdlib>

using namespace fastk;
using namespace fastk::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A convolution in its second round: one idea passed, one failed.
struct Scene {
  explicit Scene(TargetDescription target)
      : request(Request::golden("conv2d_small", std::move(target))) {
    bool isCuda = request.target.target != "host";
    Variant variant =
        isCuda
            ? makeVariant(Language::cuda, goodProgram(), goodPlan())
            : makeVariant(
                  Language::c,
                  "#define TILE 8 // tune: 4, 8\nvoid fastk_kernel(void) {}\n",
                  "{\"workspace_bytes\": 1024}");
    variant.ideaId = "llm/1-plain";
    TriedVariant best = request.tried(variant, "A plain translation", 20e-6);
    auto verdict = std::make_shared<worker::Verdict>();
    verdict->status = worker::Status::OK;
    verdict->precision = worker::Precision::IEEE;
    if (isCuda) {
      worker::KernelReport kernel;
      kernel.name = "relu";
      kernel.registers = 32;
      verdict->gpu = worker::GpuReport();
      verdict->gpu->kernels.push_back(kernel);
    }
    best.verdict = verdict;
    variant.ideaId = idea.id;
    variant.program += "// as mended\n";
    failed.idea = idea;
    failed.tried = request.tried(variant, idea.title, 0);
    failed.tried.status = "wrong";
    failed.tried.reason = "the results are wrong on 'normal'";
    auto wrong = std::make_shared<worker::Verdict>();
    wrong->status = worker::Status::Wrong;
    worker::TrialError error;
    error.distribution = "normal";
    error.maxNormalized = 1.5;
    error.relativeFrobenius = 0.75;
    error.referenceMax = 2e-7;
    error.referenceFrobenius = 1e-8;
    error.bound = error.boundFrobenius = 1e-6;
    wrong->errors.push_back(error);
    failed.tried.verdict = wrong;
    request.history = {best, failed.tried};
    request.parents = {best};
    request.round = 2;
    idea.parent = digestOf(best.variant);
  }

  Request request;
  Idea idea = {"llm/2-rows", IdeaCategory::MemoryAccess,
               "Rows in shared memory",
               "Stage the input rows of a block in shared memory."};
  FailedVariant failed;
};

std::string whole(const Prompt &prompt) {
  return "name: " + prompt.name + "\n\n" + wholeText(prompt);
}

void compare(llvm::StringRef name, const Prompt &prompt) {
  std::string path = (FASTK_LLM_INPUTS_DIR "/" + name + ".md").str();
  std::string text = whole(prompt);
  if (std::getenv("FASTK_WRITE_GOLDEN")) {
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << text;
  }
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  ASSERT_TRUE(bool(file)) << path << " is missing";
  EXPECT_EQ((*file)->getBuffer().str(), text);
}

/// What every prompt must say, and none may.
void expectComplete(const Prompt &prompt, Request &request) {
  std::string text = whole(prompt);
  EXPECT_FALSE(llvm::Regex("\\{\\{[a-z_]+\\}\\}").match(text));
  EXPECT_THAT(text,
              AllOf(HasSubstr("linalg.generic"), HasSubstr("Class `ieee`"),
                    HasSubstr("in0: f32["), HasSubstr("out0: f32["),
                    HasSubstr("How a program is judged"),
                    HasSubstr("The device")));
  for (char c : text)
    ASSERT_TRUE((c >= 0x20 && c < 0x7f) || c == '\n') << int(c);
  // The part that can be cached holds nothing of the round.
  EXPECT_THAT(prompt.system, AllOf(Not(HasSubstr("linalg")),
                                   Not(HasSubstr("shared memory\n\nStage"))));
  EXPECT_LT(text.size(), 48000u);
}

class PromptGoldenTest : public testing::TestWithParam<const char *> {
protected:
  bool isCuda() const { return GetParam() == std::string("cuda"); }
  Scene scene{isCuda() ? gpuTarget() : cpuTarget()};
  Asking asking{[](const Prompt &) { return said(""); }};
  std::string file(llvm::StringRef kind) const {
    return kind.str() + "-" + GetParam();
  }
};

TEST_P(PromptGoldenTest, Ideas) {
  llvm::cantFail(asking.proposer->proposeIdeas(scene.request.context(), 3));
  const Prompt &prompt = asking.model->asked.front();
  expectComplete(prompt, scene.request);
  EXPECT_THAT(prompt.user, AllOf(HasSubstr("Floor"), HasSubstr("baseline")));
  compare(file("ideas"), prompt);
}

TEST_P(PromptGoldenTest, Variant) {
  llvm::cantFail(
      asking.proposer->realise(scene.request.context(), {scene.idea}, 2));
  const Prompt &prompt = asking.model->asked.back();
  expectComplete(prompt, scene.request);
  EXPECT_THAT(prompt.user, HasSubstr("Floor"));
  EXPECT_THAT(prompt.system,
              isCuda() ? AllOf(HasSubstr("extern \"C\" __global__"),
                               HasSubstr("## The plan"), HasSubstr("```cuda"),
                               HasSubstr("tmaLoad2D"))
                       : AllOf(HasSubstr("void fastk_kernel("),
                               HasSubstr("workspace_bytes"),
                               HasSubstr("```c\n"), HasSubstr("omp.h")));
  compare(file("variant"), prompt);
}

TEST_P(PromptGoldenTest, Repair) {
  llvm::cantFail(
      asking.proposer->repair(scene.request.context(), {scene.failed}));
  const Prompt &prompt = asking.model->asked.front();
  expectComplete(prompt, scene.request);
  EXPECT_THAT(prompt.user,
              AllOf(HasSubstr("// as mended"), HasSubstr("Outcome: `wrong`"),
                    HasSubstr("What outcomes usually mean")));
  compare(file("repair"), prompt);
}

INSTANTIATE_TEST_SUITE_P(Targets, PromptGoldenTest,
                         testing::Values("cuda", "host"), [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
