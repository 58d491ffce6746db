//===- InstantiateTest.cpp - Families filled in for workloads -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedText.h"
#include "fastk/Families/Family.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

static Family makeFamily() {
  Family family;
  family.name = "toy";
  family.core = "contraction";
  family.target = "sm_90a";
  family.program = "#define TILE 32 // tune: 16, 32, 64\n"
                   "#define WIDTH 1 // tune: 1, 2\n"
                   "#define BYTES (TILE * WIDTH * 1024)\n";
  family.plan = R"json({"steps": [{"launch": "k", "grid": "ceildiv(M, TILE)",
    "block": 32, "arguments": ["A", "B", "operands", "OUT+16"]}]})json";
  family.requirements = {{"A_BITS == 16", "it multiplies 16 bits"}};
  family.legal = {{"BYTES <= SHARED_LIMIT", "a tile must fit"}};
  family.chosen = {"TILE"};
  family.cost = {{"ROWS", "ceildiv(M, TILE) * TILE"}, {"", "ROWS + 64 / TILE"}};
  return family;
}

static CoreInstance makeCore(const ContractionText &text) {
  MatchedText matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  std::string why;
  std::optional<CoreInstance> core = describeCore(*matched.core, why);
  EXPECT_TRUE(core) << why;
  core->multiprocessors = 132;
  core->sharedBytes = 40000;
  return *core;
}

static std::vector<int64_t> tilesOf(llvm::ArrayRef<Instance> instances) {
  std::vector<int64_t> tiles;
  for (const Instance &each : instances)
    tiles.push_back(readNumbers(each.program).names["TILE"]);
  return tiles;
}

TEST(InstantiateTest, TheLeastCostComesFirstOfWhatIsLegal) {
  std::string why;
  ContractionText text;
  text.m = 48;
  // 64 does not fit, whatever it costs.
  EXPECT_EQ(tilesOf(instantiate(makeFamily(), makeCore(text), 10, why)),
            (std::vector<int64_t>{16, 32}));
  text.m = 64;
  EXPECT_EQ(tilesOf(instantiate(makeFamily(), makeCore(text), 10, why)),
            (std::vector<int64_t>{32, 16}));
  EXPECT_THAT(instantiate(makeFamily(), makeCore(text), 1, why), SizeIs(1));
}

static families::Names near(const Names &first, const Names &others = {}) {
  std::string why;
  ContractionText text;
  text.m = 48;
  std::optional<Instance> instance =
      instantiateNear(makeFamily(), makeCore(text), {first, others}, why);
  EXPECT_TRUE(instance) << why;
  return instance ? readNumbers(instance->program).names : Names();
}

TEST(InstantiateTest, WantedValuesAreTakenAsFarAsTheyAreLegal) {
  // Nothing is wanted: the cheapest.
  EXPECT_EQ(near({})["TILE"], 16);
  EXPECT_EQ(near({{"TILE", 32}})["TILE"], 32);
  EXPECT_EQ(near({{"TILE", 32}, {"OTHER", 1}})["WIDTH"], 1);
  // One that is not chosen by cost.
  EXPECT_EQ(near({{"WIDTH", 2}})["WIDTH"], 2);
  EXPECT_EQ(near({{"WIDTH", 2}})["TILE"], 16);
  // Not in the list, and against the rules: what is nearest.
  EXPECT_EQ(near({{"TILE", 40}})["TILE"], 32);
  EXPECT_EQ(near({{"TILE", 64}})["TILE"], 32);
  EXPECT_EQ(near({{"TILE", 32}, {"WIDTH", 2}})["TILE"], 16);
}

TEST(InstantiateTest, WhatIsWantedFirstCountsBeforeTheRest) {
  Family family = makeFamily();
  family.chosen = {"TILE", "WIDTH"};
  std::string why;
  auto tileAndWidth = [&](const WantedNumbers &wanted) {
    std::optional<Instance> instance =
        instantiateNear(family, makeCore(ContractionText()), wanted, why);
    EXPECT_TRUE(instance) << why;
    Names names = readNumbers(instance->program).names;
    return std::pair(names["TILE"], names["WIDTH"]);
  };
  EXPECT_EQ(tileAndWidth({{{"TILE", 32}}, {{"WIDTH", 2}}}), std::pair(32l, 1l));
  EXPECT_EQ(tileAndWidth({{{"WIDTH", 2}}, {{"TILE", 32}}}), std::pair(16l, 2l));
  // What is wanted twice is wanted first.
  EXPECT_EQ(tileAndWidth({{{"TILE", 16}}, {{"TILE", 32}, {"WIDTH", 2}}}),
            std::pair(16l, 2l));
}

TEST(InstantiateTest, AnInstanceIsWhole) {
  std::string why;
  ContractionText text;
  text.tail = "%v = arith.addf %x, %bias32 : f32";
  std::vector<Instance> instances =
      instantiate(makeFamily(), makeCore(text), 1, why);
  ASSERT_THAT(instances, SizeIs(1)) << why;
  std::string problem;
  std::optional<worker::LaunchPlan> plan = makePlan(
      instances[0].plan, readNumbers(instances[0].program).names, problem);
  ASSERT_TRUE(plan) << problem;
  const auto &launch = std::get<worker::Launch>(plan->steps[0]);
  EXPECT_EQ(launch.grid[0], 2);
  // A, B, three operands, the result at its offset.
  ASSERT_THAT(launch.arguments, SizeIs(6));
  EXPECT_EQ(std::get<worker::BufferRef>(launch.arguments[5]).offset, 16);
  EXPECT_THAT(instances[0].program, HasSubstr("#define SHARED_LIMIT 40000\n"));
}

TEST(InstantiateTest, ARequirementThatIsNotMetIsTold) {
  std::string why;
  ContractionText text;
  text.type = text.result = "f32";
  EXPECT_THAT(instantiate(makeFamily(), makeCore(text), 1, why), IsEmpty());
  EXPECT_THAT(why, HasSubstr("it multiplies 16 bits (A_BITS == 16)"));
}

TEST(InstantiateTest, RulesHoldForChangedNumbersToo) {
  std::string why;
  Family family = makeFamily();
  std::vector<Instance> instances =
      instantiate(family, makeCore(ContractionText()), 1, why);
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_TRUE(isLegal(family, instances[0].program));
  EXPECT_FALSE(isLegal(family, withValue(instances[0].program, "WIDTH", 2)));
}
