//===- EventLogTest.cpp - What a program says of itself -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/EventLog.h"
#include "fastk/System/ProcessFolder.h"
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace fastk;

namespace {

struct Log : testing::Test {
  void SetUp() override { ASSERT_FALSE(folder.create("fastk-test")); }

  /// What is complained of goes to `complaints`.
  std::error_code open(EventLog &log, const std::string &path) {
    return log.open(path, [this](const std::error_code &error) {
      complaints.push_back(error.message());
    });
  }
  static std::vector<std::string> linesOf(const std::string &path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  }

  ProcessFolder folder;
  std::vector<std::string> complaints;
};

TEST_F(Log, IsAnObjectALineWhateverIsSaid) {
  std::string path = folder.file("log");
  std::ofstream(path) << "what was there stays\n";
  EventLog log(/*isJSON=*/true, {{"gpu", "1"}});
  ASSERT_FALSE(open(log, path));
  log.say("a", "one \"line\"\nof a stranger \x1b[31m \xff",
          {{"seconds", 0.5}, {"count", int64_t(3)}, {"why", "\x01"}},
          /*isError=*/true);
  log.say("b", "");
  std::vector<std::string> lines = linesOf(path);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "what was there stays");
  for (char c : lines[1])
    EXPECT_TRUE(c >= ' ' && c < 127) << lines[1];
  nlohmann::json said = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(said["time"].get<std::string>().size(), 24u);
  EXPECT_EQ(said["level"], "error");
  EXPECT_EQ(said["event"], "a");
  EXPECT_EQ(said["gpu"], "1");
  EXPECT_EQ(said["seconds"], 0.5);
  EXPECT_EQ(said["count"].dump(), "3");
  EXPECT_EQ(said["why"], "\x01");
  EXPECT_EQ(said["text"], "one \"line\"\nof a stranger \x1b[31m \xef\xbf\xbd");
  EXPECT_EQ(nlohmann::json::parse(lines[2])["level"], "info");
  EXPECT_TRUE(complaints.empty());
}

TEST_F(Log, ComplainsOnceOfAFullDisk) {
  EventLog log(/*isJSON=*/true);
  ASSERT_FALSE(open(log, "/dev/full"));
  log.say("a", "lost");
  log.say("a", "lost, too");
  EXPECT_EQ(complaints, std::vector<std::string>{"No space left on device"});
}

/// A disk that has room again: what was cut off spoils no other line.
TEST_F(Log, GoesOnAfterALineThatWasCutOff) {
  std::string path = folder.file("log");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto wasHandled = signal(SIGXFSZ, SIG_IGN);
  EventLog log(/*isJSON=*/false);
  ASSERT_FALSE(open(log, path));
  rlimit little = {20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  log.say("a", "a line with room");
  log.say("b", "a line that is cut off");
  log.say("c", "one without any room");
  setrlimit(RLIMIT_FSIZE, &before);
  log.say("d", "a line with room again");
  signal(SIGXFSZ, wasHandled);
  EXPECT_EQ(linesOf(path),
            (std::vector<std::string>{"a line with room", "a l",
                                      "a line with room again"}));
  EXPECT_EQ(complaints, std::vector<std::string>{"File too large"});
}

TEST_F(Log, BeginsALineOfItsOwnBehindThatOfAnotherRun) {
  std::string path = folder.file("log");
  std::ofstream(path) << "whole\n";
  {
    EventLog log(/*isJSON=*/false);
    ASSERT_FALSE(open(log, path));
    log.say("a", "next");
  }
  std::ofstream(path, std::ios::app) << "cut o";
  EventLog log(/*isJSON=*/false);
  ASSERT_FALSE(open(log, path));
  log.say("a", "last");
  EXPECT_EQ(linesOf(path),
            (std::vector<std::string>{"whole", "next", "cut o", "last"}));
}

TEST_F(Log, OutlivesTheReaderOfAPipe) {
  std::string path = folder.file("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EventLog log(/*isJSON=*/false);
  // Nobody is waited for.
  EXPECT_TRUE(open(log, path));
  int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_FALSE(open(log, path));
  log.say("a", "read");
  char text[64] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 5);
  close(reader);
  // By default the signal ends a process.
  log.say("a", "lost");
  EXPECT_EQ(complaints, std::vector<std::string>{"Broken pipe"});
  reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  log.say("a", "read");
  EXPECT_EQ(::read(reader, text, sizeof text), 5);
  // One that does not read is not waited for either.
  for (int i = 0; i < 100; ++i)
    log.say("a", std::string(2000, 'x'));
  close(reader);
  EXPECT_EQ(complaints.size(), 1u);
}

TEST_F(Log, SaysWhyItCannotBeOpened) {
  EventLog log(/*isJSON=*/true);
  EXPECT_EQ(open(log, folder.file("none/log")).message(),
            "No such file or directory");
  EXPECT_EQ(open(log, folder.path()).message(), "Is a directory");
}

} // namespace
