//===- ReplayedCallsTest.cpp - Calls that come again, as graphs -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a driver of a few functions, which writes down what it is asked for.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Runtime/Cuda/ReplayedCalls.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace fastk;
using namespace fastk::cuda;
using namespace fastk::runtime;
using testing::ElementsAre;

namespace {

std::vector<std::string> *said;
CUstreamCaptureStatus callersStatus;
CUresult endOfCapture;

template <typename T>
T handle(uintptr_t number) {
  return reinterpret_cast<T>(number);
}
const auto callers = handle<CUstream>(1), captured = handle<CUstream>(2);

struct Replays : testing::Test {
  Replays() {
    said = &known;
    callersStatus = CU_STREAM_CAPTURE_STATUS_NONE;
    endOfCapture = CUDA_SUCCESS;
    driver.cuStreamIsCapturing.pointer = [](CUstream,
                                            CUstreamCaptureStatus *status) {
      *status = callersStatus;
      return CUDA_SUCCESS;
    };
    driver.cuStreamCreate.pointer = [](CUstream *stream, unsigned) {
      *stream = captured;
      return CUDA_SUCCESS;
    };
    driver.cuStreamDestroy.pointer = [](CUstream) { return CUDA_SUCCESS; };
    driver.cuStreamBeginCapture.pointer = [](CUstream, CUstreamCaptureMode) {
      said->push_back("begin");
      return CUDA_SUCCESS;
    };
    driver.cuStreamEndCapture.pointer = [](CUstream, CUgraph *graph) {
      said->push_back("end");
      *graph = endOfCapture ? nullptr : handle<CUgraph>(3);
      return endOfCapture;
    };
    driver.cuGraphInstantiate.pointer = [](CUgraphExec *made, CUgraph,
                                           unsigned long long) {
      *made = handle<CUgraphExec>(4);
      return CUDA_SUCCESS;
    };
    driver.cuGraphDestroy.pointer = [](CUgraph) { return CUDA_SUCCESS; };
    driver.cuGraphExecDestroy.pointer = [](CUgraphExec) {
      said->push_back("free");
      return CUDA_SUCCESS;
    };
    driver.cuGraphLaunch.pointer = [](CUgraphExec, CUstream stream) {
      said->push_back(stream == callers ? "replay" : "replay elsewhere");
      return CUDA_SUCCESS;
    };
  }

  /// A call with one input at `address`; what the driver was asked for.
  std::vector<std::string> call(ReplayedCalls &replayed, CUdeviceptr address,
                                const std::string &error = "") {
    known.clear();
    DeviceBuffers buffers = {{address}, {64}, {128}};
    std::string got = replayed.run(buffers, callers, [&](CUstream stream) {
      said->push_back(stream == callers ? "launches" : "captured launches");
      return error;
    });
    EXPECT_EQ(got, error);
    return known;
  }

  std::vector<std::string> known;
  Driver driver;
};

TEST_F(Replays, TheThirdCallWithTheSameBuffersIsCaptured) {
  ReplayedCalls replayed(driver, 8);
  EXPECT_THAT(call(replayed, 1), ElementsAre("launches"));
  EXPECT_THAT(call(replayed, 1), ElementsAre("launches"));
  EXPECT_THAT(call(replayed, 1),
              ElementsAre("begin", "captured launches", "end", "replay"));
  EXPECT_THAT(call(replayed, 1), ElementsAre("replay"));
}

TEST_F(Replays, OtherBuffersAreNeverReplayedFor) {
  ReplayedCalls replayed(driver, 8);
  for (int i = 0; i < 3; ++i)
    call(replayed, 1);
  EXPECT_THAT(call(replayed, 2), ElementsAre("launches"));
  EXPECT_THAT(call(replayed, 1), ElementsAre("replay"));
}

TEST_F(Replays, BuffersUsedLastAreRemembered) {
  ReplayedCalls replayed(driver, 8);
  for (int i = 0; i < 3; ++i)
    call(replayed, 1);
  for (CUdeviceptr other = 2; other <= ReplayedCalls::mostSets; ++other)
    EXPECT_THAT(call(replayed, other), ElementsAre("launches"));
  EXPECT_THAT(call(replayed, 1000), ElementsAre("free", "launches"));
  EXPECT_THAT(call(replayed, 1), ElementsAre("launches"));
}

TEST_F(Replays, AStreamThatTheCallerCapturesGetsTheLaunches) {
  ReplayedCalls replayed(driver, 8);
  for (int i = 0; i < 3; ++i)
    call(replayed, 1);
  callersStatus = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_THAT(call(replayed, 1), ElementsAre("launches"));
}

TEST_F(Replays, WhatIsNotCapturedIsLaunchedAndNotTriedAgain) {
  ReplayedCalls replayed(driver, 8);
  endOfCapture = CUDA_ERROR_UNKNOWN;
  call(replayed, 1);
  call(replayed, 1);
  EXPECT_THAT(call(replayed, 1),
              ElementsAre("begin", "captured launches", "end", "launches"));
  EXPECT_THAT(call(replayed, 1), ElementsAre("launches"));
}

TEST_F(Replays, AnErrorOfALaunchIsTheCallsOwn) {
  ReplayedCalls replayed(driver, 8);
  for (int i = 0; i < 4; ++i)
    EXPECT_THAT(call(replayed, 1, "no"), testing::Contains("launches"));
}

TEST_F(Replays, FewLaunchesAndManyAreNotWorthAGraph) {
  for (uint64_t launches :
       {ReplayedCalls::leastLaunches - 1, ReplayedCalls::mostLaunches + 1}) {
    ReplayedCalls replayed(driver, launches);
    for (int i = 0; i < 4; ++i)
      EXPECT_THAT(call(replayed, 1), ElementsAre("launches"));
  }
}

TEST_F(Replays, TheEnvironmentTurnsGraphsOff) {
  setenv("FASTK_GRAPHS", "0", 1);
  ReplayedCalls replayed(driver, 8);
  unsetenv("FASTK_GRAPHS");
  for (int i = 0; i < 4; ++i)
    EXPECT_THAT(call(replayed, 1), ElementsAre("launches"));
}

TEST_F(Replays, GraphsAreFreedWithTheFunction) {
  {
    ReplayedCalls replayed(driver, 8);
    for (int i = 0; i < 3; ++i)
      call(replayed, 1);
    known.clear();
  }
  EXPECT_THAT(known, ElementsAre("free"));
}

TEST(CountLaunches, LoopsCountAsOftenAsTheyRun) {
  worker::LaunchPlan plan;
  worker::Repeat outer, inner;
  outer.count = 3;
  outer.size = 3;
  inner.count = 5;
  inner.size = 1;
  plan.steps = {worker::Launch(), outer,           worker::Memset(), inner,
                worker::Launch(), worker::Launch()};
  EXPECT_EQ(countLaunches(plan), 1u + 3 * (1 + 5) + 1);
}

} // namespace
