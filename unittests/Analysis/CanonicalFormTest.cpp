//===- CanonicalFormTest.cpp - The canonical form of a workload -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkloadFixture.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <chrono>

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

static std::string goldenPath(StringRef name) {
  return (Twine(FASTK_GOLDEN_DIR) + "/" + name + ".mlir").str();
}

static CanonicalForm formOf(ModuleOp module) {
  FailureOr<CanonicalForm> form = computeCanonicalForm(getWorkload(module));
  EXPECT_TRUE(succeeded(form));
  return std::move(*form);
}

// x - y, returned after y * y, with x passed twice and z in vain.
static constexpr const char *kOrders = R"mlir(
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = fastk.workload "w"(%z, %y, %x, %x)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%c: tensor<4xf32>, %b: tensor<4xf32>, %a: tensor<4xf32>, %a2: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.sub ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.mul ins(%0, %a2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
})mlir";

TEST(CanonicalForm, ordersNameOperandsAndResultsOfTheWorkload) {
  Module module = parseQuietly(kOrders);
  ASSERT_TRUE(module);
  std::string before = print(*module);
  CanonicalForm form = formOf(*module);
  EXPECT_EQ(print(*module), before) << "the workload must stay as it is";
  // x first, as the left operand of the first op; its second copy and z gone.
  EXPECT_EQ(ArrayRef(form.inputOrder), ArrayRef<unsigned>({2, 1}));
  // What is computed first comes first.
  EXPECT_EQ(ArrayRef(form.outputOrder), ArrayRef<unsigned>({1, 0}));
  EXPECT_EQ(form.getPattern().getNumArguments(), 2u);
}

TEST(CanonicalForm, keyIsTheDigestOfThePattern) {
  Module module = parseQuietly(kOrders);
  CanonicalForm form = formOf(*module);
  EXPECT_EQ(form.key, computeKey(form.getPattern()));
  EXPECT_EQ(form.getLowering().getKey(), form.key);
  EXPECT_TRUE(succeeded(verify(*form.module)));
}

TEST(CanonicalForm, theModuleAroundThePatternIsNotPartOfTheKey) {
  CanonicalForm form = formOf(*Module(parseQuietly(kOrders)));
  Module other = parseQuietly("func.func @g(%arg0: f32, %x: f32) { return }");
  OpBuilder builder = OpBuilder::atBlockEnd(other->getBody());
  FailureOr<LoweringOp> lowering = buildDefaultLowering(builder, form, "cuda");
  ASSERT_TRUE(succeeded(lowering));
  EXPECT_EQ(computeKey(lowering->getPattern()), form.key);
}

TEST(CanonicalForm, defaultLoweringVerifiesAndSurvivesText) {
  CanonicalForm form = formOf(*Module(parseQuietly(kOrders)));
  Module module = ModuleOp::create(UnknownLoc::get(&context()));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  FailureOr<LoweringOp> lowering = buildDefaultLowering(builder, form, "host");
  ASSERT_TRUE(succeeded(lowering));
  EXPECT_EQ(lowering->getLanguage(), Language::generic);
  EXPECT_EQ(lowering->getTarget(), "host");
  EXPECT_EQ(lowering->getSymName(), LoweringOp::symbolForKey(form.key));
  Module parsed = parseQuietly(print(*module));
  ASSERT_TRUE(parsed) << print(*module);
  auto again = *parsed->getOps<LoweringOp>().begin();
  EXPECT_TRUE(isSamePattern(again.getPattern(), form.getPattern()));
}

TEST(CanonicalForm, kernelFunctionHasThePatternAsItsBody) {
  CanonicalForm form = formOf(*Module(parseQuietly(kOrders)));
  Module module = ModuleOp::create(UnknownLoc::get(&context()));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  func::FuncOp func = buildKernelFunc(builder, form.getLowering(), "kernel");
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(func.getName(), "kernel");
  EXPECT_EQ(func.getFunctionType(), form.getLowering().getWorkloadType());
  EXPECT_EQ(func.getBody().front().getOperations().size(),
            form.getPattern().front().getOperations().size());
}

TEST(CanonicalForm, samePatternIsNotFooledByEqualShapes) {
  std::string other(kOrders);
  other.replace(other.find("linalg.sub"), 10, "linalg.max");
  CanonicalForm a = formOf(*Module(parseQuietly(kOrders)));
  CanonicalForm b = formOf(*Module(parseQuietly(kOrders)));
  CanonicalForm c = formOf(*Module(parseQuietly(other)));
  EXPECT_TRUE(isSamePattern(a.getPattern(), b.getPattern()));
  EXPECT_FALSE(isSamePattern(a.getPattern(), c.getPattern()));
}

// Keys written down. A change here makes every bank stale: it must be meant,
// and LoweringOp::kFormatVersion must go up with it.
TEST(CanonicalForm, keysOfGoldenInputsDoNotChange) {
  const std::pair<const char *, const char *> keys[] = {
      {"matmul_f32_small",
       "a6f0719b587c8598ea9e972fcea0aff7d6b04aa2010c30d4d2458cdd26ba612a"},
      {"softmax_small",
       "00c07b50dd0e2e99c19c3ab4a49d2931a8089dddcd4cb4f7715db088ff1abc70"},
      {"layernorm_small",
       "f40669b1dec98a29ecbd6f16264e208e3ddb5b4c0707a86c8a982e928157c70d"},
      {"conv2d_relu_maxpool_small",
       "f40ace1b91ba488ec905f70df0424b1dc174af15e35dc69108e21d83816cb643"},
      {"transformer_block_small",
       "4dbb3255bc354dc2cec126b1e29dadccd1e4c78bed12afdb21db611a9b35d2ab"},
  };
  for (auto [name, key] : keys) {
    Module module = wrapFileIntoWorkload(goldenPath(name));
    ASSERT_TRUE(module) << name;
    EXPECT_EQ(keyOf(*module), key) << name;
  }
}

// The whole compile of a model that hits the bank may take twice the time of
// parsing and printing it: the canonical form must stay well below that. The
// bound has a factor of ten to spare on a slow machine under load.
TEST(CanonicalForm, isFastEnoughToBeComputedOnEveryCompile) {
  Module module = wrapFileIntoWorkload(goldenPath("transformer_block_small"));
  ASSERT_TRUE(module);
  WorkloadOp workload = getWorkload(*module);
  constexpr int kRuns = 10;
  auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < kRuns; ++run)
    ASSERT_TRUE(succeeded(computeCanonicalForm(workload)));
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds", int(time.count() / kRuns * 1e6));
  EXPECT_LT(time.count() / kRuns, 0.1);
}
