//===- RunSearchTest.cpp - A search that a program asks for ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/RunSearch.h"
#include "SessionFixture.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;
using testing::HasSubstr;

namespace {
class RunSearchTest : public SessionTest {
protected:
  RunSearchTest() { request.said = &stream; }

  /// A model without any workload: there is nothing to measure.
  OwningOpRef<ModuleOp> formEmpty(std::vector<std::string> banks) {
    auto module = session.loadText("func.func @f(%x: tensor<4xf32>) -> "
                                   "tensor<4xf32> {\n"
                                   "  return %x : tensor<4xf32>\n"
                                   "}\n",
                                   "empty.mlir");
    WinnerOptions options;
    options.banks = std::move(banks);
    EXPECT_EQ(messageOf(session.openBanks(std::move(options))), "");
    EXPECT_TRUE(succeeded(session.form(*module)));
    settings.scope = SearchScope::Misses;
    settings.tools = folder.path();
    EXPECT_EQ(messageOf(checkSettings(settings)), "");
    return module;
  }
  llvm::Expected<SearchModelEnd> search(ModuleOp module) {
    return runSearchPass(module, session.getBanks(), session.getMatcher(),
                         settings, request);
  }
  /// A compiler and a worker that nobody calls.
  void makeTools() {
    for (const char *name : {"fastk-opt", "fastk-worker"}) {
      std::error_code ec;
      llvm::raw_fd_ostream file(path(name), ec);
      ASSERT_FALSE(ec);
      file.close();
      ASSERT_FALSE(
          llvm::sys::fs::setPermissions(path(name), llvm::sys::fs::all_all));
    }
  }

  SearchSettings settings;
  SearchRequest request;
};
} // namespace

TEST_F(RunSearchTest, WhatASearchSaysGoesToItsCaller) {
  auto module = formEmpty({path("bank")});
  makeTools();
  settings.record = path("record.jsonl");
  testing::internal::CaptureStderr();
  llvm::Expected<SearchModelEnd> end = search(*module);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(bool(end)) << llvm::toString(end.takeError());
  EXPECT_EQ(*end, SearchModelEnd::Done);
  EXPECT_EQ(said, "recorded in " + path("record.jsonl") + "\n");
}

TEST_F(RunSearchTest, ASearchNeedsABankToStoreIn) {
  auto module = formEmpty({});
  EXPECT_THAT(messageOf(search(*module).takeError()),
              HasSubstr("there is no bank to store winners in"));
}

TEST_F(RunSearchTest, ASearchWithoutItsToolsSaysWhichIsMissing) {
  auto module = formEmpty({path("bank")});
  EXPECT_THAT(
      messageOf(search(*module).takeError()),
      HasSubstr(path("fastk-worker") + " is missing or not executable"));
}
