//===- ReadReplyFuzzTest.cpp - Replies cut and changed at random ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLMTestUtils.h"
#include "ReadReply.h"
#include "fastk/Propose/Parameters.h"
#include <random>

using namespace fastk;
using namespace fastk::families;
using namespace fastk::llm;

namespace {

/// Cut, or with bytes changed, doubled, taken out or exchanged for what has a
/// meaning.
std::string mutate(std::string text, std::mt19937 &random) {
  static const char *const pieces[] = {"```",
                                       "~~~~",
                                       "\n```json\n",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       "\"",
                                       "\\",
                                       ",",
                                       "\n",
                                       "\r",
                                       "// tune: ",
                                       "1",
                                       "(",
                                       ")",
                                       "*",
                                       "-",
                                       "/",
                                       "#define ",
                                       "ceildiv(",
                                       "9223372036854775807",
                                       "\x1b",
                                       "\xe2",
                                       "// fastk-plan: "};
  auto below = [&](size_t n) { return n ? random() % n : 0; };
  if (below(3) == 0)
    text.resize(below(text.size() + 1));
  for (size_t i = 0, e = below(6); i < e && !text.empty(); ++i) {
    size_t at = below(text.size());
    switch (below(4)) {
    case 0:
      text[at] = char(below(256));
      break;
    case 1:
      text.erase(at, 1 + below(30));
      break;
    case 2:
      text.insert(at, pieces[below(std::size(pieces))]);
      break;
    default:
      text.insert(at, text.substr(below(text.size()), below(60)));
    }
  }
  return text;
}

TEST(ReadReplyFuzzTest, ProgramsAreWholeOrProblems) {
  std::mt19937 random(1);
  int good = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = mutate(test::goodReply(), random);
    ProgramReply reply = readProgram(text, Language::cuda);
    EXPECT_EQ(reply.program, readProgram(text, Language::cuda).program);
    EXPECT_EQ(reply.problem, readProgram(text, Language::cuda).problem);
    ASSERT_EQ(reply.program.empty(), !reply.problem.empty()) << text;
    if (!reply.problem.empty())
      continue;
    ASSERT_EQ(reply.program.find("```"), std::string::npos) << text;
    ASSERT_EQ(reply.program.find('\0'), std::string::npos) << text;
    Variant variant = makeVariant(Language::cuda, reply.program, reply.plan);
    ASSERT_EQ(variant.plan.has_value(), variant.problem.empty()) << text;
    ASSERT_EQ(variant.problem.find('\n'), std::string::npos) << text;
    if (!variant.problem.empty())
      continue;
    ++good;
    // Its neighbours can be made or left out.
    for (const Variant &each : neighboursOf(variant, {}, 4, nullptr)) {
      ASSERT_TRUE(each.plan);
      ASSERT_NE(each.program, variant.program);
    }
  }
  EXPECT_GT(good, 500);
}

TEST(ReadReplyFuzzTest, IdeasAreCleanOrProblems) {
  std::mt19937 random(2);
  int good = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = mutate(test::goodIdeas(), random);
    IdeasReply reply = readIdeas(text, 2, {"P1"}, {});
    ASSERT_LE(reply.ideas.size(), 2u);
    ASSERT_EQ(reply.problem, readIdeas(text, 2, {"P1"}, {}).problem);
    if (reply.ideas.empty())
      ASSERT_FALSE(reply.problem.empty()) << text;
    ASSERT_EQ(reply.problem.find('\n'), std::string::npos) << text;
    for (const Idea &idea : reply.ideas) {
      ++good;
      ASSERT_FALSE(idea.title.empty());
      ASSERT_FALSE(idea.text.empty());
      ASSERT_LE(idea.title.size(), 100u);
      for (char c : idea.title)
        ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20) << text;
      for (char c : idea.text)
        ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
      for (char c : slugOf(idea.title))
        ASSERT_TRUE(llvm::isAlnum(c) || c == '-');
    }
  }
  EXPECT_GT(good, 1000);
}

TEST(ReadReplyFuzzTest, PlansAreEvaluatedOrProblems) {
  std::mt19937 random(3);
  for (int i = 0; i < 6000; ++i) {
    std::string text = mutate(test::goodPlan(), random), problem;
    std::optional<worker::LaunchPlan> plan =
        makePlan(text, {{"TOTAL", 8192}, {"THREADS", 256}}, problem);
    ASSERT_EQ(plan.has_value(), problem.empty()) << text;
    if (plan) {
      std::string program = withTemplate("int x;\n", text), again;
      std::optional<worker::LaunchPlan> back = makePlan(
          templateOf(program), {{"TOTAL", 8192}, {"THREADS", 256}}, again);
      ASSERT_TRUE(back) << text << "\n" << again;
      ASSERT_EQ(worker::toJSON(*back), worker::toJSON(*plan));
    }
  }
}

} // namespace
