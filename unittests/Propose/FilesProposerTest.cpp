//===- FilesProposerTest.cpp - Variants that a person wrote ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Bank/BankTestUtils.h"
#include "ProposerTestUtils.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Target/TargetDescription.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

class FilesProposerTest : public testing::Test {
protected:
  void SetUp() override {
    module = context.workload(8);
    features.name = "add";
  }
  void variant(const std::string &name, llvm::StringRef plan,
               llvm::StringRef idea, llvm::StringRef file = "kernel.c") {
    llvm::sys::fs::create_directories(folder.file(name));
    writeAll(folder.file(name + "/" + file.str()), "program of " + name);
    writeAll(folder.file(name + "/plan.json"), plan);
    writeAll(folder.file(name + "/idea.md"), idea);
  }
  std::string failure() {
    auto proposer = createFilesProposer(folder.str());
    if (proposer)
      return "";
    return llvm::toString(proposer.takeError());
  }
  ProposalContext request() {
    return ProposalContext{TestContext::loweringOf(*module),
                           features,
                           roofline,
                           target,
                           Precision::ieee,
                           1,
                           0,
                           0,
                           history,
                           {}};
  }
  static constexpr llvm::StringLiteral kIdea =
      "# Two at once\nCategory: compute and instructions\n\nAdd two\nlanes.\n";

  TestContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WorkloadFeatures features;
  Roofline roofline;
  TargetDescription target;
  std::vector<TriedVariant> history;
  TemporaryFolder folder;
};

TEST_F(FilesProposerTest, ReadsEveryFolder) {
  variant("b", "{\"workspace_bytes\": 4096}", kIdea);
  variant("a", "{}", kIdea, "schedule.mlir");
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer));
  EXPECT_EQ((*proposer)->name(), "files:" + folder.str());
  EXPECT_TRUE((*proposer)->wantsAllTried());
  auto ideas = ideasOf(**proposer, request(), 100);
  ASSERT_TRUE(static_cast<bool>(ideas));
  ASSERT_EQ(ideas->size(), 2u);
  EXPECT_EQ((*ideas)[0].id, "files/a");
  EXPECT_EQ((*ideas)[1].title, "Two at once");
  EXPECT_EQ((*ideas)[1].category, IdeaCategory::Compute);
  EXPECT_EQ((*ideas)[1].text, "Add two\nlanes.");
  auto a = variantsOf(**proposer, request(), (*ideas)[0], 2);
  auto b = variantsOf(**proposer, request(), (*ideas)[1], 2);
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->size(), 1u);
  EXPECT_EQ(a->front().language, Language::schedule);
  EXPECT_EQ(b->front().language, Language::c);
  EXPECT_EQ(b->front().program, "program of b");
  EXPECT_EQ(b->front().workspaceBytes, 4096);
}

TEST_F(FilesProposerTest, NoPlanMeansNoWorkspace) {
  variant("v", "{}", kIdea);
  llvm::sys::fs::remove(folder.file("v/plan.json"));
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer));
  auto ideas = ideasOf(**proposer, request(), 100);
  ASSERT_EQ(ideas->size(), 1u);
  auto made = variantsOf(**proposer, request(), ideas->front(), 1);
  ASSERT_EQ(made->size(), 1u);
  EXPECT_EQ(made->front().workspaceBytes, 0);
}

TEST_F(FilesProposerTest, WhatWasTriedIsNotProposedAgain) {
  variant("a", "{}", kIdea);
  variant("b", "{}", kIdea);
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer));
  history.resize(1);
  history[0].variant.ideaId = "files/a";
  auto ideas = ideasOf(**proposer, request(), 100);
  ASSERT_EQ(ideas->size(), 1u);
  EXPECT_EQ(ideas->front().id, "files/b");
}

TEST_F(FilesProposerTest, OtherWorkloadsAreLeftOut) {
  std::string key = keyOf(context, 8), other = keyOf(context, 9);
  variant("right-key", "{\"key\": \"" + key.substr(0, 12) + "\"}", kIdea);
  variant("wrong-key", "{\"key\": \"" + other + "\"}", kIdea);
  variant("right-name", "{\"name\": \"add\"}", kIdea);
  variant("wrong-name", "{\"name\": \"softmax\"}", kIdea);
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer));
  auto ideas = ideasOf(**proposer, request(), 100);
  std::vector<std::string> ids;
  for (const Idea &idea : *ideas)
    ids.push_back(idea.id);
  EXPECT_THAT(ids, testing::ElementsAre("files/right-key", "files/right-name"));
  (*proposer)->untried(request());
  EXPECT_EQ((*proposer)->unused(), "wrong-key is for the key " + other +
                                       ", wrong-name is for the name softmax");
}

TEST_F(FilesProposerTest, WhatNobodyAskedForIsNotMissed) {
  variant("wrong", "{\"name\": \"softmax\"}", kIdea);
  variant("right", "{\"name\": \"add\"}", kIdea);
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer));
  EXPECT_EQ((*proposer)->unused(), "");
  EXPECT_EQ((*proposer)->untried(request()), "right");
  EXPECT_EQ((*proposer)->unused(), "wrong is for the name softmax");
}

TEST_F(FilesProposerTest, ErrorsNameFileAndRemedy) {
  struct Case {
    const char *plan, *idea, *file, *problem;
  };
  const char *good = kIdea.data();
  for (const Case &each : {
           Case{"{", good, "plan.json", "not JSON"},
           Case{"[]", good, "plan.json", "must hold one object"},
           Case{"{\"workspace_bytes\": -1}", good, "plan.json",
                "a whole number of bytes from 0 to 8 GiB"},
           Case{"{\"workspace_bytes\": \"9 * TILE\"}", good, "plan.json",
                "TILE"},
           Case{"{\"key\": \"xyz\"}", good, "plan.json", "8 to 64"},
           Case{"{\"name\": 3}", good, "plan.json", "display name"},
           Case{"{\"grid\": 1}", good, "plan.json", "unknown field 'grid'"},
           Case{"{}", "Title", "idea.md", "must begin with a title"},
           Case{"{}", "# Title\nSome text", "idea.md", "'Category: ...'"},
           Case{"{}", "# Title\nCategory: magic", "idea.md",
                "unknown category 'magic'"},
       }) {
    variant("v", each.plan, each.idea);
    std::string message = failure();
    EXPECT_THAT(message,
                testing::StartsWith(folder.file("v/") + each.file + ": "));
    EXPECT_THAT(message, HasSubstr(each.problem));
  }
}

// Beside device code plan.json is a launch plan, in which key and name may
// stand.
TEST_F(FilesProposerTest, DeviceCodeComesWithALaunchPlan) {
  const char *plain = R"({"format": 1, "workspaces": [{"bytes": 64}],
    "steps": [{"launch": "k", "grid": [8], "block": [32],
               "arguments": ["in0", "out0", {"f32": 1e-5}]}]})";
  std::string named = plain;
  named.insert(1,
               "\"name\": \"add\", \"key\": \"" + keyOf(context, 8) + "\", ");
  variant("plain", plain, kIdea, "kernel.cu");
  variant("named", named, kIdea, "kernel.mlir");
  variant("text", plain, kIdea, "kernel.ptx");
  variant("other", "{\"name\": \"softmax\", " + std::string(plain + 1), kIdea,
          "kernel.cu");
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer))
      << llvm::toString(proposer.takeError());
  auto ideas = ideasOf(**proposer, request(), 100);
  ASSERT_EQ(ideas->size(), 3u);
  std::string error;
  auto expected = worker::parseLaunchPlan(plain, error);
  ASSERT_TRUE(expected) << error;
  Language languages[] = {Language::gpu, Language::cuda, Language::ptx};
  for (auto [idea, language] : llvm::zip(*ideas, languages)) {
    auto variants = variantsOf(**proposer, request(), idea, 1);
    ASSERT_EQ(variants->size(), 1u);
    EXPECT_EQ(variants->front().language, language);
    ASSERT_TRUE(variants->front().plan);
    EXPECT_EQ(worker::toJSON(*variants->front().plan),
              worker::toJSON(*expected));
  }
}

// Numbers that a program says to tune are varied, and its plan follows them.
TEST_F(FilesProposerTest, TunedNumbersAreVaried) {
  variant("host", R"({"workspace_bytes": "4 * TILE"})", kIdea);
  writeAll(folder.file("host/kernel.c"),
           "#define TILE 64 // tune: 32, 64, 128\n");
  variant("device", R"({"format": 1, "name": "add", "steps": [{"launch": "k",
    "grid": ["4096 / TILE"], "block": [32], "arguments": ["in0", "out0"]}]})",
          kIdea, "kernel.cu");
  writeAll(folder.file("device/kernel.cu"),
           "#define TILE 64 // tune: 32, 64\n");
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer))
      << llvm::toString(proposer.takeError());
  auto ideas = ideasOf(**proposer, request(), 100);
  ASSERT_EQ(ideas->size(), 2u);
  auto device = variantsOf(**proposer, request(), (*ideas)[0], 1);
  auto host = variantsOf(**proposer, request(), (*ideas)[1], 1);
  ASSERT_TRUE(device && host);
  EXPECT_EQ(host->front().workspaceBytes, 256);
  EXPECT_EQ(host->front().parameters.at("TILE"), 64);
  auto near = (*proposer)->neighbours(request(), host->front(), 8);
  ASSERT_TRUE(static_cast<bool>(near));
  ASSERT_EQ(near->size(), 2u);
  EXPECT_EQ((*near)[0].workspaceBytes, 128);
  EXPECT_EQ((*near)[1].workspaceBytes, 512);
  EXPECT_EQ((*near)[0].ideaId, "files/host");
  auto gridOf = [](const Variant &variant) {
    return worker::toJSON(*variant.plan);
  };
  EXPECT_THAT(gridOf(device->front()), HasSubstr("\"grid\":[64"));
  near = (*proposer)->neighbours(request(), device->front(), 8);
  ASSERT_TRUE(static_cast<bool>(near));
  ASSERT_EQ(near->size(), 1u);
  EXPECT_THAT(gridOf(near->front()), HasSubstr("\"grid\":[128"));
}

// As in a family's plan.
TEST_F(FilesProposerTest, WorkspacesMayHaveNames) {
  auto plan = [](const char *entry, const char *name) {
    return std::string(R"({"format": 1, "workspaces": [{)") + entry +
           R"("bytes": 64}], "steps": [{"launch": "k", "grid": [8],
           "block": [32], "arguments": ["in0", ")" +
           name + R"(", "out0"]}]})";
  };
  variant("v", plan(R"("name": "sums", )", "ws:sums"), kIdea, "kernel.cu");
  auto proposer = createFilesProposer(folder.str());
  ASSERT_TRUE(static_cast<bool>(proposer))
      << llvm::toString(proposer.takeError());
  auto ideas = ideasOf(**proposer, request(), 1);
  ASSERT_EQ(ideas->size(), 1u);
  auto variants = variantsOf(**proposer, request(), ideas->front(), 1);
  std::string error;
  auto expected = worker::parseLaunchPlan(plan("", "ws0"), error);
  ASSERT_TRUE(expected) << error;
  ASSERT_TRUE(variants->front().plan);
  EXPECT_EQ(worker::toJSON(*variants->front().plan), worker::toJSON(*expected));
}

TEST_F(FilesProposerTest, ErrorsInALaunchPlan) {
  for (auto [plan, problem] : {
           std::pair{"{", "not JSON"},
           {"[]", "must hold one object, a plan"},
           {"{}", "$.format"},
           {R"({"format": 1, "steps": [], "steps": []})", "given twice"},
           {R"({"format": 1, "steps": [{"memset": "out0"}]})", "$.steps[0]"},
           {R"({"format": 1, "workspace_bytes": 4,
                "steps": [{"memset": "out0", "bytes": 8}]})",
            "workspace_bytes"},
           {R"({"format": 1, "key": "xyz", "steps": []})", "8 to 64"},
       }) {
    variant("v", plan, kIdea, "kernel.cu");
    std::string message = failure();
    EXPECT_THAT(message, testing::StartsWith(folder.file("v/plan.json: ")));
    EXPECT_THAT(message, HasSubstr(problem)) << plan;
  }
  llvm::sys::fs::remove(folder.file("v/plan.json"));
  EXPECT_THAT(failure(),
              HasSubstr("v/plan.json: is missing: write how the program is "
                        "launched, see docs/formats/plan.md"));
}

TEST_F(FilesProposerTest, MissingPieces) {
  EXPECT_THAT(failure(), HasSubstr("holds no variant"));
  variant("v", "{}", kIdea);
  auto inside = createFilesProposer(folder.file("v"));
  ASSERT_FALSE(static_cast<bool>(inside));
  EXPECT_THAT(llvm::toString(inside.takeError()),
              HasSubstr("is the folder of a variant; name the one that it is"));
  llvm::sys::fs::remove(folder.file("v/idea.md"));
  EXPECT_THAT(failure(), HasSubstr("v/idea.md: is missing: write '# Title'"));
  variant("v", "{}", kIdea, "schedule.mlir");
  EXPECT_THAT(failure(), HasSubstr("both kernel.c and schedule.mlir"));
  llvm::sys::fs::remove(folder.file("v/kernel.c"));
  llvm::sys::fs::remove(folder.file("v/schedule.mlir"));
  EXPECT_THAT(failure(),
              HasSubstr("none of kernel.c, schedule.mlir, kernel.cu"));
  auto none = createFilesProposer(folder.file("none"));
  ASSERT_FALSE(static_cast<bool>(none));
  EXPECT_THAT(llvm::toString(none.takeError()), HasSubstr("not a folder"));
}

TEST(IdeaCategory, NamesRoundTrip) {
  for (int i = 0; i < 6; ++i) {
    auto category = static_cast<IdeaCategory>(i);
    EXPECT_EQ(parseIdeaCategory(stringify(category)), category);
  }
  EXPECT_EQ(parseIdeaCategory("  Memory Access "), IdeaCategory::MemoryAccess);
  EXPECT_FALSE(parseIdeaCategory("memory"));
}

} // namespace
