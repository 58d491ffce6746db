//===- LaunchPlanRepeatTest.cpp - Loops in the plans of models ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/LaunchPlan.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sstream>

using namespace fastk::worker;

/// A recurrence of eight steps that reads slices from the last one on, with a
/// state in two buffers and an inner loop over a table.
static constexpr const char *recurrence = R"({"format": 1,
 "workspaces": [
  {"bytes": 4096}],
 "tensor_maps": [
  {"buffer": {"buffer": "in0", "each": [128]}, "type": "f32", "dims": [32], "box": [32]}],
 "steps": [
  {"memset": "ws0", "bytes": 256},
  {"repeat": 8, "steps": [
   {"launch": "m::step", "grid": [1], "block": [32],
    "arguments": [{"buffer": "in0+896", "each": [-128]}, "map0",
                  {"buffer": "ws0", "odd": [256]}, {"buffer": "ws0+256", "odd": [-256]}]},
   {"repeat": 3, "steps": [
    {"launch": "m::add", "grid": [1], "block": [32],
     "arguments": [{"buffer": "ws0+512", "each": [0, 64]}, {"buffer": "out0", "each": [128]}]}]},
   {"memset": {"buffer": "ws0+1024", "each": [16]}, "bytes": 16}]},
  {"launch": "m::last", "grid": [1], "block": [32], "arguments": ["ws0", "out0"]}]}
)";

static const std::vector<int64_t> inputs = {1024}, outputs = {1024};

static LaunchPlan parse(const std::string &text) {
  std::string error;
  std::optional<LaunchPlan> plan = parseLaunchPlan(text, error, PlanOf::Model);
  EXPECT_TRUE(plan) << error;
  return plan.value_or(LaunchPlan());
}

static std::string errorOf(const std::string &text,
                           PlanOf whose = PlanOf::Model) {
  std::string error;
  EXPECT_FALSE(parseLaunchPlan(text, error, whose)) << text;
  return error;
}

static std::vector<std::string> verify(const LaunchPlan &plan,
                                       PlanOf whose = PlanOf::Model) {
  return verifyLaunchPlan(plan, inputs, outputs, {}, whose);
}

TEST(LaunchPlanRepeat, StepsAreInOneList) {
  LaunchPlan plan = parse(recurrence);
  ASSERT_EQ(plan.steps.size(), 7u);
  const auto &outer = std::get<Repeat>(plan.steps[1]);
  EXPECT_EQ(outer.count, 8);
  EXPECT_EQ(outer.size, 4);
  const auto &inner = std::get<Repeat>(plan.steps[3]);
  EXPECT_EQ(inner.count, 3);
  EXPECT_EQ(inner.size, 1);
  const auto &step = std::get<Launch>(plan.steps[2]);
  const auto &slice = std::get<BufferRef>(step.arguments[0]);
  EXPECT_EQ(slice.offset, 896);
  ASSERT_EQ(slice.motions.size(), 1u);
  EXPECT_EQ(slice.motions[0].at(7), -896);
  const auto &next = std::get<BufferRef>(step.arguments[3]);
  EXPECT_EQ(next.motions[0].at(0), 0);
  EXPECT_EQ(next.motions[0].at(1), -256);
  EXPECT_EQ(next.motions[0].at(2), 0);
  const auto &add = std::get<Launch>(plan.steps[4]);
  EXPECT_EQ(std::get<BufferRef>(add.arguments[0]).motions.size(), 2u);
  EXPECT_EQ(std::get<Memset>(plan.steps[5]).target.motions[0].each, 16);
  EXPECT_EQ(plan.tensorMaps[0].buffer.motions[0].each, 128);
}

TEST(LaunchPlanRepeat, TextReadsAsTheSamePlan) {
  std::string once = toJSON(parse(recurrence));
  EXPECT_EQ(toJSON(parse(once)), once);
  EXPECT_NE(once.find("\n  {\"repeat\":8,\"steps\":[\n   {\"launch\":"),
            std::string::npos)
      << once;
  EXPECT_NE(once.find(R"({"buffer":"ws0+512","each":[0,64]})"),
            std::string::npos)
      << once;
}

TEST(LaunchPlanRepeat, ALegalPlanHasNoProblems) {
  EXPECT_EQ(verify(parse(recurrence)), std::vector<std::string>());
}

/// Those with repeats are of models.
TEST(LaunchPlanRepeat, TheExamplesOfTheFormatAreRead) {
  std::ifstream file(FASTK_FORMATS "/plan.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string text = page.str(), begin = "```json\n", error;
  unsigned plans = 0, repeats = 0;
  for (size_t at = text.find(begin); at != text.npos;
       at = text.find(begin, at)) {
    at += begin.size();
    std::string example = text.substr(at, text.find("```", at) - at);
    bool isModel = example.find("\"repeat\"") != example.npos;
    EXPECT_TRUE(parseLaunchPlan(example, error, PlanOf::Model)) << error << "\n"
                                                                << example;
    EXPECT_EQ(!isModel, parseLaunchPlan(example, error).has_value()) << example;
    ++plans;
    repeats += isModel;
  }
  EXPECT_GE(plans, 6u);
  EXPECT_EQ(repeats, 1u);
}

/// What a variant proposes has neither repeats nor places that move.
TEST(LaunchPlanRepeat, OnlyAModelRepeats) {
  EXPECT_EQ(errorOf(R"({"format": 1, "steps": [
    {"repeat": 2, "steps": [{"memset": "out0", "bytes": 4}]}]})",
                    PlanOf::Program),
            "$.steps[0].repeat: only the plan of a whole model repeats steps; "
            "write each step, or put the loop into the kernel");
  EXPECT_NE(errorOf(R"({"format": 1, "steps": [
    {"launch": "k", "grid": [1], "block": [1],
     "arguments": [{"buffer": "in0", "each": [4]}]}]})",
                    PlanOf::Program)
                .find("$.steps[0].arguments[0]: only in the plan of a whole "
                      "model do places move; write 'in0'"),
            std::string::npos);
  EXPECT_NE(errorOf(R"({"format": 1, "steps": [
    {"memset": {"buffer": "out0", "each": [4]}, "bytes": 4}]})",
                    PlanOf::Program)
                .find("$.steps[0].memset: is object; write a string"),
            std::string::npos);
  std::vector<std::string> problems =
      verify(parse(recurrence), PlanOf::Program);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0], "$.steps[1]: repeats steps (only the plan of a whole "
                         "model repeats steps)");
}

TEST(LaunchPlanRepeat, EachTextIsRefusedWithItsPlace) {
  auto repeat = [](const std::string &fields) {
    return R"({"format": 1, "steps": [{)" + fields + "}]}";
  };
  std::string deep = R"({"memset": "out0", "bytes": 4})";
  for (size_t i = 0; i <= mostRepeatDepth; ++i)
    deep = R"({"repeat": 2, "steps": [)" + deep + "]}";
  struct {
    std::string text, error;
  } cases[] = {
      {repeat(R"("repeat": 0, "steps": [{"memset": "out0", "bytes": 4}])"),
       "$.steps[0].repeat: is 0"},
      {repeat(R"("repeat": 2, "steps": [])"), "$.steps[0].steps: is empty"},
      {repeat(R"("repeat": 2)"), "$.steps[0].steps: is missing"},
      {repeat(R"("repeat": 2, "launch": "k", "steps": [])"),
       "$.steps[0]: a step is a launch, a memset or a repeat"},
      {repeat(R"("repeat": 2, "steps": [5])"), "$.steps[0].steps[0]"},
      {repeat(R"("memset": {"buffer": "out0", "every": [4]}, "bytes": 4)"),
       "$.steps[0].memset: unknown field 'every'"},
      {repeat(R"("memset": {"buffer": "out0", "each": [0.5]}, "bytes": 4)"),
       "$.steps[0].memset.each[0]: must be a whole number from -2^46 to 2^46"},
      {repeat(R"("memset": {"buffer": "out0", "each": [1,1,1,1,1,1,1,1,1]},
                "bytes": 4)"),
       "moves in more repeats than may be in each other, 8"},
      {"{\"format\": 1, \"steps\": [" + deep + "]}",
       ".repeat: is in 8 others; write its steps out"},
  };
  for (const auto &each : cases)
    EXPECT_NE(errorOf(each.text).find(each.error), std::string::npos)
        << each.text << "\n"
        << errorOf(each.text);
}

template <typename Change>
static void expectProblem(Change change, const std::string &problem) {
  LaunchPlan plan = parse(recurrence);
  change(plan);
  std::string all;
  for (const std::string &each : verify(plan))
    all += each + "\n";
  EXPECT_NE(all.find(problem), std::string::npos)
      << "wanted: " << problem << "\n"
      << all;
}

static BufferRef &refIn(LaunchPlan &plan, size_t step, size_t argument) {
  return std::get<BufferRef>(
      std::get<Launch>(plan.steps[step]).arguments[argument]);
}

TEST(LaunchPlanRepeat, PlacesStayInTheirBuffersInEveryIteration) {
  expectProblem([](LaunchPlan &p) { refIn(p, 2, 0).motions[0].each = -129; },
                "$.steps[1].steps[0].arguments[0]: begins at bytes -7 to 896 "
                "of a buffer of 1024 (an offset lies within its buffer)");
  expectProblem([](LaunchPlan &p) { refIn(p, 2, 2).motions[0].odd = 4096; },
                "arguments[2]: begins at bytes 0 to 4096 of a buffer of 4096");
  // The last odd iteration is the one before the last.
  expectProblem(
      [](LaunchPlan &p) {
        std::get<Repeat>(p.steps[1]).count = 7;
        refIn(p, 4, 1).motions = {{128, 385}};
      },
      "$.steps[1].steps[1].steps[0].arguments[1]: begins at bytes 0 to 1025");
  expectProblem(
      [](LaunchPlan &p) { refIn(p, 2, 0).motions[0].each = int64_t(1) << 62; },
      "begins at 2^63 and beyond of a buffer");
  expectProblem(
      [](LaunchPlan &p) { refIn(p, 2, 0).motions = {{0, 0}, {4, 0}}; },
      "arguments[0]: moves in 2 repeats, but is in 1 (a place moves with the "
      "iterations of the repeats around it)");
  expectProblem([](LaunchPlan &p) { refIn(p, 6, 0).motions = {{4, 0}}; },
                "$.steps[2].arguments[0]: moves in 1 repeats, but is in 0");
  expectProblem(
      [](LaunchPlan &p) {
        std::get<Memset>(p.steps[5]).target.motions[0].each = 438;
      },
      "$.steps[1].steps[2].bytes: sets 16 bytes from byte 4090 of a buffer of "
      "4096 (a memset stays within its buffer)");
}

TEST(LaunchPlanRepeat, TensorMapsMoveWithinTheirBuffers) {
  expectProblem([](LaunchPlan &p) { p.tensorMaps[0].buffer.offset = 64; },
                "$.steps[1].steps[0].arguments[1]: moves its tensor map to "
                "byte 1088 of a buffer of 1024 (a tensor map stays within its "
                "buffer)");
  expectProblem(
      [](LaunchPlan &p) { p.tensorMaps[0].buffer.motions[0].odd = 8; },
      "$.tensor_maps[0].buffer: begins at byte 0 and moves (a tensor map "
      "begins at a multiple of 16 bytes)");
  expectProblem(
      [](LaunchPlan &p) {
        std::get<Launch>(p.steps[6]).arguments[0] = TensorMapRef();
      },
      "$.steps[2].arguments[0]: moves in 1 repeats, but is in 0");
}

TEST(LaunchPlanRepeat, RepeatsAreWhole) {
  expectProblem([](LaunchPlan &p) { std::get<Repeat>(p.steps[3]).size = 3; },
                "$.steps[1].steps[1]: repeats 3 steps, but 2 come behind it");
  expectProblem([](LaunchPlan &p) { std::get<Repeat>(p.steps[3]).size = 0; },
                "repeats 0 steps 3 times (a repeat has steps, and runs)");
  expectProblem([](LaunchPlan &p) { std::get<Repeat>(p.steps[1]).count = 0; },
                "repeats 4 steps 0 times");
  LaunchPlan deep;
  for (size_t i = 0; i <= mostRepeatDepth; ++i)
    deep.steps.emplace_back(Repeat{2, int64_t(mostRepeatDepth + 1 - i)});
  deep.steps.emplace_back(Memset{{BufferRef::Space::Output, 0, 0}, 4, 0});
  std::vector<std::string> problems = verify(deep);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("at most 8 repeats are within each other"),
            std::string::npos)
      << problems[0];
}

/// In the first iteration another step comes before than in the others.
TEST(LaunchPlanRepeat, TheFirstStepOverlapsNothing) {
  auto overlap = [](size_t step) {
    return [step](LaunchPlan &p) {
      p.steps.erase(p.steps.begin()); // the memset
      std::get<Launch>(p.steps[step]).overlapsPrevious = true;
    };
  };
  const char *rule = "only a launch that directly follows another may overlap";
  expectProblem(overlap(1), rule);
  // Behind a repeat, and in an inner one.
  expectProblem(overlap(3), rule);
  expectProblem(overlap(5), rule);
  LaunchPlan plan = parse(recurrence);
  Launch second = std::get<Launch>(plan.steps[2]);
  second.overlapsPrevious = true;
  plan.steps.insert(plan.steps.begin() + 3, second);
  std::get<Repeat>(plan.steps[1]).size = 5;
  EXPECT_EQ(verify(plan), std::vector<std::string>());
}

/// The limit of variants is none of models.
TEST(LaunchPlanRepeat, AModelHasManySteps) {
  LaunchPlan plan;
  plan.steps.resize(20000, Memset{{BufferRef::Space::Output, 0, 0}, 4, 0});
  EXPECT_EQ(verify(plan), std::vector<std::string>());
  EXPECT_EQ(parse(toJSON(plan)).steps.size(), 20000u);
  EXPECT_EQ(errorOf(toJSON(plan), PlanOf::Program),
            "$.steps: has more than 4096 entries; no kernel needs that");
  plan.steps.resize(mostPlanEntries(PlanOf::Model) + 1, plan.steps[0]);
  std::vector<std::string> problems = verify(plan);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0], "$.steps: has 1048577 entries (a model's plan has at "
                         "most 1048576 steps)");
}
