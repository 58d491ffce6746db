//===- StageFamiliesTest.cpp - Families that write stages -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Catalog/StageFamilies.h"
#include "Patterns.h"
#include "StageFixture.h"
#include "fastk/Propose/Catalog/CKernel.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using catalog::StageFamilies;
using families::CoreInstance;
using families::Family;
using testing::ElementsAre;
using testing::HasSubstr;

static const char *const kProgram =
    "#define TILE 4 // tune: 4, 8, 16\n#define TEAM 1 // tune: 1, 2\n"
    "void fastk_kernel(OPERAND_PARAMETERS, OUT_TYPE *out, void *workspace) {}"
    "\n";

static Family makeFamily(std::string name, std::string cost) {
  Family family;
  family.name = std::move(name);
  family.core = "contraction";
  family.target = "host";
  family.program = kProgram;
  family.plan = R"({"workspace_bytes": "TILE * M"})";
  family.chosen = {"TILE"};
  family.cost = {{"", std::move(cost)}};
  return family;
}

/// A workload of M rows.
static CoreInstance makeCore(int64_t rows = 3) {
  CoreInstance core;
  core.core = "contraction";
  core.header = "// Helpers.\n#define M " + std::to_string(rows) + "\n";
  core.helperBytes = sizeof("// Helpers.");
  core.host = catalog::Machine();
  return core;
}

TEST(StageFamiliesTest, TheFamilyThatShouldBeFastestIsFilledIn) {
  Family other = makeFamily("other-core", "1");
  other.core = "convolution";
  Family gpu = makeFamily("gpu", "1");
  gpu.target = "sm_90a";
  StageFamilies families({makeFamily("slow", "100 + TILE"), other, gpu,
                          makeFamily("fast", "50 - TILE")});
  EXPECT_FALSE(families.empty());
  std::string why;
  auto filled = families.fillIn(makeCore(), {}, "_1", why);
  ASSERT_TRUE(filled) << why;
  EXPECT_EQ(filled->family, "fast");
  EXPECT_EQ(filled->instance.cost, 34);
  EXPECT_EQ(filled->numbers.names["TILE"], 16);
  EXPECT_EQ(filled->workspaceBytes, 48);
  EXPECT_THAT(filled->instance.program, HasSubstr("#define TILE 16"));
  EXPECT_THAT(filled->instance.program, HasSubstr("#define M 3\n"));
  // For another workload it is filled in anew.
  auto larger = families.fillIn(makeCore(5), {}, "_1", why);
  ASSERT_TRUE(larger) << why;
  EXPECT_EQ(larger->workspaceBytes, 80);
}

TEST(StageFamiliesTest, WantedNumbersAreTaken) {
  StageFamilies families({makeFamily("only", "TILE")});
  families::WantedNumbers wanted;
  wanted.first["TILE"] = 9;
  wanted.others["TEAM"] = 2;
  std::string why;
  auto filled = families.fillIn(makeCore(), wanted, "_1", why);
  ASSERT_TRUE(filled) << why;
  EXPECT_EQ(filled->numbers.names["TILE"], 8);
  EXPECT_EQ(filled->numbers.names["TEAM"], 2);
  // What is remembered is remembered of these numbers alone.
  filled = families.fillIn(makeCore(), {}, "_1", why);
  ASSERT_TRUE(filled) << why;
  EXPECT_EQ(filled->numbers.names["TILE"], 4);
  EXPECT_EQ(filled->numbers.names["TEAM"], 1);
}

TEST(StageFamiliesTest, WhyThereIsNone) {
  std::string why;
  EXPECT_TRUE(StageFamilies().empty());
  EXPECT_FALSE(StageFamilies().fillIn(makeCore(), {}, "_1", why));
  EXPECT_EQ(why, "there is none for the host");
  Family small = makeFamily("small", "1"), odd = makeFamily("odd", "1"),
         lost = makeFamily("lost", "1");
  small.requirements = {{"M < 2", "it is for one row"}};
  odd.legal = {{"TILE % 3 == 0", "tiles are of three"}};
  lost.plan = R"({"workspace_bytes": "TILE * NOWHERE"})";
  StageFamilies families({small, odd, lost});
  // The same again, of what it remembers.
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(families.fillIn(makeCore(), {}, "_1", why));
    EXPECT_EQ(why, "small: it is for one row (M < 2); odd: tiles are of three "
                   "(TILE % 3 == 0); lost: the plan's workspace_bytes: the "
                   "expression 'TILE * NOWHERE': unknown name 'NOWHERE'; known "
                   "are the program's macros with integer values");
  }
}

TEST(StageFamiliesTest, AProgramThatIsNoPartIsNoStage) {
  Family broken = makeFamily("broken", "1");
  broken.program += "#define TABLE(name) static float name[TILE]\n"
                    "TABLE(rows);\n";
  StageFamilies families({broken, makeFamily("whole", "100")});
  std::string why;
  auto filled = families.fillIn(makeCore(), {}, "_1", why);
  ASSERT_TRUE(filled) << why;
  EXPECT_EQ(filled->family, "whole");
  StageFamilies alone({broken});
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(alone.fillIn(makeCore(), {}, "_1", why));
    EXPECT_EQ(why, "broken: its program is no part of another one: in "
                   "'TABLE(rows);': 'TABLE' is a macro, and what it declares "
                   "is not seen: write it out");
  }
}

TEST(StageFamiliesTest, ANameThatIsTakenIsTakenOfOneSuffix) {
  Family family = makeFamily("only", "1");
  family.program += "static int rows, rows_2;\n";
  StageFamilies families({family});
  std::string why;
  EXPECT_TRUE(families.fillIn(makeCore(), {}, "_1", why)) << why;
  EXPECT_FALSE(families.fillIn(makeCore(), {}, "_2", why));
  EXPECT_THAT(why, HasSubstr("only: its program is no part of another one: the "
                             "program uses 'rows_2'"));
  EXPECT_TRUE(families.fillIn(makeCore(), {}, "_1", why)) << why;
}

TEST(StageFamiliesTest, TheShippedOnesAreForTheHost) {
  StageFamilies shipped = llvm::cantFail(StageFamilies::shipped());
  EXPECT_FALSE(shipped.empty());
}

TEST(StageFamiliesTest, AFailureSaysWhyNoFamilyWritesAProduct) {
  Family broken = makeFamily("broken", "1");
  broken.program += "TABLE(rows);\n";
  StageFamilies families({broken});
  StagePattern pattern(product(1, 32, 32, 32, false, false, Epilogue::None));
  catalog::CKernel kernel =
      catalog::emitCKernel(pattern.block(), catalog::Machine(), {}, families);
  EXPECT_EQ(kernel.source, "");
  EXPECT_THAT(
      kernel.failure,
      HasSubstr("no family writes the contraction: broken: its program is no "
                "part of another one: in 'TABLE(rows);': 'TABLE' has no type: "
                "what a macro declares is not seen, so write it out"));
  EXPECT_THAT(kernel.failure, HasSubstr("; no family writes the window: "));
}
