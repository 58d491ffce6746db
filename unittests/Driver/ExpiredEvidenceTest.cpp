//===- ExpiredEvidenceTest.cpp - What ends an admission -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdmissionFixture.h"

using namespace fastk;
using testing::AllOf;
using testing::HasSubstr;

namespace {
class ExpiredEvidenceTest : public AdmissionTest {
protected:
  void SetUp() override {
    AdmissionTest::SetUp();
    ASSERT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
    read = llvm::cantFail(families::readEvidence(options.folder));
  }
  std::string whyNot(llvm::StringRef compiler = "") {
    return llvm::cantFail(
        whyExpired(read, llvm::cantFail(families::readFamily(options.folder)),
                   compiler, &session.getContext()));
  }

  families::Evidence read;
};
} // namespace

TEST_F(ExpiredEvidenceTest, WhatIsUnchangedStands) {
  EXPECT_EQ(whyNot(), "");
  EXPECT_EQ(whyNot("13.0"), "");
}

TEST_F(ExpiredEvidenceTest, WhatStandsIsToldInALine) {
  auto told = [&](llvm::StringRef compiler) {
    return describeAdmission(
        standingEvidence(llvm::cantFail(families::readFamily(options.folder)),
                         Precision::ieee, compiler, &session.getContext()));
  };
  EXPECT_EQ(told("13.0"), "admitted: 80 instances, NVRTC 13.0, NVIDIA H200");
  EXPECT_THAT(told("12.9"), HasSubstr("expired: it was admitted with NVRTC"));
  write("evidence.json", "{");
  EXPECT_THAT(told("13.0"), HasSubstr("not admitted: "));
}

TEST_F(ExpiredEvidenceTest, AByteOfAnyFileEndsIt) {
  for (const char *file : {"kernel.cu", "plan.json", "family.json"}) {
    std::string before = contentOf(options.folder + "/" + file);
    write(file, before + "\n");
    EXPECT_EQ(whyNot(), "the program has changed (family.json, kernel.cu or "
                        "plan.json); fastk-opt --admit-family=" +
                            options.folder +
                            " --target=cuda:sm_90a admits it again");
    write(file, before);
    EXPECT_EQ(whyNot(), "");
  }
}

TEST_F(ExpiredEvidenceTest, AnotherHeaderOfAWorkloadEndsIt) {
  // As if the compiler wrote another one.
  read.instances[17].sample = 100000;
  EXPECT_THAT(whyNot(), AllOf(HasSubstr("headers that the compiler writes"),
                              HasSubstr("admits it again")));
}

TEST_F(ExpiredEvidenceTest, AnotherPreludeEndsIt) {
  EXPECT_EQ(read.prelude, cuda::preludeDigest());
  read.prelude = "another";
  EXPECT_EQ(whyNot(), "the prelude has changed, the device code that its "
                      "instances were compiled with; fastk-opt "
                      "--admit-family=" +
                          options.folder +
                          " --target=cuda:sm_90a admits it again");
}

/// All versions that did not name it had the same one.
TEST_F(ExpiredEvidenceTest, EvidenceOfBeforeIsOfThePreludeOfThen) {
  std::string text = evidence(), digest = cuda::preludeDigest();
  text.replace(text.find(digest), digest.size(), "");
  text.replace(text.find("\"prelude\": \"\","), 14, "");
  write("evidence.json", text);
  read = llvm::cantFail(families::readEvidence(options.folder));
  bool isThatOne = llvm::StringRef(digest).starts_with("8eb8fdf2df1bea048f80");
  EXPECT_EQ(whyNot().substr(0, 23), isThatOne ? "" : "the prelude has changed");
}

TEST_F(ExpiredEvidenceTest, AnotherCompilerEndsIt) {
  EXPECT_THAT(whyNot("12.9"),
              AllOf(HasSubstr("it was admitted with NVRTC 13.0, and this "
                              "machine has 12.9"),
                    HasSubstr("admits it again")));
}

TEST_F(ExpiredEvidenceTest, OnlyWhatIsAdmittedIsUsed) {
  std::vector<families::Family> families =
      llvm::cantFail(families::readFamilies(
          llvm::StringRef(options.folder).rsplit('/').first));
  std::string core = "contraction";
  auto used = [&](llvm::StringRef target, llvm::StringRef compiler,
                  std::string &warned) {
    warned.clear();
    return admittedFamilies(
        families, target, core, Precision::ieee, compiler,
        &session.getContext(),
        [&](const std::string &line) { warned += line + "\n"; });
  };
  std::string warned;
  std::vector<AdmittedFamily> admitted = used("cuda:sm_90a", "13.0", warned);
  ASSERT_EQ(admitted.size(), 1u);
  EXPECT_EQ(admitted.front().precision, Precision::ieee);
  EXPECT_EQ(admitted.front().evidence, "80 are right on NVIDIA H200");
  EXPECT_EQ(warned, "");

  EXPECT_TRUE(used("cuda:sm_80", "13.0", warned).empty());
  EXPECT_EQ(warned, "");
  EXPECT_TRUE(used("cuda:sm_90a", "12.9", warned).empty());
  EXPECT_THAT(warned, HasSubstr("is left out: it is expired: it was admitted "
                                "with NVRTC 13.0"));

  // The evidence of other cores is not looked at.
  core = "attention";
  EXPECT_TRUE(used("cuda:sm_90a", "12.9", warned).empty());
  EXPECT_EQ(warned, "");
  core = "contraction";

  // As if one of its instances had held half's bound only.
  read.instances[3].precision = "half";
  llvm::cantFail(families::writeEvidence(options.folder, read));
  EXPECT_TRUE(used("cuda:sm_90a", "13.0", warned).empty());
  EXPECT_THAT(warned, HasSubstr("it is right in class half, and "
                                "--precision=ieee takes no looser one"));
}
