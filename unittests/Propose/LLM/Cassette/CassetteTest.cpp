//===- CassetteTest.cpp - What is written is read -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../Bank/BankTestUtils.h"
#include "CassetteTestUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace fastk;
using namespace fastk::test;

TEST(Cassette, WhatIsWrittenIsRead) {
  Cassette cassette = makeCassette();
  auto read = parseCassette(toText(cassette), "run.jsonl");
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->target, "cuda:sm_90a");
  EXPECT_EQ(read->writes, "programs");
  EXPECT_EQ(read->fastkVersion, "0.1.0");
  ASSERT_EQ(read->searches.size(), 2u);
  const RecordedSearch &first = read->searches[0];
  EXPECT_EQ(first.workload, kKey);
  EXPECT_EQ(first.device.target, "cuda:sm_90a");
  EXPECT_EQ(first.device.model, cassette.searches[0].device.model);
  EXPECT_EQ(first.device.memoryBytesPerSecond, 1e12 / 3);
  EXPECT_EQ(first.device.tf32OpsPerSecond, 494.7e12);
  EXPECT_EQ(first.binding, cassette.searches[0].binding);
  EXPECT_TRUE(first.isComplete);
  EXPECT_TRUE(first.answersLater);
  EXPECT_FALSE(read->searches[1].isComplete);
  ASSERT_EQ(first.seeds.size(), 1u);
  EXPECT_EQ(first.seeds[0].idea.parent, kDigest);
  EXPECT_EQ(first.seeds[0].variant.parameters.at("step"), -2);
  EXPECT_EQ(digestOf(first.seeds[0].variant),
            digestOf(cassette.searches[0].seeds[0].variant));
  ASSERT_EQ(first.known.size(), 1u);
  EXPECT_EQ(first.known[0].title, "Wait less");
  ASSERT_EQ(first.exchanges.size(), 3u);
  for (auto [was, now] :
       llvm::zip_equal(cassette.searches[0].exchanges, first.exchanges)) {
    EXPECT_EQ(was.digest, now.digest);
    EXPECT_EQ(was.model, now.model);
    EXPECT_EQ(was.elapsed, now.elapsed);
    EXPECT_EQ(was.prompt.name, now.prompt.name);
    EXPECT_EQ(was.prompt.user, now.prompt.user);
    EXPECT_EQ(was.prompt.templates, now.prompt.templates);
    EXPECT_EQ(was.reply.text, now.reply.text);
    EXPECT_EQ(was.reply.status, now.reply.status);
    EXPECT_EQ(was.reply.failure, now.reply.failure);
    EXPECT_EQ(was.reply.problem, now.reply.problem);
    EXPECT_EQ(was.reply.usage.seconds, now.reply.usage.seconds);
    EXPECT_EQ(was.reply.usage.usd, now.reply.usage.usd);
  }
  ASSERT_EQ(first.verdicts.size(), 2u);
  for (auto [was, now] :
       llvm::zip_equal(cassette.searches[0].verdicts, first.verdicts)) {
    EXPECT_EQ(was.name, now.name);
    EXPECT_EQ(worker::toJSON(was.verdict), worker::toJSON(now.verdict));
  }
  EXPECT_EQ(toText(*read), toText(cassette));
  EXPECT_EQ(read->digest, sha256(toText(cassette)));
}

TEST(Cassette, EveryTextStandsOnce) {
  std::string text = toText(makeCassette());
  llvm::StringRef rest = text;
  size_t texts = 0;
  while (rest.contains("\"type\":\"text\"")) {
    rest = rest.split("\"type\":\"text\"").second;
    ++texts;
  }
  // A program, the system text, two user texts, two replies.
  EXPECT_EQ(texts, 6u);
}

TEST(Cassette, TheOrderOfAnswersDoesNotMatter) {
  Cassette cassette = makeCassette(), shuffled = makeCassette();
  std::reverse(shuffled.searches[0].exchanges.begin(),
               shuffled.searches[0].exchanges.end());
  std::reverse(shuffled.searches[0].verdicts.begin(),
               shuffled.searches[0].verdicts.end());
  EXPECT_EQ(toText(shuffled), toText(cassette));
  // Nor where two came at one time.
  for (Cassette *each : {&cassette, &shuffled})
    for (RecordedExchange &exchange : each->searches[0].exchanges)
      exchange.elapsed = 1;
  EXPECT_EQ(toText(shuffled), toText(cassette));
}

TEST(Cassette, IsReplacedAtomically) {
  TemporaryFolder folder;
  std::string path = folder.file("run.jsonl");
  writeAll(path, "something else");
  Cassette cassette = makeCassette();
  ASSERT_FALSE(static_cast<bool>(writeCassette(cassette, path)));
  auto read = readCassette(path);
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_EQ((*read)->path, path);
  EXPECT_EQ(toText(**read), toText(cassette));
  llvm::Error error = writeCassette(cassette, folder.file("none/run.jsonl"));
  ASSERT_TRUE(static_cast<bool>(error));
  EXPECT_NE(llvm::toString(std::move(error)).find("none/run.jsonl"),
            std::string::npos);
}

TEST(Cassette, FindsSearchesAndModels) {
  Cassette cassette = makeCassette();
  cassette.searches[1].exchanges = {
      makeExchange(makePrompt("bbbb", "x"), "y", 1, "openai:gpt")};
  EXPECT_EQ(cassette.find(kOtherKey), &cassette.searches[1]);
  EXPECT_EQ(cassette.find("cccc"), nullptr);
  EXPECT_EQ(cassette.models(),
            (std::vector<std::string>{"mailbox:box", "openai:gpt"}));
}

TEST(Cassette, InstructionSetsAreKept) {
  Cassette cassette = makeCassette();
  cassette.searches[0].device.instructionSets = "avx2 fma";
  auto read = parseCassette(toText(cassette), "run.jsonl");
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->searches[0].device.instructionSets, "avx2 fma");
}
