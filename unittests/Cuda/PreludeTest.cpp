//===- PreludeTest.cpp - Every wrapper compiles ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"
#include <set>

using namespace fastk::cuda;

namespace {

/// What sm_80 has: all that stands before the prelude's first condition.
constexpr const char *kGeneric = R"(
extern "C" __global__ void generic(float *x, u32 *y, i64 *z, u16 *h) {
  extern __shared__ __align__(1024) u8 shared[];
  u8 a = 1; i8 b = 2; i16 c = 3; i32 d = 4; u64 e = 5;
  y[0] = laneId() + warpIndex() + smId() + a + b + c + d + u32(e);
  barSync(1, 64); barArrive(2, 64);
  u64 first = policyEvictFirst(), last = policyEvictLast(), normal = policyEvictNormal();
  float4 v = loadStream(x), w = loadHint(x + 4, first);
  storeStream(x + 8, v); storeHint(x + 12, w, last); storeHint(x + 16, w, normal);
  y[1] = loadAcquire(y + 2); addRelease(y + 3, 1);
  storeRelaxed128(x + 128, 1, 2); ulonglong2 pair = loadRelaxed128(x + 132); z[1] = pair.x;
  cpAsync16(shared, x); cpAsync16Fill(shared + 16, x, 8); cpAsyncCommit(); cpAsyncWait<0>();
  u32 r[4], s[2];
  ldmatrix4(r, shared); ldmatrix4Trans(r, shared + 512); ldmatrix2(s, shared + 64);
  float acc[4] = {0, 0, 0, 0};
  mmaF16(acc, r, s); mmaBF16(acc, r, s);
  r[0] = toTF32(x[20]); v.x = unpackF16(r[1]).x + unpackBF16(r[2]).y; x[40] = v.x; s[0] = packF16(x[21], x[22]); s[1] = packBF16(x[23], x[24]);
  mmaTF32(acc, r, s);
  x[30] = acc[0] + exp2Fast(x[31]) + log2Fast(x[32]) + rcpFast(x[33]) + rsqrtFast(x[34]) +
          tanhFast(x[35]) + pow2i(3) + FASTK_INFINITY;
  y[5] = smemAddr(shared); z[0] = sizeof(CUtensorMap) + alignof(CUtensorMap); h[0] = 1;
})";

constexpr const char *kHopper = R"(
extern "C" __global__ void hopper(const __grid_constant__ CUtensorMap map, float *x, u32 *y) {
  extern __shared__ __align__(1024) u8 shared[];
  __shared__ u64 bar;
  if (electOne()) { mbarInit(&bar, 1); mbarInitFence(); }
  y[0] = ctaRank() + clusterIndex() + clusterCount();
  clusterArrive(); clusterWait(); clusterArriveRelaxed(); clusterWait(); clusterSync();
  u32 remote = mapaShared(smemAddr(shared), 1);
  storeCluster(remote, 1.f); storeCluster2(remote + 8, 1.f, 2.f); x[0] = loadCluster(remote);
  mbarArrive(&bar); mbarArriveRemote(&bar, 1); mbarExpectTx(&bar, 16);
  y[1] = mbarTryWait(&bar, 0); mbarWait(&bar, 0); mbarWaitCluster(&bar, 1);
  fenceAsyncShared(); fenceAsyncGlobal(); fenceAsync();
  tmaPrefetchMap(&map);
  tmaLoad1D(shared, &map, &bar, 1); tmaLoad2D(shared, &map, &bar, 1, 2);
  tmaLoad3D(shared, &map, &bar, 1, 2, 3); tmaLoad4D(shared, &map, &bar, 1, 2, 3, 4);
  tmaLoad5D(shared, &map, &bar, 1, 2, 3, 4, 5);
  tmaLoad2DMulticast(shared, &map, &bar, 1, 2, 3); tmaLoad3DMulticast(shared, &map, &bar, 1, 2, 3, 3);
  tmaStore1D(&map, shared, 1); tmaStore2D(&map, shared, 1, 2); tmaStore3D(&map, shared, 1, 2, 3);
  tmaStore4D(&map, shared, 1, 2, 3, 4); tmaAdd2D(&map, shared, 1, 2);
  u64 policy = policyEvictFirst();
  bulkLoad(shared, x, 64, &bar); bulkLoadHint(shared, x, 64, &bar, policy);
  bulkLoadMulticast(shared, x, 64, &bar, 3);
  bulkStore(x, shared, 64); bulkStoreHint(x, shared, 64, policy); bulkAddF32(x, shared, 64);
  bulkCommit(); bulkWaitRead<1>(); bulkWait<0>(); prefetchL2(x, 64);
  waitPrevious(); launchNext();
  stmatrix4(shared, 1, 2, 3, 4); stmatrix4Trans(shared, 1, 2, 3, 4);
})";

/// One kernel a product: K is the call, R its accumulators.
std::string product(const std::string &call, unsigned accumulators) {
  std::string r = std::to_string(accumulators);
  return R"(
extern "C" __global__ void __launch_bounds__(128, 1) product(float *x) {
  extern __shared__ __align__(1024) u8 shared[];
  float d[)" +
         r + R"(];
  u32 a[4] = {threadIdx.x, 2, 3, 4};
  a[3] += a[0];
  u64 da = wgmmaDesc128B(smemAddr(shared)), db = wgmmaDesc(smemAddr(shared + 8192), 16, 1024, 1);
#pragma unroll
  for (int i = 0; i < )" +
         r + R"(; ++i) d[i] = 0;
  wgmmaHold(d);
  wgmmaFence();
  )" + call +
         R"(;
  wgmmaCommit();
  wgmmaWait<0>();
  wgmmaHold(d);
#pragma unroll
  for (int i = 0; i < )" +
         r + R"(; ++i) x[i * 128 + threadIdx.x] = d[i];
})";
}

constexpr const char *kRegisters = R"(
extern "C" __global__ void __launch_bounds__(384, 1) roles(float *x) {
  if (__shfl_sync(~0u, threadIdx.x / 128, 0) == 0) { registersDown<24>(); x[0] = 1; }
  else { registersUp<240>(); x[threadIdx.x] = 2; }
})";

CompileResult compile(const std::string &source, const char *arch) {
  CompileRequest request;
  request.source = source;
  request.arch = arch;
  return compileInChild(request);
}

NVRTC_TEST(Prelude, GenericPartForAllArchitectures) {
  for (const char *arch : {"sm_80", "sm_89", "sm_90", "sm_90a"}) {
    CompileResult result = compile(kGeneric, arch);
    EXPECT_TRUE(result.ok()) << arch << ": " << result.error;
    EXPECT_TRUE(result.warnings.empty()) << arch << ": " << result.log;
  }
}

NVRTC_TEST(Prelude, HopperPart) {
  // Plain sm_90 is advised against multicast, so warnings are no failure there.
  EXPECT_TRUE(compile(kHopper, "sm_90").ok());
  CompileResult result = compile(kHopper, "sm_90a");
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_TRUE(result.warnings.empty()) << result.log;
  EXPECT_FALSE(compile(kHopper, "sm_80").ok());
}

NVRTC_TEST(Prelude, EveryProduct) {
  for (unsigned r : {32u, 64u, 96u, 128u})
    for (const char *call :
         {"wgmmaF16(d, da, db)", "wgmmaF16<1, 1>(d, da, db, 0)",
          "wgmmaBF16(d, da, db)", "wgmmaF16RS(d, a, db)",
          "wgmmaBF16RS<1>(d, a, db, 0)", "wgmmaTF32(d, da, db)",
          "wgmmaE4M3(d, da, db, 0)"}) {
      CompileResult result = compile(product(call, r), "sm_90a");
      ASSERT_TRUE(result.ok()) << call << " " << r << ": " << result.error;
      EXPECT_NE(result.ptx.find("m64n" + std::to_string(2 * r) + "k"),
                std::string::npos);
      // Not serialised, not spilt.
      EXPECT_TRUE(result.warnings.empty()) << call << " " << r << result.log;
      EXPECT_EQ(result.kernel("product")->spillStoreBytes, 0u) << call << r;
    }
}

NVRTC_TEST(Prelude, RegisterHandOver) {
  CompileResult result = compile(kRegisters, "sm_90a");
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_TRUE(result.warnings.empty()) << result.log;
  EXPECT_EQ(result.kernel("roles")->registers, 168u);
}

/// The names that the prelude defines, out of its text.
std::set<std::string> preludeNames() {
  std::set<std::string> names;
  const std::string &text = preludeText();
  for (size_t at = text.find("FASTK_DEVICE "); at != std::string::npos;
       at = text.find("FASTK_DEVICE ", at + 1)) {
    size_t open = text.find('(', at);
    size_t begin = text.find_last_of(" \n", open) + 1;
    std::string name = text.substr(begin, open - begin);
    if (text[at - 1] != 'e' && name != "name" && name.find("__") != 0)
      names.insert(name);
  }
  return names;
}

// A wrapper that no test above compiles is not known to compile at all.
TEST(PreludeText, EveryWrapperIsTested) {
  std::string tested =
      std::string(kGeneric) + kHopper + kRegisters + product("", 1);
  for (const std::string &name : preludeNames())
    EXPECT_NE(tested.find(name), std::string::npos) << name;
  EXPECT_GT(preludeNames().size(), 70u);
}

TEST(PreludeText, NoIncludesAndPlainCharacters) {
  EXPECT_EQ(preludeText().find("#include"), std::string::npos);
  for (char c : preludeText())
    ASSERT_TRUE(c == '\n' || (c >= 32 && c < 127)) << int(c);
}

} // namespace
