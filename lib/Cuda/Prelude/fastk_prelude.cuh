//===- fastk_prelude.cuh - What device code has without an include --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included before every CUDA variant. Self-contained under NVRTC: no headers, no host code. Thin wrappers only: each is
// one PTX instruction or the shortest sequence that is of use (the PTX ISA reference says what each does).
// Shared-memory addresses are 32-bit (`smemAddr`), mbarriers are `u64` in shared memory, tensor maps are
// `const __grid_constant__ CUtensorMap` kernel parameters.
//
//   section      since  what
//   types        sm_80  u8..u64, i8..i64, CUtensorMap; vectors are NVRTC's own (float4, uint4, ...)
//   threads      sm_80  laneId, warpIndex (uniform), smId, barSync/barArrive (named barriers)
//   memory       sm_80  cache-hinted 16-byte loads and stores, L2 policies, acquire/release counters
//   cp.async     sm_80  16-byte copies to shared memory, groups
//   matrices     sm_80  ldmatrix, mma.sync m16n8k16 (f16, bf16) and m16n8k8 (tf32)
//   conversion   sm_80  packed f16 and bf16 pairs
//   math         sm_80  exp2Fast, log2Fast, rcpFast, rsqrtFast, tanhFast, pow2i, toTF32
//   threads      sm_90  electOne
//   cluster      sm_90  ctaRank, clusterArrive/Wait/Sync, mapaShared, remote loads and stores
//   mbarrier     sm_90  init, fence, arrive, expectTx, wait by parity, remote arrive
//   TMA          sm_90  tensor loads (1-5 D, multicast 2-3 D), stores, reductions, 1-D bulk copies, L2 prefetch, groups
//   launch       sm_90  griddepcontrol wait / launch_dependents, stmatrix
//   wgmma        sm_90a descriptors, fence/commit/wait, m64nNk16 f16/bf16, k8 tf32, k32 e4m3, setmaxnreg
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PRELUDE
#define FASTK_PRELUDE

// ---------------------------------------------------------------- types
typedef unsigned char u8;   typedef signed char i8;
typedef unsigned short u16; typedef short i16;
typedef unsigned int u32;   typedef int i32;
typedef unsigned long long u64; typedef long long i64;
struct alignas(64) CUtensorMap { u64 opaque[16]; };

#define FASTK_DEVICE __device__ __forceinline__
#define FASTK_INFINITY __int_as_float(0x7f800000)

// ---------------------------------------------------------------- threads
FASTK_DEVICE u32 laneId() { u32 r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
/// The warp's index in its block, known to the compiler to be the same in all lanes.
FASTK_DEVICE u32 warpIndex() { return __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0); }
FASTK_DEVICE u32 smId() { u32 r; asm volatile("mov.u32 %0, %%smid;" : "=r"(r)); return r; }
/// Barrier `id` (1..15; 0 is __syncthreads) of `threads` threads, a multiple of 32.
FASTK_DEVICE void barSync(u32 id, u32 threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
FASTK_DEVICE void barArrive(u32 id, u32 threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
/// The 32-bit address of shared memory that instructions take.
FASTK_DEVICE u32 smemAddr(const void *p) { return (u32)__cvta_generic_to_shared(p); }

// ---------------------------------------------------------------- memory
FASTK_DEVICE u64 policyEvictFirst() { u64 p; asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p)); return p; }
FASTK_DEVICE u64 policyEvictNormal() { u64 p; asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(p)); return p; }
FASTK_DEVICE u64 policyEvictLast() { u64 p; asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p)); return p; }
/// Read once: through the read-only path, not kept in L1.
FASTK_DEVICE float4 loadStream(const void *p) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  return v;
}
FASTK_DEVICE float4 loadHint(const void *p, u64 policy) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p), "l"(policy));
  return v;
}
/// Written once, not read again soon.
FASTK_DEVICE void storeStream(void *p, float4 v) {
  asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}
FASTK_DEVICE void storeHint(void *p, float4 v, u64 policy) {
  asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;"
               ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(policy) : "memory");
}
FASTK_DEVICE u32 loadAcquire(const u32 *p) { u32 v; asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
FASTK_DEVICE void addRelease(u32 *p, u32 v) { asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }

/// 16 bytes at once, coherent in L2, never seen half: a value and its own "is there" flag need no fence between them.
FASTK_DEVICE ulonglong2 loadRelaxed128(const void *p) {
  ulonglong2 v;
  asm volatile("{\n.reg .b128 q;\nld.relaxed.gpu.global.b128 q, [%2];\nmov.b128 {%0, %1}, q;\n}" : "=l"(v.x), "=l"(v.y) : "l"(p) : "memory");
  return v;
}
FASTK_DEVICE void storeRelaxed128(void *p, u64 a, u64 b) {
  asm volatile("{\n.reg .b128 q;\nmov.b128 q, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], q;\n}" ::"l"(p), "l"(a), "l"(b) : "memory");
}

// ---------------------------------------------------------------- cp.async
/// 16 bytes from global to shared memory, past the registers; both 16-byte aligned.
FASTK_DEVICE void cpAsync16(void *dst, const void *src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smemAddr(dst)), "l"(src) : "memory");
}
/// The same of which only the first `bytes` (0..16) are read; the rest becomes zero. For edges.
FASTK_DEVICE void cpAsync16Fill(void *dst, const void *src, u32 bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smemAddr(dst)), "l"(src), "r"(bytes) : "memory");
}
FASTK_DEVICE void cpAsyncCommit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until at most N of this thread's groups are under way.
template <int N> FASTK_DEVICE void cpAsyncWait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// ---------------------------------------------------------------- matrices (one warp)
/// Four 8 x 8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i / 8.
FASTK_DEVICE void ldmatrix4(u32 (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smemAddr(row)) : "memory");
}
FASTK_DEVICE void ldmatrix4Trans(u32 (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smemAddr(row)) : "memory");
}
FASTK_DEVICE void ldmatrix2(u32 (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(smemAddr(row)) : "memory");
}
/// d += A(16 x 16, row major) * B(16 x 8, column major).
#define FASTK_MMA_M16N8K16(name, type)                                                                                  \
  FASTK_DEVICE void name(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {                                         \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "  \
                 "{%0,%1,%2,%3};"                                                                                       \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                       \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                   \
  }
FASTK_MMA_M16N8K16(mmaF16, "f16")
FASTK_MMA_M16N8K16(mmaBF16, "bf16")
/// d += A(16 x 8) * B(8 x 8) of f32 rounded by toTF32.
FASTK_DEVICE void mmaTF32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ---------------------------------------------------------------- conversion (16-bit values travel as u16, pairs as u32, `a` low)
FASTK_DEVICE u32 packF16(float a, float b) { u32 r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
FASTK_DEVICE u32 packBF16(float a, float b) { u32 r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
FASTK_DEVICE float2 unpackF16(u32 v) {
  float2 r;
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(r.x), "=f"(r.y) : "r"(v));
  return r;
}
FASTK_DEVICE float2 unpackBF16(u32 v) { return make_float2(__int_as_float(v << 16), __int_as_float(v & 0xffff0000u)); }

// ---------------------------------------------------------------- math
FASTK_DEVICE float exp2Fast(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
FASTK_DEVICE float rcpFast(float x) { float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
/// 2^e for e in -126..127.
FASTK_DEVICE float pow2i(i32 e) { return __int_as_float((e + 127) << 23); }
FASTK_DEVICE float log2Fast(float x) { float r; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
FASTK_DEVICE float rsqrtFast(float x) { float r; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
/// About 2^-11 of relative error.
FASTK_DEVICE float tanhFast(float x) { float r; asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
/// Rounded to TF32's 10 bits of mantissa, as the bits of a float.
FASTK_DEVICE u32 toTF32(float x) { u32 r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }

#if __CUDA_ARCH__ >= 900

// ---------------------------------------------------------------- one thread of a warp
/// True in exactly one lane of a converged warp.
FASTK_DEVICE bool electOne() {
  u32 p;
  asm volatile("{\n.reg .pred P;\nelect.sync _|P, 0xffffffff;\nselp.u32 %0, 1, 0, P;\n}" : "=r"(p));
  return p != 0;
}

// ---------------------------------------------------------------- clusters
FASTK_DEVICE u32 ctaRank() { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
FASTK_DEVICE u32 clusterIndex() { u32 r; asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(r)); return r; }
FASTK_DEVICE u32 clusterCount() { u32 r; asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(r)); return r; }
/// All threads of all blocks of the cluster. Release/acquire: what was written before is seen after, remote memory too.
FASTK_DEVICE void clusterArrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
FASTK_DEVICE void clusterArriveRelaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
FASTK_DEVICE void clusterWait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
FASTK_DEVICE void clusterSync() { clusterArrive(); clusterWait(); }
/// The address that `addr` has in block `rank` of the cluster (a .shared::cluster address).
FASTK_DEVICE u32 mapaShared(u32 addr, u32 rank) {
  u32 r; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(addr), "r"(rank)); return r;
}
FASTK_DEVICE void storeCluster(u32 remote, float v) { asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(remote), "f"(v) : "memory"); }
FASTK_DEVICE void storeCluster2(u32 remote, float a, float b) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(remote), "f"(a), "f"(b) : "memory");
}
FASTK_DEVICE float loadCluster(u32 remote) {
  float v; asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(remote) : "memory"); return v;
}

// ---------------------------------------------------------------- mbarrier
FASTK_DEVICE void mbarInit(u64 *bar, u32 count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smemAddr(bar)), "r"(count) : "memory"); }
/// After mbarInit and before first use by other threads, the async proxy or the cluster (then a block or cluster barrier).
FASTK_DEVICE void mbarInitFence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
FASTK_DEVICE void mbarArrive(u64 *bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smemAddr(bar)) : "memory"); }
/// Arrive at the barrier of the same offset in block `rank` of the cluster.
FASTK_DEVICE void mbarArriveRemote(u64 *bar, u32 rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapaShared(smemAddr(bar), rank)) : "memory");
}
FASTK_DEVICE void mbarExpectTx(u64 *bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smemAddr(bar)), "r"(bytes) : "memory");
}
FASTK_DEVICE bool mbarTryWait(u64 *bar, u32 parity) {
  u32 ok;
  asm volatile("{\n.reg .pred P;\nmbarrier.try_wait.parity.shared::cta.b64 P, [%1], %2;\nselp.u32 %0, 1, 0, P;\n}"
               : "=r"(ok) : "r"(smemAddr(bar)), "r"(parity) : "memory");
  return ok != 0;
}
/// Waits until the phase of that parity has completed. A fresh barrier is in phase 0: waiting on 1 returns at once.
FASTK_DEVICE void mbarWait(u64 *bar, u32 parity) { while (!mbarTryWait(bar, parity)) {} }
/// The same, acquiring at cluster scope: needed where remote blocks arrive.
FASTK_DEVICE void mbarWaitCluster(u64 *bar, u32 parity) {
  u32 ok;
  do {
    asm volatile("{\n.reg .pred P;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 P, [%1], %2;\nselp.u32 %0, 1, 0, P;\n}"
                 : "=r"(ok) : "r"(smemAddr(bar)), "r"(parity) : "memory");
  } while (!ok);
}

// ---------------------------------------------------------------- proxies
/// Ordinary shared-memory writes before, TMA or wgmma reads after (in each writing thread, then a barrier).
FASTK_DEVICE void fenceAsyncShared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// The same for global memory: ordinary writes before, TMA reads after.
FASTK_DEVICE void fenceAsyncGlobal() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
FASTK_DEVICE void fenceAsync() { asm volatile("fence.proxy.async;" ::: "memory"); }

// ---------------------------------------------------------------- TMA: tensors
FASTK_DEVICE void tmaPrefetchMap(const CUtensorMap *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
FASTK_DEVICE void tmaLoad1D(void *dst, const CUtensorMap *map, u64 *bar, i32 x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
               ::"r"(smemAddr(dst)), "l"(map), "r"(smemAddr(bar)), "r"(x) : "memory");
}
FASTK_DEVICE void tmaLoad2D(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               ::"r"(smemAddr(dst)), "l"(map), "r"(smemAddr(bar)), "r"(x), "r"(y) : "memory");
}
/// One read, written to the same offset of every block in `mask`, each block's barrier of the same offset signalled.
FASTK_DEVICE void tmaLoad2DMulticast(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y, u16 mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
               ::"r"(smemAddr(dst)), "l"(map), "r"(smemAddr(bar)), "r"(x), "r"(y), "h"(mask) : "memory");
}
FASTK_DEVICE void tmaLoad3D(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y, i32 z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
               ::"r"(smemAddr(dst)), "l"(map), "r"(smemAddr(bar)), "r"(x), "r"(y), "r"(z) : "memory");
}
FASTK_DEVICE void tmaLoad4D(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y, i32 z, i32 w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
               ::"r"(smemAddr(dst)), "l"(map), "r"(smemAddr(bar)), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
FASTK_DEVICE void tmaStore2D(const CUtensorMap *map, const void *src, i32 x, i32 y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(map), "r"(smemAddr(src)), "r"(x), "r"(y) : "memory");
}
FASTK_DEVICE void tmaLoad5D(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y, i32 z, i32 w, i32 v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
               ::"r"(smemAddr(dst)), "l"(map), "r"(smemAddr(bar)), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}
FASTK_DEVICE void tmaLoad3DMulticast(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y, i32 z, u16 mask) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;"
               ::"r"(smemAddr(dst)), "l"(map), "r"(smemAddr(bar)), "r"(x), "r"(y), "r"(z), "h"(mask) : "memory");
}
FASTK_DEVICE void tmaStore1D(const CUtensorMap *map, const void *src, i32 x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];"
               ::"l"(map), "r"(smemAddr(src)), "r"(x) : "memory");
}
FASTK_DEVICE void tmaStore3D(const CUtensorMap *map, const void *src, i32 x, i32 y, i32 z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
               ::"l"(map), "r"(smemAddr(src)), "r"(x), "r"(y), "r"(z) : "memory");
}
FASTK_DEVICE void tmaStore4D(const CUtensorMap *map, const void *src, i32 x, i32 y, i32 z, i32 w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
               ::"l"(map), "r"(smemAddr(src)), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
/// Adds the tile to global memory instead of storing it: split-K.
FASTK_DEVICE void tmaAdd2D(const CUtensorMap *map, const void *src, i32 x, i32 y) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(map), "r"(smemAddr(src)), "r"(x), "r"(y) : "memory");
}

// ---------------------------------------------------------------- TMA: plain rows (16-byte aligned, sizes a multiple of 16)
FASTK_DEVICE void bulkLoad(void *dst, const void *src, u32 bytes, u64 *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(smemAddr(dst)), "l"(src), "r"(bytes), "r"(smemAddr(bar)) : "memory");
}
FASTK_DEVICE void bulkLoadHint(void *dst, const void *src, u32 bytes, u64 *bar, u64 policy) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
               ::"r"(smemAddr(dst)), "l"(src), "r"(bytes), "r"(smemAddr(bar)), "l"(policy) : "memory");
}
FASTK_DEVICE void bulkStore(void *dst, const void *src, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst), "r"(smemAddr(src)), "r"(bytes) : "memory");
}
FASTK_DEVICE void bulkStoreHint(void *dst, const void *src, u32 bytes, u64 policy) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;"
               ::"l"(dst), "r"(smemAddr(src)), "r"(bytes), "l"(policy) : "memory");
}
FASTK_DEVICE void bulkCommit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// At most N store groups still read shared memory (their source may be reused) ...
template <int N> FASTK_DEVICE void bulkWaitRead() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
/// ... or are not yet visible.
template <int N> FASTK_DEVICE void bulkWait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
FASTK_DEVICE void prefetchL2(const void *src, u32 bytes) { asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(src), "r"(bytes) : "memory"); }
/// dst[i] += src[i] for floats, `bytes` in all.
FASTK_DEVICE void bulkAddF32(void *dst, const void *src, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
               ::"l"(dst), "r"(smemAddr(src)), "r"(bytes) : "memory");
}
/// One read of global memory, written to the same offset of every block in `mask`.
FASTK_DEVICE void bulkLoadMulticast(void *dst, const void *src, u32 bytes, u64 *bar, u16 mask) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
               ::"r"(smemAddr(dst)), "l"(src), "r"(bytes), "r"(smemAddr(bar)), "h"(mask) : "memory");
}

// ---------------------------------------------------------------- launch overlap (plan: overlapsPrevious)
/// Until every kernel before this one in the stream has ended and its writes are visible.
FASTK_DEVICE void waitPrevious() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/// The next kernel may be started once all blocks have said so or ended.
FASTK_DEVICE void launchNext() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// ---------------------------------------------------------------- stmatrix
/// The counterpart of ldmatrix4.
FASTK_DEVICE void stmatrix4(void *row, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(smemAddr(row)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
FASTK_DEVICE void stmatrix4Trans(void *row, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(smemAddr(row)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

#endif // sm_90

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// ---------------------------------------------------------------- wgmma
/// K-major operand in 128-byte rows, 128B-swizzled, tile base 1024-byte aligned. A k-step of 16 16-bit elements further:
/// add 2 (32 bytes >> 4) to the descriptor.
FASTK_DEVICE u64 wgmmaDesc128B(u32 addr) {
  return (u64)((addr & 0x3ffff) >> 4) | ((u64)1 << 16) | ((u64)(1024 >> 4) << 32) | ((u64)1 << 62);
}
/// Any layout. Byte offsets: `leading` between core matrices along the contiguous dimension (ignored for swizzled K-major
/// operands), `stride` along the other. `swizzle`: 0 none, 1 128 B, 2 64 B, 3 32 B.
FASTK_DEVICE u64 wgmmaDesc(u32 addr, u32 leading, u32 stride, u32 swizzle) {
  return (u64)((addr & 0x3ffff) >> 4) | ((u64)((leading & 0x3ffff) >> 4) << 16) | ((u64)((stride & 0x3ffff) >> 4) << 32) |
         ((u64)swizzle << 62);
}
FASTK_DEVICE void wgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FASTK_DEVICE void wgmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> FASTK_DEVICE void wgmmaWait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
/// Between a wait and the first use of an accumulator in ordinary code, and between ordinary code and the fence: keeps the
/// compiler from moving register reads and writes across (they are not memory, so a clobber does not).
template <int N> FASTK_DEVICE void wgmmaHold(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}
/// Register hand-over between warpgroups. Needs __launch_bounds__(threads, 1); N a multiple of 8 in 24..256.
template <int N> FASTK_DEVICE void registersUp() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> FASTK_DEVICE void registersDown() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }


// The product itself. d (64 x N) += A(64 x K) * B(K x N); N is twice the length of d: 64, 128, 192 or 256. `keep` = 0
// starts from zero. wgmma*: A and B in shared memory, by descriptor. wgmma*RS: A in registers, K-major.
// 16-bit types (K = 16): TransA, TransB = 1 for operands that are contiguous along M or N. TF32 (K = 8) and e4m3
// (K = 32) are K-major. Accumulators stay in registers: index d by constants only, and do not touch it between a
// product and its wait.
#define FASTK_ACC8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define FASTK_ACC32(d, i) FASTK_ACC8(d, i), FASTK_ACC8(d, i + 8), FASTK_ACC8(d, i + 16), FASTK_ACC8(d, i + 24)
#define FASTK_REGS0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define FASTK_REGS1 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define FASTK_REGS2 "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define FASTK_REGS3 "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define FASTK_ACC_32(d) FASTK_ACC32(d, 0)
#define FASTK_REGS_32 FASTK_REGS0
#define FASTK_ACC_64(d) FASTK_ACC32(d, 0), FASTK_ACC32(d, 32)
#define FASTK_REGS_64 FASTK_REGS0 "," FASTK_REGS1
#define FASTK_ACC_96(d) FASTK_ACC32(d, 0), FASTK_ACC32(d, 32), FASTK_ACC32(d, 64)
#define FASTK_REGS_96 FASTK_REGS0 "," FASTK_REGS1 "," FASTK_REGS2
#define FASTK_ACC_128(d) FASTK_ACC32(d, 0), FASTK_ACC32(d, 32), FASTK_ACC32(d, 64), FASTK_ACC32(d, 96)
#define FASTK_REGS_128 FASTK_REGS0 "," FASTK_REGS1 "," FASTK_REGS2 "," FASTK_REGS3
// `R` accumulators, operand numbers of a, b, keep and what follows; then shape, type, and one of the two below.
#define FASTK_WGMMA_16(name, R, A, B, KEEP, TA, TB, shape, type)                                                        \
  template <int TransA = 0, int TransB = 0> FASTK_DEVICE void name(float (&d)[R], u64 a, u64 b, u32 keep = 1) {         \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #KEEP ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." \
                 type " {" FASTK_REGS_##R "}, %" #A ", %" #B ", p, 1, 1, %" #TA ", %" #TB ";\n}"                        \
                 : FASTK_ACC_##R(d) : "l"(a), "l"(b), "r"(keep), "n"(TransA), "n"(TransB));                             \
  }
#define FASTK_WGMMA_16RS(name, R, A0, A1, A2, A3, B, KEEP, TB, shape, type)                                             \
  template <int TransB = 0> FASTK_DEVICE void name(float (&d)[R], const u32 (&a)[4], u64 b, u32 keep = 1) {             \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #KEEP ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." \
                 type " {" FASTK_REGS_##R "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #B ", p, 1, 1, %" #TB ";\n}"    \
                 : FASTK_ACC_##R(d)                                                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep), "n"(TransB));                         \
  }
#define FASTK_WGMMA_K(name, R, A, B, KEEP, shape, type)                                                                 \
  FASTK_DEVICE void name(float (&d)[R], u64 a, u64 b, u32 keep = 1) {                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #KEEP ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." \
                 type " {" FASTK_REGS_##R "}, %" #A ", %" #B ", p, 1, 1;\n}"                                            \
                 : FASTK_ACC_##R(d) : "l"(a), "l"(b), "r"(keep));                                                       \
  }
FASTK_WGMMA_16(wgmmaF16, 32, 32, 33, 34, 35, 36, "m64n64k16", "f16")
FASTK_WGMMA_16RS(wgmmaF16RS, 32, 32, 33, 34, 35, 36, 37, 38, "m64n64k16", "f16")
FASTK_WGMMA_16(wgmmaBF16, 32, 32, 33, 34, 35, 36, "m64n64k16", "bf16")
FASTK_WGMMA_16RS(wgmmaBF16RS, 32, 32, 33, 34, 35, 36, 37, 38, "m64n64k16", "bf16")
FASTK_WGMMA_K(wgmmaTF32, 32, 32, 33, 34, "m64n64k8", "tf32")
FASTK_WGMMA_K(wgmmaE4M3, 32, 32, 33, 34, "m64n64k32", "e4m3")
FASTK_WGMMA_16(wgmmaF16, 64, 64, 65, 66, 67, 68, "m64n128k16", "f16")
FASTK_WGMMA_16RS(wgmmaF16RS, 64, 64, 65, 66, 67, 68, 69, 70, "m64n128k16", "f16")
FASTK_WGMMA_16(wgmmaBF16, 64, 64, 65, 66, 67, 68, "m64n128k16", "bf16")
FASTK_WGMMA_16RS(wgmmaBF16RS, 64, 64, 65, 66, 67, 68, 69, 70, "m64n128k16", "bf16")
FASTK_WGMMA_K(wgmmaTF32, 64, 64, 65, 66, "m64n128k8", "tf32")
FASTK_WGMMA_K(wgmmaE4M3, 64, 64, 65, 66, "m64n128k32", "e4m3")
FASTK_WGMMA_16(wgmmaF16, 96, 96, 97, 98, 99, 100, "m64n192k16", "f16")
FASTK_WGMMA_16RS(wgmmaF16RS, 96, 96, 97, 98, 99, 100, 101, 102, "m64n192k16", "f16")
FASTK_WGMMA_16(wgmmaBF16, 96, 96, 97, 98, 99, 100, "m64n192k16", "bf16")
FASTK_WGMMA_16RS(wgmmaBF16RS, 96, 96, 97, 98, 99, 100, 101, 102, "m64n192k16", "bf16")
FASTK_WGMMA_K(wgmmaTF32, 96, 96, 97, 98, "m64n192k8", "tf32")
FASTK_WGMMA_K(wgmmaE4M3, 96, 96, 97, 98, "m64n192k32", "e4m3")
FASTK_WGMMA_16(wgmmaF16, 128, 128, 129, 130, 131, 132, "m64n256k16", "f16")
FASTK_WGMMA_16RS(wgmmaF16RS, 128, 128, 129, 130, 131, 132, 133, 134, "m64n256k16", "f16")
FASTK_WGMMA_16(wgmmaBF16, 128, 128, 129, 130, 131, 132, "m64n256k16", "bf16")
FASTK_WGMMA_16RS(wgmmaBF16RS, 128, 128, 129, 130, 131, 132, 133, 134, "m64n256k16", "bf16")
FASTK_WGMMA_K(wgmmaTF32, 128, 128, 129, 130, "m64n256k8", "tf32")
FASTK_WGMMA_K(wgmmaE4M3, 128, 128, 129, 130, "m64n256k32", "e4m3")

#endif // sm_90a

#endif // FASTK_PRELUDE
