//===- EvidenceErrorsTest.cpp - Evidence that cannot be read --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Evidence.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include <fstream>

using namespace fastk::families;
using testing::AllOf;
using testing::HasSubstr;

namespace {
class EvidenceErrorsTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("evidence", folder));
    for (size_t i = 0; i < kMinSamples; ++i)
      evidence.instances.push_back({i, "key", "about", "digest", "ieee"});
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void write(const std::string &text) {
    std::ofstream(evidencePath(folder)) << text;
  }
  std::string problem() {
    llvm::Expected<Evidence> read = readEvidence(folder);
    return read ? "" : llvm::toString(read.takeError());
  }

  llvm::SmallString<128> folder;
  Evidence evidence;
};
} // namespace

TEST_F(EvidenceErrorsTest, WhatIsWrittenIsRead) {
  evidence.family = "f";
  evidence.emitter = "e";
  evidence.compiler = "13.0";
  evidence.prelude = "p";
  evidence.driver = "13.1";
  evidence.target = "cuda:sm_90a";
  evidence.device = "NVIDIA H200";
  evidence.seed = ~uint64_t(0);
  ASSERT_FALSE(writeEvidence(folder, evidence));
  Evidence read = llvm::cantFail(readEvidence(folder));
  EXPECT_EQ(read.family, "f");
  EXPECT_EQ(read.emitter, "e");
  EXPECT_EQ(read.compiler, "13.0");
  EXPECT_EQ(read.prelude, "p");
  EXPECT_EQ(read.driver, "13.1");
  EXPECT_EQ(read.target, "cuda:sm_90a");
  EXPECT_EQ(read.device, "NVIDIA H200");
  EXPECT_EQ(read.seed, evidence.seed);
  ASSERT_EQ(read.instances.size(), kMinSamples);
  EXPECT_EQ(read.instances[7].sample, 7u);
  EXPECT_EQ(read.instances[7].precision, "ieee");
}

TEST_F(EvidenceErrorsTest, EachClassHasAFileOfItsOwn) {
  ASSERT_FALSE(writeEvidence(folder, evidence));
  evidence.accepts = "tf32";
  evidence.instances.front().precision = "tf32";
  ASSERT_FALSE(writeEvidence(folder, evidence));
  EXPECT_EQ(llvm::cantFail(readEvidence(folder)).instances[0].precision,
            "ieee");
  Evidence looser = llvm::cantFail(readEvidence(folder, "tf32"));
  EXPECT_EQ(looser.accepts, "tf32");
  EXPECT_EQ(looser.instances[0].precision, "tf32");
  ASSERT_FALSE(llvm::sys::fs::rename(evidencePath(folder, "tf32"),
                                     evidencePath(folder)));
  EXPECT_THAT(problem(), HasSubstr("evidence.json: is of class tf32"));
}

TEST_F(EvidenceErrorsTest, EachWidthOfVectorsHasAFileOfItsOwn) {
  evidence.target = "host";
  for (unsigned bytes : {32u, 64u}) {
    evidence.vectorBytes = bytes;
    ASSERT_FALSE(writeEvidence(folder, evidence));
    EXPECT_EQ(llvm::cantFail(readEvidence(folder, "ieee", bytes)).vectorBytes,
              bytes);
  }
  std::string narrow = evidencePath(folder, "ieee", 32),
              wide = evidencePath(folder, "ieee", 64);
  EXPECT_TRUE(llvm::StringRef(narrow).ends_with("/evidence.32.json"));
  ASSERT_FALSE(llvm::sys::fs::rename(wide, narrow));
  EXPECT_THAT(
      llvm::toString(readEvidence(folder, "ieee", 32).takeError()),
      HasSubstr("evidence.32.json: is of vectors of 64 bytes; fastk-opt"));
}

TEST_F(EvidenceErrorsTest, BrokenFilesAreNamedWithTheRemedy) {
  EXPECT_THAT(problem(), HasSubstr("evidence.json: cannot"));
  for (const char *text : {"", "{", "[]", "{\"format\": 1}"}) {
    write(text);
    EXPECT_THAT(problem(),
                AllOf(HasSubstr("evidence.json: "),
                      HasSubstr("fastk-opt --admit-family writes it anew")))
        << text;
  }
}

TEST_F(EvidenceErrorsTest, AnotherFormatIsNamed) {
  ASSERT_FALSE(writeEvidence(folder, evidence));
  std::ifstream file(evidencePath(folder));
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.replace(text.find("\"format\": 1"), 11, "\"format\": 2");
  write(text);
  EXPECT_THAT(problem(), HasSubstr("is of format 2, and this fastk reads"));
}

TEST_F(EvidenceErrorsTest, FewerWorkloadsAreNone) {
  // A second instance is no further workload.
  evidence.instances.back().sample = kMinSamples - 2;
  ASSERT_FALSE(writeEvidence(folder, evidence));
  EXPECT_THAT(problem(), HasSubstr("is of 59 workloads, and 60 are the least"));
}

TEST_F(EvidenceErrorsTest, TimesAreOptionalAndSaneWhereTheyAre) {
  evidence.instances[3].times = {9000.4, 20001.2, 2.2071, true};
  ASSERT_FALSE(writeEvidence(folder, evidence));
  Evidence read = llvm::cantFail(readEvidence(folder));
  EXPECT_FALSE(read.instances[2].times);
  ASSERT_TRUE(read.instances[3].times);
  EXPECT_EQ(read.instances[3].times->instanceNs, 9000);
  EXPECT_EQ(read.instances[3].times->defaultNs, 20001);
  EXPECT_EQ(read.instances[3].times->ratio, 2.207);
  EXPECT_TRUE(read.instances[3].times->belowResolution);
  EXPECT_EQ(read.timed(), 1u);
  evidence.instances[3].times->ratio = 0;
  ASSERT_FALSE(writeEvidence(folder, evidence));
  EXPECT_THAT(problem(), HasSubstr("must be more than 0"));
}
