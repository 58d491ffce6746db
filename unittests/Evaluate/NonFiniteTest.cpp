//===- NonFiniteTest.cpp - What jobs ask of NaN and infinities ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Propose/RequestedWorkload.h"
#include "fastk/Evaluate/JobBuilder.h"

using namespace fastk;
using namespace fastk::test;
using worker::NonFinite;

namespace {

NonFinite ruleOf(mlir::ModuleOp module) {
  TargetDescription host;
  host.target = "host";
  RequestedWorkload request(module, host);
  return llvm::cantFail(buildJob(request.workload, request.features)).nonFinite;
}
NonFinite ruleOf(llvm::StringRef golden) {
  return ruleOf(
      *wrapFileIntoWorkload((FASTK_GOLDEN_DIR "/" + golden + ".mlir").str()));
}

/// Sums of rows of a tensor into which %x was inserted.
std::string insertedInto(llvm::StringRef destination) {
  return (R"mlir(
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x7xf32>
    %filled = linalg.fill ins(%zero : f32) outs(%e : tensor<8x7xf32>) -> tensor<8x7xf32>
    %w = tensor.insert_slice %x into )mlir" +
          destination +
          R"mlir([0, 0] [8, 4] [1, 2] : tensor<8x4xf32> into tensor<8x7xf32>
    %er = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
                         iterator_types = ["parallel", "reduction"]}
        ins(%w : tensor<8x7xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = arith.addf %o, %a : f32
      linalg.yield %p : f32
    } -> tensor<8xf32>
    return %s : tensor<8xf32>)mlir")
      .str();
}

TEST(NonFiniteTest, WhatSumsNothingIsExact) {
  EXPECT_EQ(ruleOf("elementwise_small"), NonFinite::Exact);
  EXPECT_EQ(ruleOf("maxpool_small"), NonFinite::Exact);
}

TEST(NonFiniteTest, SumsOweNonFiniteForNonFinite) {
  EXPECT_EQ(ruleOf("matmul_f32_small"), NonFinite::Any);
}

TEST(NonFiniteTest, TermsThatAreZeroByStructureMayBeSkipped) {
  EXPECT_EQ(ruleOf("conv3x3_small"), NonFinite::Free);
  // Between the elements of what is inserted.
  EXPECT_EQ(ruleOf("transposed_conv_small"), NonFinite::Free);
}

TEST(NonFiniteTest, WhatIsInsertedIntoOperandsIsNoZero) {
  auto parse = [](llvm::StringRef destination) {
    return wrapIntoWorkload("func.func @f(%x: tensor<8x4xf32>, %y: "
                            "tensor<8x7xf32>) -> tensor<8xf32> {" +
                            insertedInto(destination) + "}");
  };
  EXPECT_EQ(ruleOf(*parse("%filled")), NonFinite::Free);
  EXPECT_EQ(ruleOf(*parse("%y")), NonFinite::Any);
}

} // namespace
