//===- RooflineDeviceTest.cpp - Floors on a GPU against hand values -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The seed's operators on an H200: 4.8 TB/s; 67 TFLOP/s f32, 495 tf32, 989 f16
// and bf16. Timing flushes the caches first, so the floors are cold ones: what
// is read crosses the bus, and of the results all but what L2 (62.9 MB) may
// still hold when the clock stops.
//
//===----------------------------------------------------------------------===//

#include "ParsedModule.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Target/DeviceDescription.h"

using namespace fastk;

namespace {

constexpr double kL2 = 62.9146, kBandwidth = 4.8; // MB, MB/us

double floorMicroseconds(const char *name, RooflinePrecision precision,
                         CacheState cache = CacheState::Cold) {
  auto module = ParsedModule::golden(name);
  return 1e6 * computeRoofline(module->body())
                   .floorSeconds(describeDevice("sm_90a")->target(), cache,
                                 precision);
}

void expectNear(double actual, double expected) {
  EXPECT_NEAR(actual, expected, 0.01 * expected);
}

// 1.0737 GB in, 1.0737 GB out: 447 us, less 13 us of L2.
TEST(RooflineDevice, Softmax) {
  double expected = (2 * 1073.7418 - kL2) / kBandwidth;
  expectNear(expected, 434.3);
  expectNear(floorMicroseconds("softmax", RooflinePrecision::IEEE), expected);
}

// 268.4 MB in and out, 33.6 MB of scale and bias: 119 us, less 13.
TEST(RooflineDevice, LayerNorm) {
  expectNear(floorMicroseconds("layernorm", RooflinePrecision::IEEE),
             (2 * 268.4355 + 33.5544 - kL2) / kBandwidth);
}

// 137.44 GFLOP. ieee: three f16 products for one of f32, 417 us. tf32: its own
// rate, 278 us. half: one f16 product, 139 us. All above the bytes' 42 us.
TEST(RooflineDevice, MatmulF32ByPrecision) {
  expectNear(floorMicroseconds("matmul_f32", RooflinePrecision::IEEE), 416.8);
  expectNear(floorMicroseconds("matmul_f32", RooflinePrecision::TF32), 277.8);
  expectNear(floorMicroseconds("matmul_f32", RooflinePrecision::Half), 138.9);
}

TEST(RooflineDevice, MatmulF16) {
  for (RooflinePrecision precision :
       {RooflinePrecision::IEEE, RooflinePrecision::TF32,
        RooflinePrecision::Half})
    expectNear(floorMicroseconds("matmul_f16", precision), 138.9);
}

// The weights are f32 in the IR, the values f16: the floor may not count on
// more than one f16 product each, since kernels that round the weights pass.
// Two products of 4096 x 4096 x 128 in 128 heads: 1.0995 TFLOP, 1.11 ms; the
// causal one half of it.
TEST(RooflineDevice, Attention) {
  expectNear(floorMicroseconds("attention_f16", RooflinePrecision::IEEE),
             1.0995e6 / 989);
  expectNear(floorMicroseconds("attention_causal_f16", RooflinePrecision::IEEE),
             0.5499e6 / 989);
}

// 60.2 MB of images, 0.14 MB of filters, 116.2 MB of results (53.2 beyond L2):
// 23.6 us. The arithmetic takes longer in the strict class even if a fast
// algorithm saves some: what the floor charges must lie between the bytes and
// the direct method, 20.87 GFLOP at 330 TFLOP/s.
TEST(RooflineDevice, Convolution) {
  double bytes = (60.2112 + 0.1398 + 116.16 - kL2) / kBandwidth;
  double ieee = floorMicroseconds("conv2d", RooflinePrecision::IEEE);
  EXPECT_GE(ieee, 0.99 * bytes);
  EXPECT_LE(ieee, 20.87e3 / (989.0 / 3) * 1.01);
  // In half precision the bytes decide.
  expectNear(floorMicroseconds("conv2d", RooflinePrecision::Half), bytes);
}

// A floor must lie below what has been measured on the device.
TEST(RooflineDevice, BelowTheBestMeasured) {
  EXPECT_LT(floorMicroseconds("softmax", RooflinePrecision::IEEE), 677);
  EXPECT_LT(floorMicroseconds("layernorm", RooflinePrecision::IEEE), 238);
  EXPECT_LT(floorMicroseconds("matmul_f32", RooflinePrecision::TF32), 344);
  EXPECT_LT(floorMicroseconds("matmul_f16", RooflinePrecision::IEEE), 180);
  EXPECT_LT(floorMicroseconds("attention_f16", RooflinePrecision::IEEE), 1662);
}

} // namespace
