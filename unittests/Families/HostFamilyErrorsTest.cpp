//===- HostFamilyErrorsTest.cpp - Families for the host as folders --------===//
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

using namespace fastk;
using namespace fastk::families;
using testing::HasSubstr;
using testing::Not;

namespace {
class HostFamilyErrorsTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("families", folder));
    write("kernel.c", "#define TILE 4 // tune: 4, 8\n");
    write("family.json", json());
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  static std::string json(llvm::StringRef target = "host",
                          llvm::StringRef more = "") {
    return ("{\"format\": 1, \"core\": \"contraction\", \"target\": \"" +
            target +
            "\", \"title\": \"t\", \"text\": \"x\", \"category\": \"memory "
            "access\", \"requirements\": [], \"legal\": [], \"choose\": "
            "[\"TILE\"], \"cost\": [\"TILE\"]" +
            more + "}")
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

TEST_F(HostFamilyErrorsTest, TwoFilesAreAll) {
  Family family = llvm::cantFail(readFamily(folder));
  EXPECT_TRUE(family.isFor("host"));
  EXPECT_FALSE(family.isFor("cuda:host"));
  EXPECT_EQ(family.language(), Language::c);
  EXPECT_EQ(family.plan, "{}");
  std::string before = family.digest;
  write("kernel.c", "#define TILE 4 // tune: 4, 8, 16\n");
  EXPECT_NE(llvm::cantFail(readFamily(folder)).digest, before);
}

TEST_F(HostFamilyErrorsTest, TheWorkspaceIsAnExpression) {
  write("family.json",
        json("host", ", \"workspace_bytes\": \"TILE * THREADS\""));
  Family family = llvm::cantFail(readFamily(folder));
  CoreInstance core;
  core.host = catalog::Machine();
  core.host->threads = 3;
  std::string why;
  std::vector<Instance> instances = instantiate(family, core, 2, why);
  ASSERT_EQ(instances.size(), 2u) << why;
  EXPECT_EQ(makeWorkspace(instances[1].plan,
                          readNumbers(instances[1].program).names, why),
            24);
  // The rules that travel with an instance have it, and no plan does.
  std::string program = withFamily(instances[0], family);
  EXPECT_THAT(program, Not(HasSubstr("\"plan\"")));
  std::optional<Family> found = familyIn(program);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->workspaceBytes, "TILE * THREADS");
  EXPECT_EQ(found->program, family.program);
}

TEST_F(HostFamilyErrorsTest, APlanIsTold) {
  write("plan.json", "{}");
  EXPECT_THAT(problem(),
              HasSubstr("plan.json: a family for the host has no plan: say its "
                        "\"workspace_bytes\" in family.json, and remove this "
                        "file"));
}

TEST_F(HostFamilyErrorsTest, AMissingProgramIsTold) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "kernel.c");
  llvm::sys::fs::remove(path);
  EXPECT_THAT(problem(), HasSubstr("kernel.c: cannot read: "));
  EXPECT_THAT(problem(),
              HasSubstr("for the host with family.json and kernel.c"));
}

TEST_F(HostFamilyErrorsTest, AGpuFamilyHasItsWorkspacesInThePlan) {
  write("kernel.cu", "#define TILE 4 // tune: 4, 8\n");
  write("plan.json", "{}");
  write("family.json", json("sm_90a", ", \"workspace_bytes\": \"4\""));
  EXPECT_THAT(problem(), HasSubstr("\"workspace_bytes\" is for families for "
                                   "the host; plan.json has"));
}

TEST_F(HostFamilyErrorsTest, ParametersAreThoseOfTheProgram) {
  write("kernel.c", "#define SIZE 4 // tune: 4, 8\n");
  EXPECT_THAT(problem(), HasSubstr("'TILE' of \"choose\" is no parameter of "
                                   "kernel.c: write `#define TILE VALUE"));
}
