//===- CompileKernelTest.cpp - One lowering to a program ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/CompileKernel.h"
#include "SessionFixture.h"
#include "fastk/Support/Sha256.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;
using testing::HasSubstr;
using testing::StartsWith;

namespace {
class CompileKernelTest : public SessionTest {
protected:
  /// The default lowering of the model's one workload, alone.
  OwningOpRef<ModuleOp> lowering() {
    auto module = applyTo();
    EXPECT_TRUE(succeeded(lowerWorkloads(*module, "host")));
    for (auto func : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
      func.erase();
    return module;
  }
};
} // namespace

TEST_F(CompileKernelTest, AProgramIsALibraryAndTheDigestOfItsObject) {
  auto module = lowering();
  FailureOr<std::string> digest =
      compileKernelLibrary(*module, "program", path("out.so"), "host");
  ASSERT_TRUE(succeeded(digest)) << said;
  EXPECT_EQ(digest->size(), sha256("").size());
  EXPECT_THAT(contentOf(path("out.so")), StartsWith("\x7f"
                                                    "ELF"));
  FailureOr<std::string> again =
      compileKernelLibrary(*module, "program", path("again.so"), "host");
  ASSERT_TRUE(succeeded(again));
  EXPECT_EQ(*again, *digest);
}

TEST_F(CompileKernelTest, ARoleThatThereIsNotIsRefusedWithTheOthers) {
  auto module = lowering();
  EXPECT_TRUE(
      failed(compileKernelLibrary(*module, "judge", path("out.so"), "host")));
  EXPECT_THAT(said, HasSubstr("takes program, oracle, condition, "
                              "condition-tf32, cubin or "
                              "kernels, not 'judge'"));
  EXPECT_FALSE(llvm::sys::fs::exists(path("out.so")));
}

TEST_F(CompileKernelTest, AModelIsNoKernel) {
  auto module = loadRelu();
  EXPECT_TRUE(
      failed(compileKernelLibrary(*module, "program", path("out.so"), "host")));
  EXPECT_THAT(said, HasSubstr("needs a module with one fastk.lowering, this "
                              "one has 0"));
}
