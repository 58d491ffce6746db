//===- CompileTest.cpp - Device code that compiles, and does not ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"

using namespace fastk::cuda;

namespace {

CompileResult compile(std::string source, std::string arch = "sm_90a") {
  CompileRequest request;
  request.source = std::move(source);
  request.arch = std::move(arch);
  return compileInChild(request);
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

constexpr const char *kAdd = R"(
extern "C" __global__ void add(const float *a, const float *b, float *c) {
  __shared__ float s[64];
  u32 i = threadIdx.x;
  s[i] = a[i];
  __syncthreads();
  c[i] = s[63 - i] + b[i];
})";

NVRTC_TEST(Compile, CubinAndFacts) {
  CompileResult result = compile(kAdd);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.cubin.substr(0, 4), "\x7f"
                                       "ELF");
  EXPECT_TRUE(contains(result.ptx, ".target sm_90a"));
  const KernelFacts *add = result.kernel("add");
  ASSERT_TRUE(add);
  EXPECT_TRUE(add->isEntry);
  EXPECT_GT(add->registers, 0u);
  EXPECT_EQ(add->staticSharedBytes, 256u);
  EXPECT_EQ(add->spillStoreBytes, 0u);
  EXPECT_EQ(add->barriers, 1u);
  EXPECT_GT(result.milliseconds, 0);
  EXPECT_FALSE(result.nvrtcVersion.empty());
}

NVRTC_TEST(Compile, OtherArchitectures) {
  EXPECT_TRUE(compile(kAdd, "sm_80").ok());
  CompileResult ptx = compile(kAdd, "compute_90a");
  EXPECT_TRUE(ptx.ok()) << ptx.error;
  EXPECT_TRUE(ptx.cubin.empty());
  EXPECT_FALSE(ptx.ptx.empty());
}

NVRTC_TEST(Compile, DefinesAndRegisters) {
  CompileRequest request;
  request.source =
      "extern \"C\" __global__ void k(float *x) { x[TILE] = SCALE; }";
  request.defines = {{"TILE", "64"}, {"SCALE", "(1.0f / 3)"}};
  request.maxRegisters = 32;
  CompileResult result = compileInChild(request);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_TRUE(contains(result.ptx, "+256]"));
  EXPECT_LE(result.kernel("k")->registers, 32u);
}

// Spills are reported: 255 registers do not hold what 24 must.
NVRTC_TEST(Compile, SpillsAreReported) {
  CompileRequest request;
  request.maxRegisters = 24;
  request.source = R"(
extern "C" __global__ void k(const float *x, float *y) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = x[i * 32 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; ++i) y[i * 32 + threadIdx.x] = v[i] * v[63 - i];
})";
  CompileResult result = compileInChild(request);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_GT(result.kernel("k")->spillStoreBytes, 0u);
  EXPECT_GT(result.kernel("k")->spillLoadBytes, 0u);
}

NVRTC_TEST(Compile, IgnoredSetmaxnregIsAWarning) {
  // No __launch_bounds__(n, 1): ptxas ignores setmaxnreg, C7508.
  CompileResult result = compile(R"(
extern "C" __global__ void k(float *x) {
  registersUp<240>();
  x[threadIdx.x] = 1;
})");
  ASSERT_TRUE(result.ok()) << result.error;
  bool found = false;
  for (const CompilerWarning &warning : result.warnings)
    found |= warning.code == "C7508";
  EXPECT_TRUE(found) << result.log;
}

NVRTC_TEST(Compile, ErrorsNameTheLineOfTheSource) {
  CompileResult result =
      compile("extern \"C\" __global__ void k(float *x) {\n  x[0] = y;\n}");
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(contains(result.error, "kernel.cu(2): error")) << result.error;
  EXPECT_TRUE(contains(result.error, "\"y\" is undefined"));
  EXPECT_TRUE(result.cubin.empty());
}

NVRTC_TEST(Compile, AllowedHeadersCompile) {
  for (const std::string &header : allowedHeaders) {
    CompileResult result =
        compile("#include <" + header +
                ">\nextern \"C\" __global__ void k(float *x) { x[0] = 1; }");
    EXPECT_TRUE(result.ok()) << header << ": " << result.error;
  }
  CompileResult half = compile(R"(
#include <cuda_fp16.h>
#include "cuda_bf16.h"
#include <cuda_fp8.h>
#include <mma.h>
extern "C" __global__ void k(half *x, __nv_bfloat16 *y, __nv_fp8_e4m3 *z) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
  wmma::load_matrix_sync(a, x, 16);
  wmma::load_matrix_sync(b, x + 256, 16);
  wmma::fill_fragment(c, __float2half(0.f));
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(x, c, 16, wmma::mem_row_major);
  x[300] = __hadd(x[301], x[302]);
  y[0] = __hmul(y[1], y[2]);
  z[0] = __nv_fp8_e4m3(float(x[303]));
})");
  EXPECT_TRUE(half.ok()) << half.error;
}

NVRTC_TEST(Compile, MathFunctionsWithTablesCompile) {
  // libdevice brings tables in global memory that are read only.
  CompileResult result = compile(R"(
extern "C" __global__ void k(float *x, double *y) {
  int i = threadIdx.x;
  x[i] = sinf(x[i]) + cosf(x[i]) + tanf(x[i]) + powf(x[i], 1.7f) + erff(x[i]) +
         expf(x[i]) + logf(x[i]) + tanhf(x[i]) + rsqrtf(x[i]) + lgammaf(x[i]);
  y[i] = sin(y[i]) + cos(y[i]) + exp(y[i]) + log(y[i]) + pow(y[i], 1.3) +
         erf(y[i]) + tanh(y[i]);
})");
  EXPECT_TRUE(result.ok()) << result.error;
}

NVRTC_TEST(Compile, ConstantTablesCompile) {
  CompileResult result = compile(R"(
__constant__ float weights[4] = {1, 2, 3, 4};
__device__ const float table[4] = {4, 3, 2, 1};
extern "C" __global__ void k(float *x) {
  const float local[5] = {1.f, 2.5f, 3.f, 4.f, 7.f};
  int i = threadIdx.x;
  x[i] = weights[i & 3] + table[i & 3] + local[i % 5];
})");
  EXPECT_TRUE(result.ok()) << result.error;
}

TEST(CompileRequestTest, WrongRequestsAreRefusedBeforeCompiling) {
  auto reason = [](auto change) {
    CompileRequest request;
    change(request);
    return checkRequest(request);
  };
  EXPECT_EQ(reason([](CompileRequest &r) {}), "");
  for (const char *arch :
       {"sm_90a --pre-include=/etc/passwd", "90", "sm_", "", "sm_9x"})
    EXPECT_TRUE(contains(reason([&](CompileRequest &r) { r.arch = arch; }),
                         "no GPU architecture"))
        << arch;
  EXPECT_TRUE(
      contains(reason([](CompileRequest &r) { r.defines = {{"A -I/", "1"}}; }),
               "no macro name"));
  EXPECT_TRUE(contains(
      reason([](CompileRequest &r) { r.defines = {{"A", "1\n#include <x>"}}; }),
      "more than one line"));
  EXPECT_TRUE(
      contains(reason([](CompileRequest &r) { r.source.assign(5 << 20, ' '); }),
               "4 MiB"));
  EXPECT_TRUE(contains(
      reason([](CompileRequest &r) { r.source = std::string(1, '\0'); }),
      "null character"));
  EXPECT_TRUE(
      contains(reason([](CompileRequest &r) { r.maxRegisters = 300; }), "255"));
}

} // namespace
