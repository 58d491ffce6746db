//===- EmitTest.cpp - What becomes of an applied model --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/Emit.h"
#include "SessionFixture.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {
class EmitTest : public SessionTest {
protected:
  /// Options for a file of that name in the folder of the test.
  EmitOptions to(EmitKind kind, const std::string &name) const {
    EmitOptions options;
    options.kind = kind;
    options.output = path(name);
    return options;
  }
};
} // namespace

TEST_F(EmitTest, AModuleIsWithoutWorkloads) {
  auto module = applyTo();
  ASSERT_EQ(
      messageOf(emitModel(*module, "host", to(EmitKind::MLIR, "out.mlir"))),
      "");
  std::string text = contentOf(path("out.mlir"));
  EXPECT_THAT(text, HasSubstr("func.func @forward"));
  EXPECT_THAT(text, Not(HasSubstr("fastk.workload")));
}

TEST_F(EmitTest, LLVMIRHasTheModelsFunctions) {
  auto module = applyTo();
  ASSERT_EQ(messageOf(emitModel(*module, "host", to(EmitKind::LLVM, "out.ll"))),
            "");
  EXPECT_THAT(contentOf(path("out.ll")), HasSubstr("@forward_packed("));
}

TEST_F(EmitTest, AnObjectComesWithItsHeader) {
  auto module = applyTo({FASTK_TEST_BANK});
  EmitOptions options = to(EmitKind::Object, "out.o");
  options.header = path("out.h");
  ASSERT_EQ(messageOf(emitModel(*module, "host", options)), "");
  EXPECT_THAT(contentOf(path("out.o")), StartsWith("\x7f"
                                                   "ELF"));
  EXPECT_THAT(contentOf(path("out.h")), HasSubstr("forward("));
}

TEST_F(EmitTest, ALibraryIsLinked) {
  auto module = applyTo();
  ASSERT_EQ(messageOf(emitModel(*module, "host",
                                to(EmitKind::SharedLibrary, "out.so"))),
            "")
      << said;
  EXPECT_THAT(contentOf(path("out.so")), StartsWith("\x7f"
                                                    "ELF"));
}

TEST_F(EmitTest, AModelForAGpuIsAnObjectOfTheHost) {
  auto module = applyTo();
  ASSERT_EQ(
      messageOf(emitModel(*module, "cuda:sm_90a", to(EmitKind::LLVM, "o.ll"))),
      "")
      << said;
  EXPECT_THAT(contentOf(path("o.ll")), HasSubstr("fastk_call"));
}

TEST_F(EmitTest, AModelWithoutAPublicFunctionHasNothingToCall) {
  auto module = session.loadText("func.func private @f(%x: f32) -> f32 {\n"
                                 "  return %x : f32\n"
                                 "}\n",
                                 "private.mlir");
  ASSERT_TRUE(module);
  EXPECT_TRUE(
      isTold(emitModel(*module, "host", to(EmitKind::Object, "out.o"))));
  EXPECT_THAT(said, HasSubstr("error: the module has no public func.func"));
  EXPECT_FALSE(llvm::sys::fs::exists(path("out.o")));
}

TEST_F(EmitTest, ATextThatCannotBeWrittenIsNamedWithAReason) {
  auto module = applyTo();
  std::string message = messageOf(
      emitModel(*module, "host", to(EmitKind::MLIR, "none/out.mlir")));
  EXPECT_THAT(message, StartsWith(path("none/out.mlir") + ": cannot write: "));
  EXPECT_EQ(said, "");
}

TEST_F(EmitTest, AnObjectThatCannotBeWrittenIsADiagnostic) {
  auto module = applyTo();
  EXPECT_TRUE(
      isTold(emitModel(*module, "host", to(EmitKind::Object, "none/out.o"))));
  EXPECT_THAT(said, HasSubstr(path("none/out.o")));
}

TEST_F(EmitTest, WithoutItsHeaderThereIsNoObject) {
  auto module = applyTo();
  EmitOptions options = to(EmitKind::Object, "out.o");
  options.header = path("none/out.h");
  EXPECT_THAT(messageOf(emitModel(*module, "host", options)),
              StartsWith(path("none/out.h") + ": cannot write: "));
  EXPECT_FALSE(llvm::sys::fs::exists(path("out.o")));
}
