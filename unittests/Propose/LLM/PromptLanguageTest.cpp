//===- PromptLanguageTest.cpp - Prompts for programs in MLIR --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PromptLanguage.h"
#include "../../Analysis/WorkloadFixture.h"
#include "../../LibdeviceNeed.h"
#include "LLMTestUtils.h"
#include "ReadReply.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/ProgramRules.h"
#include "fastk/Propose/Parameters.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

using Variants = std::vector<Variant>;

/// What the compiler is asked, in the context of the workloads.
class PromptLanguageTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    mlir::DialectRegistry registry;
    registerHostCodegen(registry);
    registerCudaCodegen(registry);
    context().appendDialectRegistry(registry);
  }
  static void expectCompiles(const Variant &variant,
                             const ProgramBuffers &buffers) {
    EXPECT_TRUE(succeeded(compileGPUProgram(
        mlir::UnknownLoc::get(&context()), variant.program, "kernel.mlir",
        *variant.plan, buffers, *CudaTarget::parse("cuda:sm_90a"))))
        << variant.program;
  }
};

Idea anIdea() {
  return {"llm/1-a", IdeaCategory::MemoryAccess, "A", "Text of A."};
}

/// What a proposer that writes so asks and makes of the answer.
struct Written : Asking {
  Written(Writing writing, std::string reply)
      : Asking([reply](const Prompt &) { return said(reply); }, of(writing)) {}
  static LLMProposerOptions of(Writing writing) {
    LLMProposerOptions options;
    options.writing = writing;
    return options;
  }
  Variant realise(Request &request) {
    auto variants =
        llvm::cantFail(proposer->realise(request.context(), {anIdea()}, 1));
    return variants[0]->front();
  }
  std::string system() const { return model->asked.back().system; }
  std::string user() const { return model->asked.back().user; }
};

std::string schedule(llvm::StringRef ops = "") {
  return ("#ROWS = 4 : i64 // tune: 2, 4, 8\n"
          "module attributes {transform.with_named_sequence} {\n"
          "  transform.named_sequence @__fastk_schedule(%f: "
          "!transform.any_op {transform.readonly}) {\n" +
          ops + "    transform.yield\n  }\n}\n")
      .str();
}

std::string block(llvm::StringRef tag, llvm::StringRef text) {
  return ("```" + tag + "\n" + text + "```\n").str();
}

std::string gpuReply() {
  return block("mlir", "#THREADS = 128 : index // tune: 64, 128\n"
                       "gpu.module @program {\n}\n") +
         block("json",
               R"({"steps": [{"launch": "k", "grid": ["1024 / THREADS"],
                   "block": ["THREADS"], "arguments": ["in0", "out0"]}]})"
               "\n");
}

/// The names in backquotes between two lines of a text, without the dots that
/// a prefix ends in; a line's prefix is in front of all of its names.
std::vector<std::string> listed(llvm::StringRef text, llvm::StringRef from,
                                llvm::StringRef to) {
  size_t begin = text.find(from);
  EXPECT_NE(begin, llvm::StringRef::npos) << from.str();
  text = text.substr(begin);
  text = text.take_front(text.find(to));
  std::vector<std::string> names;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("- "))
      continue;
    std::string prefix;
    while (line.contains('`')) {
      llvm::StringRef name = line.split('`').second.split('`').first;
      line = line.split('`').second.split('`').second;
      if (name.ends_with("."))
        prefix = name.drop_front(strlen("transform.")).str();
      else
        names.push_back(prefix + name.str());
    }
  }
  return names;
}

TEST_F(PromptLanguageTest, ASchedulePromptListsExactlyWhatIsAllowed) {
  for (const TargetDescription &target : {cpuTarget(), gpuTarget()}) {
    Request request = Request::golden("matmul_f16_small", target);
    Written written(Writing::Schedules, block("mlir", schedule()));
    written.realise(request);
    std::vector<std::string> names = listed(
        written.system(), "### What is allowed", "### Numbers to be tuned");
    llvm::StringSet<> seen;
    for (const std::string &name : names) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      bool isMember =
          llvm::any_of(allowedScheduleFamilies(), [&](llvm::StringRef family) {
            return llvm::StringRef(name).starts_with(family);
          });
      EXPECT_TRUE(isMember || llvm::is_contained(allowedScheduleOps(), name))
          << name;
    }
    for (llvm::StringRef op : allowedScheduleOps())
      EXPECT_TRUE(seen.contains(op)) << op.str();
    EXPECT_TRUE(seen.contains("apply_patterns.vector.lower_contraction"));
    EXPECT_TRUE(seen.contains("match.operation_name"));
    EXPECT_FALSE(seen.contains("print"));
  }
}

TEST_F(PromptLanguageTest, AScheduleForAGPUIsToldAllNumbersAndTheKernels) {
  Request request = Request::golden("matmul_f16_small", gpuTarget());
  Written written(Writing::Schedules, block("mlir", schedule()));
  written.realise(request);
  std::vector<std::string> names =
      listed(written.system(), "### Numbers of the compiler's kernels",
             "### Loops mapped");
  std::vector<std::string> all;
  for (const KernelChoice &choice : kernelChoices())
    all.push_back(choice.name.str());
  EXPECT_EQ(names, all);
  EXPECT_THAT(written.system(),
              HasSubstr("- `tensor_stages` (2 to 8): slices in shared memory"));
  EXPECT_THAT(written.user(),
              AllOf(HasSubstr("- kernel 0: tensor-core tiles; "),
                    HasSubstr("tensor_stages = ")));
}

TEST_F(PromptLanguageTest, AScheduleIsToldTheFunctionThatItMeets) {
  Request request = Request::golden("softmax_small", cpuTarget());
  Written written(Writing::Schedules, block("mlir", schedule()));
  written.realise(request);
  EXPECT_THAT(written.user(),
              AllOf(HasSubstr("func.func @pattern("), HasSubstr("return %"),
                    Not(HasSubstr("fastk.yield")),
                    Not(HasSubstr("- kernel 0"))));
  EXPECT_THAT(written.system(),
              AllOf(HasSubstr("on the host"), Not(HasSubstr("on a GPU")),
                    Not(HasSubstr("fastk_kernel")), Not(HasSubstr("{{")),
                    Not(HasSubstr("## The plan"))));
}

TEST_F(PromptLanguageTest, AGPUProgramIsToldTheDialectsAndThePlan) {
  Request request = Request::golden("elementwise_small", gpuTarget());
  Written written(Writing::GPU, gpuReply());
  written.realise(request);
  std::string text = written.system();
  for (llvm::StringRef dialect : allowedProgramDialects())
    EXPECT_THAT(text, HasSubstr(("`" + dialect + "`").str()));
  for (llvm::StringRef op : allowedGPUOps())
    EXPECT_THAT(text, HasSubstr(("`" + op + "`").str()));
  for (llvm::StringRef op : refusedProgramOps())
    EXPECT_THAT(text, HasSubstr(("`" + op + "`").str()));
  EXPECT_THAT(text,
              AllOf(HasSubstr("## The plan"), HasSubstr("```mlir"),
                    Not(HasSubstr("wgmmaFence")), Not(HasSubstr("__global__")),
                    Not(HasSubstr("waitPrevious")),
                    Not(HasSubstr("fenceAsyncShared"))));
}

TEST_F(PromptLanguageTest, AScheduleIsReadWithItsNumbers) {
  for (const TargetDescription &target : {cpuTarget(), gpuTarget()}) {
    Request request = Request::golden("elementwise_small", target);
    Written written(Writing::Schedules,
                    "Rows.\n\n" + block("mlir", schedule()));
    Variant variant = written.realise(request);
    EXPECT_EQ(variant.problem, "");
    EXPECT_EQ(variant.language, Language::schedule);
    EXPECT_EQ(variant.program, schedule());
    EXPECT_FALSE(variant.plan);
    EXPECT_EQ(variant.parameters,
              (std::map<std::string, int64_t>{{"ROWS", 4}}));
    Variants next = llvm::cantFail(
        written.proposer->neighbours(request.context(), variant, 9));
    ASSERT_EQ(next.size(), 2u);
    EXPECT_EQ(next[0].parameters.at("ROWS"), 2);
    EXPECT_THAT(next[1].program, HasSubstr("#ROWS = 8 : i64 // tune: 2, 4, 8"));
  }
}

TEST_F(PromptLanguageTest, AGPUProgramIsReadWithItsPlan) {
  Request request = Request::golden("elementwise_small", gpuTarget());
  Written written(Writing::GPU, gpuReply());
  Variant variant = written.realise(request);
  EXPECT_EQ(variant.problem, "");
  EXPECT_EQ(variant.language, Language::gpu);
  ASSERT_TRUE(variant.plan);
  auto launch = [](const Variant &each) {
    return std::get<worker::Launch>(each.plan->steps[0]);
  };
  EXPECT_EQ(launch(variant).grid[0], 8);
  EXPECT_THAT(variant.program, HasSubstr("// fastk-plan: "));
  Variants next = neighboursOf(variant, {}, 9, nullptr);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(launch(next[0]).grid[0], 16);
  EXPECT_EQ(launch(next[0]).block[0], 64);
}

TEST_F(PromptLanguageTest, TheExampleOfAGPUProgramCompilesWithAllItsNumbers) {
  PromptTemplates templates = llvm::cantFail(PromptTemplates::load());
  llm::ProgramReply reply =
      llm::readProgram(templates.text("example-gpu"), Language::gpu);
  ASSERT_EQ(reply.problem, "");
  Variant variant = makeVariant(Language::gpu, reply.program, reply.plan);
  ASSERT_EQ(variant.problem, "");
  std::vector<int64_t> bytes = {int64_t(8192) * 4096 * 4};
  PlanCheck check = {bytes, bytes, {}};
  Variants all = neighboursOf(variant, {}, 100, &check);
  EXPECT_EQ(all.size(), 4u);
  all.push_back(variant);
  for (const Variant &each : all) {
    EXPECT_THAT(worker::verifyLaunchPlan(*each.plan, bytes, bytes, {}),
                testing::IsEmpty());
    expectCompiles(each, {bytes, bytes});
  }
}

/// The forms of ops that the contract shows, in a kernel.
FASTK_TEST_F_IF(libdeviceNeed(), PromptLanguageTest,
                FormsOfAGPUProgramCompile) {
  PromptTemplates templates = llvm::cantFail(PromptTemplates::load());
  llvm::StringRef forms = templates.text("contract-gpu");
  forms = forms.split("```text\n").second.split("```\n").first;
  ASSERT_FALSE(forms.empty());
  std::string program =
      ("#THREADS = 128 : index\ngpu.module @forms {\n  gpu.func @k(%in: "
       "memref<8192xf32>, %out: memref<8192xf32>, %i: index) kernel {\n" +
       forms + "    gpu.return\n  }\n}\n")
          .str();
  Variant variant =
      makeVariant(Language::gpu, program,
                  R"({"steps": [{"launch": "k", "grid": [1], "block":
                      ["THREADS"], "arguments": ["in0", "out0", {"i64": 0}]}]})");
  ASSERT_EQ(variant.problem, "");
  expectCompiles(variant, {{8192 * 4}, {8192 * 4}});
}

TEST_F(PromptLanguageTest, WhatIsWrongWithAReplyIsSaid) {
  auto problem = [](llvm::StringRef reply, Language language) {
    return llm::readProgram(reply, language).problem;
  };
  for (llvm::StringRef reply : {"", "Sorry.", "```c\nint x;\n```\n"})
    EXPECT_THAT(problem(reply, Language::schedule),
                HasSubstr("wanted is one block ```mlir with the whole "
                          "schedule"));
  EXPECT_THAT(problem(block("mlir", "module {\n}\n"), Language::schedule),
              HasSubstr("has a block ```mlir without "
                        "transform.named_sequence @__fastk_schedule"));
  EXPECT_THAT(problem(block("mlir", schedule()), Language::gpu),
              HasSubstr("has a block ```mlir without a gpu.module"));
  EXPECT_THAT(problem(block("mlir", "gpu.module @p {\n}\n"), Language::gpu),
              HasSubstr("has no fenced block with the plan"));
  EXPECT_THAT(problem("```mlir\n" + schedule(), Language::schedule),
              HasSubstr("ends inside a fenced block"));
  EXPECT_THAT(
      problem(block("mlir", schedule("  // \x1b[2J\n")), Language::schedule),
      HasSubstr("control character"));
}

TEST_F(PromptLanguageTest, OfSeveralSchedulesTheLastOneCounts) {
  std::string reply = block("mlir", schedule("    // first\n")) + "Better:\n" +
                      block("mlir", schedule("    // second\n")) +
                      block("json", "{\"workspace_bytes\": 64}\n");
  llm::ProgramReply read = llm::readProgram(reply, Language::schedule);
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.plan, "");
  EXPECT_THAT(read.program, HasSubstr("// second"));
}

TEST_F(PromptLanguageTest, AParentSaysInWhichLanguageItIs) {
  Request request = Request::golden("elementwise_small", cpuTarget());
  Variant program;
  program.language = Language::c;
  program.program = "void fastk_kernel() {}";
  program.parameters["unroll"] = 4;
  request.parents = {request.tried(program, "In C", 20e-6)};
  program = Variant();
  program.language = Language::schedule;
  program.program = schedule();
  request.parents.push_back(request.tried(program, "Tiles", 20e-6));
  request.history = request.parents;
  Written written(Writing::Schedules, goodIdeas());
  llvm::cantFail(written.proposer->proposeIdeas(request.context(), 2));
  EXPECT_THAT(
      written.user(),
      AllOf(HasSubstr("(Its program is a C program with unroll = 4; it cannot "
                      "be edited as text: write a schedule of the compiler's "
                      "own kernels of your own. Its idea: Text of In C.)"),
            HasSubstr("```mlir\n#ROWS = 4"), Not(HasSubstr("fastk_kernel"))));
}

// Models are not asked for PTX, but may hear of it.
TEST_F(PromptLanguageTest, PTXOfOthersIsToldByItsIdea) {
  Request request = Request::golden("elementwise_small", gpuTarget());
  Variant program;
  program.language = Language::ptx;
  program.program = ".version 8.4\n";
  request.parents = {request.tried(program, "By Triton", 20e-6)};
  request.history = request.parents;
  Written written(Writing::Programs, goodIdeas());
  llvm::cantFail(written.proposer->proposeIdeas(request.context(), 2));
  EXPECT_THAT(
      written.user(),
      AllOf(HasSubstr("(Its program is a program in PTX; it cannot be edited "
                      "as text: write a CUDA-C program of your own. Its idea: "
                      "Text of By Triton.)"),
            Not(HasSubstr(".version 8.4"))));
}

TEST_F(PromptLanguageTest, ASchedulesPromptIsShort) {
  for (const TargetDescription &target : {cpuTarget(), gpuTarget()})
    for (Writing writing : {Writing::Schedules, Writing::GPU}) {
      if (writing == Writing::GPU && target.target == "host")
        continue;
      Request request = Request::golden("conv2d_small", target);
      Written written(writing, "");
      written.realise(request);
      EXPECT_LT(written.system().size() + written.user().size(), 48000u);
      EXPECT_FALSE(llvm::Regex("\\{\\{[a-z_]+\\}\\}")
                       .match(written.system() + written.user()));
    }
}

TEST_F(PromptLanguageTest, LanguagesFollowFromWhatIsWritten) {
  auto languages = [](Writing writing, const TargetDescription &target) {
    return Written(writing, "").proposer->languages(target);
  };
  EXPECT_EQ(languages(Writing::Families, cpuTarget()), Languages{Language::c});
  EXPECT_EQ(languages(Writing::Programs, gpuTarget()),
            Languages{Language::cuda});
  EXPECT_EQ(languages(Writing::Schedules, cpuTarget()),
            Languages{Language::schedule});
  EXPECT_EQ(languages(Writing::Schedules, gpuTarget()),
            Languages{Language::schedule});
  EXPECT_EQ(languages(Writing::GPU, gpuTarget()), Languages{Language::gpu});
  EXPECT_EQ(Written(Writing::Schedules, "").proposer->writes(), "schedules");
}

} // namespace
