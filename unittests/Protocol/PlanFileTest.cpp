//===- PlanFileTest.cpp - Plan files, written and read --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/PlanFile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fastk::worker;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char *signature =
    R"({"inputs":[{"dtype":"f32","shape":[4,8]},{"dtype":"complex<f64>",)"
    R"("shape":[]}],"outputs":[{"dtype":"bf16","shape":[8],"scalar":true}],)"
    R"("target":"cuda:sm_90a","workspace":256})";

LaunchPlan planOf(const std::string &steps) {
  std::string error;
  auto plan =
      parseLaunchPlan(R"({"format": 1, "workspaces": [{"bytes": 100}], )"
                      R"("steps": [)" +
                          steps + "]}",
                      error, PlanOf::Model);
  EXPECT_EQ(error, "");
  return plan.value_or(LaunchPlan());
}

/// Two images, three constants of which two are the same, a loop.
PlanFile example() {
  PlanFile file;
  file.target = "cuda:sm_90a";
  file.images = {{"w_1", "code of one"},
                 {"w_2", std::string_view("\x7f\0ELF", 5)}};
  file.constants = {"same", "other", "same"};
  file.functions.push_back(
      {"forward",
       signature,
       planOf(
           R"({"repeat": 3, "steps": [{"launch": "w_1::a", "grid": [1, 1, 1], )"
           R"("block": [32, 1, 1], "arguments": ["in0", "in3", )"
           R"({"buffer": "out0", "each": [4]}]}]})"),
       {0, 1},
       {0, 2}});
  file.functions.push_back({"none", signature, LaunchPlan(), {}, {}});
  return file;
}

std::string errorOf(const std::string &bytes) {
  std::string error;
  EXPECT_FALSE(parsePlanFile(bytes, error).has_value());
  EXPECT_EQ(error.find('\n'), error.npos);
  return error;
}

/// The example with a text of its JSON replaced, lengths mended.
std::string changed(const std::string &what, const std::string &by) {
  std::string bytes = writePlanFile(example());
  size_t newline = bytes.find('\n');
  size_t length = std::stoul(bytes.substr(bytes.rfind(' ', newline)));
  std::string json = bytes.substr(newline + 1, length);
  std::string data = bytes.substr((newline + 1 + length + 63) / 64 * 64);
  size_t at = json.find(what);
  EXPECT_NE(at, json.npos) << what;
  json.replace(at, what.size(), by);
  std::string result =
      "fastk-plan 1 " + std::to_string(json.size()) + "\n" + json;
  result.resize((result.size() + 63) / 64 * 64, '\n');
  return result + data;
}

TEST(PlanFile, GivesBackWhatWasWritten) {
  std::string bytes = writePlanFile(example()), error;
  auto file = parsePlanFile(bytes, error);
  ASSERT_TRUE(file) << error;
  EXPECT_EQ(file->target, "cuda:sm_90a");
  ASSERT_EQ(file->images.size(), 2u);
  EXPECT_EQ(file->images[0].name, "w_1");
  EXPECT_EQ(file->images[0].code, "code of one");
  EXPECT_EQ(file->images[1].code, std::string_view("\x7f\0ELF", 5));
  EXPECT_THAT(file->constants, ElementsAre("same", "other", "same"));
  ASSERT_EQ(file->functions.size(), 2u);
  const PlanFile::Function &forward = file->functions[0];
  EXPECT_EQ(forward.name, "forward");
  EXPECT_EQ(forward.signature, signature);
  EXPECT_THAT(forward.images, ElementsAre(0, 1));
  EXPECT_THAT(forward.constants, ElementsAre(0, 2));
  EXPECT_EQ(toJSON(forward.plan), toJSON(example().functions[0].plan));
  EXPECT_TRUE(file->functions[1].plan.steps.empty());
  // And the same bytes again.
  EXPECT_EQ(writePlanFile(*file), bytes);
}

TEST(PlanFile, IsReadableAtItsBeginning) {
  std::string bytes = writePlanFile(example());
  EXPECT_EQ(bytes.substr(0, 13), "fastk-plan 1 ");
  EXPECT_THAT(bytes,
              HasSubstr("\n  {\"name\":\"w_1\",\"at\":0,\"bytes\":11},\n"));
  EXPECT_THAT(bytes, HasSubstr("\"launch\":\"w_1::a\""));
}

TEST(PlanFile, DataIsAlignedAndThereOnce) {
  std::string bytes = writePlanFile(example());
  EXPECT_EQ(bytes.find("code of one") % 64, 0u);
  EXPECT_EQ(bytes.find("same") % 64, 0u);
  EXPECT_EQ(bytes.find("same"), bytes.rfind("same"));
  EXPECT_EQ(bytes.size() % 64, 0u);
}

TEST(PlanFile, SizesAreThoseOfTheSignature) {
  std::string bytes = writePlanFile(example()), error;
  auto file = parsePlanFile(bytes, error);
  ASSERT_TRUE(file) << error;
  EXPECT_THAT(file->functions[0].inputBytes, ElementsAre(128, 16));
  EXPECT_THAT(file->functions[0].outputBytes, ElementsAre(16));
}

TEST(PlanFileErrors, NoPlanFile) {
  for (const char *bytes :
       {"",
        "\x7f"
        "ELF",
        "fastk-plan", "fastk-plan x 2\n", "fastk-plan 1\n", "fastk-plan 1 2"})
    EXPECT_EQ(errorOf(bytes), "is no plan file: one begins with 'fastk-plan '; "
                              "write it again with fastk-opt --emit=plan");
}

TEST(PlanFileErrors, AnotherFormat) {
  std::string bytes = writePlanFile(example());
  bytes[11] = '7';
  EXPECT_THAT(errorOf(bytes), HasSubstr("has format 7, this version reads "
                                        "format 1: compile the model"));
}

// Wherever it ends, it is an error and no crash.
TEST(PlanFileErrors, CutShort) {
  std::string bytes = writePlanFile(example());
  size_t last = bytes.rfind("other") + 5;
  for (size_t end = 0; end < last; ++end)
    EXPECT_NE(errorOf(bytes.substr(0, end)), "") << end;
  EXPECT_EQ(errorOf(bytes.substr(0, 200)),
            "is cut short; write it again with fastk-opt --emit=plan");
  EXPECT_THAT(errorOf(bytes.substr(0, last - 1)),
              HasSubstr("$.constants[1].at: ends 1 bytes behind the end of the "
                        "file, which is cut short; write"));
}

TEST(PlanFileErrors, WhatDoesNotFit) {
  EXPECT_THAT(errorOf(changed("\"images\": [0,1]", "\"images\": [0,2]")),
              HasSubstr("$.functions[0].images[1]: must be the number of one "
                        "of 2"));
  EXPECT_THAT(errorOf(changed("\"dtype\":\"f32\"", "\"dtype\":\"f33\"")),
              HasSubstr("signature.inputs[0].dtype: is 'f33', which is no "
                        "element type"));
  EXPECT_THAT(
      errorOf(changed("[4,8]", "[-4,8]")),
      HasSubstr("signature.inputs[0].shape[0]: must be a whole number"));
  EXPECT_THAT(errorOf(changed("[4,8]", "[70368744177664,70368744177664]")),
              HasSubstr("at most 2^46 bytes"));
  EXPECT_THAT(errorOf(changed("\"at\":0", "\"at\":9223372036854775807")),
              HasSubstr("$.images[0].at"));
  EXPECT_THAT(errorOf(changed("\"at\":0", "\"off\":0")),
              HasSubstr("$.images[0].at"));
}

// Whoever binds a plan takes its buffers by number.
TEST(PlanFileErrors, APlanThatReachesOutside) {
  EXPECT_THAT(errorOf(changed("\"in3\"", "\"in4\"")),
              HasSubstr("the plan of 'forward': $.steps[0].steps[0]"));
  EXPECT_THAT(errorOf(changed("\"each\":[4]", "\"each\":[400]")),
              HasSubstr("the plan of 'forward': "));
  EXPECT_THAT(errorOf(changed("\"grid\":[1,1,1]", "\"grid\":[0,1,1]")),
              HasSubstr("the plan of 'forward': $.steps[0].steps[0].grid[0]"));
}

} // namespace
