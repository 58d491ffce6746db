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
        llvm::cantFail(families::readFamily(options.folder)), compiler,
        &session.getContext());
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

TEST_F(ExpiredEvidenceTest, AnotherCompilerEndsIt) {
  EXPECT_THAT(whyNot("12.9"),
              AllOf(HasSubstr("it was admitted with NVRTC 13.0, and this "
                              "machine has 12.9"),
                    HasSubstr("admits it again")));
}
