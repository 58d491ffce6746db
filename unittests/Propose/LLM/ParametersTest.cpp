//===- ParametersTest.cpp - Numbers that a program declares ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Parameters.h"
#include "LLMTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

int64_t value(llvm::StringRef text, const Names &names = {}) {
  std::string problem;
  std::optional<int64_t> result = evaluateExpression(text, names, problem);
  EXPECT_TRUE(result) << problem;
  return result.value_or(-1);
}

TEST(ExpressionTest, Arithmetic) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1+2)*3"), 9);
  EXPECT_EQ(value("7 / 2 - 7 % 4"), 0);
  EXPECT_EQ(value("-3 + +4"), 1);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("0x10"), 16);
  EXPECT_EQ(value("4096u * 2ULL"), 8192);
  EXPECT_EQ(value(" ceildiv( 10 , 4 )"), 3);
  EXPECT_EQ(value("ceildiv(9223372036854775807, 2)"), int64_t(1) << 62);
  EXPECT_EQ(value("min(3, 1, 2) + max(3, 1, 2)"), 4);
  EXPECT_EQ(value("-9223372036854775807 - 1"), INT64_MIN);
  EXPECT_EQ(value("(-9223372036854775807 - 1) % -1"), 0);
}

TEST(ExpressionTest, NamesAreTheProgramsMacros) {
  EXPECT_EQ(value("ceildiv(4096, TILE_M) * max", {{"TILE_M", 96}, {"max", 2}}),
            86);
}

TEST(NumbersTest, MacrosAndConstantsAreRead) {
  ProgramNumbers numbers = readNumbers(R"(
#define TILE_M 128 // tune: 64, 256, 128
#  define STAGES 3 /* tune: 2, 3, 4 */
#define BYTES (TILE_M * STAGES * 4)
#define EPS 1e-5f
#define TWICE(x) (2 * (x))
#define FLAG
static constexpr int WARPS = TILE_M / 16; // of a block
constexpr unsigned int UNROLL = 4; // tune: 2, 4, 8
const float *p;
int TILE_N = 5;
)");
  EXPECT_EQ(numbers.names, (Names{{"TILE_M", 128},
                                  {"STAGES", 3},
                                  {"BYTES", 1536},
                                  {"WARPS", 8},
                                  {"UNROLL", 4}}));
  ASSERT_EQ(numbers.tuned.size(), 3u);
  EXPECT_EQ(numbers.tuned[0].name, "TILE_M");
  EXPECT_THAT(numbers.tuned[0].values, ElementsAre(64, 128, 256));
  EXPECT_EQ(numbers.tuned[1].name, "STAGES");
  EXPECT_EQ(numbers.tuned[2].name, "UNROLL");
}

TEST(NumbersTest, TheOwnValueIsAmongThoseToTry) {
  ProgramNumbers numbers = readNumbers("#define N 3 // tune: 2, 4, x, 4\n");
  ASSERT_EQ(numbers.tuned.size(), 1u);
  EXPECT_THAT(numbers.tuned[0].values, ElementsAre(2, 3, 4));
}

TEST(NumbersTest, WhatCannotBeVariedIsPassedOver) {
  EXPECT_TRUE(readNumbers("#define N 4 // tune: 4\n").tuned.empty());
  EXPECT_TRUE(readNumbers("#define N (2 * 2) // tune: 2, 4\n").tuned.empty());
  EXPECT_TRUE(readNumbers("#define N x // tune: 2, 4\n").tuned.empty());
  // Two values: which one counts is not known here.
  ProgramNumbers numbers =
      readNumbers("#if __CUDA_ARCH__ > 900\n#define N 2 // tune: 2, 4\n#else\n"
                  "#define N 4\n#endif\n");
  EXPECT_TRUE(numbers.tuned.empty());
  EXPECT_TRUE(numbers.names.empty());
}

/// As the preprocessor reads them.
TEST(NumbersTest, LinesThatAreLeftOutDoNotCount) {
  auto namesOf = [](std::string text) {
    // Both ways to read a program agree.
    Names names = readNumbers(text).names;
    EXPECT_EQ(names, ProgramDefinitions(text).evaluate({})) << text;
    return names;
  };
  const char *choice = "#if PLAIN\n#define N (STRIDE * 4)\n#else\n"
                       "#define N 0\n#endif\n#define TWICE (N * 2)\n";
  EXPECT_EQ(
      namesOf(std::string("#define PLAIN 1\n#define STRIDE 8\n") + choice),
      (Names{{"PLAIN", 1}, {"STRIDE", 8}, {"N", 32}, {"TWICE", 64}}));
  EXPECT_EQ(namesOf(std::string("#define PLAIN 0\n") + choice),
            (Names{{"PLAIN", 0}, {"N", 0}, {"TWICE", 0}}));
  // A name that is no macro is 0.
  EXPECT_EQ(namesOf("#if A\n#define N 2\n#elif !defined(A) && 1 // yes\n"
                    "#define N 3\n#else\n#define N 4\n#endif\n"),
            (Names{{"N", 3}}));
  EXPECT_EQ(namesOf("#define FLAG\n#define F(x) x\n#ifdef FLAG\n#define A 1\n"
                    "#endif\n#ifndef F\n#define B 1\n#endif\n#undef FLAG\n"
                    "# if defined FLAG\n#define C 1\n# endif\n"),
            (Names{{"A", 1}}));
  // Inside of what is left out nothing counts, and nothing is asked.
  EXPECT_EQ(namesOf("#if 0\n#if 1 / 0\n#define A 1\n#else\n#define A 2\n"
                    "#endif\n#endif\n#define B 1\n"),
            (Names{{"B", 1}}));
  EXPECT_EQ(namesOf("#define A 1\n#undef A\n#define A 2\n"), (Names{{"A", 2}}));
}

TEST(NumbersTest, ConditionsFollowParameters) {
  ProgramDefinitions program("#define WIDE 1 // tune: 0, 1\n#if WIDE\n"
                             "#define N 256\n#else\n#define N 64\n#endif\n");
  EXPECT_EQ(program.evaluate({{"WIDE", 1}}).at("N"), 256);
  EXPECT_EQ(program.evaluate({{"WIDE", 0}}).at("N"), 64);
}

/// What is evaluated once for all values is what it is for each.
TEST(NumbersTest, WhatParametersDoNotMoveStays) {
  for (const char *text :
       {"#define SIZE 100\n#define N 4 // tune: 4, 8\n#define PARTS (SIZE / "
        "N)\n"
        "#define TWICE (SIZE * 2)\n#define BOTH (TWICE + PARTS)\n",
        "#define N 4 // tune: 4, 8\n#if N > 4\n#define A 1\n#else\n"
        "#define A 2\n#endif\n#define B 7\n#define C (A + B)\n",
        "#define N 4 // tune: 4, 8\n#define A 1\n#undef A\n#define A 2\n"
        "#define B A\n",
        "#define N 4 // tune: 4, 8\n#if LATER\n#define A 1\n#endif\n"
        "#define LATER 1\n",
        "#define N 4 // tune: 4, 8\n#define F(x) x\n#ifdef F\n#define A N\n"
        "#endif\n"}) {
    ProgramDefinitions plain(text), fixed(text);
    fixed.fixAllBut(readNumbers(text).tuned);
    for (int64_t n : {4, 8})
      EXPECT_EQ(fixed.evaluate({{"N", n}}), plain.evaluate({{"N", n}})) << text;
  }
  ProgramDefinitions program("#define N 4 // tune: 4, 8\n#define SIZE 100\n"
                             "#define PARTS (SIZE / N)\n");
  program.fixAllBut({{"N", 4, {4, 8}}});
  EXPECT_EQ(program.fixedNames(), (Names{{"SIZE", 100}}));
}

TEST(NumbersTest, AValueIsReplacedAndNothingElse) {
  std::string program = "#define N 4 // tune: 2, 4, 8\n#define M N\nint N4;";
  EXPECT_EQ(withValue(program, "N", 8),
            "#define N 8 // tune: 2, 4, 8\n#define M N\nint N4;");
  EXPECT_EQ(withValue(program, "M", 8), program);
  // The one that counts.
  EXPECT_EQ(withValue("#if 0\n#define N 4 // tune: 4, 8\n#else\n"
                      "#define N 2 // tune: 2, 4\n#endif\n",
                      "N", 4),
            "#if 0\n#define N 4 // tune: 4, 8\n#else\n"
            "#define N 4 // tune: 2, 4\n#endif\n");
  EXPECT_EQ(withValue("constexpr int K = 4; // tune: 4, 8", "K", 16),
            "constexpr int K = 16; // tune: 4, 8");
}

TEST(PlanTest, ExpressionsStandWhereNumbersDo) {
  std::string problem;
  std::optional<worker::LaunchPlan> plan = makePlan(R"json({"format": 1,
    "workspaces": [{"bytes": "N * 4"}],
    "tensor_maps": [{"buffer": "in0+N * 16", "type": "f32", "dims": ["N", 64],
      "strides": ["N * 4"], "box": [32, "min(N, 64)"]
}],
    "steps": [
      {"memset": "ws0+N", "bytes": "N * 2"},
      {"launch": "k", "grid": ["ceildiv(1000, N)", 2], "block": "N",
       "shared_bytes": "N * 8", "cluster": 1,
       "arguments": ["map0", "ws0+(N / 2) * 4", {"i32": "N + 1"}, "out0+16"]}]
})json",
                                                    {{"N", 128}}, problem);
  ASSERT_TRUE(plan) << problem;
  EXPECT_EQ(plan->workspaces[0].bytes, 512);
  EXPECT_EQ(plan->tensorMaps[0].buffer.offset, 2048);
  EXPECT_EQ(plan->tensorMaps[0].dims[0], 128);
  EXPECT_EQ(plan->tensorMaps[0].box[1], 64);
  EXPECT_EQ(std::get<worker::Memset>(plan->steps[0]).bytes, 256);
  const auto &launch = std::get<worker::Launch>(plan->steps[1]);
  EXPECT_EQ(launch.grid, (worker::Dim3{8, 2, 1}));
  EXPECT_EQ(launch.block, (worker::Dim3{128, 1, 1}));
  EXPECT_EQ(launch.sharedBytes, 1024);
  EXPECT_EQ(std::get<worker::BufferRef>(launch.arguments[1]).offset, 256);
  EXPECT_EQ(std::get<worker::PlanScalar>(launch.arguments[2]).integer, 129);
  EXPECT_EQ(std::get<worker::BufferRef>(launch.arguments[3]).offset, 16);
}

TEST(PlanTest, TheTemplateStaysWithTheProgram) {
  std::string plan =
      R"json({"format": 1, "steps": [{"launch": "a,\"b", "grid": ["ceildiv(TOTAL, THREADS)"], "block": ["THREADS"], "arguments": ["in0", "out0", "in0", "out0", "in0", "out0"]}]
})json";
  std::string program = withTemplate("int x;\n", plan);
  EXPECT_THAT(program, testing::StartsWith("int x;\n// fastk-plan: {"));
  EXPECT_GT(llvm::StringRef(program).count("// fastk-plan: "), 1u);
  EXPECT_EQ(withoutTemplate(program), "int x;\n");
  std::string problem;
  EXPECT_EQ(*parseUntrusted(templateOf(program), problem),
            *parseUntrusted(plan, problem));
  EXPECT_EQ(withTemplate(program, plan), program);
  EXPECT_EQ(templateOf("int x;\n"), "");
}

TEST(VariantTest, IsMadeOfProgramAndPlan) {
  Variant variant =
      makeVariant(Language::cuda, test::goodProgram(), test::goodPlan());
  EXPECT_EQ(variant.problem, "");
  EXPECT_EQ(variant.parameters,
            (std::map<std::string, int64_t>{{"THREADS", 256}}));
  ASSERT_TRUE(variant.plan);
  const auto &launch = std::get<worker::Launch>(variant.plan->steps[0]);
  EXPECT_EQ(launch.grid[0], 32);
  EXPECT_EQ(launch.block[0], 256);
  EXPECT_EQ(withoutTemplate(variant.program), test::goodProgram());
}

TEST(VariantTest, APlanOfNumbersLeavesTheProgramAsItIs) {
  Variant variant = makeVariant(
      Language::cuda, test::goodProgram(),
      R"json({"steps": [{"launch": "relu", "grid": 32, "block": [256], "arguments": ["in0", "out0"]}]})json");
  EXPECT_EQ(variant.problem, "");
  EXPECT_EQ(variant.program, test::goodProgram());
}

TEST(VariantTest, OfTheHostHasAWorkspace) {
  std::string program =
      "#define TILE 8 // tune: 8, 16\nvoid fastk_kernel(){}\n";
  Variant plain = makeVariant(Language::c, program, "");
  EXPECT_EQ(plain.problem, "");
  EXPECT_EQ(plain.workspaceBytes, 0);
  EXPECT_EQ(makeVariant(Language::c, program, "{\"workspace_bytes\": 64}")
                .workspaceBytes,
            64);
  Variant variant =
      makeVariant(Language::c, program, "{\"workspace_bytes\": \"TILE * 4\"}");
  EXPECT_EQ(variant.workspaceBytes, 32);
  std::vector<Variant> next = neighboursOf(variant, {}, 8, nullptr);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].workspaceBytes, 64);
  EXPECT_EQ(next[0].parameters.at("TILE"), 16);
}

TEST(NeighboursTest, OneStepOfEachNumberThenTwo) {
  std::string program = "#define A 2 // tune: 1, 2, 4, 8\n"
                        "#define B 10 // tune: 10, 20\n"
                        "extern \"C\" __global__ void k() {}\n";
  std::string plan =
      R"json({"steps": [{"launch": "k", "grid": ["A"], "block": ["B"], "arguments": []}]})json";
  Variant variant = makeVariant(Language::cuda, program, plan);
  variant.ideaId = "llm/1-idea";
  ASSERT_EQ(variant.problem, "");
  std::vector<std::string> shown;
  std::vector<Variant> next = neighboursOf(variant, {}, 10, nullptr);
  for (const Variant &each : next) {
    const auto &launch = std::get<worker::Launch>(each.plan->steps[0]);
    EXPECT_EQ(launch.grid[0], each.parameters.at("A"));
    EXPECT_EQ(launch.block[0], each.parameters.at("B"));
    EXPECT_EQ(each.ideaId, variant.ideaId);
    EXPECT_EQ(each.parent, digestOf(variant));
    shown.push_back(std::to_string(each.parameters.at("A")) + "," +
                    std::to_string(each.parameters.at("B")));
  }
  EXPECT_THAT(shown, ElementsAre("1,10", "4,10", "2,20", "8,10"));
  // What was tried is not proposed again, and no more than asked for.
  std::vector<Variant> rest =
      neighboursOf(variant, {digestOf(next[0]), digestOf(next[2])}, 1, nullptr);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(digestOf(rest[0]), digestOf(next[1]));
  // A neighbour has neighbours, among them where it comes from.
  std::vector<Variant> back = neighboursOf(next[1], {}, 10, nullptr);
  ASSERT_FALSE(back.empty());
  EXPECT_EQ(digestOf(back[0]), digestOf(variant));
}

TEST(NeighboursTest, WhatBreaksTheDevicesRulesIsLeftOut) {
  std::string program = "#define T 512 // tune: 512, 1024, 2048\n"
                        "extern \"C\" __global__ void k() {}\n";
  std::string plan =
      R"json({"steps": [{"launch": "k", "grid": ["4096 / (2048 - T)"], "block": ["T"], "arguments": []
}]
})json";
  Variant variant = makeVariant(Language::cuda, program, plan);
  ASSERT_EQ(variant.problem, "");
  PlanCheck check;
  check.inputBytes = check.outputBytes = {4096};
  std::vector<Variant> next = neighboursOf(variant, {}, 10, &check);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].parameters.at("T"), 1024);
}

TEST(NeighboursTest, AProgramWithoutNumbersHasNone) {
  Variant variant;
  variant.language = Language::cuda;
  variant.program = "extern \"C\" __global__ void k() {}\n";
  EXPECT_TRUE(neighboursOf(variant, {}, 10, nullptr).empty());
  variant.program = test::goodProgram();
  variant.problem = "unreadable";
  EXPECT_TRUE(neighboursOf(variant, {}, 10, nullptr).empty());
}

} // namespace
