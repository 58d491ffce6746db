//===- ReadReplyTest.cpp - Replies as models give them --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadReply.h"
#include "LLMTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::llm;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<std::string> titles(const IdeasReply &reply) {
  std::vector<std::string> result;
  for (const Idea &idea : reply.ideas)
    result.push_back(idea.title);
  return result;
}

IdeasReply read(llvm::StringRef text, int count = 8) {
  return readIdeas(text, count, {"P1", "P2"}, {});
}

TEST(ReadIdeasTest, PlainJSON) {
  IdeasReply reply = read(test::goodIdeas());
  EXPECT_EQ(reply.problem, "");
  ASSERT_THAT(titles(reply),
              ElementsAre("Vectors of four", "A grid-stride loop"));
  EXPECT_EQ(reply.ideas[0].category, IdeaCategory::MemoryAccess);
  EXPECT_EQ(reply.ideas[0].text, "Each thread loads 16 bytes.\nExpected gain: "
                                 "1.5x, because loads are wider");
  EXPECT_EQ(reply.ideas[0].parent, "");
  EXPECT_EQ(reply.ideas[0].id, "");
}

TEST(ReadIdeasTest, WhatSurroundsTheJSONIsPassedOver) {
  for (std::string text :
       {"Here you are:\n\n```json\n" + test::goodIdeas() + "\n```\nGood luck!",
        "Let {me} think... {\"a\": 1}\n" + test::goodIdeas() + " done",
        "```\nno json\n```\n~~~~ JSON\n" + test::goodIdeas() + "\n~~~~",
        "\xef\xbb\xbf" + test::goodIdeas()})
    EXPECT_EQ(read(text).ideas.size(), 2u) << text;
  std::string crlf;
  for (char c : test::goodIdeas())
    crlf += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(read("```json\r\n" + crlf + "\r\n```\r\n").ideas.size(), 2u);
}

TEST(ReadIdeasTest, AListAloneIsGoodEnough) {
  EXPECT_EQ(
      read(R"json([{"title": "A", "category": "loops", "text": "B"}])json")
          .ideas.size(),
      1u);
}

TEST(ReadIdeasTest, CategoriesByWhatTheyObviouslyMean) {
  EXPECT_EQ(guessCategory("Memory Access"), IdeaCategory::MemoryAccess);
  EXPECT_EQ(guessCategory("memory latency hiding"), IdeaCategory::Latency);
  EXPECT_EQ(guessCategory("dtype/precision"), IdeaCategory::Precision);
  EXPECT_EQ(guessCategory("Tensor cores"), IdeaCategory::Compute);
  EXPECT_EQ(guessCategory("compute"), IdeaCategory::Compute);
  EXPECT_EQ(guessCategory("occupancy"), IdeaCategory::Parallelism);
  EXPECT_EQ(guessCategory("control_flow"), IdeaCategory::ControlFlow);
  EXPECT_EQ(guessCategory("asynchrony"), IdeaCategory::Latency);
  EXPECT_EQ(guessCategory("magic"), std::nullopt);
}

TEST(ReadIdeasTest, ParentsAreLabels) {
  IdeasReply reply = read(R"json({"ideas": [
    {"title": "A", "category": "compute", "text": "a", "parent": "p2"},
    {"title": "B", "category": "compute", "text": "b", "parent": "P9"},
    {"title": "C", "category": "compute", "text": "c", "parent": null}]})json");
  ASSERT_EQ(reply.ideas.size(), 3u);
  EXPECT_EQ(reply.ideas[0].parent, "P2");
  EXPECT_EQ(reply.ideas[1].parent, "");
  EXPECT_EQ(reply.ideas[2].parent, "");
}

TEST(ReadIdeasTest, WhatWasThereBeforeIsDropped) {
  std::string text = R"json({"ideas": [
    {"title": "Vectors, of FOUR", "category": "compute", "text": "x"},
    {"title": "Other", "category": "compute", "text": "Known text!"},
    {"title": "New", "category": "compute", "text": "y"},
    {"title": "new!", "category": "compute", "text": "z"}]})json";
  IdeasReply reply = readIdeas(
      text, 8, {}, {normalise("vectors of four"), normalise("known TEXT")});
  EXPECT_THAT(titles(reply), ElementsAre("New"));
  EXPECT_THAT(reply.problem, HasSubstr("idea 1 was there before"));
}

TEST(ReadIdeasTest, NoMoreThanAskedFor) {
  EXPECT_EQ(read(test::goodIdeas(), 1).ideas.size(), 1u);
}

TEST(ReadIdeasTest, LongTextsAreCutAndControlCharactersGo) {
  std::string text =
      "{\"ideas\": [{\"title\": \"A\\u001b[31m\\nB\\u202e C " +
      std::string(200, 'x') +
      "\", \"category\": \"compute\", \"text\": \"one\\u0000\\ttwo\\nthree " +
      std::string(10000, 'y') + "\", \"expected_gain\": 1.5}]}";
  IdeasReply reply = read(text);
  ASSERT_EQ(reply.ideas.size(), 1u);
  const Idea &idea = reply.ideas[0];
  EXPECT_THAT(idea.title, testing::StartsWith("A [31m B C xxx"));
  EXPECT_LE(idea.title.size(), 100u);
  EXPECT_THAT(idea.text, testing::StartsWith("one two\nthree yyy"));
  EXPECT_LE(idea.text.size(), 4100u);
  EXPECT_THAT(idea.text, testing::EndsWith("Expected gain: 1.50x"));
}

TEST(SlugTest, IsFitForNames) {
  EXPECT_EQ(slugOf("Keep rows, on chip!"), "keep-rows-on-chip");
  EXPECT_EQ(slugOf("../../etc/passwd; rm -rf"), "etc-passwd-rm-rf");
  EXPECT_EQ(slugOf("\xe2\x82\xac"), "idea");
  EXPECT_LE(slugOf(std::string(100, 'a')).size(), 40u);
}

TEST(ReadProgramTest, TwoBlocks) {
  ProgramReply reply = readProgram(test::goodReply(), Language::cuda);
  EXPECT_EQ(reply.problem, "");
  EXPECT_EQ(reply.program, test::goodProgram());
  EXPECT_EQ(reply.plan, test::goodPlan());
}

TEST(ReadProgramTest, OtherTagsAndFences) {
  for (llvm::StringRef tag : {"", "cpp", "C++", "cu title=\"k\"", "CUDA"}) {
    std::string text = "~~~" + tag.str() + "\n" + test::goodProgram() +
                       "~~~\n````\n" + test::goodPlan() + "````\n";
    ProgramReply reply = readProgram(text, Language::cuda);
    EXPECT_EQ(reply.problem, "") << text;
    EXPECT_EQ(reply.program, test::goodProgram());
    EXPECT_EQ(reply.plan, test::goodPlan());
  }
}

TEST(ReadProgramTest, TheLastOfSeveralPrograms) {
  std::string text = "First try:\n```cuda\n__global__ void old();\n```\n"
                     "A helper:\n```cpp\nint helper();\n```\n" +
                     test::goodReply();
  ProgramReply reply = readProgram(text, Language::cuda);
  EXPECT_EQ(reply.problem, "");
  EXPECT_EQ(reply.program, test::goodProgram());
}

TEST(ReadProgramTest, OtherJSONIsNoPlan) {
  std::string text = test::goodReply() + "\n```json\n{\"speed\": 2}\n```\n";
  EXPECT_EQ(readProgram(text, Language::cuda).plan, test::goodPlan());
}

TEST(ReadReplyTest, ThoughtsBeforeTheAnswerDoNotCount) {
  EXPECT_EQ(
      readProgram("<think>\n```cuda\n__global__ </think>\n" + test::goodReply(),
                  Language::cuda)
          .program,
      test::goodProgram());
  EXPECT_EQ(
      read("<think>{\"ideas\": []}</think>" + test::goodIdeas()).ideas.size(),
      2u);
}

TEST(ReadProgramTest, ReturnsAtLineEnds) {
  std::string text;
  for (char c : test::goodReply())
    text += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(readProgram(text, Language::cuda).program, test::goodProgram());
}

TEST(ReadProgramTest, OfTheHost) {
  ProgramReply reply =
      readProgram("```c\nvoid fastk_kernel(void *w) {}\n```\n", Language::c);
  EXPECT_EQ(reply.problem, "");
  EXPECT_EQ(reply.program, "void fastk_kernel(void *w) {}\n");
  EXPECT_EQ(reply.plan, "");
  reply = readProgram("```c\nvoid fastk_kernel(void *w) {}\n```\n```json\n"
                      "{\"workspace_bytes\": 64}\n```\n",
                      Language::c);
  EXPECT_EQ(reply.plan, "{\"workspace_bytes\": 64}\n");
}

} // namespace
