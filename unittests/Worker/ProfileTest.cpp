//===- ProfileTest.cpp - What ncu prints, and what is taken from it -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Profile/Profile.h"
#include "Cuda/Child/SoloRun.h"
#include <gtest/gtest.h>

using namespace fastk::worker;

// As ncu 2025.3 printed it, columns as they were.
static const char head[] =
    "==PROF== Connected to process 948 (/tmp/p)\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\","
    "\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\","
    "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";

static std::string row(int id, const std::string &kernel,
                       const std::string &metric, const std::string &value) {
  return "\"" + std::to_string(id) + "\",\"948\",\"p\",\"127.0.0.1\",\"" +
         kernel +
         "\",\"1\",\"7\",\"(96, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\","
         "\"Command line profiler metrics\",\"" +
         metric + "\",\"byte\",\"" + value + "\"\n";
}

static std::string stall(const std::string &reason) {
  return "smsp__average_warps_issue_stalled_" + reason +
         "_per_issue_active.ratio";
}

TEST(Profile, LaunchesInTheirOrder) {
  auto launches = readCounters(head +
                               row(0, "ring(const float *, float *, int)",
                                   "dram__bytes_read.sum", "16,128") +
                               row(0, "ring(const float *, float *, int)",
                                   "gpu__time_duration.sum", "6,368.5") +
                               row(1, "k2", "dram__bytes_read.sum", "32"));
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "ring");
  EXPECT_EQ(launches[0].get("dram_read_bytes"), 16128);
  EXPECT_EQ(launches[0].get("time_ns"), 6368.5);
  EXPECT_EQ(launches[0].get("dram_write_bytes"), std::nullopt);
  EXPECT_EQ(launches[1].kernel, "k2");
  EXPECT_EQ(launches[1].get("dram_read_bytes"), 32);
}

TEST(Profile, StallsAreSharesOfAWarpsTime) {
  auto launches = readCounters(
      head + row(0, "k", stall("long_scoreboard"), "6") +
      row(0, "k", stall("barrier"), "1.5") + row(0, "k", stall("wait"), "0.5") +
      row(0, "k", stall("drain"), "0"));
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].get("stall_long_scoreboard_percent"), 75);
  EXPECT_EQ(launches[0].get("stall_barrier_percent"), 18.75);
  EXPECT_EQ(launches[0].get("stall_drain_percent"), std::nullopt);
}

TEST(Profile, WhatIsNoNumberIsLeftOut) {
  for (const char *value : {"", "n/a", "inf", "nan", "1 2", "(!) n/a"}) {
    auto launches =
        readCounters(head + row(0, "k", "dram__bytes_read.sum", value));
    ASSERT_EQ(launches.size(), 1u) << value;
    EXPECT_TRUE(launches[0].values.empty()) << value;
  }
}

TEST(Profile, OtherReportsHaveNone) {
  EXPECT_TRUE(readCounters("").empty());
  EXPECT_TRUE(readCounters("==ERROR== no permission\n").empty());
  EXPECT_TRUE(readCounters("\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n").empty());
  // Cut in the middle of a row.
  std::string text = head + row(0, "k", "dram__bytes_read.sum", "7");
  EXPECT_TRUE(readCounters(text.substr(0, text.size() - 12)).empty());
  std::string many = head;
  for (int i = 0; i < 100; ++i)
    many += row(i, "k", "dram__bytes_read.sum", "7");
  EXPECT_EQ(readCounters(many).size(), 16u);
}

TEST(Profile, ClocksAreLeftAlone) {
  auto command = profilerCommand("/x/ncu", "/s/ncu.csv", "/w", "/s/run");
  std::string line;
  for (const std::string &word : command)
    line += word + " ";
  EXPECT_EQ(command.front(), "/x/ncu");
  EXPECT_NE(line.find("--clock-control none"), line.npos);
  EXPECT_NE(line.find("--log-file /s/ncu.csv /w " + std::string(soloFlag) +
                      " /s/run "),
            line.npos);
}
