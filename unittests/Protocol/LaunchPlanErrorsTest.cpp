//===- LaunchPlanErrorsTest.cpp - Plans that may not ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/LaunchPlan.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <chrono>
#include <random>

using namespace fastk::worker;

static const std::vector<int64_t> inputs = {1 << 20}, outputs = {1 << 20};

//===----------------------------------------------------------------------===//
// Texts that are no plan
//===----------------------------------------------------------------------===//

static std::string errorOf(const std::string &text) {
  std::string error;
  EXPECT_FALSE(parseLaunchPlan(text, error)) << text;
  return error;
}

/// A plan of one launch with these fields.
static std::string launchOf(const std::string &fields) {
  return "{\"format\": 1, \"steps\": [{" + fields + "}]}";
}

TEST(LaunchPlanErrors, EachTextIsRefusedWithItsPlace) {
  struct {
    std::string text, error;
  } cases[] = {
      {"{\"format\": 2, \"steps\": []}", "$.format: is 2"},
      {"{\"format\": 1, \"steps\": []}", "$.steps: is empty"},
      {"{\"format\": 1, \"steps\": [5]}", "$.steps[0]"},
      {"{\"format\": 1, \"steps\": [{}]}", "a step is a launch or a memset"},
      {launchOf(R"("launch": "k", "memset": "ws0", "bytes": 1)"),
       "a step is a launch or a memset"},
      {launchOf(R"("launch": "k", "block": [1], "arguments": [])"),
       "$.steps[0].grid"},
      {launchOf(R"("launch": "k", "grid": [0], "block": [1], "arguments": [])"),
       "$.steps[0].grid[0]: must be a whole number from 1"},
      {launchOf(
           R"("launch": "k", "grid": [1.5], "block": [1], "arguments": [])"),
       "$.steps[0].grid[0]: must be a whole number"},
      {launchOf(
           R"("launch": "k", "grid": [1,1,1,1], "block": [1], "arguments": [])"),
       "$.steps[0].grid: has 4 extents"},
      {launchOf(
           R"("launch": "k", "grid": [99999999999999999999], "block": [1], "arguments": [])"),
       "$.steps[0].grid[0]: must be a whole number"},
      {launchOf(
           R"("launch": "k", "grid": [1], "block": [1], "arguments": ["in"])"),
       "$.steps[0].arguments[0]: write 'in0'"},
      {launchOf(
           R"("launch": "k", "grid": [1], "block": [1], "arguments": ["in0+-4"])"),
       "$.steps[0].arguments[0]: write 'in0'"},
      {launchOf(
           R"("launch": "k", "grid": [1], "block": [1], "arguments": [{"i32": 4294967296}])"),
       "$.steps[0].arguments[0]: a scalar is"},
      {launchOf(
           R"("launch": "k", "grid": [1], "block": [1], "arguments": [{"u8": 1}])"),
       "$.steps[0].arguments[0]: a scalar is"},
      {launchOf(R"("memset": "in", "bytes": 4)"), "$.steps[0].memset: is 'in'"},
      {launchOf(R"("memset": "ws0", "bytes": 4, "value": 256)"),
       "$.steps[0].value"},
      {launchOf(
           R"("launch": "k", "grid": [1], "block": [1], "arguments": [], "stream": 1)"),
       "stream"},
      // A name that ends early for whoever takes it as a C string.
      {launchOf(
           R"("launch": "k\u0000_other", "grid": [1], "block": [1], "arguments": [])"),
       "$: a text holds a null character"},
      {launchOf(
           R"("launch": "k", "grid": [1], "block": [1], "arguments": ["in0\u0000"])"),
       "$: a text holds a null character"},
      {launchOf(R"("memset": "ws0", "bytes": 4, "va\u0000lue": 0)"),
       "$: a text holds a null character"},
      {launchOf(
           R"("launch": "k x", "grid": [1], "block": [1], "arguments": [])"),
       "$.steps[0].launch: is no plain name"},
      {launchOf(
           R"("launch": "a::b::c", "grid": [1], "block": [1], "arguments": [])"),
       "$.steps[0].launch: is no plain name"},
      {launchOf(
           R"("launch": "1k", "grid": [1], "block": [1], "arguments": [])"),
       "$.steps[0].launch: is no plain name"},
      {launchOf(
           R"("launch": "k\n", "grid": [1], "block": [1], "arguments": [])"),
       "$.steps[0].launch: is no plain name"},
      {launchOf("\"launch\": \"" + std::string(1025, 'k') +
                R"(", "grid": [1], "block": [1], "arguments": [])"),
       "$.steps[0].launch: is longer than 1024 characters"},
      {R"({"format": 1, "workspaces": [{"bytes": 0}], "steps": []})",
       "$.workspaces[0].bytes"},
      {R"({"format": 1, "tensor_maps": [{"buffer": "in0", "type": "f8",
          "dims": [1], "box": [1]}], "steps": []})",
       "$.tensor_maps[0].type: is 'f8'"},
  };
  for (const auto &each : cases)
    EXPECT_NE(errorOf(each.text).find(each.error), std::string::npos)
        << each.text << "\n"
        << errorOf(each.text);
}

//===----------------------------------------------------------------------===//
// Plans that break a rule
//===----------------------------------------------------------------------===//

/// A plan that breaks no rule.
static LaunchPlan legal() {
  LaunchPlan plan;
  plan.workspaces = {{1 << 20, false}};
  TensorMap map;
  map.type = TensorMap::Type::F16;
  map.dims = {512, 256};
  map.strides = {1024};
  map.box = {64, 64};
  map.swizzle = TensorMap::Swizzle::B128;
  plan.tensorMaps = {map};
  Launch launch;
  launch.kernel = "k";
  launch.grid = {128, 1, 1};
  launch.block = {256, 1, 1};
  launch.arguments = {BufferRef{}, TensorMapRef{}, PlanScalar{}};
  plan.steps = {launch, Memset{{BufferRef::Space::Workspace, 0, 0}, 16, 0}};
  return plan;
}

template <typename Change>
static void expectProblem(Change change, const std::string &problem,
                          const std::string &rule, PlanLimits limits = {}) {
  LaunchPlan plan = legal();
  ASSERT_TRUE(verifyLaunchPlan(plan, inputs, outputs, {}).empty());
  change(plan);
  std::vector<std::string> problems =
      verifyLaunchPlan(plan, inputs, outputs, limits);
  bool found = false;
  std::string all;
  for (const std::string &each : problems) {
    found |= each.find(problem) != std::string::npos &&
             each.find("(" + rule + ")") != std::string::npos;
    all += each + "\n";
  }
  EXPECT_TRUE(found) << "wanted: " << problem << " (" << rule << ")\n" << all;
}

static Launch &launchIn(LaunchPlan &plan) {
  return std::get<Launch>(plan.steps[0]);
}
static Memset &memsetIn(LaunchPlan &plan) {
  return std::get<Memset>(plan.steps[1]);
}
static TensorMap &mapIn(LaunchPlan &plan) { return plan.tensorMaps[0]; }

TEST(LaunchPlanErrors, Launches) {
  expectProblem([](LaunchPlan &p) { launchIn(p).kernel = ""; },
                "$.steps[0].launch", "a launch names an entry of the program");
  expectProblem([](LaunchPlan &p) { launchIn(p).block = {1024, 2, 1}; },
                "$.steps[0].block: 1024x2x1 is 2048 threads",
                "a block has at most 1024 threads on this device");
  expectProblem([](LaunchPlan &p) { launchIn(p).block = {1, 1, 65}; },
                "65 threads in z", "a block has at most 64 threads in z");
  expectProblem([](LaunchPlan &p) { launchIn(p).grid = {1, 65536, 1}; },
                "65536 blocks in y", "a grid has at most 65535 blocks in y");
  expectProblem([](LaunchPlan &p) { launchIn(p).cluster = {3, 1, 1}; },
                "3 does not divide the 128 blocks",
                "a grid is made of whole clusters");
  expectProblem([](LaunchPlan &p) { launchIn(p).cluster = {16, 1, 1}; },
                "16x1x1 is 16 blocks",
                "a portable cluster has at most 8 blocks");
  expectProblem([](LaunchPlan &p) { launchIn(p).sharedBytes = 232449; },
                "$.steps[0].shared_bytes: 232449",
                "a block has at most 232448 bytes of dynamic shared memory on "
                "this device");
  expectProblem([](LaunchPlan &p) { launchIn(p).overlapsPrevious = true; },
                "no launch comes before",
                "only a launch that directly follows another may overlap it");
  expectProblem(
      [](LaunchPlan &p) {
        launchIn(p).grid = {4225, 1, 1};
        launchIn(p).cooperative = true;
      },
      "4225 blocks of a cooperative launch",
      "a cooperative grid is resident as a whole, at most 32 blocks on each "
      "of 132 multiprocessors");
  PlanLimits ampere;
  ampere.capability = 80;
  expectProblem([](LaunchPlan &p) { launchIn(p).cluster = {2, 1, 1}; },
                "this device is sm_80", "clusters need sm_90 or later", ampere);
}

TEST(LaunchPlanErrors, KernelsHavePlainNames) {
  for (const char *good : {"k", "_Z1kILi3EEvPf", "k$1", "w_1::relu", ".k.0"})
    EXPECT_EQ(checkKernelName(good), "") << good;
  for (const std::string &bad :
       {std::string(), std::string("k\0x", 3), std::string("k\0", 2),
        std::string("a::"), std::string("::a"), std::string("k-1"),
        std::string("9"), std::string("caf\xc3\xa9"), std::string(1025, 'k')}) {
    EXPECT_NE(checkKernelName(bad), "") << bad;
    expectProblem([&](LaunchPlan &p) { launchIn(p).kernel = bad; },
                  "$.steps[0].launch",
                  "a launch names an entry of the program");
  }
}

TEST(LaunchPlanErrors, Arguments) {
  using Space = BufferRef::Space;
  expectProblem(
      [](LaunchPlan &p) {
        launchIn(p).arguments[0] = BufferRef{Space::Input, 1, 0};
      },
      "names in1, but there are 1 operands",
      "a buffer is an operand, a result or a workspace of the plan, counted "
      "from 0");
  expectProblem(
      [](LaunchPlan &p) {
        launchIn(p).arguments[0] = BufferRef{Space::Output, 0, 1 << 20};
      },
      "begins at byte 1048576 of a buffer of 1048576",
      "an offset lies within its buffer");
  expectProblem(
      [](LaunchPlan &p) { launchIn(p).arguments[1] = TensorMapRef{1}; },
      "names map1", "a tensor map is one of the plan, counted from 0");
  expectProblem(
      [](LaunchPlan &p) { launchIn(p).arguments.assign(33, TensorMapRef{}); },
      "take 4224 bytes", "the arguments of a launch take at most 4096 bytes");
}

TEST(LaunchPlanErrors, MemsetsAndWorkspaces) {
  expectProblem([](LaunchPlan &p) { memsetIn(p).target = BufferRef{}; },
                "$.steps[1].memset: sets an operand", "operands are only read");
  expectProblem([](LaunchPlan &p) { memsetIn(p).bytes = (1 << 20) + 1; },
                "sets 1048577 bytes", "a memset stays within its buffer");
  expectProblem(
      [](LaunchPlan &p) {
        memsetIn(p).target.offset = 16;
        memsetIn(p).bytes = 1 << 20;
      },
      "from byte 16", "a memset stays within its buffer");
  expectProblem(
      [](LaunchPlan &p) { p.workspaces.assign(3, {int64_t(1) << 46, false}); },
      "$.workspaces: take 211106232532992 bytes together",
      "all workspaces of a plan hold at most 1099511627776 bytes");
  expectProblem(
      [](LaunchPlan &p) { p.workspaces.assign(3, {INT64_MAX / 2, false}); },
      "$.workspaces: take far too many bytes together",
      "all workspaces of a plan hold at most 1099511627776 bytes");
  PlanLimits small;
  small.workspaceBytes = workspaceLimit(4000);
  expectProblem(
      [](LaunchPlan &p) { p.workspaces.assign(2, {int64_t(501), false}); },
      "$.workspaces: take 1002 bytes together",
      "all workspaces of a plan hold at most 1000 bytes on this device", small);
}

TEST(LaunchPlanErrors, WorkspacesMayTakeAQuarterOfTheMemory) {
  EXPECT_EQ(workspaceLimit(141000000000), 35250000000);
  // Not known, and more than the format has.
  EXPECT_EQ(workspaceLimit(0), mostWorkspaceBytes);
  EXPECT_EQ(workspaceLimit(int64_t(1) << 50), mostWorkspaceBytes);
  EXPECT_EQ(PlanLimits().workspaceBytes, mostWorkspaceBytes);
}

TEST(LaunchPlanErrors, TensorMaps) {
  PlanLimits ampere;
  ampere.capability = 80;
  expectProblem([](LaunchPlan &) {}, "this device is sm_80",
                "tensor maps need sm_90 or later", ampere);
  expectProblem([](LaunchPlan &p) { mapIn(p).dims = {1, 1, 1, 1, 1, 1}; },
                "has 6 dimensions",
                "a tensor map has 1 to 5 dimensions, with interleave 3 to 5");
  expectProblem(
      [](LaunchPlan &p) { mapIn(p).interleave = TensorMap::Interleave::B16; },
      "has 2 dimensions",
      "a tensor map has 1 to 5 dimensions, with interleave 3 to 5");
  expectProblem([](LaunchPlan &p) { mapIn(p).strides.clear(); },
                ".strides: has 0 entries for 2 dimensions",
                "strides are given for every dimension but the innermost");
  expectProblem([](LaunchPlan &p) { mapIn(p).box = {64}; },
                ".box: has 1 entries",
                "a box has an extent for every dimension");
  expectProblem([](LaunchPlan &p) { mapIn(p).elementStrides = {1}; },
                ".element_strides: has 1 entries",
                "element strides are given for every dimension or for none");
  expectProblem([](LaunchPlan &p) { mapIn(p).elementStrides = {1, 9}; },
                ".element_strides[1]: 9", "an element stride is 1 to 8");
  expectProblem([](LaunchPlan &p) { mapIn(p).buffer.offset = 8; },
                "begins at byte 8",
                "a tensor map begins at a multiple of 16 bytes");
  expectProblem(
      [](LaunchPlan &p) { mapIn(p).dims[0] = (int64_t(1) << 32) + 1; },
      ".dims[0]: 4294967297", "an extent is at most 2^32");
  expectProblem([](LaunchPlan &p) { mapIn(p).strides[0] = 1032; },
                ".strides[0]: 1032 bytes",
                "a stride is a multiple of 16 bytes");
  expectProblem([](LaunchPlan &p) { mapIn(p).strides[0] = int64_t(1) << 40; },
                ".strides[0]", "a stride is less than 2^40 bytes");
  expectProblem([](LaunchPlan &p) { mapIn(p).box[1] = 257; }, ".box[1]: 257",
                "a box has at most 256 elements in a dimension");
  expectProblem([](LaunchPlan &p) { mapIn(p).box[0] = 12; },
                ".box[0]: is 24 bytes",
                "the innermost extent of a box is a multiple of 16 bytes");
  expectProblem([](LaunchPlan &p) { mapIn(p).box[0] = 128; },
                "is 256 bytes, the swizzle 128",
                "the innermost extent of a box fits into the swizzle's span");
  expectProblem(
      [](LaunchPlan &p) {
        mapIn(p).swizzle = TensorMap::Swizzle::None;
        mapIn(p).type = TensorMap::Type::F64;
        mapIn(p).dims = {128, 256};
        mapIn(p).box = {128, 256};
      },
      ".box: holds 262144 bytes",
      "a box fits into shared memory, 232448 bytes");
  expectProblem([](LaunchPlan &p) { mapIn(p).dims[1] = 2048; },
                ".dims: reach to byte 2097152 of a buffer of 1048576",
                "a tensor map stays within its buffer");
  expectProblem(
      [](LaunchPlan &p) {
        mapIn(p).dims[1] = int64_t(1) << 32;
        mapIn(p).strides[0] = (int64_t(1) << 40) - 16;
      },
      "2^63 and beyond", "a tensor map stays within its buffer");
  expectProblem(
      [](LaunchPlan &p) {
        mapIn(p).type = TensorMap::Type::U16;
        mapIn(p).fill = TensorMap::Fill::NaN;
      },
      ".oob_fill", "only float tensor maps are filled with NaN");
  expectProblem(
      [](LaunchPlan &p) {
        mapIn(p).dims = {16, 16, 16};
        mapIn(p).strides = {32, 512};
        mapIn(p).box = {8, 8, 8};
        mapIn(p).interleave = TensorMap::Interleave::B32;
      },
      ".swizzle: does not fit interleave 32B",
      "interleave 32B goes with swizzle 32B");
}

//===----------------------------------------------------------------------===//
// Plans of any length
//===----------------------------------------------------------------------===//

static std::string planOf(size_t steps, const char *step) {
  std::string text = "{\"format\": 1, \"steps\": [";
  for (size_t i = 0; i < steps; ++i)
    text += (i ? "," : "") + std::string(step);
  return text + "]}";
}

/// The least of three, in seconds.
template <typename Work>
static double secondsOf(Work work) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(
                                std::chrono::steady_clock::now() - start)
                                .count());
  }
  return least;
}

// 50,000 steps took 13 s: four times as long for twice as many.
TEST(LaunchPlanErrors, LongPlansAreReadInLinearTime) {
  for (const char *step :
       {R"({"memset":"ws0","bytes":4})",
        R"({"launch":"k","grid":[1],"block":[1],"arguments":["in0"]})", "[]",
        "{}"}) {
    auto refuse = [&](size_t steps) {
      std::string text = planOf(steps, step), error;
      return secondsOf([&] {
        EXPECT_FALSE(parseLaunchPlan(text, error));
        EXPECT_NE(error, "");
      });
    };
    double small = refuse(5000), large = refuse(50000);
    EXPECT_LT(large, 10 * 4 * small + 0.1) << step;
    EXPECT_LT(large, 2) << step;
  }
  std::string error;
  std::string million = planOf(1000000, R"({"memset":"ws0","bytes":4})");
  EXPECT_FALSE(parseLaunchPlan(million, error));
  EXPECT_EQ(error, "$.steps: has more than 4096 entries; no kernel needs that");
}

TEST(LaunchPlanErrors, ManyFieldsAreRefusedInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i)
    text += "\"" + std::to_string(i) + "\":0,";
  text += "\"format\":1}";
  double seconds = secondsOf([&] {
    EXPECT_EQ(errorOf(text),
              "$: an object has more than 1024 fields; this is not a plan");
  });
  EXPECT_LT(seconds, 2);
}

TEST(LaunchPlanErrors, LongPlansAreVerifiedInLinearTime) {
  LaunchPlan plan = legal();
  auto verify = [&](size_t steps, bool bad) {
    plan.steps.resize(steps, plan.steps[0]);
    for (PlanStep &step : plan.steps)
      if (auto *launch = std::get_if<Launch>(&step))
        launch->cluster = {bad ? 3 : 1, 1, 1};
    size_t problems = 0;
    double seconds = secondsOf(
        [&] { problems = verifyLaunchPlan(plan, inputs, outputs, {}).size(); });
    EXPECT_EQ(problems, bad ? 64u : 0u);
    return seconds;
  };
  for (bool bad : {false, true}) {
    double small = verify(50000, bad), large = verify(1000000, bad);
    EXPECT_LT(large, 20 * 4 * small + 0.1);
    plan.steps.resize(2);
  }
}

/// Whatever the bytes: an error or a plan, never a crash.
TEST(LaunchPlanErrors, MangledTextNeverCrashes) {
  std::string text = toJSON(legal());
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string mangled = text;
    for (unsigned k = 0, n = 1 + random() % 4; k < n; ++k) {
      size_t at = random() % mangled.size();
      switch (random() % 3) {
      case 0:
        mangled[at] = "0123456789-+.eE\"[]{},:inwsoutmap"[random() % 32];
        break;
      case 1:
        mangled.erase(at, 1 + random() % 8);
        break;
      default:
        mangled.insert(at, 1, "0123456789-"[random() % 11]);
      }
      if (mangled.empty())
        mangled = " ";
    }
    std::string error;
    std::optional<LaunchPlan> plan = parseLaunchPlan(mangled, error);
    EXPECT_EQ(plan.has_value(), error.empty()) << mangled << "\n" << error;
    if (plan)
      verifyLaunchPlan(*plan, inputs, outputs, {});
  }
}
