//===- EmptyTensorTest.cpp - Dimensions of size zero ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of nothing is what it starts from; a result of nothing is not written.
//
//===----------------------------------------------------------------------===//

#include "CodegenFixture.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;
using namespace fastk::test;

namespace {
struct EmptyTensorTest : CodegenFixture {
  /// bias[n] + a[m, k] * b[k, n], then a relu.
  static std::string linear(int m, int n, int k) {
    const char *text = R"(
      #n = affine_map<(i, j) -> (j)>
      #id = affine_map<(i, j) -> (i, j)>
      func.func @f(%a: tensor<{0}x{2}xf32>, %b: tensor<{2}x{1}xf32>, %bias: tensor<{1}xf32>) -> tensor<{0}x{1}xf32> {{
        %z = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<{0}x{1}xf32>
        %i = linalg.generic {{indexing_maps = [#n, #id], iterator_types = ["parallel", "parallel"]}
          ins(%bias : tensor<{1}xf32>) outs(%e : tensor<{0}x{1}xf32>) {{
        ^bb0(%x: f32, %o: f32):
          linalg.yield %x : f32
        } -> tensor<{0}x{1}xf32>
        %p = linalg.matmul ins(%a, %b : tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>)
          outs(%i : tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32>
        %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%p : tensor<{0}x{1}xf32>) outs(%e : tensor<{0}x{1}xf32>) {{
        ^bb0(%x: f32, %o: f32):
          %0 = arith.maximumf %x, %z : f32
          linalg.yield %0 : f32
        } -> tensor<{0}x{1}xf32>
        return %r : tensor<{0}x{1}xf32>
      })";
    return llvm::formatv(text, m, n, k).str();
  }
};
} // namespace

/// Also of sizes that are packed, were the depth not empty.
TEST_F(EmptyTensorTest, AnEmptyDepthLeavesTheBias) {
  for (auto [m, n] : {std::pair(3, 5), std::pair(64, 128), std::pair(1, 200),
                      std::pair(200, 1)})
    for (KernelRole role : {KernelRole::Program, KernelRole::Oracle}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n);
      auto kernel = compile(linear(m, n, 0), role);
      ASSERT_TRUE(kernel);
      std::vector<float> bias(n), nothing(1);
      for (int j = 0; j < n; ++j)
        bias[j] = j - 2;
      auto got = kernel->runF32({nothing, nothing, bias}, m * n,
                                role == KernelRole::Oracle);
      for (int i = 0; i < m * n; ++i)
        ASSERT_EQ(got[i], std::max(0, i % n - 2)) << "at " << i;
    }
}

TEST_F(EmptyTensorTest, AnEmptyResultIsNotWritten) {
  for (auto [m, n, k] :
       {std::array{0, 64, 32}, std::array{64, 0, 32}, std::array{0, 0, 0}}) {
    auto kernel = compile(linear(m, n, k));
    ASSERT_TRUE(kernel);
    std::vector<float> a(m * k + 1), b(k * n + 1), bias(n + 1), out(1, 7.0f);
    kernel->run({a.data(), b.data(), bias.data()}, {out.data()});
    EXPECT_EQ(out[0], 7.0f);
  }
}

TEST_F(EmptyTensorTest, AnEmptyRowHasItsSoftmaxAndSum) {
  auto kernel = compile(R"(
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<9x0xf32>) -> (tensor<9xf32>, tensor<9x0xf32>) {
      %z = arith.constant 0.5 : f32
      %e = tensor.empty() : tensor<9x0xf32>
      %er = tensor.empty() : tensor<9xf32>
      %i = linalg.fill ins(%z : f32) outs(%er : tensor<9xf32>) -> tensor<9xf32>
      %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<9x0xf32>) outs(%i : tensor<9xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.addf %a, %o : f32
        linalg.yield %0 : f32
      } -> tensor<9xf32>
      %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %sum : tensor<9x0xf32>, tensor<9xf32>) outs(%e : tensor<9x0xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %0 = arith.divf %a, %b : f32
        linalg.yield %0 : f32
      } -> tensor<9x0xf32>
      return %sum, %r : tensor<9xf32>, tensor<9x0xf32>
    })");
  ASSERT_TRUE(kernel);
  std::vector<float> nothing(1), sums(9, NAN), none(1, 7.0f);
  kernel->run({nothing.data()}, {sums.data(), none.data()});
  EXPECT_EQ(sums, std::vector<float>(9, 0.5f));
  EXPECT_EQ(none[0], 7.0f);
}

TEST_F(EmptyTensorTest, ConvolutionWithoutChannels) {
  auto kernel = compile(R"(
    func.func @f(%x: tensor<1x0x8x8xf32>, %w: tensor<16x0x3x3xf32>) -> tensor<1x16x6x6xf32> {
      %z = arith.constant 2.0 : f32
      %e = tensor.empty() : tensor<1x16x6x6xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
      %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x0x8x8xf32>, tensor<16x0x3x3xf32>)
        outs(%i : tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
      return %r : tensor<1x16x6x6xf32>
    })");
  ASSERT_TRUE(kernel);
  std::vector<float> nothing(1), out(576, NAN);
  kernel->run({nothing.data(), nothing.data()}, {out.data()});
  EXPECT_EQ(out, std::vector<float>(576, 2.0f));
}
