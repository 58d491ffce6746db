//===- ReadFamilyErrorsTest.cpp - Families that cannot be read ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Family.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include <fstream>

using namespace fastk::families;
using testing::AllOf;
using testing::HasSubstr;

namespace {
class ReadFamilyErrorsTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("families", folder));
    write("kernel.cu", "#define TILE 1 // tune: 1, 2\n");
    write("plan.json", "{}");
    write("family.json", json());
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  static std::string json(llvm::StringRef more = "",
                          llvm::StringRef core = "contraction",
                          llvm::StringRef choose = "TILE", int format = 1,
                          llvm::StringRef cost = "[\"1\"]") {
    return ("{\"format\": " + llvm::Twine(format) + ", \"core\": \"" + core +
            "\", \"target\": \"sm_90a\", \"title\": \"t\", \"text\": \"x\", "
            "\"category\": \"memory access\", \"requirements\": [], "
            "\"legal\": [], \"choose\": [\"" +
            choose + "\"], \"cost\": " + cost + more + "}")
        .str();
  }
  void write(llvm::StringRef name, llvm::StringRef text) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    std::ofstream(path.str().str()) << text.str();
  }
  std::string problem() {
    llvm::Expected<Family> family = readFamily(folder);
    return family ? "" : llvm::toString(family.takeError());
  }

  llvm::SmallString<128> folder;
};
} // namespace

TEST_F(ReadFamilyErrorsTest, AWholeOneIsRead) { EXPECT_EQ(problem(), ""); }

TEST_F(ReadFamilyErrorsTest, FieldsAreKnownAndThere) {
  write("family.json", json(", \"cots\": \"1\""));
  EXPECT_THAT(problem(), AllOf(HasSubstr("family.json: unknown field 'cots'"),
                               HasSubstr("cost")));
  write("family.json", "{\"format\": 1}");
  EXPECT_THAT(problem(), HasSubstr("missing value at family.core"));
  write("family.json", "{");
  EXPECT_THAT(problem(), HasSubstr("family.json: "));
}

TEST_F(ReadFamilyErrorsTest, TheCostEndsInAnEstimate) {
  auto problemOf = [&](llvm::StringRef cost) {
    write("family.json", json("", "contraction", "TILE", 1, cost));
    return problem();
  };
  EXPECT_EQ(problemOf("[\"A = 2 * TILE\", \"A == 2 ? A : 1\"]"), "");
  for (const char *cost : {"[]", "[\"A = 1\"]", "[\"1\", \"2\"]"})
    EXPECT_THAT(problemOf(cost), HasSubstr("must be a list that ends in"));
  EXPECT_THAT(problemOf("\"1\""), HasSubstr("family.cost"));
}

TEST_F(ReadFamilyErrorsTest, AnotherFormatOrCoreIsNamed) {
  write("family.json", json("", "contraction", "TILE", 2));
  EXPECT_THAT(problem(), HasSubstr("is of format 2, and this fastk reads"));
  write("family.json", json("", "sorting"));
  EXPECT_THAT(problem(), HasSubstr("unknown core 'sorting'"));
}

TEST_F(ReadFamilyErrorsTest, WhatIsChosenIsAParameter) {
  write("family.json", json("", "contraction", "TILES"));
  EXPECT_THAT(problem(),
              AllOf(HasSubstr("'TILES' of \"choose\""), HasSubstr("// tune:")));
}

TEST_F(ReadFamilyErrorsTest, FilesAreThere) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "plan.json");
  llvm::sys::fs::remove(path);
  EXPECT_THAT(problem(), AllOf(HasSubstr("plan.json: cannot read"),
                               HasSubstr("a family is a folder with")));
}

/// Of the others nothing is read, so nothing of theirs can be wrong.
TEST_F(ReadFamilyErrorsTest, OnlyFamiliesOfTheTargetAreRead) {
  llvm::SmallString<128> root(folder);
  llvm::sys::path::append(root, "all");
  for (llvm::StringRef each : {"all", "all/sm_90a", "all/sm_90a/mine",
                               "all/host", "all/host/broken"}) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, each);
    ASSERT_FALSE(llvm::sys::fs::create_directory(path));
  }
  write("all/sm_90a/mine/kernel.cu", "#define TILE 1 // tune: 1, 2\n");
  write("all/sm_90a/mine/plan.json", "{}");
  write("all/sm_90a/mine/family.json", json());
  write("all/host/broken/family.json", "{");
  std::vector<Family> families =
      llvm::cantFail(readFamiliesOf("cuda:sm_90a", root));
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families.front().name, "mine");
  EXPECT_TRUE(llvm::cantFail(readFamiliesOf("cuda:sm_100a", root)).empty());
  llvm::Expected<std::vector<Family>> ofHost = readFamiliesOf("host", root);
  EXPECT_THAT(llvm::toString(ofHost.takeError()), HasSubstr("broken"));
}

/// As .git, and what a pull is about to place.
TEST_F(ReadFamilyErrorsTest, HiddenFoldersAreNoFamilies) {
  llvm::SmallString<128> root(folder);
  llvm::sys::path::append(root, "all");
  for (llvm::StringRef each :
       {"all", "all/.git", "all/.git/hooks", "all/sm_90a",
        "all/sm_90a/.incoming-x", "all/sm_90a/.incoming-x/mine"}) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, each);
    ASSERT_FALSE(llvm::sys::fs::create_directory(path));
  }
  write("all/sm_90a/.incoming-x/mine/family.json", "{");
  llvm::Expected<std::vector<Family>> all = readFamilies(root);
  ASSERT_TRUE(static_cast<bool>(all)) << llvm::toString(all.takeError());
  EXPECT_TRUE(all->empty());
  EXPECT_TRUE(llvm::cantFail(readFamiliesOf("cuda:sm_90a", root)).empty());
}

TEST(ReadFamiliesTest, ShippedOnesLieWithTheirTarget) {
  for (const Family &family :
       llvm::cantFail(readFamilies(FASTK_FAMILIES_DIR))) {
    llvm::StringRef parent = llvm::sys::path::parent_path(family.folder);
    EXPECT_EQ(llvm::sys::path::filename(parent), family.target) << family.name;
  }
}
