//===- CurlLibraryTest.cpp - libcurl that is there, or is not -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CurlLibrary.h"
#include "gmock/gmock.h"

using namespace fastk;
using testing::HasSubstr;

static std::string problemOf(llvm::ArrayRef<llvm::StringLiteral> names) {
  auto loaded = CurlLibrary::load(names);
  return loaded ? "" : llvm::toString(loaded.takeError());
}

TEST(CurlLibrary, IsOfTheVersionThatItSays) {
  auto loaded = CurlLibrary::load();
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  EXPECT_EQ(loaded->version,
            loaded->curl_version_info(CURLVERSION_NOW)->version_num);
}

TEST(CurlLibrary, WhereThereIsNoneTheErrorNamesThePackage) {
  std::string problem = problemOf({"libno-such-curl.so.4"});
  EXPECT_THAT(problem, HasSubstr("cannot be loaded: libno-such-curl.so.4: "));
  EXPECT_THAT(problem, HasSubstr("install it: the package libcurl4"));
}

TEST(CurlLibrary, TheFirstThatLoadsIsTaken) {
  EXPECT_EQ(problemOf({"libno-such-curl.so.4", "libcurl.so.4"}), "");
}

TEST(CurlLibrary, AnotherLibraryIsRefused) {
  EXPECT_THAT(problemOf({"libm.so.6"}), HasSubstr("has no curl_"));
}
