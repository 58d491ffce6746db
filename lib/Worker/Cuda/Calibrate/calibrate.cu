//===- calibrate.cu - What the GPU reaches when it does one thing ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind the prelude, which has the wrappers of matrix instructions. Work per
// block and round is in Calibrate.cpp. Results go to `sink` where that cannot
// happen, so that no compiler leaves the work out.
//
//===----------------------------------------------------------------------===//

extern "C" __global__ void fastk_nothing() {}

FASTK_DEVICE u64 firstOf() { return blockIdx.x * (u64)blockDim.x + threadIdx.x; }
FASTK_DEVICE u64 strideOf() { return (u64)gridDim.x * blockDim.x; }

extern "C" __global__ void __launch_bounds__(512)
fastk_copy(const uint4 *from, uint4 *to, u64 count) {
  u64 i = firstOf(), step = strideOf();
  for (; i + 3 * step < count; i += 4 * step) {
    uint4 a = from[i], b = from[i + step], c = from[i + 2 * step],
          d = from[i + 3 * step];
    to[i] = a, to[i + step] = b, to[i + 2 * step] = c, to[i + 3 * step] = d;
  }
  for (; i < count; i += step)
    to[i] = from[i];
}

FASTK_DEVICE u32 fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }
/// Past the first-level cache.
FASTK_DEVICE uint4 loadL2(const uint4 *p) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

extern "C" __global__ void __launch_bounds__(512)
fastk_read(const uint4 *from, u64 count, u32 rounds, u32 *sink) {
  u32 all = 0;
  for (u32 round = 0; round < rounds; ++round) {
    u64 i = firstOf(), step = strideOf();
    for (; i + 7 * step < count; i += 8 * step) {
      uint4 v[8];
#pragma unroll
      for (int k = 0; k < 8; ++k)
        v[k] = loadL2(from + i + k * step);
#pragma unroll
      for (int k = 0; k < 8; ++k)
        all ^= fold(v[k]);
    }
    for (; i < count; i += step)
      all ^= fold(loadL2(from + i));
  }
  if (all == 0x5eed5eed)
    *sink = all;
}

/// A round: 64 multiply-adds a thread, in 16 independent chains.
template <typename T>
FASTK_DEVICE void multiplyAdd(u32 rounds, T scale, T *sink) {
  T v[16];
#pragma unroll
  for (int k = 0; k < 16; ++k)
    v[k] = T(threadIdx.x + k);
  T shift = T(threadIdx.x);
#pragma unroll 1
  for (u32 round = 0; round < rounds; ++round)
#pragma unroll
    for (int repeat = 0; repeat < 4; ++repeat)
#pragma unroll
      for (int k = 0; k < 16; ++k)
        v[k] = v[k] * scale + shift;
  T all = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k)
    all += v[k];
  if (all == T(-1))
    *sink = all;
}

extern "C" __global__ void __launch_bounds__(256)
fastk_fma_f32(u32 rounds, float scale, float *sink) {
  multiplyAdd(rounds, scale, sink);
}
extern "C" __global__ void __launch_bounds__(256)
fastk_fma_f64(u32 rounds, double scale, double *sink) {
  multiplyAdd(rounds, scale, sink);
}

/// A round: 32 products of 16 x 8 x 4 (before sm_90) or 16 x 8 x 16 a warp, in 8
/// independent chains.
extern "C" __global__ void __launch_bounds__(256)
fastk_tensor_f64(u32 rounds, double scale, double *sink) {
  double d[8][4], a[8], b[4];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    a[k] = scale * (threadIdx.x + k + 1);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      d[k][i] = 0;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    b[i] = scale * (i + 1) - threadIdx.x;
#pragma unroll 1
  for (u32 round = 0; round < rounds; ++round)
#pragma unroll
    for (int repeat = 0; repeat < 4; ++repeat)
#pragma unroll
      for (int k = 0; k < 8; ++k)
#if __CUDA_ARCH__ >= 900
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
                     "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
                     : "+d"(d[k][0]), "+d"(d[k][1]), "+d"(d[k][2]),
                       "+d"(d[k][3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]),
                       "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
                       "d"(b[2]), "d"(b[3]));
#else
#pragma unroll
        for (int half = 0; half < 4; half += 2)
          asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
                       "{%0,%1}, {%2}, {%3}, {%0,%1};"
                       : "+d"(d[k][half]), "+d"(d[k][half + 1])
                       : "d"(a[k]), "d"(b[0]));
#endif
  double all = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k)
    all += d[k][0] + d[k][1] + d[k][2] + d[k][3];
  if (all == -1)
    *sink = all;
}

/// Bits of small numbers of both signs: what is multiplied decides the power
/// that it takes, and zeros would take none.
FASTK_DEVICE u32 noise(u32 i) {
  i = (i ^ (i >> 15)) * 0x2c1b3c6d;
  i = (i ^ (i >> 12)) * 0x297a2d39;
  return i ^ (i >> 15);
}
enum { F16, BF16, TF32, F8 };
template <int Type> FASTK_DEVICE u32 operand(u32 i) {
  u32 bits = noise(i);
  if (Type == F16)
    return (bits & 0x83ff83ff) | 0x3c003c00;
  if (Type == BF16)
    return (bits & 0x807f807f) | 0x3f803f80;
  if (Type == TF32)
    return (bits & 0x807fe000) | 0x3f800000;
  return (bits & 0x87878787) | 0x38383838;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// A round: 8 products of 64 x 256 x 32 bytes a warpgroup, out of shared memory.
template <int Type>
FASTK_DEVICE void tensor(u32 rounds, float *sink) {
  // Operands in rows of 128 bytes: four k-steps of 32 bytes.
  __shared__ __align__(1024) u32 memory[(2 * 64 + 256) * 32];
  for (u32 i = threadIdx.x; i < (2 * 64 + 256) * 32; i += 256)
    memory[i] = operand<Type>(i + blockIdx.x * 7919);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  u64 a = wgmmaDesc128B(smemAddr(memory) + warpIndex() / 4 * 64 * 128);
  u64 b = wgmmaDesc128B(smemAddr(memory) + 2 * 64 * 128);
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; ++i)
    d[i] = 0;
#pragma unroll 1
  for (u32 round = 0; round < rounds; ++round) {
    wgmmaFence();
#pragma unroll
    for (int step = 0; step < 8; ++step) {
      u64 at = step % 4 * 2;
      if constexpr (Type == F16)
        wgmmaF16(d, a + at, b + at);
      else if constexpr (Type == BF16)
        wgmmaBF16(d, a + at, b + at);
      else if constexpr (Type == TF32)
        wgmmaTF32(d, a + at, b + at);
      else
        wgmmaE4M3(d, a + at, b + at);
    }
    wgmmaCommit();
    wgmmaWait<0>();
  }
  wgmmaHold(d);
  float all = 0;
#pragma unroll
  for (int i = 0; i < 128; ++i)
    all += d[i];
  if (all == -1.0f)
    *sink = all;
}

extern "C" __global__ void __launch_bounds__(256, 1)
fastk_tensor_f8(u32 rounds, float *sink) { tensor<F8>(rounds, sink); }

#else

/// A round: 32 products of 16 x 8 x 32 bytes a warp, in 8 independent chains.
template <int Type>
FASTK_DEVICE void tensor(u32 rounds, float *sink) {
  float d[8][4] = {};
  u32 a[4], b[8][2];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    a[i] = operand<Type>(threadIdx.x * 4 + i);
#pragma unroll
  for (int i = 0; i < 16; ++i)
    b[i / 2][i % 2] = operand<Type>(threadIdx.x * 16 + i + 4096);
#pragma unroll 1
  for (u32 round = 0; round < rounds; ++round)
#pragma unroll
    for (int repeat = 0; repeat < 4; ++repeat)
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if constexpr (Type == F16)
          mmaF16(d[k], a, b[k]);
        else if constexpr (Type == BF16)
          mmaBF16(d[k], a, b[k]);
        else
          mmaTF32(d[k], a, b[k]);
  float all = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k)
    all += d[k][0] + d[k][1] + d[k][2] + d[k][3];
  if (all == -1.0f)
    *sink = all;
}

#endif

extern "C" __global__ void __launch_bounds__(256)
fastk_tensor_f16(u32 rounds, float *sink) { tensor<F16>(rounds, sink); }
extern "C" __global__ void __launch_bounds__(256)
fastk_tensor_bf16(u32 rounds, float *sink) { tensor<BF16>(rounds, sink); }
extern "C" __global__ void __launch_bounds__(256)
fastk_tensor_tf32(u32 rounds, float *sink) { tensor<TF32>(rounds, sink); }
