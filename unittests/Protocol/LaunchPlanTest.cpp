//===- LaunchPlanTest.cpp - Plans that may be run -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/LaunchPlan.h"
#include "gtest/gtest.h"

using namespace fastk::worker;

/// A plan with one of everything.
static constexpr const char *everything = R"({"format": 1,
 "workspaces": [
  {"bytes": 4096, "zero": true},
  {"bytes": 33554432}],
 "tensor_maps": [
  {"buffer": "ws1+1024", "type": "bf16", "dims": [4096, 1024], "strides": [8192],
   "box": [64, 128], "element_strides": [1, 1], "swizzle": "128B",
   "l2_promotion": "256B", "oob_fill": "nan"}],
 "steps": [
  {"memset": "ws0+16", "bytes": 4080, "value": 255},
  {"launch": "split", "grid": [132], "block": [256], "arguments": ["in0", "ws1", {"i32": -7}]},
  {"launch": "multiply", "grid": [32, 16, 1], "block": [384, 1, 1], "cluster": [2, 1, 1],
   "shared_bytes": 200000, "cooperative": true, "overlaps_previous": true,
   "arguments": ["map0", "out0+64", {"f32": 1e-5}, {"f64": 0.1}, {"i64": 9007199254740993}]}]}
)";

static LaunchPlan parse(const std::string &text) {
  std::string error;
  std::optional<LaunchPlan> plan = parseLaunchPlan(text, error);
  EXPECT_TRUE(plan) << error;
  return plan.value_or(LaunchPlan());
}

static const std::vector<int64_t> inputs = {1 << 20}, outputs = {1 << 20};

TEST(LaunchPlan, EveryFieldIsRead) {
  LaunchPlan plan = parse(everything);
  ASSERT_EQ(plan.workspaces.size(), 2u);
  EXPECT_TRUE(plan.workspaces[0].zero);
  EXPECT_EQ(plan.workspaces[1].bytes, 33554432);
  ASSERT_EQ(plan.tensorMaps.size(), 1u);
  const TensorMap &map = plan.tensorMaps[0];
  EXPECT_EQ(map.buffer.space, BufferRef::Space::Workspace);
  EXPECT_EQ(map.buffer.index, 1);
  EXPECT_EQ(map.buffer.offset, 1024);
  EXPECT_EQ(map.type, TensorMap::Type::BF16);
  EXPECT_EQ(map.strides, std::vector<int64_t>{8192});
  EXPECT_EQ(map.swizzle, TensorMap::Swizzle::B128);
  EXPECT_EQ(map.promotion, TensorMap::Promotion::B256);
  EXPECT_EQ(map.fill, TensorMap::Fill::NaN);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(std::get<Memset>(plan.steps[0]).value, 255);
  EXPECT_EQ(std::get<Launch>(plan.steps[1]).grid, (Dim3{132, 1, 1}));
  const auto &launch = std::get<Launch>(plan.steps[2]);
  EXPECT_EQ(launch.cluster, (Dim3{2, 1, 1}));
  EXPECT_EQ(launch.sharedBytes, 200000);
  EXPECT_TRUE(launch.cooperative);
  EXPECT_TRUE(launch.overlapsPrevious);
  EXPECT_EQ(std::get<PlanScalar>(launch.arguments[2]).real, double(1e-5f));
  EXPECT_EQ(std::get<PlanScalar>(launch.arguments[4]).integer,
            9007199254740993);
}

TEST(LaunchPlan, TextOfAPlanReadsAsTheSamePlan) {
  std::string once = toJSON(parse(everything));
  EXPECT_EQ(toJSON(parse(once)), once);
  EXPECT_NE(once.find("{\"f32\":1e-05}"), std::string::npos) << once;
}

TEST(LaunchPlan, AModelMayDoNothing) {
  std::string error;
  const std::string empty = toJSON(LaunchPlan());
  std::optional<LaunchPlan> plan = parseLaunchPlan(empty, error, PlanOf::Model);
  ASSERT_TRUE(plan) << error;
  EXPECT_TRUE(plan->steps.empty());
  EXPECT_FALSE(parseLaunchPlan(empty, error));
}

TEST(LaunchPlan, ALegalPlanHasNoProblems) {
  EXPECT_EQ(verifyLaunchPlan(parse(everything), inputs, outputs, {}),
            std::vector<std::string>());
}
