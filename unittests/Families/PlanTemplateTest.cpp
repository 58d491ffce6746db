//===- PlanTemplateTest.cpp - Plans with conditions and names -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Numbers.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;

static const char *kPlan = R"json({"format": 1,
  "workspaces": [
    {"when": "PACKS", "name": "packed", "bytes": "8 * N"},
    {"when": "PARTS > 1", "name": "parts", "bytes": "4 * N * PARTS"}],
  "tensor_maps": [
    {"when": "!PACKS", "name": "A", "buffer": "in0", "type": "f32", "dims": ["N"], "box": [32], "strides": []},
    {"when": "PACKS", "name": "A", "buffer": "ws:packed+N", "type": "f32", "dims": ["N"], "box": [32], "strides": []},
    {"name": "B", "buffer": "in1", "type": "f32", "dims": ["N"], "box": [32], "strides": []}],
  "steps": [
    {"when": "PACKS", "launch": "pack", "grid": 1, "block": 32, "arguments": ["in0", "ws:packed"]},
    {"launch": "main", "grid": "N / 32", "block": 32, "overlaps_previous": "PACKS",
     "arguments": ["map:A", "map:B", {"when": "PARTS > 1", "is": "ws:parts"}, "out0"]}]})json";

static worker::LaunchPlan planOf(const Names &names) {
  std::string problem;
  std::optional<worker::LaunchPlan> plan = makePlan(kPlan, names, problem);
  EXPECT_TRUE(plan) << problem;
  return plan.value_or(worker::LaunchPlan());
}

TEST(PlanTemplateTest, WhatIsNotThereIsDropped) {
  worker::LaunchPlan plan = planOf({{"N", 1024}, {"PACKS", 0}, {"PARTS", 1}});
  EXPECT_TRUE(plan.workspaces.empty());
  EXPECT_EQ(plan.tensorMaps.size(), 2u);
  ASSERT_EQ(plan.steps.size(), 1u);
  const auto &launch = std::get<worker::Launch>(plan.steps[0]);
  EXPECT_EQ(launch.arguments.size(), 3u);
  EXPECT_FALSE(launch.overlapsPrevious);
}

TEST(PlanTemplateTest, NamesFollowWhatIsThere) {
  worker::LaunchPlan plan = planOf({{"N", 1024}, {"PACKS", 0}, {"PARTS", 4}});
  ASSERT_EQ(plan.workspaces.size(), 1u);
  EXPECT_EQ(plan.workspaces[0].bytes, 16384);
  const auto &launch = std::get<worker::Launch>(plan.steps[0]);
  ASSERT_EQ(launch.arguments.size(), 4u);
  const auto &parts = std::get<worker::BufferRef>(launch.arguments[2]);
  EXPECT_EQ(parts.space, worker::BufferRef::Space::Workspace);
  EXPECT_EQ(parts.index, 0);

  plan = planOf({{"N", 1024}, {"PACKS", 1}, {"PARTS", 4}});
  ASSERT_EQ(plan.workspaces.size(), 2u);
  EXPECT_EQ(plan.tensorMaps[0].buffer.space,
            worker::BufferRef::Space::Workspace);
  EXPECT_EQ(plan.tensorMaps[0].buffer.offset, 1024);
  ASSERT_EQ(plan.steps.size(), 2u);
  const auto &main = std::get<worker::Launch>(plan.steps[1]);
  EXPECT_TRUE(main.overlapsPrevious);
  EXPECT_EQ(std::get<worker::BufferRef>(main.arguments[2]).index, 1);
  EXPECT_EQ(std::get<worker::TensorMapRef>(main.arguments[1]).index, 1);
}

TEST(PlanTemplateTest, ConditionsMakeItATemplate) {
  EXPECT_TRUE(hasExpressions(
      R"json({"steps": [{"when": "N", "launch": "k", "arguments": []}]})json"));
}

/// The plan whose second map has a field of these words.
static std::optional<worker::LaunchPlan> planWith(const std::string &field,
                                                  const std::string &said,
                                                  int64_t n,
                                                  std::string &problem) {
  std::string plan = kPlan;
  std::string map = "\"name\": \"B\", ";
  plan.insert(plan.find(map) + map.size(),
              "\"" + field + "\": \"" + said + "\", ");
  return makePlan(plan, {{"N", n}, {"PACKS", 0}, {"PARTS", 1}}, problem);
}

TEST(PlanTemplateTest, APromotionIsAWordOrANumberOfBytes) {
  using Promotion = worker::TensorMap::Promotion;
  for (auto [said, want] :
       {std::pair("64B", Promotion::B64), std::pair("none", Promotion::None),
        std::pair("N > 512 ? 128 : 256", Promotion::B128),
        std::pair("N - 1024", Promotion::None)}) {
    std::string problem;
    auto made = planWith("l2_promotion", said, 1024, problem);
    ASSERT_TRUE(made) << problem;
    EXPECT_EQ(made->tensorMaps[1].promotion, want) << said;
  }
}

TEST(PlanTemplateTest, ASwizzleIsAWordOrANumberOfBytes) {
  using Swizzle = worker::TensorMap::Swizzle;
  for (auto [said, want] :
       {std::pair("64B", Swizzle::B64), std::pair("none", Swizzle::None),
        std::pair("2 * N", Swizzle::B128), std::pair("N / 2", Swizzle::B32),
        std::pair("N - 64", Swizzle::None)}) {
    std::string problem;
    auto made = planWith("swizzle", said, 64, problem);
    ASSERT_TRUE(made) << problem;
    EXPECT_EQ(made->tensorMaps[1].swizzle, want) << said;
  }
  std::string problem;
  EXPECT_FALSE(planWith("swizzle", "N - 16", 64, problem));
  EXPECT_THAT(problem, testing::HasSubstr("32B, 64B, 128B"));
}
