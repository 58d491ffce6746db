//===- SessionFixture.h - A session whose words are kept --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_DRIVER_SESSIONFIXTURE_H
#define FASTK_UNITTESTS_DRIVER_SESSIONFIXTURE_H

#include "fastk/Driver/Compile.h"
#include "fastk/Driver/Session.h"
#include "fastk/Driver/ToldError.h"
#include "fastk/System/ProcessFolder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fastk {

class SessionTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(folder.create("fastk-driver-test")); }

  /// What the bank of the tests has a winner for, measured elsewhere.
  mlir::OwningOpRef<mlir::ModuleOp> loadRelu() {
    return session.load(FASTK_TEST_MODEL);
  }
  /// The same with its winners applied; `banks` may be none.
  mlir::OwningOpRef<mlir::ModuleOp>
  applyTo(std::vector<std::string> banks = {}) {
    auto module = loadRelu();
    WinnerOptions options;
    options.banks = std::move(banks);
    options.filter.anyMachine = true;
    EXPECT_TRUE(succeeded(prepareModel(*module, "host")));
    EXPECT_EQ(messageOf(session.openBanks(std::move(options))), "");
    EXPECT_TRUE(succeeded(session.form(*module)));
    mlir::FailureOr<ApplySummary> applied = session.apply(*module);
    EXPECT_TRUE(succeeded(applied));
    if (succeeded(applied))
      summary = *applied;
    return module;
  }
  /// Empty where there is no error.
  static std::string messageOf(llvm::Error error) {
    return error ? llvm::toString(std::move(error)) : "";
  }
  /// Whether all there is to say of it was said.
  static bool isTold(llvm::Error error) {
    bool told = error.isA<ToldError>();
    llvm::consumeError(std::move(error));
    return told;
  }
  std::string path(const std::string &name) const { return folder.file(name); }
  /// Empty where it is not there.
  static std::string contentOf(const std::string &path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : "";
  }

  ProcessFolder folder;
  std::string said;
  llvm::raw_string_ostream stream{said};
  Session session{stream};
  ApplySummary summary;
};

} // namespace fastk

#endif // FASTK_UNITTESTS_DRIVER_SESSIONFIXTURE_H
