//===- TraceTest.cpp - Clocks that contradict each other ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Inspect/Trace.h"
#include <gtest/gtest.h>

using namespace fastk::worker;

/// Two kernels and a zeroed workspace.
static LaunchPlan twoKernels() {
  LaunchPlan plan;
  plan.workspaces = {{1024, true}};
  Launch launch;
  launch.kernel = "first";
  plan.steps.push_back(launch);
  launch.kernel = "second";
  plan.steps.push_back(launch);
  return plan;
}

/// A memset of 1 us and two kernels, 100 us from end to end.
static TracedCall callOf(double eventNs = 103e3, double hostNs = 115e3) {
  TracedCall call;
  call.eventNs = eventNs;
  call.hostNs = hostNs;
  constexpr uint64_t t = 1'700'000'000'000'000'000;
  call.activities = {{false, "", t, t + 1000},
                     {true, "first", t + 2000, t + 50000},
                     {true, "second", t + 51000, t + 100000}};
  return call;
}

static std::string judge(const std::vector<TracedCall> &calls,
                         double timedNs = 101e3) {
  LaunchPlan plan = twoKernels();
  std::vector<TracedCall> trusted(5, callOf());
  return distrustTrace({plan, calls, timedNs}, {plan, trusted, 101e3}, 5e3);
}

TEST(Trace, TheSpanIsFromFirstToLast) {
  EXPECT_EQ(spanNs(callOf()), 100e3);
  EXPECT_EQ(spanNs(TracedCall()), 0);
  TracedCall overlapping = callOf();
  // With programmatic serialisation a kernel starts before the last has ended,
  // and may end before it.
  overlapping.activities[2].start -= 40000;
  overlapping.activities[2].end -= 60000;
  EXPECT_EQ(spanNs(overlapping), 50e3);
}

TEST(Trace, PausesBetweenLaunchesAreNoWork) {
  EXPECT_EQ(busyNs(callOf()), 98e3);
  EXPECT_EQ(busyNs(TracedCall()), 0);
  TracedCall call = callOf();
  // The second kernel from the middle of the first on, to after its end.
  call.activities[2].start = call.activities[1].start + 24000;
  EXPECT_EQ(busyNs(call), 99e3);
  // And within it.
  call.activities[2].end = call.activities[1].end - 1000;
  EXPECT_EQ(busyNs(call), 49e3);
  // Launches are slow under CUPTI; that is no lie about the time.
  TracedCall slow = callOf(303e3, 320e3);
  slow.activities[2].start += 200000;
  slow.activities[2].end += 200000;
  EXPECT_EQ(judge({slow, slow}), "");
}

TEST(Trace, ClocksThatAgreeAreBelieved) {
  EXPECT_EQ(judge({callOf(), callOf(101e3, 110e3), callOf(110e3, 150e3)}), "");
  // A single call that was disturbed is none of the median's.
  EXPECT_EQ(judge({callOf(), callOf(), callOf(900e3, 9e6)}), "");
}

TEST(Trace, WorkThatEventsDoNotShow) {
  std::string why = judge({callOf(60e3), callOf(60e3), callOf(60e3)});
  EXPECT_EQ(why,
            " was at work for 100 us by CUPTI, its events show 40 us less");
}

TEST(Trace, EventsThatShowMoreThanWork) {
  std::string why = judge({callOf(400e3, 410e3), callOf(400e3, 410e3)});
  EXPECT_NE(why.find("'s events show 300 us more than CUPTI saw it at work"),
            why.npos)
      << why;
}

TEST(Trace, WorkBehindTheLastEvent) {
  std::string why = judge({callOf(103e3, 2e6), callOf(103e3, 2e6)});
  EXPECT_NE(why.find("kept the device busy for 1897 us after its last event"),
            why.npos)
      << why;
}

TEST(Trace, FasterWhenTimedThanWhenWatched) {
  std::string why = judge({callOf(), callOf()}, 40e3);
  EXPECT_EQ(why, " takes 98 us by CUPTI, 40 us when it was timed");
  // Where the trusted program is slower under CUPTI, so may this one be.
  LaunchPlan plan = twoKernels();
  std::vector<TracedCall> calls(5, callOf());
  EXPECT_EQ(distrustTrace({plan, calls, 40e3}, {plan, calls, 50e3}, 5e3), "");
}

TEST(Trace, KernelsThatNoPlanLaunches) {
  TracedCall more = callOf();
  more.activities.push_back(more.activities[2]);
  more.activities.back().name = "stowaway";
  std::string why = judge({more});
  EXPECT_NE(why.find("CUPTI saw first 1 times, second 1 times, stowaway 1 "
                     "times, the plan has first 1 times, second 1 times"),
            why.npos)
      << why;
  TracedCall fewer = callOf();
  fewer.activities.pop_back();
  EXPECT_NE(judge({callOf(), fewer}).find("other kernels than its plan"),
            std::string::npos);
  TracedCall memsets = callOf();
  memsets.activities.push_back(memsets.activities[0]);
  EXPECT_EQ(judge({memsets}), " ran 2 memsets, its plan has 1");
}
