//===- HostCodegenTest.cpp - Kernels compiled, run and compared -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every test compiles a pattern to a shared library, loads it and compares what
// it computes with a straightforward double-precision loop.
//
//===----------------------------------------------------------------------===//

#include "CodegenFixture.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <cmath>
#include <random>

using namespace fastk;
using namespace fastk::test;

namespace {
struct HostCodegenTest : CodegenFixture {};

/// Values in [-1, 1), the same for the same seed.
std::vector<float> draw(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

double maxError(const std::vector<float> &got,
                const std::vector<double> &want) {
  EXPECT_EQ(got.size(), want.size());
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    double error = std::fabs(got[i] - want[i]);
    // A NaN fails every comparison, so it must not get through std::max.
    if (!(error <= worst))
      worst = error;
  }
  return worst;
}

std::string matmulText(int m, int n, int k, bool transposed) {
  auto text = [](auto... parts) {
    std::string result;
    llvm::raw_string_ostream stream(result);
    (stream << ... << parts);
    return result;
  };
  std::string b = transposed ? text("tensor<", n, "x", k, "xf32>")
                             : text("tensor<", k, "x", n, "xf32>");
  return text(
      "func.func @f(%a: tensor<", m, "x", k, "xf32>, %b: ", b, ") -> tensor<",
      m, "x", n, "xf32> {\n",
      "  %z = arith.constant 0.0 : f32\n  %e = tensor.empty() : tensor<", m,
      "x", n, "xf32>\n", "  %i = linalg.fill ins(%z : f32) outs(%e : tensor<",
      m, "x", n, "xf32>) -> tensor<", m, "x", n, "xf32>\n",
      "  %r = linalg.generic {indexing_maps = [affine_map<(i, j, l) -> "
      "(i, l)>, affine_map<(i, j, l) -> ",
      transposed ? "(j, l)" : "(l, j)",
      ">, affine_map<(i, j, l) -> (i, j)>], iterator_types = "
      "[\"parallel\", \"parallel\", \"reduction\"]} ins(%a, %b : "
      "tensor<",
      m, "x", k, "xf32>, ", b, ") outs(%i : tensor<", m, "x", n,
      "xf32>) {\n  ^bb0(%x: f32, %y: f32, %c: f32):\n"
      "    %p = arith.mulf %x, %y : f32\n    %s = arith.addf %c, %p : "
      "f32\n    linalg.yield %s : f32\n  } -> tensor<",
      m, "x", n, "xf32>\n  return %r : tensor<", m, "x", n, "xf32>\n}\n");
}
} // namespace

/// Sizes that divide nothing, and those of one row, column or step.
TEST_F(HostCodegenTest, MatmulOfAnySize) {
  struct Size {
    int m, n, k;
  };
  for (Size size : {Size{1, 1, 1}, Size{13, 17, 19}, Size{1, 37, 41},
                    Size{64, 1, 33}, Size{31, 67, 523}, Size{128, 96, 64},
                    Size{15, 33, 1}, Size{197, 211, 257}})
    for (bool transposed : {false, true}) {
      auto [m, n, k] = size;
      SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k
                                      << (transposed ? " transposed" : ""));
      auto a = draw(m * k, 1), b = draw(k * n, 2);
      std::vector<double> want(m * n, 0.0);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
          for (int l = 0; l < k; ++l)
            want[i * n + j] += double(a[i * k + l]) *
                               (transposed ? b[j * k + l] : b[l * n + j]);
      for (KernelRole role : {KernelRole::Program, KernelRole::Oracle}) {
        // One size that has edges on every side is enough for the oracle.
        if (role == KernelRole::Oracle && m != 13)
          continue;
        auto kernel = compile(matmulText(m, n, k, transposed), role);
        ASSERT_TRUE(kernel);
        auto got = kernel->runF32({a, b}, m * n, role == KernelRole::Oracle);
        EXPECT_LE(maxError(got, want), 1e-5 * std::sqrt(double(k)));
      }
    }
}

TEST_F(HostCodegenTest, F16MatmulAccumulatesInF32) {
  constexpr int m = 29, n = 43, k = 67;
  auto kernel = compile(R"(
    func.func @f(%a: tensor<29x67xf16>, %b: tensor<67x43xf16>) -> tensor<29x43xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<29x43xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<29x43xf32>) -> tensor<29x43xf32>
      %r = linalg.matmul ins(%a, %b : tensor<29x67xf16>, tensor<67x43xf16>)
        outs(%i : tensor<29x43xf32>) -> tensor<29x43xf32>
      return %r : tensor<29x43xf32>
    })");
  ASSERT_TRUE(kernel);
  auto af = draw(m * k, 3), bf = draw(k * n, 4);
  std::vector<_Float16> a(af.begin(), af.end()), b(bf.begin(), bf.end());
  std::vector<double> want(m * n, 0.0);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        want[i * n + j] += double(a[i * k + l]) * double(b[l * n + j]);
  std::vector<float> got(m * n, NAN);
  kernel->run({a.data(), b.data()}, {got.data()});
  EXPECT_LE(maxError(got, want), 1e-5);
}

TEST_F(HostCodegenTest, LinearWithBiasAndGelu) {
  constexpr int m = 21, n = 50, k = 35;
  auto kernel = compile(R"(
    #x = affine_map<(i, j, l) -> (i, l)>
    #w = affine_map<(i, j, l) -> (j, l)>
    #y = affine_map<(i, j, l) -> (i, j)>
    #id = affine_map<(i, j) -> (i, j)>
    #b = affine_map<(i, j) -> (j)>
    func.func @f(%x: tensor<21x35xf32>, %w: tensor<50x35xf32>, %b: tensor<50xf32>) -> tensor<21x50xf32> {
      %z = arith.constant 0.0 : f32
      %half = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %r = arith.constant 0.70710678 : f32
      %e = tensor.empty() : tensor<21x50xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<21x50xf32>) -> tensor<21x50xf32>
      %m = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<21x35xf32>, tensor<50x35xf32>) outs(%i : tensor<21x50xf32>) {
      ^bb0(%p: f32, %q: f32, %c: f32):
        %0 = arith.mulf %p, %q : f32
        %1 = arith.addf %0, %c : f32
        linalg.yield %1 : f32
      } -> tensor<21x50xf32>
      %g = linalg.generic {indexing_maps = [#id, #b, #id], iterator_types = ["parallel", "parallel"]}
        ins(%m, %b : tensor<21x50xf32>, tensor<50xf32>) outs(%e : tensor<21x50xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %0 = arith.addf %p, %q : f32
        %1 = arith.mulf %0, %r : f32
        %2 = math.erf %1 : f32
        %3 = arith.addf %2, %one : f32
        %4 = arith.mulf %0, %half : f32
        %5 = arith.mulf %4, %3 : f32
        linalg.yield %5 : f32
      } -> tensor<21x50xf32>
      return %g : tensor<21x50xf32>
    })");
  ASSERT_TRUE(kernel);
  auto x = draw(m * k, 5), w = draw(n * k, 6), b = draw(n, 7);
  std::vector<double> want(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = b[j];
      for (int l = 0; l < k; ++l)
        sum += double(x[i * k + l]) * w[j * k + l];
      want[i * n + j] = 0.5 * sum * (1 + std::erf(sum * M_SQRT1_2));
    }
  EXPECT_LE(maxError(kernel->runF32({x, w, b}, m * n), want), 5e-6);
}

/// Stride 2, padding 1, a window of 3x5, widths that divide nothing.
TEST_F(HostCodegenTest, ConvolutionWithStrideAndPadding) {
  constexpr int N = 2, C = 3, H = 11, W = 13, F = 9, KH = 3, KW = 5;
  constexpr int OH = 6, OW = 6; // (11 + 2 - 3) / 2 + 1, (13 + 2 - 5) / 2 + 1
  auto kernel = compile(R"(
    func.func @f(%x: tensor<2x3x11x13xf32>, %w: tensor<9x3x3x5xf32>) -> tensor<2x9x6x6xf32> {
      %z = arith.constant 0.0 : f32
      %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
      ^bb0(%a: index, %b: index, %c: index, %d: index):
        tensor.yield %z : f32
      } : tensor<2x3x11x13xf32> to tensor<2x3x13x15xf32>
      %e = tensor.empty() : tensor<2x9x6x6xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x9x6x6xf32>) -> tensor<2x9x6x6xf32>
      %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%p, %w : tensor<2x3x13x15xf32>, tensor<9x3x3x5xf32>) outs(%i : tensor<2x9x6x6xf32>) -> tensor<2x9x6x6xf32>
      return %r : tensor<2x9x6x6xf32>
    })");
  ASSERT_TRUE(kernel);
  auto x = draw(N * C * H * W, 8), w = draw(F * C * KH * KW, 9);
  std::vector<double> want;
  for (int n = 0; n < N; ++n)
    for (int f = 0; f < F; ++f)
      for (int i = 0; i < OH; ++i)
        for (int j = 0; j < OW; ++j) {
          double sum = 0;
          for (int c = 0; c < C; ++c)
            for (int p = 0; p < KH; ++p)
              for (int q = 0; q < KW; ++q) {
                int h = 2 * i + p - 1, v = 2 * j + q - 1;
                if (h >= 0 && h < H && v >= 0 && v < W)
                  sum += double(x[((n * C + c) * H + h) * W + v]) *
                         w[((f * C + c) * KH + p) * KW + q];
              }
          want.push_back(sum);
        }
  EXPECT_LE(maxError(kernel->runF32({x, w}, want.size()), want), 1e-5);
}

/// Convolutions whose rows of pixels are shorter than a vector, end within one,
/// and are several; in steps of 1 to 4, with and without gaps in the window; by
/// the vectors of this machine and, for some, by shorter ones.
TEST_F(HostCodegenTest, ConvolutionsOfManyWidths) {
  constexpr int N = 2, OH = 5, K = 3;
  unsigned widest = target.vectorBytes;
  for (auto [type, bytes] :
       {std::pair("f32", widest), {"f16", widest}, {"f32", 32u}, {"f32", 16u}})
    for (auto [stride, dilation] :
         {std::pair(1, 1), {2, 1}, {3, 1}, {4, 1}, {1, 2}})
      for (int OW : {5, 7, 8, 15, 21, 32}) {
        // These begin, end and go over the end of a row at many places.
        if (bytes != widest && OW % 7 != 0)
          continue;
        target.vectorBytes = std::min(bytes, widest);
        // Filters that make whole panels are read where they are.
        int F = OW % 2 ? 7 : 8, C = OW == 8 ? 64 : 3;
        int H = (OH - 1) * stride + (K - 1) * dilation + 1;
        int W = (OW - 1) * stride + (K - 1) * dilation + 1;
        std::string image = llvm::formatv("{0}x{1}x{2}x{3}", N, C, H, W);
        std::string result = llvm::formatv("{0}x{1}x{2}x{3}", N, F, OH, OW);
        auto kernel =
            compile(llvm::formatv(R"(
    func.func @f(%x: tensor<{0}x{4}>, %w: tensor<{5}x{6}x3x3x{4}>) -> tensor<{1}xf32> {{
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<{1}xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<{1}xf32>) -> tensor<{1}xf32>
      %r = linalg.conv_2d_nchw_fchw {{dilations = dense<{2}> : vector<2xi64>, strides = dense<{3}> : vector<2xi64>}
        ins(%x, %w : tensor<{0}x{4}>, tensor<{5}x{6}x3x3x{4}>) outs(%i : tensor<{1}xf32>) -> tensor<{1}xf32>
      return %r : tensor<{1}xf32>
    })",
                                  image, result, dilation, stride, type, F, C)
                        .str());
        ASSERT_TRUE(kernel);
        auto xs = draw(N * C * H * W, 8), ws = draw(F * C * K * K, 9);
        std::vector<_Float16> x(xs.begin(), xs.end()), w(ws.begin(), ws.end());
        bool isHalf = llvm::StringRef(type) == "f16";
        std::vector<double> want;
        for (int n = 0; n < N; ++n)
          for (int f = 0; f < F; ++f)
            for (int i = 0; i < OH; ++i)
              for (int j = 0; j < OW; ++j) {
                double sum = 0;
                for (int c = 0; c < C; ++c)
                  for (int p = 0; p < K; ++p)
                    for (int q = 0; q < K; ++q) {
                      int at =
                          ((n * C + c) * H + i * stride + p * dilation) * W +
                          j * stride + q * dilation;
                      int of = ((f * C + c) * K + p) * K + q;
                      sum += isHalf ? double(x[at]) * double(w[of])
                                    : double(xs[at]) * ws[of];
                    }
                want.push_back(sum);
              }
        std::vector<float> got(want.size(), NAN);
        if (isHalf)
          kernel->run({x.data(), w.data()}, {got.data()});
        else
          got = kernel->runF32({xs, ws}, want.size());
        EXPECT_LE(maxError(got, want), 1e-5)
            << type << " " << bytes << " " << stride << " " << dilation << " "
            << OW;
      }
}

/// Transposed convolutions as importers write them: zeros between the pixels
/// and around them, the window in steps of one. Some results meet no pixel.
TEST_F(HostCodegenTest, ConvolutionsWithZerosBetween) {
  constexpr int N = 2, C = 3, H = 4, W = 7, F = 6;
  for (auto [stride, window, low, high] : {std::array{2, 4, 2, 2},
                                           {2, 3, 2, 1},
                                           {2, 2, 1, 1},
                                           {2, 1, 0, 0},
                                           {3, 2, 0, 1},
                                           {3, 5, 3, 4},
                                           {2, 3, 0, 0},
                                           {4, 3, 5, 2}}) {
    int ZH = (H - 1) * stride + 1 + low + high;
    int ZW = (W - 1) * stride + 1 + low + high;
    int OH = ZH - window + 1, OW = ZW - window + 1;
    std::string zeros = llvm::formatv("{0}x{1}x{2}x{3}xf32", N, C, ZH, ZW);
    std::string result = llvm::formatv("{0}x{1}x{2}x{3}xf32", N, F, OH, OW);
    auto kernel = compile(llvm::formatv(R"(
    func.func @f(%x: tensor<2x3x4x7xf32>, %w: tensor<6x3x{0}x{0}xf32>) -> tensor<{1}> {{
      %z = arith.constant 0.0 : f32
      %o = arith.constant 0.5 : f32
      %e = tensor.empty() : tensor<{2}>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<{2}>) -> tensor<{2}>
      %s = tensor.insert_slice %x into %f[0, 0, {3}, {3}] [2, 3, 4, 7] [1, 1, {4}, {4}] : tensor<2x3x4x7xf32> into tensor<{2}>
      %r = tensor.empty() : tensor<{1}>
      %i = linalg.fill ins(%o : f32) outs(%r : tensor<{1}>) -> tensor<{1}>
      %c = linalg.conv_2d_nchw_fchw {{dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
        ins(%s, %w : tensor<{2}>, tensor<6x3x{0}x{0}xf32>) outs(%i : tensor<{1}>) -> tensor<{1}>
      return %c : tensor<{1}>
    })",
                                        window, result, zeros, low, stride)
                              .str());
    ASSERT_TRUE(kernel);
    auto x = draw(N * C * H * W, 8), w = draw(F * C * window * window, 9);
    std::vector<double> want(N * F * OH * OW, 0.5);
    for (int n = 0; n < N; ++n)
      for (int c = 0; c < C; ++c)
        for (int i = 0; i < H; ++i)
          for (int j = 0; j < W; ++j)
            for (int f = 0; f < F; ++f)
              for (int p = 0; p < window; ++p)
                for (int q = 0; q < window; ++q) {
                  int row = low + i * stride - p, column = low + j * stride - q;
                  if (row >= 0 && row < OH && column >= 0 && column < OW)
                    want[((n * F + f) * OH + row) * OW + column] +=
                        double(x[((n * C + c) * H + i) * W + j]) *
                        w[((f * C + c) * window + p) * window + q];
                }
    EXPECT_LE(maxError(kernel->runF32({x, w}, want.size()), want), 1e-5)
        << stride << " " << window << " " << low << " " << high;
  }
}

TEST_F(HostCodegenTest, MaxPooling) {
  auto kernel = compile(R"(
    func.func @f(%x: tensor<2x3x9x11xf32>) -> tensor<2x3x4x5xf32> {
      %m = arith.constant 0xFF800000 : f32
      %e = tensor.empty() : tensor<2x3x4x5xf32>
      %i = linalg.fill ins(%m : f32) outs(%e : tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
      %w = tensor.empty() : tensor<3x3xf32>
      %r = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%x, %w : tensor<2x3x9x11xf32>, tensor<3x3xf32>) outs(%i : tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
      return %r : tensor<2x3x4x5xf32>
    })");
  ASSERT_TRUE(kernel);
  auto x = draw(2 * 3 * 9 * 11, 10);
  std::vector<double> want;
  for (int n = 0; n < 6; ++n)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 5; ++j) {
        double best = -INFINITY;
        for (int p = 0; p < 3; ++p)
          for (int q = 0; q < 3; ++q)
            best =
                std::max<double>(best, x[(n * 9 + 2 * i + p) * 11 + 2 * j + q]);
        want.push_back(best);
      }
  EXPECT_EQ(maxError(kernel->runF32({x}, want.size()), want), 0);
}

static constexpr llvm::StringLiteral kSoftmax = R"(
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<37x101xf32>) -> tensor<37x101xf32> {
      %z = arith.constant 0.0 : f32
      %m = arith.constant 0xFF800000 : f32
      %e = tensor.empty() : tensor<37x101xf32>
      %er = tensor.empty() : tensor<37xf32>
      %im = linalg.fill ins(%m : f32) outs(%er : tensor<37xf32>) -> tensor<37xf32>
      %iz = linalg.fill ins(%z : f32) outs(%er : tensor<37xf32>) -> tensor<37xf32>
      %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<37x101xf32>) outs(%im : tensor<37xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.maximumf %a, %o : f32
        linalg.yield %0 : f32
      } -> tensor<37xf32>
      %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %max : tensor<37x101xf32>, tensor<37xf32>) outs(%e : tensor<37x101xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %0 = arith.subf %a, %b : f32
        %1 = math.exp %0 : f32
        linalg.yield %1 : f32
      } -> tensor<37x101xf32>
      %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
        ins(%exp : tensor<37x101xf32>) outs(%iz : tensor<37xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.addf %a, %o : f32
        linalg.yield %0 : f32
      } -> tensor<37xf32>
      %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%exp, %sum : tensor<37x101xf32>, tensor<37xf32>) outs(%e : tensor<37x101xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %0 = arith.divf %a, %b : f32
        linalg.yield %0 : f32
      } -> tensor<37x101xf32>
      return %r : tensor<37x101xf32>
    })";

TEST_F(HostCodegenTest, Softmax) {
  auto x = draw(37 * 101, 11);
  for (float &value : x)
    value *= 20;
  std::vector<double> want;
  for (int i = 0; i < 37; ++i) {
    double best = -INFINITY, sum = 0;
    for (int j = 0; j < 101; ++j)
      best = std::max<double>(best, x[i * 101 + j]);
    for (int j = 0; j < 101; ++j)
      sum += std::exp(x[i * 101 + j] - best);
    for (int j = 0; j < 101; ++j)
      want.push_back(std::exp(x[i * 101 + j] - best) / sum);
  }
  auto program = compile(kSoftmax),
       oracle = compile(kSoftmax, KernelRole::Oracle);
  ASSERT_TRUE(program && oracle);
  EXPECT_LE(maxError(program->runF32({x}, want.size()), want), 1e-6);
  std::vector<double> exact(want.size(), NAN);
  oracle->run({x.data()}, {exact.data()});
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(exact[i], want[i], 1e-15);
}

/// A row of minus infinity is NaN in the model; no approximation may hide it.
TEST_F(HostCodegenTest, SoftmaxKeepsNan) {
  std::vector<float> x(37 * 101, 1.0f);
  std::fill(x.begin(), x.begin() + 101, -INFINITY);
  x[3 * 101 + 5] = NAN;
  auto kernel = compile(kSoftmax);
  ASSERT_TRUE(kernel);
  auto got = kernel->runF32({x}, x.size());
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_TRUE(std::isnan(got[3 * 101]));
  EXPECT_NEAR(got[101], 1.0 / 101, 1e-7);
}

TEST_F(HostCodegenTest, ReductionsOverEitherDimension) {
  for (bool columns : {false, true}) {
    std::string text = R"(
      func.func @f(%x: tensor<53x71xf32>) -> tensor<SIZExf32> {
        %z = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<SIZExf32>
        %i = linalg.fill ins(%z : f32) outs(%e : tensor<SIZExf32>) -> tensor<SIZExf32>
        %r = linalg.reduce ins(%x : tensor<53x71xf32>) outs(%i : tensor<SIZExf32>) dimensions = [DIM]
          (%a: f32, %o: f32) { %0 = arith.addf %a, %o : f32 linalg.yield %0 : f32 }
        return %r : tensor<SIZExf32>
      })";
    auto replace = [&](llvm::StringRef from, llvm::StringRef to) {
      for (size_t at; (at = text.find(from.str())) != std::string::npos;)
        text.replace(at, from.size(), to.str());
    };
    replace("SIZE", columns ? "71" : "53");
    replace("DIM", columns ? "0" : "1");
    auto kernel = compile(text);
    ASSERT_TRUE(kernel);
    auto x = draw(53 * 71, 12);
    std::vector<double> want(columns ? 71 : 53, 0.0);
    for (int i = 0; i < 53; ++i)
      for (int j = 0; j < 71; ++j)
        want[columns ? j : i] += x[i * 71 + j];
    EXPECT_LE(maxError(kernel->runF32({x}, want.size()), want), 1e-5);
  }
}

TEST_F(HostCodegenTest, RankZeroAndSeveralResults) {
  auto kernel = compile(R"(
    func.func @f(%x: tensor<7x1x5xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<7x1x5xf32>, tensor<7x1x5xf32>) {
      %z = arith.constant 0.0 : f32
      %e0 = tensor.empty() : tensor<f32>
      %i = linalg.fill ins(%z : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
      %sum = linalg.reduce ins(%x : tensor<7x1x5xf32>) outs(%i : tensor<f32>) dimensions = [0, 1, 2]
        (%a: f32, %o: f32) { %0 = arith.addf %a, %o : f32 linalg.yield %0 : f32 }
      %e = tensor.empty() : tensor<7x1x5xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> ()>, affine_map<(a, b, c) -> (a, b, c)>],
          iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%x, %s : tensor<7x1x5xf32>, tensor<f32>) outs(%e : tensor<7x1x5xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %0 = arith.mulf %a, %b : f32
        linalg.yield %0 : f32
      } -> tensor<7x1x5xf32>
      return %sum, %y, %y : tensor<f32>, tensor<7x1x5xf32>, tensor<7x1x5xf32>
    })");
  ASSERT_TRUE(kernel);
  auto x = draw(35, 13);
  float scale = 3, sum = NAN;
  std::vector<float> y(35, NAN), again(35, NAN);
  kernel->run({x.data(), &scale}, {&sum, y.data(), again.data()});
  double want = 0;
  for (int i = 0; i < 35; ++i) {
    want += x[i];
    EXPECT_EQ(y[i], x[i] * 3);
    EXPECT_EQ(again[i], x[i] * 3);
  }
  EXPECT_NEAR(sum, want, 1e-5);
}

/// Integers and booleans; a result that is an operand.
TEST_F(HostCodegenTest, IntegersBooleansAndPassedThrough) {
  auto kernel = compile(R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<19xi64>, %y: tensor<19xi64>) -> (tensor<19xi1>, tensor<19xi64>, tensor<19xi64>) {
      %eb = tensor.empty() : tensor<19xi1>
      %e = tensor.empty() : tensor<19xi64>
      %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%x, %y : tensor<19xi64>, tensor<19xi64>) outs(%eb : tensor<19xi1>) {
      ^bb0(%a: i64, %b: i64, %o: i1):
        %0 = arith.cmpi slt, %a, %b : i64
        linalg.yield %0 : i1
      } -> tensor<19xi1>
      %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
        ins(%c, %x, %y : tensor<19xi1>, tensor<19xi64>, tensor<19xi64>) outs(%e : tensor<19xi64>) {
      ^bb0(%k: i1, %a: i64, %b: i64, %o: i64):
        %0 = arith.select %k, %a, %b : i64
        linalg.yield %0 : i64
      } -> tensor<19xi64>
      return %c, %s, %x : tensor<19xi1>, tensor<19xi64>, tensor<19xi64>
    })");
  ASSERT_TRUE(kernel);
  std::vector<int64_t> x(19), y(19), least(19, -1), same(19, -1);
  std::vector<uint8_t> less(19, 7);
  for (int i = 0; i < 19; ++i) {
    x[i] = i * 7 % 11;
    y[i] = i * 5 % 13;
  }
  kernel->run({x.data(), y.data()}, {less.data(), least.data(), same.data()});
  for (int i = 0; i < 19; ++i) {
    EXPECT_EQ(less[i], x[i] < y[i]);
    EXPECT_EQ(least[i], std::min(x[i], y[i]));
    EXPECT_EQ(same[i], x[i]);
  }
}

TEST_F(HostCodegenTest, EqualInputGivesEqualBytes) {
  std::string first = compileToObject(kSoftmax.str());
  std::string second = compileToObject(kSoftmax.str());
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, second);
}
