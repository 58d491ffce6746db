//===- ShippedEvidenceTest.cpp - The evidence that fastk brings -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A header that the compiler writes in another way, or a byte of a program,
// ends an admission, also that on machines of other vectors than this one's.
//
//===----------------------------------------------------------------------===//

#include "AdmissionFixture.h"

using namespace fastk;

TEST(ShippedEvidenceTest, Stands) {
  mlir::DialectRegistry registry;
  registerCanonicalFormDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  size_t count = 0;
  for (const char *folder : {"host", "sm_90a"})
    for (const families::Family &family : llvm::cantFail(families::readFamilies(
             std::string(FASTK_FAMILIES_DIR) + "/" + folder)))
      for (unsigned vectorBytes : {0u, 16u, 32u, 64u}) {
        if (!llvm::sys::fs::exists(
                families::evidencePath(family.folder, "ieee", vectorBytes)))
          continue;
        ++count;
        families::Evidence evidence = llvm::cantFail(
            families::readEvidence(family.folder, "ieee", vectorBytes));
        EXPECT_EQ(llvm::cantFail(whyExpired(evidence, family, "", &context)),
                  "")
            << family.folder << ", " << vectorBytes;
      }
  EXPECT_GE(count, 10u);
}
