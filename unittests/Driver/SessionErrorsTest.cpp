//===- SessionErrorsTest.cpp - Models that a session refuses --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionFixture.h"

using namespace mlir;
using namespace fastk;
using testing::HasSubstr;

TEST_F(SessionTest, AFileThatIsNotThereIsNamed) {
  EXPECT_FALSE(session.load(path("none.mlir")));
  EXPECT_THAT(said, HasSubstr(path("none.mlir") + ": error: "));
}

TEST_F(SessionTest, ATextThatDoesNotParseIsToldWithItsPlaceAndARemedy) {
  EXPECT_FALSE(session.loadText("func.func @f(", "cut.mlir"));
  EXPECT_THAT(said, HasSubstr("cut.mlir:1:13: error: "));
  EXPECT_THAT(said, HasSubstr("make it again with `python -m fastk.importer`"));
}

TEST_F(SessionTest, AnEmptyTextIsNoModel) {
  EXPECT_FALSE(session.loadText(" \n", "empty.mlir"));
  EXPECT_THAT(said, HasSubstr("empty.mlir:1:1: error: the input is empty"));
}

TEST_F(SessionTest, WhatNoPipelineCompilesIsRefusedWhenItIsLoaded) {
  EXPECT_FALSE(session.loadText(
      "func.func @f(%m: memref<4xf32>) -> memref<4xf32> {\n"
      "  %c = memref.cast %m : memref<4xf32> to memref<?xf32>\n"
      "  return %m : memref<4xf32>\n"
      "}\n",
      "buffers.mlir"));
  EXPECT_THAT(said, HasSubstr("buffers.mlir:2:8: error: "));
  EXPECT_THAT(said, HasSubstr("as it was before bufferization"));
}

TEST_F(SessionTest, RecursionCannotBePrepared) {
  auto module = session.loadText("func.func @f(%x: f32) -> f32 {\n"
                                 "  %y = func.call @f(%x) : (f32) -> f32\n"
                                 "  return %y : f32\n"
                                 "}\n",
                                 "recursion.mlir");
  ASSERT_TRUE(module) << said;
  EXPECT_TRUE(failed(prepareModel(*module, "host")));
  EXPECT_THAT(said, HasSubstr("recursion.mlir:1:1: error: calls itself"));
}

TEST_F(SessionTest, BanksThatAreNotThereAreExplainedOneByOne) {
  std::vector<std::string> warnings =
      explainMissingBanks({FASTK_TEST_BANK, path("none")}, "--search");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings.front(),
            "--bank=" + path("none") +
                ": no such folder, so no winners; check the path, or make them "
                "with --search");
}
