//===- ReadReplyErrorsTest.cpp - Replies that cannot be used --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLMTestUtils.h"
#include "ReadReply.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::llm;
using testing::AllOf;
using testing::HasSubstr;

namespace {

std::string ideasProblem(llvm::StringRef text) {
  IdeasReply reply = readIdeas(text, 8, {}, {});
  EXPECT_TRUE(reply.ideas.empty());
  EXPECT_EQ(reply.problem.find('\n'), std::string::npos);
  EXPECT_THAT(reply.problem, HasSubstr("wanted is one JSON object"));
  return reply.problem;
}

TEST(ReadIdeasErrorsTest, EachSaysWhatIsWrong) {
  EXPECT_THAT(ideasProblem(""), HasSubstr("it is empty"));
  EXPECT_THAT(ideasProblem("I cannot do this."), HasSubstr("cannot be read"));
  EXPECT_THAT(ideasProblem("{\"ideas\": [{\"title\": \"A"),
              HasSubstr("does not end"));
  EXPECT_THAT(ideasProblem("{\"idea\": []}"), HasSubstr("no list \"ideas\""));
  EXPECT_THAT(ideasProblem("{\"ideas\": []}"), HasSubstr("is empty"));
  EXPECT_THAT(ideasProblem("{\"ideas\": [5]}"), HasSubstr("is no object"));
  EXPECT_THAT(ideasProblem("{\"ideas\": [{\"title\": \" \\n\"}]}"),
              HasSubstr("idea 1 has no title"));
  EXPECT_THAT(ideasProblem("{\"ideas\": [{\"title\": \"A\"}]}"),
              HasSubstr("idea 1 has no text"));
  EXPECT_THAT(ideasProblem("{\"ideas\": [{\"title\": \"A\", \"text\": \"B\", "
                           "\"category\": \"magic\\u001b\"}]}"),
              HasSubstr("unknown category 'magic'"));
  EXPECT_THAT(ideasProblem(std::string(5 << 20, 'x')), HasSubstr("4 MiB"));
}

TEST(ReadIdeasErrorsTest, DeepNestingDoesNoHarm) {
  EXPECT_THAT(ideasProblem(std::string(1 << 20, '[')),
              HasSubstr("cannot be read"));
  EXPECT_THAT(ideasProblem(std::string(1 << 20, '{')),
              HasSubstr("cannot be read"));
}

TEST(ReadIdeasErrorsTest, GoodOnesSurviveBadOnes) {
  IdeasReply reply = readIdeas(
      R"json({"ideas": [{"title": "A"}, 5,
          {"title": "B", "category": "compute", "text": "b"}]})json",
      8, {}, {});
  ASSERT_EQ(reply.ideas.size(), 1u);
  EXPECT_EQ(reply.problem, "idea 1 has no text; idea 2 is no object");
}

std::string programProblem(llvm::StringRef text,
                           Language language = Language::cuda) {
  ProgramReply reply = readProgram(text, language);
  EXPECT_EQ(reply.program, "");
  EXPECT_EQ(reply.plan, "");
  EXPECT_EQ(reply.problem.find('\n'), std::string::npos);
  EXPECT_THAT(reply.problem, HasSubstr("wanted is one block"));
  return reply.problem;
}

TEST(ReadProgramErrorsTest, EachSaysWhatIsWrong) {
  EXPECT_THAT(programProblem(" \n"), HasSubstr("is empty"));
  EXPECT_THAT(programProblem("Sorry."), HasSubstr("no fenced block with a "
                                                  "program"));
  EXPECT_THAT(programProblem("```cuda\nint x;\n```\n"),
              HasSubstr("without a __global__ entry"));
  EXPECT_THAT(programProblem("```cuda\n" + test::goodProgram() + "```\n"),
              HasSubstr("no fenced block with the plan"));
  EXPECT_THAT(programProblem("```cuda\n" + test::goodProgram()),
              HasSubstr("ends inside a fenced block"));
  EXPECT_THAT(programProblem("```cuda\n__global__ void k() {}\n```\n```json\n" +
                             test::goodPlan() + "```\n"),
              HasSubstr("extern \"C\""));
  EXPECT_THAT(programProblem("```c\nint f();\n```\n", Language::c),
              HasSubstr("without fastk_kernel"));
}

TEST(ReadProgramErrorsTest, WhatNoProgramHolds) {
  auto with = [](llvm::StringRef line) {
    return "````cuda\n" + test::goodProgram() + line.str() +
           "\n````\n```json\n" + test::goodPlan() + "```\n";
  };
  EXPECT_EQ(readProgram(with("// fine"), Language::cuda).problem, "");
  EXPECT_THAT(programProblem(with(llvm::StringRef("a\0b", 3))),
              HasSubstr("NUL"));
  EXPECT_THAT(programProblem(with("// \x1b[2J")),
              AllOf(HasSubstr("line 8"), HasSubstr("0x1b")));
  EXPECT_THAT(programProblem(with("// \xff\xfe")), HasSubstr("UTF-8"));
  EXPECT_THAT(programProblem(with("```cuda")), HasSubstr("holds a fence"));
  EXPECT_THAT(programProblem(with(std::string(300 << 10, ' '))),
              HasSubstr("longer than 256 KiB"));
  EXPECT_THAT(programProblem(std::string(5 << 20, 'x')),
              HasSubstr("longer than 4 MiB"));
}

} // namespace
