//===- DeviceLoopsTest.cpp - tm_tensor's loops for a GPU, on the host -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a GPU runs a thread a point, the host can run as well: so the sorts and
// scatters for GPUs are tested where there is none.
//
//===----------------------------------------------------------------------===//

#include "CodegenFixture.h"
#include "Cuda/TMTensor/LowerTMTensorForDevice.h"
#include "Host/HostPipeline.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

namespace {
struct DeviceLoopsTest : CodegenFixture {
  /// The function @f of `text`, with its tm_tensor ops lowered as for a GPU.
  std::optional<Kernel> compileLoops(StringRef text) {
    loadHostDialects(&context);
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module || failed(bufferizeFunctions(*module)))
      return std::nullopt;
    auto func = *module->getOps<func::FuncOp>().begin();
    func.setName("kernel");
    if (failed(lowerTMTensorForDevice(func)))
      return std::nullopt;
    bool any = false;
    func.walk([&](Operation *op) {
      any |= isa<tm_tensor::TMTensorDialect>(op->getDialect());
    });
    EXPECT_FALSE(any);
    // Asserts of a kernel end it; here there is nobody to tell.
    func.walk([](cf::AssertOp op) { op.erase(); });
    return compileBuffers(*module);
  }

  /// Numbers of which many are equal.
  static std::vector<float> numbers(size_t count, unsigned range) {
    std::vector<float> values(count);
    uint32_t state = 12345;
    for (float &value : values) {
      state = state * 1664525 + 1013904223;
      value = float((state >> 16) % range) - float(range / 2);
    }
    return values;
  }
};
} // namespace

/// As torch orders them: NaN is the largest.
static bool isLess(float a, float b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

TEST_F(DeviceLoopsTest, SortsAreStableAndOfAnyLength) {
  for (int length : {1, 5, 64, 65, 129, 1000}) {
    for (bool isDescending : {false, true}) {
      SCOPED_TRACE(testing::Message() << length << " " << isDescending);
      constexpr int rows = 3;
      auto kernel =
          compileLoops(llvm::formatv(R"(
        func.func @f(%x: tensor<{0}x{1}xf32>, %i: tensor<{0}x{1}xi64>) -> (tensor<{0}x{1}xf32>, tensor<{0}x{1}xi64>) {{
          %s:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<{0}x{1}xf32>, tensor<{0}x{1}xi64>) {{
          ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
            %t = arith.cmpf {2}, %a, %b : f32
            tm_tensor.yield %t : i1
          } -> tensor<{0}x{1}xf32>, tensor<{0}x{1}xi64>
          return %s#0, %s#1 : tensor<{0}x{1}xf32>, tensor<{0}x{1}xi64>
        })",
                                     rows, length, isDescending ? "oge" : "ole")
                           .str());
      ASSERT_TRUE(kernel);
      std::vector<float> x = numbers(rows * length, 20), got(x.size());
      for (size_t i = 3; i < x.size(); i += 17)
        x[i] = NAN;
      std::vector<int64_t> index(x.size()), order(x.size());
      for (size_t i = 0; i < x.size(); ++i)
        index[i] = i % length;
      kernel->run({x.data(), index.data()}, {got.data(), order.data()});
      for (int row = 0; row < rows; ++row) {
        std::vector<int64_t> want(length);
        std::iota(want.begin(), want.end(), 0);
        const float *values = &x[row * length];
        llvm::sort(want, [&](int64_t a, int64_t b) {
          float first = values[isDescending ? b : a],
                second = values[isDescending ? a : b];
          if (isLess(first, second) || isLess(second, first))
            return isLess(first, second);
          return a < b;
        });
        for (int i = 0; i < length; ++i) {
          ASSERT_EQ(order[row * length + i], want[i]) << row << ", " << i;
          float expected = values[want[i]], found = got[row * length + i];
          ASSERT_TRUE(found == expected ||
                      (std::isnan(found) && std::isnan(expected)));
        }
      }
    }
  }
}

TEST_F(DeviceLoopsTest, SortsAlongTheFirstDimension) {
  auto kernel = compileLoops(R"(
    func.func @f(%x: tensor<200x3xf32>) -> tensor<200x3xf32> {
      %s = tm_tensor.sort dimension(0) outs(%x : tensor<200x3xf32>) {
      ^bb0(%a: f32, %b: f32):
        %t = arith.cmpf ole, %a, %b : f32
        tm_tensor.yield %t : i1
      } -> tensor<200x3xf32>
      return %s : tensor<200x3xf32>
    })");
  ASSERT_TRUE(kernel);
  std::vector<float> x = numbers(600, 1000);
  std::vector<float> got = kernel->runF32({x}, 600);
  for (int column = 0; column < 3; ++column) {
    std::vector<float> want;
    for (int i = 0; i < 200; ++i)
      want.push_back(x[i * 3 + column]);
    std::sort(want.begin(), want.end());
    for (int i = 0; i < 200; ++i)
      ASSERT_EQ(got[i * 3 + column], want[i]);
  }
}

/// A thread a row, and for long rows a sort.
TEST_F(DeviceLoopsTest, TopkTakesTheSmallerIndexOfEquals) {
  for (int length : {10, 300}) {
    SCOPED_TRACE(length);
    auto kernel = compileLoops(llvm::formatv(R"(
      func.func @f(%x: tensor<2x{0}xf32>) -> (tensor<2x5xf32>, tensor<2x5xi64>) {{
        %low = arith.constant 0xFF800000 : f32
        %none = arith.constant 0 : i64
        %e = tensor.empty() : tensor<2x5xf32>
        %ei = tensor.empty() : tensor<2x5xi64>
        %v = linalg.fill ins(%low : f32) outs(%e : tensor<2x5xf32>) -> tensor<2x5xf32>
        %i = linalg.fill ins(%none : i64) outs(%ei : tensor<2x5xi64>) -> tensor<2x5xi64>
        %k:2 = tm_tensor.topk dimension(1) ins(%x : tensor<2x{0}xf32>) outs(%v, %i : tensor<2x5xf32>, tensor<2x5xi64>) {{
        ^bb0(%a: f32, %b: f32):
          %t = arith.cmpf ogt, %a, %b : f32
          tm_tensor.yield %t : i1
        } -> tensor<2x5xf32>, tensor<2x5xi64>
        return %k#0, %k#1 : tensor<2x5xf32>, tensor<2x5xi64>
      })",
                                             length)
                                   .str());
    ASSERT_TRUE(kernel);
    std::vector<float> x = numbers(2 * length, 8), best(10);
    std::vector<int64_t> places(10);
    kernel->run({x.data()}, {best.data(), places.data()});
    for (int row = 0; row < 2; ++row) {
      const float *values = &x[row * length];
      std::vector<int64_t> want(length);
      std::iota(want.begin(), want.end(), 0);
      llvm::sort(want, [&](int64_t a, int64_t b) {
        return std::pair(-values[a], a) < std::pair(-values[b], b);
      });
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(places[row * 5 + i], want[i]) << row << ", " << i;
        EXPECT_EQ(best[row * 5 + i], values[want[i]]) << row << ", " << i;
      }
    }
  }
}

/// Of updates to one place each is applied, the last one last: whether a thread
/// goes through all of them, or they are sorted.
TEST_F(DeviceLoopsTest, ScattersApplyUpdatesInOrder) {
  for (int count : {7, 64, 65, 700})
    for (bool adds : {false, true}) {
      SCOPED_TRACE(testing::Message() << count << " " << adds);
      auto kernel = compileLoops(llvm::formatv(R"(
        func.func @f(%u: tensor<{0}x2xf32>, %p: tensor<{0}x2xi64>, %t: tensor<4x5x2xf32>) -> tensor<4x5x2xf32> {{
          %r = tm_tensor.scatter {{dimension_map = array<i64: 0, 1>} unique_indices(false)
            ins(%u, %p : tensor<{0}x2xf32>, tensor<{0}x2xi64>) outs(%t : tensor<4x5x2xf32>) {{
          ^bb0(%a: f32, %b: f32):
            %s = arith.addf %a, %b : f32
            tm_tensor.yield {1} : f32
          } -> tensor<4x5x2xf32>
          return %r : tensor<4x5x2xf32>
        })",
                                               count, adds ? "%s" : "%a")
                                     .str());
      ASSERT_TRUE(kernel);
      std::vector<float> updates = numbers(2 * count + 1, 100),
                         target = numbers(40, 10), got(40);
      std::vector<int64_t> places(2 * count + 1);
      std::vector<float> want = target;
      for (int i = 0; i < count; ++i) {
        // Some count from the end.
        places[2 * i] = i * 7 % 4 - (i % 3 ? 0 : 4);
        places[2 * i + 1] = i * i % 5;
        for (int j = 0; j < 2; ++j) {
          float &place = want[(i * 7 % 4 * 5 + i * i % 5) * 2 + j];
          place = updates[2 * i + j] + (adds ? place : 0);
        }
      }
      kernel->run({updates.data(), places.data(), target.data()}, {got.data()});
      EXPECT_EQ(got, want);
    }
}

/// Slices that lie across each other are applied by one thread.
TEST_F(DeviceLoopsTest, ScattersOfOverlappingSlices) {
  auto kernel = compileLoops(R"(
    func.func @f(%u: tensor<3x2xf32>, %p: tensor<3x1xi64>, %t: tensor<5xf32>) -> tensor<5xf32> {
      %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false)
        ins(%u, %p : tensor<3x2xf32>, tensor<3x1xi64>) outs(%t : tensor<5xf32>) {
      ^bb0(%a: f32, %b: f32):
        tm_tensor.yield %a : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    })");
  ASSERT_TRUE(kernel);
  std::vector<float> updates = {1, 2, 3, 4, 5, 6}, target(5, 0), got(5);
  std::vector<int64_t> places = {1, 2, 0};
  kernel->run({updates.data(), places.data(), target.data()}, {got.data()});
  EXPECT_EQ(got, (std::vector<float>{5, 6, 3, 4, 0}));
}

/// What no block computes: a thread a row.
TEST_F(DeviceLoopsTest, ScansOfColumnsAndExclusiveOnes) {
  auto kernel = compileLoops(R"(
    func.func @f(%x: tensor<4x3xf32>, %start: tensor<4xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
      %e = tensor.empty() : tensor<4x3xf32>
      %a = tensor.empty() : tensor<3xf32>
      %down:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<4x3xf32>) outs(%e, %a : tensor<4x3xf32>, tensor<3xf32>) {
      ^bb0(%s: f32, %in: f32):
        %t = arith.addf %s, %in : f32
        tm_tensor.yield %t : f32
      } -> tensor<4x3xf32>, tensor<3xf32>
      %exclusive:2 = tm_tensor.scan dimension(1) inclusive(false) ins(%x : tensor<4x3xf32>) outs(%e, %start : tensor<4x3xf32>, tensor<4xf32>) {
      ^bb0(%s: f32, %in: f32):
        %t = arith.addf %s, %in : f32
        tm_tensor.yield %t : f32
      } -> tensor<4x3xf32>, tensor<4xf32>
      return %down#0, %exclusive#0 : tensor<4x3xf32>, tensor<4x3xf32>
    })");
  ASSERT_TRUE(kernel);
  std::vector<float> x(12), start = {100, 200, 300, 400}, down(12),
                            exclusive(12);
  std::iota(x.begin(), x.end(), 1);
  kernel->run({x.data(), start.data()}, {down.data(), exclusive.data()});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) {
      float sum = 0, before = start[i];
      for (int k = 0; k <= i; ++k)
        sum += x[k * 3 + j];
      for (int k = 0; k < j; ++k)
        before += x[i * 3 + k];
      EXPECT_EQ(down[i * 3 + j], sum);
      EXPECT_EQ(exclusive[i * 3 + j], before);
    }
}
