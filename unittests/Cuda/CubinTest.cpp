//===- CubinTest.cpp - What machine code says of itself -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/Cubin.h"
#include "CudaTest.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Cuda/CompileInChild.h"

using namespace fastk;
using namespace fastk::cuda;

namespace {

CompileResult compile(const std::string &source) {
  CompileRequest request;
  request.source = source;
  return compileInChild(request);
}

Cubin read(const std::string &bytes) {
  Cubin cubin;
  EXPECT_EQ(readCubin(bytes, cubin), "");
  return cubin;
}

std::vector<uint64_t> sizesOf(const Cubin &cubin, const char *kernel) {
  auto at = cubin.kernels.find(kernel);
  if (at == cubin.kernels.end() || !at->second)
    return {~uint64_t(0)};
  return *at->second;
}

NVRTC_TEST(Cubin, ParametersHaveTheirSizes) {
  CompileResult result = compile(R"(
struct Small { char a[3]; };
struct Large { double a[500]; };
extern "C" __global__ void none() {}
extern "C" __global__ void one(float *x) { x[0] = 1; }
extern "C" __global__ void many(int *x, float f, short h, double d, bool b,
                                Small s, unsigned long long u) {
  x[0] = f + h + d + b + s.a[1] + u;
}
extern "C" __global__ void large(Large l, float *x) { x[0] = l.a[int(x[1])]; }
extern "C" __global__ void map(const __grid_constant__ CUtensorMap m, int *x) {
  tmaPrefetchMap(&m);
}
__device__ __noinline__ int helper(int a, int b) { return a / b; }
extern "C" __global__ void calls(int *x) { x[0] = helper(x[1], x[2]); }
)");
  ASSERT_TRUE(result.ok()) << result.error;
  Cubin cubin = read(result.cubin);
  using Sizes = std::vector<uint64_t>;
  EXPECT_EQ(sizesOf(cubin, "none"), Sizes());
  EXPECT_EQ(sizesOf(cubin, "one"), Sizes({8}));
  EXPECT_EQ(sizesOf(cubin, "many"), Sizes({8, 4, 2, 8, 1, 3, 8}));
  EXPECT_EQ(sizesOf(cubin, "large"), Sizes({4000, 8}));
  EXPECT_EQ(sizesOf(cubin, "map"), Sizes({128, 8}));
  EXPECT_EQ(sizesOf(cubin, "calls"), Sizes({8}));
  EXPECT_TRUE(cubin.data.empty());
  EXPECT_TRUE(cubin.unknownSections.empty());
  EXPECT_TRUE(checkCubin(result.cubin).empty());
}

NVRTC_TEST(Cubin, DataIsFound) {
  CompileResult result = compile(R"(
__device__ const float table[4] = {1, 2, 3, 4};
static __device__ const int other[3] = {1, 2, 3};
__constant__ float constants[8];
extern "C" __global__ void k(int *x, float *y) {
  y[0] = table[x[0]] + other[x[1]] + constants[x[2]] + sinf(y[1]);
  atomicCAS(x + 3, 1, 2);
  atomicExch(x + 4, 1);
  switch (x[5]) {
  case 0: y[2] = 1; break;
  case 1: y[3] = x[7]; break;
  case 2: y[2] = y[5] / y[6]; break;
  case 3: y[4] = y[5] * y[6]; break;
  case 4: y[5] = y[5] - y[6]; break;
  case 5: y[6] = y[5] + y[6]; break;
  case 6: y[7] = x[5] % x[6]; break;
  }
})");
  ASSERT_TRUE(result.ok()) << result.error;
  std::string names;
  for (const ModuleData &data : read(result.cubin).data) {
    EXPECT_FALSE(data.holdsAddresses) << data.section;
    for (const ModuleData::Symbol &symbol : data.symbols) {
      EXPECT_LE(symbol.offset + symbol.bytes, data.bytes);
      names += data.section + " " + symbol.name + " " +
               std::to_string(symbol.bytes) + "\n";
    }
  }
  for (const char *wanted :
       {".nv.global.init table 16\n", " constants 32\n", "other", "i2opi_f 24"})
    EXPECT_NE(names.find(wanted), std::string::npos) << wanted << names;
}

// What a reading of the text might miss, the loader must be told.
NVRTC_TEST(Cubin, AddressesInDataAreRelocations) {
  std::string error;
  const Nvrtc *nvrtc = Nvrtc::get(error);
  ASSERT_TRUE(nvrtc) << error;
  for (const char *source :
       {"__device__ int n[2]; __constant__ int *p = n;\n"
        "extern \"C\" __global__ void k(int *x) { x[0] = *p; }",
        "__device__ const int t[2] = {1, 2};\n"
        "__device__ const int *q[2] = {t, t + 1};\n"
        "extern \"C\" __global__ void k(int *x) { x[0] = *q[x[1]]; }"}) {
    CompileRequest request;
    request.source = source;
    // Without the checks.
    CompileResult result = nvrtc->compile(request, {});
    ASSERT_TRUE(result.ok()) << result.error;
    std::vector<Refusal> refusals = checkCubin(result.cubin);
    ASSERT_FALSE(refusals.empty()) << source;
    EXPECT_NE(refusals[0].text.find("holds an address"), std::string::npos)
        << refusals[0].text;
  }
}

NVRTC_TEST(Cubin, MuchDataIsRefused) {
  std::string error;
  CompileRequest request;
  request.source = "__device__ int n[1 << 23];\n"
                   "extern \"C\" __global__ void k(int *x) { n[x[1]] = 1; }";
  CompileResult result = Nvrtc::get(error)->compile(request, {});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(describe(checkCubin(result.cubin)),
            "tables and constants take more than 16 MiB: compute them into a "
            "workspace of the plan (required by 'global-variable')");
}

NVRTC_TEST(Cubin, MangledBytesNeverCrash) {
  CompileResult result =
      compile("__device__ const float t[4] = {1, 2, 3, 4};\n"
              "extern \"C\" __global__ void k(int *x) { x[0] = t[x[1]]; }");
  ASSERT_TRUE(result.ok()) << result.error;
  Cubin cubin;
  const std::string &bytes = result.cubin;
  // The table of sections is near the end.
  for (size_t size = 0; size < bytes.size(); size += 7) {
    bool isRead = readCubin(bytes.substr(0, size), cubin).empty();
    EXPECT_FALSE(isRead && size < bytes.size() / 2) << size;
  }
  uint64_t state = 1;
  auto random = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return size_t(state >> 33);
  };
  for (int round = 0; round < 20000; ++round) {
    std::string mangled = bytes;
    // In the header and the tables of sections, mostly.
    size_t table = bytes.size() - 4096 > bytes.size() ? 0 : bytes.size() - 4096;
    for (int i = 0; i < 4; ++i) {
      size_t at = random() % 3 == 0   ? random() % 64
                  : random() % 2 == 0 ? table + random() % 4096
                                      : random() % bytes.size();
      mangled[at % mangled.size()] = char(random());
    }
    readCubin(mangled, cubin);
    checkCubin(mangled);
  }
}

TEST(Cubin, WhatIsNone) {
  Cubin cubin;
  EXPECT_FALSE(isCubin(".version 8.0"));
  for (const std::string &bytes :
       {std::string(),
        std::string("\x7f"
                    "ELF"),
        std::string(4096, '\0'), std::string(".version 8.0")})
    EXPECT_NE(readCubin(bytes, cubin), "");
  ASSERT_EQ(checkCubin("x").size(), 1u);
  EXPECT_EQ(checkCubin("x")[0].rule, "machine-code");
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

worker::Launch launchWith(std::vector<worker::PlanArgument> arguments) {
  worker::Launch launch;
  launch.kernel = "k";
  launch.arguments = std::move(arguments);
  return launch;
}

TEST(Arguments, NumberAndSizesAreTheKernels) {
  using namespace worker;
  PlanScalar i32, i64, f32, f64;
  i64.type = PlanScalar::Type::I64;
  f32.type = PlanScalar::Type::F32;
  f64.type = PlanScalar::Type::F64;
  Launch launch = launchWith({BufferRef(), TensorMapRef(), i32, i64, f32, f64});
  EXPECT_EQ(compareArguments(launch, {8, 128, 4, 8, 4, 8}), "");
  EXPECT_EQ(compareArguments(launch, {8, 128, 4, 8, 4}),
            "kernel 'k' has 5 parameters, but the plan passes 6 arguments");
  EXPECT_EQ(compareArguments(launch, {8, 128, 4, 8, 4, 8, 8}),
            "kernel 'k' has 7 parameters, but the plan passes 6 arguments");
  EXPECT_EQ(compareArguments(launch, {8, 128, 8, 8, 4, 8}),
            "kernel 'k': parameter 2 has 8 bytes, but the plan's argument, an "
            "i32, has 4");
  EXPECT_EQ(compareArguments(launch, {128, 128, 4, 8, 4, 8}),
            "kernel 'k': parameter 0 has 128 bytes, but the plan's argument, a "
            "buffer, has 8");
  EXPECT_EQ(compareArguments(launchWith({}), {}), "");
}

NVRTC_TEST(Arguments, APlanIsComparedWithTheMachineCode) {
  CompileResult result =
      compile("extern \"C\" __global__ void k(int *x, int n) { x[0] = n; }");
  ASSERT_TRUE(result.ok()) << result.error;
  Cubin cubin = read(result.cubin);
  worker::LaunchPlan plan;
  worker::PlanScalar number;
  plan.steps = {worker::Memset(), launchWith({worker::BufferRef(), number})};
  EXPECT_EQ(compareArguments(plan, cubin), "");
  plan.steps.push_back(launchWith({worker::BufferRef()}));
  EXPECT_EQ(compareArguments(plan, cubin),
            "$.steps[2]: kernel 'k' has 2 parameters, but the plan passes 1 "
            "arguments");
  // The driver knows what it does not find.
  worker::Launch other = launchWith({});
  other.kernel = "other";
  plan.steps = {other};
  EXPECT_EQ(compareArguments(plan, cubin), "");
}

} // namespace
