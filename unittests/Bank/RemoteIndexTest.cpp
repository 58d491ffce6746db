//===- RemoteIndexTest.cpp - What a server says of winners ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Remote/RemoteIndex.h"
#include "Remote/RemotePlace.h"
#include "Remote/WinnerObject.h"
#include "fastk/Support/Sha256.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llvm;
using namespace fastk;
using testing::HasSubstr;

namespace {
RemoteWinner winnerOf(StringRef seed) {
  RemoteWinner winner;
  winner.digest = sha256((seed + " object").str());
  winner.bytes = 1234;
  WinnerHeader &head = winner.header;
  head.key = sha256(seed);
  head.formatVersion = 1;
  head.target = "host";
  head.precision = Precision::tf32;
  head.language = Language::c;
  head.machine = "a machine";
  head.threads = 8;
  head.reductions = 2;
  head.medianNs = 1500.5;
  head.speedup = 2;
  head.bitwiseDeterministic = true;
  return winner;
}

std::string problemOf(Expected<RemoteRoot> root) {
  return root ? "" : toString(root.takeError());
}

TEST(RemoteIndex, ARootIsReadAsItWasWritten) {
  RemoteRoot root;
  root.id = "an id";
  root.generation = 7;
  RemoteTarget &host = root.targets["host"];
  host.count = 1;
  host.reductions = 2;
  host.winners = {winnerOf("a")};
  RemoteTarget &gpu = root.targets["cuda:sm_90a"];
  gpu.count = 1000;
  gpu.digits = 1;
  gpu.shards["a"] = sha256("shard");
  std::string text = printRemoteRoot(root);
  Expected<RemoteRoot> read = parseRemoteRoot(text);
  ASSERT_TRUE(bool(read)) << toString(read.takeError());
  EXPECT_EQ(printRemoteRoot(*read), text);
  const RemoteWinner &winner = read->targets["host"].winners.front();
  EXPECT_EQ(winner.header.key, sha256("a"));
  EXPECT_EQ(winner.header.precision, Precision::tf32);
  EXPECT_EQ(winner.header.medianNs, 1500.5);
  EXPECT_EQ(winner.header.bitwiseDeterministic, true);
}

TEST(RemoteIndex, EqualWinnersGiveEqualShards) {
  RemoteWinner a = winnerOf("a"), b = winnerOf("b");
  EXPECT_EQ(printRemoteShard("host", {a, b}), printRemoteShard("host", {b, a}));
}

TEST(RemoteIndex, AShardHasWinnersOfItsDigitsAlone) {
  RemoteWinner winner = winnerOf("a");
  std::string text = printRemoteShard("host", {winner});
  std::string digit = winner.header.key.substr(0, 1);
  EXPECT_TRUE(bool(parseRemoteShard(text, "host", digit)));
  auto elsewhere = parseRemoteShard(text, "host", digit == "0" ? "1" : "0");
  ASSERT_FALSE(bool(elsewhere));
  EXPECT_THAT(toString(elsewhere.takeError()), HasSubstr("not its own"));
  auto another = parseRemoteShard(text, "cuda:sm_90a", digit);
  ASSERT_FALSE(bool(another));
  EXPECT_THAT(toString(another.takeError()), HasSubstr("another target"));
}

TEST(RemoteIndex, WhatIsWrongIsNamed) {
  EXPECT_THAT(problemOf(parseRemoteRoot("")), HasSubstr("is no JSON"));
  EXPECT_THAT(problemOf(parseRemoteRoot("{}")), HasSubstr("none of fastk's"));
  EXPECT_THAT(problemOf(parseRemoteRoot(R"({"fastk": "bank", "format": 2})")),
              HasSubstr("has format 2, this fastk reads format 1"));
  EXPECT_THAT(problemOf(parseRemoteRoot(R"({"fastk": "bank", "format": 1})")),
              HasSubstr("no id or no targets"));
  EXPECT_THAT(problemOf(parseRemoteRoot(
                  R"({"fastk": "bank", "format": 1, "id": "x", "targets":
                     {"host": {"digits": 4, "count": 1, "reductions": 0}}})")),
              HasSubstr("no numbers"));
  EXPECT_THAT(problemOf(parseRemoteRoot(
                  R"({"fastk": "bank", "format": 1, "id": "x", "targets":
                     {"host": {"digits": 1, "count": 1, "reductions": 0,
                               "shards": {"a": "../../etc/passwd"}}}})")),
              HasSubstr("is no digest"));
  EXPECT_THAT(problemOf(parseRemoteRoot(std::string(100000, '['))),
              HasSubstr("is no JSON"));
}

TEST(RemoteIndex, WinnersOfANewerFastkAreLeftOutAndNotLost) {
  RemoteWinner a = winnerOf("a"), b = winnerOf("b");
  std::string text = printRemoteShard("host", {a, b});
  size_t at = text.find("tf32");
  text.replace(at, 4, "fp8?");
  auto read = parseRemoteShard(text, "host", "");
  ASSERT_TRUE(bool(read)) << toString(read.takeError());
  EXPECT_EQ(read->size(), 1u);
  auto strict = parseRemoteShard(text, "host", "", IndexReader::Writer);
  ASSERT_FALSE(bool(strict));
  EXPECT_THAT(toString(strict.takeError()), HasSubstr("unknown to this fastk"));
}

TEST(RemoteIndex, WhatJSONDoesNotHaveIsWrittenOtherwise) {
  RemoteWinner winner = winnerOf("a");
  winner.header.floorNs = HUGE_VAL;
  winner.header.name = "red\x1b[31m";
  winner.header.title = "\xff";
  auto read = parseRemoteShard(printRemoteShard("host", {winner}), "host", "");
  ASSERT_TRUE(bool(read)) << toString(read.takeError());
  EXPECT_EQ(read->front().header.floorNs, 0);
  EXPECT_EQ(read->front().header.name, "red [31m");
}

TEST(RemoteIndex, ShardsStaySmall) {
  EXPECT_EQ(shardDigits(0), 0u);
  EXPECT_EQ(shardDigits(kMostInRoot), 0u);
  EXPECT_EQ(shardDigits(kMostInRoot + 1), 1u);
  EXPECT_EQ(shardDigits(4096), 1u);
  EXPECT_EQ(shardDigits(4097), 2u);
  EXPECT_EQ(shardDigits(65537), 3u);
  EXPECT_EQ(shardDigits(1000000), 3u);
}

TEST(RemotePlace, OptionsAreRead) {
  Expected<RemotePlace> place = parseRemotePlace(
      "https://example.org/a/b/#trusted,token=NAME,s3=eu-1,max-age=2.5");
  ASSERT_TRUE(bool(place)) << toString(place.takeError());
  EXPECT_EQ(place->shown(), "https://example.org/a/b");
  EXPECT_TRUE(place->isTrusted);
  EXPECT_EQ(place->tokenVariable, "NAME");
  EXPECT_EQ(place->s3Region, "eu-1");
  EXPECT_EQ(place->maxAgeSeconds, 2.5);
  EXPECT_TRUE(isTrustedBank("https://h/#token=A,trusted"));
  EXPECT_FALSE(isTrustedBank("https://h/trusted"));
  EXPECT_FALSE(isTrustedBank("https://h/#token=trusted"));
}

TEST(WinnerObject, WhatIsPackedIsUnpacked) {
  SmallString<128> folder;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("object", folder));
  std::string object = FASTK_TEST_BANK "/host/relu-64x128xf32-0e03df74";
  Expected<std::string> packed = packWinner(object, "kernel.c");
  ASSERT_TRUE(bool(packed)) << toString(packed.takeError());
  std::string copy = (folder + "/copy").str();
  ASSERT_EQ(toString(unpackWinner(*packed, copy)), "");
  EXPECT_TRUE(isWholeWinner(copy));
  Expected<std::string> again = packWinner(copy, "kernel.c");
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(*again, *packed);
  // After a power cut names may be all that is left.
  std::error_code code;
  raw_fd_ostream(copy + "/kernel.c", code);
  EXPECT_FALSE(isWholeWinner(copy));
  sys::fs::remove_directories(folder);
}
} // namespace
