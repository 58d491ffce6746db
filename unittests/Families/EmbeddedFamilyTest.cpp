//===- EmbeddedFamilyTest.cpp - Families in their instances' programs -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Family.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

Instance instanceOf(const Family &family) {
  std::string header = "#define M 3\n\n";
  return {header + family.program, family.plan, 0, header.size()};
}

class EmbeddedFamilyTest : public testing::TestWithParam<const char *> {
protected:
  Family family = llvm::cantFail(
      readFamily(std::string(FASTK_FAMILIES_DIR "/sm_90a/") + GetParam()));
};

TEST_P(EmbeddedFamilyTest, ComesBackAsItWas) {
  std::string program = withFamily(instanceOf(family), family);
  EXPECT_THAT(program, StartsWith("#define M 3\n\n// fastk-family begins\n"));
  std::optional<Family> found = familyIn(program);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, family.name);
  EXPECT_EQ(found->program, family.program);
  EXPECT_EQ(rulesOf(*found), rulesOf(family));
  // Its plan is the same JSON, however it was laid out.
  std::string problem;
  EXPECT_EQ(parseUntrusted(found->plan, problem),
            parseUntrusted(family.plan, problem));
}

TEST_P(EmbeddedFamilyTest, HasTheValuesOfTheInstance) {
  TunedParameter parameter = readNumbers(family.program).tuned.front();
  int64_t other = parameter.values.front() == parameter.value
                      ? parameter.values.back()
                      : parameter.values.front();
  std::string program =
      withValue(withFamily(instanceOf(family), family), parameter.name, other);
  std::optional<Family> found = familyIn(withTemplate(program, family.plan));
  ASSERT_TRUE(found);
  EXPECT_EQ(readNumbers(found->program).names[parameter.name], other);
}

TEST_P(EmbeddedFamilyTest, WhatIsDamagedIsNone) {
  std::string program = withFamily(instanceOf(family), family);
  EXPECT_FALSE(familyIn(family.program));
  EXPECT_FALSE(familyIn(""));
  size_t rules = program.find("\"requirements\"");
  ASSERT_NE(rules, std::string::npos);
  std::string renamed = program;
  renamed.replace(rules, 14, "\"wishes\"      ");
  EXPECT_FALSE(familyIn(renamed));
  EXPECT_FALSE(familyIn(llvm::StringRef(program).take_front(rules)));
}

INSTANTIATE_TEST_SUITE_P(Shipped, EmbeddedFamilyTest,
                         testing::Values("contraction-wgmma", "reduction-rows",
                                         "attention-wgmma"),
                         [](const auto &each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
