//===- CassetteErrorsTest.cpp - What is wrong with a cassette -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../Bank/BankTestUtils.h"
#include "CassetteTestUtils.h"
#include "llvm/ADT/StringExtras.h"
#include <random>

using namespace fastk;
using namespace fastk::test;

/// What reading says; empty when it says nothing.
static std::string problemOf(llvm::StringRef content) {
  auto read = parseCassette(content, "run.jsonl");
  return read ? "" : llvm::toString(read.takeError());
}

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    auto [line, after] = rest.split('\n');
    lines.push_back(line.str());
    rest = after;
  }
  return lines;
}

/// The lines with a last line that fits them, in place of their last.
static std::string sealed(std::vector<std::string> lines) {
  lines.pop_back();
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text + "{\"type\":\"end\",\"sha256\":\"" + sha256(text) + "\"}\n";
}

static size_t lineOf(const std::vector<std::string> &lines,
                     llvm::StringRef part) {
  for (size_t i = 0; i < lines.size(); ++i)
    if (llvm::StringRef(lines[i]).contains(part))
      return i;
  ADD_FAILURE() << "no line holds " << part.str();
  return 0;
}

/// What is said when `from` is `to` in the first line that holds it, and the
/// last line fits.
static std::string problemWith(llvm::StringRef from, llvm::StringRef to,
                               size_t *number = nullptr) {
  std::vector<std::string> lines = linesOf(toText(makeCassette()));
  size_t at = lineOf(lines, from);
  auto [before, after] = llvm::StringRef(lines[at]).split(from);
  lines[at] = (before + to + after).str();
  if (number)
    *number = at + 1;
  return problemOf(sealed(lines));
}

static void expectProblem(llvm::StringRef from, llvm::StringRef to,
                          const std::string &says) {
  size_t number = 0;
  std::string problem = problemWith(from, to, &number);
  EXPECT_TRUE(llvm::StringRef(problem).starts_with(
      "run.jsonl:" + std::to_string(number) + ": the line " + says))
      << problem;
  EXPECT_TRUE(llvm::StringRef(problem).ends_with(
      "; restore the file, or record the search again with --record=FILE"))
      << problem;
}

TEST(CassetteErrors, TheWholeIsFine) {
  EXPECT_EQ(problemOf(toText(makeCassette())), "");
  EXPECT_EQ(problemOf(sealed(linesOf(toText(makeCassette())))), "");
}

TEST(CassetteErrors, OtherFiles) {
  EXPECT_NE(problemOf("").find("run.jsonl: the file is empty"),
            std::string::npos);
  EXPECT_NE(problemOf("func.func @f()\n")
                .find("run.jsonl:1: the line is no "
                      "whole JSON object"),
            std::string::npos);
  EXPECT_NE(problemOf("[]\n").find("run.jsonl:1: the line is missing or no "
                                   "object"),
            std::string::npos);
  // A journal.
  EXPECT_NE(problemOf("{\"check\":\"0\",\"event\":{}}\n")
                .find("run.jsonl:1: the line has no 'type'"),
            std::string::npos);
  TemporaryFolder folder;
  auto read = readCassette(folder.file("none.jsonl"));
  ASSERT_FALSE(static_cast<bool>(read));
  EXPECT_NE(llvm::toString(read.takeError()).find("none.jsonl"),
            std::string::npos);
}

TEST(CassetteErrors, Headers) {
  expectProblem("\"format\":1", "\"format\":2",
                "has format 2, this fastk reads format 1");
  expectProblem("\"writes\":\"programs\"", "\"writes\":\"poems\"",
                "says that models write 'poems', which is unknown");
  expectProblem("\"writes\":\"programs\"", "\"writes\":1",
                "has no text as 'writes'");
  expectProblem("\"threads\":1", "\"threads\":-1",
                "its device has no whole number of at least 0 as 'threads'");
  expectProblem("\"cores\":1", "\"kernels\":1", "its device has no 'cores'");
  expectProblem("\"cores\":1", "\"cores\":1,\"kernels\":1",
                "its device has a field 'kernels', which is unknown");
  // Records from before it was kept have none.
  EXPECT_EQ(problemWith(",\"instruction_sets\":\"\"", ""), "");
  std::vector<std::string> lines = linesOf(toText(makeCassette()));
  lines.erase(lines.begin());
  EXPECT_NE(problemOf(sealed(lines)).find("run.jsonl:1: the line is no header"),
            std::string::npos);
  lines = linesOf(toText(makeCassette()));
  lines.insert(lines.begin() + 1, lines.front());
  EXPECT_NE(
      problemOf(sealed(lines)).find("run.jsonl:2: the line is a second header"),
      std::string::npos);
}

TEST(CassetteErrors, DamagedLines) {
  expectProblem("Second.", "Sekond.",
                "holds a text that does not have its digest");
  expectProblem("\"base64\":\"", "\"base64\":\"*", "cannot be decoded: ");
  expectProblem("\"type\":\"search\"", "\"type\":\"find\"",
                "has the type 'find', which is unknown");
  expectProblem("\"category\":\"", "\"category\":\"magic and ",
                "its idea has the category 'magic and ");
  expectProblem("\"language\":\"cuda\"", "\"language\":\"Latin\"",
                "its variant has the language 'Latin', which is unknown");
  expectProblem("\"step\":-2", "\"step\":-2.5",
                "its variant has a parameter that is no whole number");
  expectProblem("\"plan\":\"{", "\"plan\":\"[",
                "its variant has a plan that cannot be read: ");
  expectProblem("\"kind\":\"variant\"", "\"kind\":\"poem\"",
                "its prompt has the kind 'poem', which is unknown");
  expectProblem("\"sample\":0", "\"sample\":5",
                "has a prompt that does not have its digest");
  expectProblem("\"elapsed\":", "\"elapsed\":-",
                "has no number of at least 0 as 'elapsed'");
  expectProblem("\"complete\":true", "\"complete\":1",
                "has no true or false as 'complete'");
  expectProblem("\"promote/1", "\"demote/1", "names no evaluation: 'demote/1");
  expectProblem("\"status\":\"ok\"", "\"status\":\"fine\"",
                "has a verdict that cannot be read: ");
  expectProblem("[\"key\",", "[\"key\",\"x\",",
                "has a binding that is no pair of texts");
  // The second workload's only verdict.
  EXPECT_NE(problemWith("\"workload\":\"b", "\"workload\":\"c")
                .find("run.jsonl:17: the line is of a workload of which no "
                      "search stands before it"),
            std::string::npos);
}

TEST(CassetteErrors, MissingAndRepeatedLines) {
  std::vector<std::string> whole = linesOf(toText(makeCassette()));
  std::vector<std::string> lines = whole;
  size_t at = lineOf(lines, "You write kernels.");
  lines.erase(lines.begin() + at);
  std::string problem = problemOf(sealed(lines));
  EXPECT_NE(problem.find("the line its prompt names the text "),
            std::string::npos)
      << problem;
  EXPECT_NE(problem.find("... as its system, which stands nowhere before it"),
            std::string::npos)
      << problem;
  for (auto [part, says] :
       {std::pair<const char *, const char *>{
            "You write kernels.", "holds a text for the second time"},
        {"\"type\":\"exchange\"", "records its prompt for the second time"},
        {"\"type\":\"verdict\"", "records its verdict for the second time"},
        {"\"type\":\"search\"", "records its workload for the second time"}}) {
    lines = whole;
    at = lineOf(lines, part);
    lines.insert(lines.begin() + at + 1, lines[at]);
    problem = problemOf(sealed(lines));
    EXPECT_NE(problem.find("run.jsonl:" + std::to_string(at + 2) +
                           ": the line " + says),
              std::string::npos)
        << problem;
  }
}

TEST(CassetteErrors, WhatNoLineShowsTheLastOneDoes) {
  // A time that is as good as another.
  std::string text = toText(makeCassette());
  size_t at = text.find("1234.5");
  ASSERT_NE(at, std::string::npos);
  text[at] = '9';
  std::string problem = problemOf(text);
  EXPECT_NE(problem.find("does not fit the lines before it: one of them was "
                         "changed, added or removed"),
            std::string::npos)
      << problem;
  std::vector<std::string> lines = linesOf(toText(makeCassette()));
  at = lineOf(lines, "\"type\":\"verdict\"");
  lines.erase(lines.begin() + at);
  EXPECT_NE(problemOf(llvm::join(lines, "\n") + "\n").find("does not fit"),
            std::string::npos);
}

TEST(CassetteErrors, CutAnywhere) {
  std::string text = toText(makeCassette());
  for (size_t length = 0; length < text.size(); ++length) {
    std::string problem = problemOf(llvm::StringRef(text).take_front(length));
    ASSERT_TRUE(llvm::StringRef(problem).starts_with("run.jsonl:"))
        << length << ": " << problem;
  }
  EXPECT_NE(problemOf(text + "\n").find("stands after the last line"),
            std::string::npos);
}

TEST(CassetteErrors, NoChangedByteIsTaken) {
  const std::string text = toText(makeCassette());
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    changed[random() % changed.size()] ^= static_cast<char>(1 + random() % 255);
    EXPECT_NE(problemOf(changed), "") << changed;
  }
}
