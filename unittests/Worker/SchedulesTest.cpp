//===- SchedulesTest.cpp - Schedules, and what ptxas says of delays -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Inspect/Schedules.h"
#include "Process/RunTool.h"
#include "fastk/Cuda/Nvrtc.h"
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <set>
#include <thread>

using namespace fastk;
using namespace fastk::worker;

TEST(Schedules, AllKindsComeAndKeepTheirPrice) {
  std::set<std::string> groups;
  std::set<uint32_t> lengths, keys;
  for (int64_t i = 0; i < 200; ++i) {
    cuda::Schedule schedule = scheduleOf(7, i, 1, 1e9);
    EXPECT_GT(schedule.threshold, 0u);
    EXPECT_LE(schedule.nanoseconds, 32767u);
    lengths.insert(schedule.nanoseconds);
    keys.insert(schedule.key);
    std::string text = describe(schedule);
    groups.insert(text.substr(text.rfind(", ")));
  }
  EXPECT_EQ(lengths.size(), 8u);
  EXPECT_EQ(keys.size(), 200u);
  EXPECT_GE(groups.size(), 7u);
  // The same number is the same schedule.
  EXPECT_EQ(scheduleOf(7, 5, 1, 1e9).key, scheduleOf(7, 5, 1, 1e9).key);
  EXPECT_NE(scheduleOf(8, 5, 1, 1e9).key, scheduleOf(7, 5, 1, 1e9).key);
}

TEST(Schedules, DearProgramsGetShortDelays) {
  for (int64_t i = 0; i < 100; ++i) {
    // A million places in turn.
    cuda::Schedule schedule = scheduleOf(3, i, 1e6, 20e6);
    double share = schedule.places ? schedule.threshold / 65536. : 1;
    EXPECT_LE(1e6 * share * (schedule.nanoseconds + 1) / 2, 40e6)
        << describe(schedule);
  }
}

TEST(Schedules, WhatIsWorse) {
  const std::string plain =
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 20 registers, used 1 barriers\n";
  std::string spilled = plain;
  spilled.replace(spilled.find("0 bytes spill stores"), 1, "8");
  EXPECT_FALSE(isWorse(plain, plain));
  EXPECT_TRUE(isWorse(plain, spilled));
  EXPECT_FALSE(isWorse(spilled, spilled));
  EXPECT_FALSE(isWorse(spilled, plain));
  std::string serial =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
      "instructions are serialized due to something in the function 'k'\n" +
      plain;
  EXPECT_TRUE(isWorse(plain, serial));
  EXPECT_FALSE(isWorse(serial, serial));
  EXPECT_TRUE(
      isWorse(plain, "ptxas warning : (C7508) setmaxnreg ignored\n" + plain));
}

TEST(Schedules, BlocksThatWaitStayResident) {
  auto log = [](int registers) {
    return "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
           "ptxas info    : Used " +
           std::to_string(registers) + " registers, used 1 barriers\n";
  };
  // 256 threads: eight warps; 64 registers: 32 warps; 65: 28.
  AssemblerRules rules = {{{"k", 256, 528}}, 132, false};
  EXPECT_FALSE(isWorse(log(64), log(65), rules));
  rules.blocksWait = true;
  EXPECT_TRUE(isWorse(log(64), log(65), rules));
  EXPECT_FALSE(isWorse(log(60), log(64), rules));
  // All are resident all the same.
  rules.launches[0].blocks = 396;
  EXPECT_FALSE(isWorse(log(64), log(65), rules));
  // None is.
  rules = {{{"k", 1024, 1}}, 132, false};
  EXPECT_TRUE(isWorse(log(64), log(65), rules));
}

static const char smallProgram[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
    "bar.sync 0;\nret;\n}\n";

TEST(Schedules, PtxasTakesAProgramWithDelays) {
  std::string ptxas = cuda::findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "ptxas is not installed";
  ScratchFolder folder(1 << 20);
  DelayedImage image =
      assembleDelayed(smallProgram, ptxas, "sm_90", {}, folder.path());
  EXPECT_EQ(image.error, "");
  EXPECT_EQ(image.places, 3);
  EXPECT_EQ(image.places, image.possible);
  ASSERT_EQ(image.builds.size(), 1u);
  const DelayedBuild &build = image.builds.front();
  EXPECT_GT(build.cubin.size(), 100u);
  EXPECT_NE(build.cubin.find(build.variable), std::string::npos);
  EXPECT_NE(assembleDelayed("no PTX", ptxas, "sm_90", {}, folder.path()).error,
            "");
}

TEST(Schedules, AssemblesBesideOtherWork) {
  std::string ptxas = cuda::findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "ptxas is not installed";
  DelayAssembly assembly(smallProgram, ptxas, "sm_90", {});
  // Held back before it is done, or not.
  assembly.pause();
  assembly.resume();
  EXPECT_EQ(assembly.wait().error, "");
  EXPECT_EQ(assembly.wait().places, 3);
  assembly.pause();
  EXPECT_EQ(assembly.wait().builds.size(), 1u);
  // Failures are those of the work itself.
  DelayAssembly none("no PTX", ptxas, "sm_90", {});
  EXPECT_NE(none.wait().error, "");
  // Who is not waited for ends, held back or not.
  for (bool isPaused : {false, true}) {
    DelayAssembly left(smallProgram, ptxas, "sm_90", {});
    if (isPaused)
      left.pause();
  }
}

namespace {
/// A tool that never ends by itself, on a thread of its own.
struct EndlessTool {
  explicit EndlessTool(double seconds)
      : thread([this, seconds] {
          end = runTool({"/bin/sh", "-c", "while :; do :; done"}, "/tmp",
                        seconds, "", 0, &control);
          isOver = true;
        }) {}

  ToolControl control;
  ToolEnd end;
  std::atomic<bool> isOver = false;
  std::thread thread;
};

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}
} // namespace

TEST(ToolControl, TimeHeldBackIsNotCounted) {
  auto begin = std::chrono::steady_clock::now();
  // So long that it is not over before it is held back.
  EndlessTool tool(2);
  tool.control.pause();
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_FALSE(tool.isOver);
  tool.control.resume();
  tool.thread.join();
  EXPECT_TRUE(tool.end.timedOut);
  EXPECT_GE(tool.control.pausedNs(), 2'400'000'000u);
  EXPECT_GE(secondsSince(begin), 4.4);
}

TEST(ToolControl, EndsWhatItHoldsBack) {
  for (bool isPaused : {false, true}) {
    auto begin = std::chrono::steady_clock::now();
    EndlessTool tool(60);
    if (isPaused)
      tool.control.pause();
    tool.control.end();
    tool.thread.join();
    EXPECT_TRUE(tool.end.timedOut);
    EXPECT_LT(secondsSince(begin), 20);
  }
}
