//===- StageBlockTest.cpp - Stages as workloads of their own --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageBlock.h"
#include "StageFixture.h"
#include "fastk/Families/Core.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using catalog::StageBlock;
using testing::ElementsAre;

/// relu(a * b) + a, of a product that begins at a fill; a's sum is read twice.
static const char *const kText = R"(
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.generic {indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%i : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %t = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%p : tensor<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.maximumf %x, %z : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%p : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %r = arith.addf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<8x8xf32>
  return %w : tensor<8x8xf32>
}
)";

static constexpr unsigned kProduct = 3, kRelu = 4;

/// The names of a block's ops.
static std::vector<std::string> opsOf(mlir::Block &block) {
  std::vector<std::string> names;
  for (mlir::Operation &op : block)
    names.push_back(op.getName().getStringRef().str());
  return names;
}

TEST(StageBlockTest, WhatLiesInBuffersIsItsOperands) {
  StagePattern pattern(kText);
  llvm::SmallVector<mlir::Value> buffers(pattern.block().getArguments());
  StageBlock stage(pattern.root(), [&](mlir::Value value) {
    return llvm::is_contained(buffers, value);
  });
  // In the order of their first use, each once.
  EXPECT_THAT(stage.operands(), ElementsAre(buffers[0], buffers[1]));
  ASSERT_EQ(stage.body().getNumArguments(), 2u);
  for (auto [argument, operand] :
       llvm::zip_equal(stage.body().getArguments(), stage.operands()))
    EXPECT_EQ(argument.getType(), operand.getType());
  // What is used several times is there once. The places of results that
  // nothing reads are those of the pattern no more.
  EXPECT_THAT(opsOf(stage.body()),
              ElementsAre("arith.constant", "tensor.empty", "linalg.fill",
                          "linalg.generic", "tensor.empty", "linalg.generic",
                          "tensor.empty", "linalg.generic", "fastk.yield"));
  mlir::Operation *yield = stage.body().getTerminator();
  EXPECT_EQ(yield->getOperand(0).getType(), pattern.root().getType());
  EXPECT_EQ(yield->getOperand(0).getParentBlock(), &stage.body());
}

TEST(StageBlockTest, WhatIsBeforeABufferIsNoPartOfIt) {
  StagePattern pattern(kText);
  mlir::Value product = pattern.value(kProduct);
  StageBlock stage(pattern.value(kRelu),
                   [&](mlir::Value value) { return value == product; });
  EXPECT_THAT(stage.operands(), ElementsAre(product));
  // The constant is used in a body, from outside of it.
  EXPECT_THAT(opsOf(stage.body()),
              ElementsAre("arith.constant", "tensor.empty", "linalg.generic",
                          "fastk.yield"));
  // Nothing of it is an op of the pattern.
  stage.body().walk([&](mlir::Operation *op) {
    for (mlir::Value operand : op->getOperands())
      EXPECT_FALSE(operand.getParentBlock() == &pattern.block());
  });
}

TEST(StageBlockTest, AResultsPlaceIsNoOperand) {
  // The sum is written to where the product lies, and does not read it.
  StagePattern pattern(kText);
  mlir::Value a = pattern.block().getArgument(0), relu = pattern.value(kRelu);
  StageBlock stage(pattern.root(), [&](mlir::Value value) {
    return value == a || value == relu;
  });
  EXPECT_THAT(stage.operands(), ElementsAre(relu, a));
  EXPECT_THAT(opsOf(stage.body()),
              ElementsAre("tensor.empty", "linalg.generic", "fastk.yield"));
}

TEST(StageBlockTest, WhatASumStartsAtIsRead) {
  StagePattern pattern(kText);
  mlir::Value start = pattern.value(2);
  StageBlock stage(pattern.value(kProduct), [&](mlir::Value value) {
    return mlir::isa<mlir::BlockArgument>(value) || value == start;
  });
  ASSERT_EQ(stage.operands().size(), 3u);
  EXPECT_EQ(stage.operands()[2], start);
  EXPECT_THAT(opsOf(stage.body()),
              ElementsAre("linalg.generic", "fastk.yield"));
}

TEST(StageBlockTest, ABufferAloneIsAStage) {
  StagePattern pattern(kText);
  mlir::Value root = pattern.root();
  StageBlock stage(root, [&](mlir::Value value) { return value == root; });
  EXPECT_THAT(stage.operands(), ElementsAre(root));
  EXPECT_THAT(opsOf(stage.body()), ElementsAre("fastk.yield"));
  EXPECT_EQ(stage.body().getTerminator()->getOperand(0),
            stage.body().getArgument(0));
}

TEST(StageBlockTest, ItIsAWorkloadForFamilies) {
  StagePattern pattern(kText);
  auto isOperand = [](mlir::Value value) {
    return mlir::isa<mlir::BlockArgument>(value);
  };
  std::string why;
  StageBlock relu(pattern.value(kRelu), isOperand);
  EXPECT_TRUE(families::findCore("contraction", relu.body(), "host", why))
      << why;
  // The pattern is what it was.
  EXPECT_EQ(pattern.block().getOperations().size(), 7u);
  mlir::Value product = pattern.value(kProduct);
  StageBlock behind(pattern.value(kRelu),
                    [&](mlir::Value value) { return value == product; });
  EXPECT_FALSE(families::findCore("contraction", behind.body(), "host", why));
}
