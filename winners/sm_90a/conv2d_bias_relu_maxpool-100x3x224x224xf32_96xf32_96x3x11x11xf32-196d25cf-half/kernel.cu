#define PAIRS 4 // tune: 3, 4, 5
#define PINGPONG 1 // tune: 0, 1
#define EPI_LATE 1 // tune: 0, 1

#define BLOCKS 132
#define POOLED_ROWS 2700
#define W_BYTES 76800
#define PITCH 240
#define PAIR_BYTES 23040
#define STAGE_PITCH 36
#define STAGE_BYTES 13824
#define RING_OFF W_BYTES
#define STAGE_OFF (RING_OFF + PAIRS * PAIR_BYTES)
#define BIAS_OFF (STAGE_OFF + 2 * STAGE_BYTES)
#define BAR_OFF (BIAS_OFF + 384)
#define SMEM_BYTES (BAR_OFF + 128)

// Weights to f16 in the order of k of the pixel fragments: [chunk 50][channel 96][k 8].
extern "C" __global__ void __launch_bounds__(256)
pack_weights(const float *__restrict__ in, u32 *__restrict__ ws) {
  launchNext();
  const int idx = blockIdx.x * 256 + threadIdx.x; // 75 * 256 = 19200 pairs of k
  const int t = idx & 3, row = idx >> 2;
  const int chunk = row / 96, n = row - chunk * 96;
  const int dy = chunk < 18 ? 0 : (chunk < 36 ? 1 : 2);
  const int j = chunk - dy * 18;
  const int b = t >> 1;
  int c, s, x;
  if (j < 9) {
    c = j / 3;
    s = j - 3 * c;
    x = 2 * t;
  } else if (j >= 14 && j < 17) {
    c = j - 14;
    s = 3;
    x = 2 * t;
  } else {
    x = 8 + 2 * (t & 1);
    if (j < 12) {
      c = j - 9;
      s = b;
    } else if (j == 12) {
      c = b;
      s = 2;
    } else if (j == 13) {
      c = 2;
      s = 2 + b;
    } else {
      c = b;
      s = 3;
    }
  }
  const int r = 4 * dy + s;
  float v0 = 0.0f, v1 = 0.0f;
  if (r < 11) {
    const float *p = in + n * 363 + c * 121 + r * 11 + x;
    v0 = p[0];
    if (x + 1 < 11)
      v1 = p[1];
  }
  ws[idx] = packF16(v0, v1);
  fenceAsyncGlobal();
}

static __device__ __forceinline__ float maxNan(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

static __device__ __forceinline__ void mma96(float (&d)[48], u32 a0, u32 a1, u32 a2, u32 a3, u64 desc, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %53, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47}, "
      "{%48, %49, %50, %51}, %52, p, 1, 1, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(desc), "r"(keep));
}

static __device__ __forceinline__ u32 pixelPair(const float *p) {
  const float2 v = *(const float2 *)p;
  return packF16(v.x, v.y);
}

// Two block rows (h = 0, 1) of a slot [c 3][row 8][x 240]; q[2 * chunk + h].
static __device__ __forceinline__ void loadPair(u32 (&q)[36], const float *slot, int om, int ot1, int otc,
                                                u32 tailMask) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float *pm = slot + om + h * 4 * PITCH;
    const float *p1 = slot + ot1 + h * 4 * PITCH;
    const float *pc = slot + otc + h * 4 * PITCH;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
#pragma unroll
      for (int s = 0; s < 3; ++s)
        q[2 * (3 * c + s) + h] = pixelPair(pm + (8 * c + s) * PITCH);
      q[2 * (14 + c) + h] = pixelPair(pm + (8 * c + 3) * PITCH);
      q[2 * (9 + c) + h] = pixelPair(p1 + 8 * c * PITCH) & tailMask;
    }
    q[2 * 12 + h] = pixelPair(pc + 2 * PITCH) & tailMask;
    q[2 * 13 + h] = pixelPair(p1 + 18 * PITCH) & tailMask;
    q[2 * 17 + h] = pixelPair(pc + 3 * PITCH) & tailMask;
  }
}

// 96 channels x 32 pixels through the warpgroup's stage: horizontal maximum, bias, relu, store.
static __device__ __forceinline__ void epilogue(const float (&v)[24], float *stW, const float *stR, const float *bS,
                                                float *o, bool valid, u32 barrier) {
  barSync(barrier, 128); // the stage's former readers are done
#pragma unroll
  for (int j = 0; j < 12; ++j) {
    stW[(8 * j) * STAGE_PITCH] = v[2 * j];
    stW[(8 * j + 1) * STAGE_PITCH] = v[2 * j + 1];
  }
  fenceAsyncShared();
  barSync(barrier, 128);
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    const float2 a = *(const float2 *)(stR + 8 * i * STAGE_PITCH);
    const float next = __shfl_down_sync(0xffffffffu, a.x, 1, 16);
    float m = maxNan(maxNan(a.x, a.y), next);
    m = maxNan(m + bS[8 * i], 0.0f);
    if (valid)
      o[8 * i * 729] = m;
  }
}

#define NEXT_PAIR(Q)                                                                                                   \
  do {                                                                                                                 \
    mbarWait(&full[slot], phase);                                                                                      \
    loadPair(Q, ring + slot * (PAIR_BYTES / 4), om, ot1, otc, tailMask);                                               \
    __syncwarp();                                                                                                      \
    if (lane == 0)                                                                                                     \
      mbarArrive(&empty[slot]);                                                                                        \
    if (++slot == PAIRS) {                                                                                             \
      slot = 0;                                                                                                        \
      phase ^= 1;                                                                                                      \
    }                                                                                                                  \
  } while (0)

extern "C" __global__ void __launch_bounds__(384, 1)
conv_pool(const __grid_constant__ CUtensorMap map, const float *__restrict__ bias, const unsigned char *wts,
          float *__restrict__ out, int zero) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *full = (u64 *)(smem + BAR_OFF);
  u64 *empty = full + PAIRS;
  u64 *wbar = empty + PAIRS;
  float *biasS = (float *)(smem + BIAS_OFF);
  const int tid = threadIdx.x;
  if (tid == 0) {
    for (int i = 0; i < PAIRS; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 8); // one arrival of each consumer warp
    }
    mbarInit(wbar, 1);
    mbarInitFence();
  }
  if (tid < 96)
    biasS[tid] = bias[tid];
  fenceAsyncShared();
  __syncthreads();

  const int g0 = (int)blockIdx.x * POOLED_ROWS / BLOCKS;
  const int g1 = ((int)blockIdx.x + 1) * POOLED_ROWS / BLOCKS;
  const int warp = (int)warpIndex();
  const int lane = (int)laneId();

  if (warp >= 8) {
    registersDown<24>();
    if (warp == 8 && lane == 0) {
      tmaPrefetchMap(&map);
      int k = 0;
      u32 slot = 0, phase = 1;
      int g = g0;
      while (g < g1) {
        const int n = g / 27;
        const int P = g - n * 27;
        const int cnt = min(27 - P, g1 - g);
        for (int m = 0; m < cnt + 2; ++m) {
          if (k == PAIRS) { // the first input is under way: now the weights
            waitPrevious();
            fenceAsyncGlobal();
            mbarExpectTx(wbar, W_BYTES);
            for (int i = 0; i < 6; ++i)
              bulkLoad(smem + i * (W_BYTES / 6), wts + i * (W_BYTES / 6), W_BYTES / 6, wbar);
          }
          mbarWait(&empty[slot], phase);
          mbarExpectTx(&full[slot], PAIR_BYTES);
          // x begins at -4 (16 bytes): padded column X is word X + 2 of a row
          tmaLoad4D(smem + RING_OFF + slot * PAIR_BYTES, &map, &full[slot], -4, 8 * (P + m) - 2, 0, n);
          ++k;
          if (++slot == PAIRS) {
            slot = 0;
            phase ^= 1;
          }
        }
        g += cnt;
      }
    }
  } else {
    registersUp<240>();
    const int wg = warp >> 2, w = warp & 3;
    const int t = lane & 3;
    const int local = 8 * w + (lane >> 2); // pixel slot in the warpgroup
    const int pix = 24 * wg + local;
    const int om = 4 * pix + 2 + 2 * t;
    const int ot = 4 * pix + 10 + 2 * (t & 1);
    const int ot1 = ot + (t >= 2 ? PITCH : 0);
    const int otc = ot + (t >= 2 ? 8 * PITCH : 0);
    const u32 tailMask = (t & 1) ? 0x0000ffffu : 0xffffffffu; // x = 11 is no term of the sum
    const u32 lastMask = t >= 2 ? 0u : 0xffffffffu;           // neither is kernel row 11
    const u32 zr = (u32)zero;
    const float *ring = (const float *)(smem + RING_OFF);
    float *stage = (float *)(smem + STAGE_OFF + wg * STAGE_BYTES);
    const int wt = tid & 127;
    const int qq = wt & 15;
    float *stW = stage + 2 * t * STAGE_PITCH + local;
    const float *stR = stage + (wt >> 4) * STAGE_PITCH + 2 * qq;
    const float *bS = biasS + (wt >> 4);
    float *outT = out + (wt >> 4) * 729 + qq + 12 * wg;
    const bool valid = qq < 15 && (wg == 0 || qq >= 3);
    const u32 stageBar = 1 + wg;
    // k core matrices 1536 bytes apart, groups of 8 channels 128 bytes apart; a k-step of 16 is 3072 bytes
    const u64 desc = wgmmaDesc(smemAddr(smem), 1536, 128, 0);

    float acc[48], carry[24], vals[24];
    u32 q0[36], q1[36], q2[36], z[4];
#pragma unroll
    for (int i = 0; i < 48; ++i)
      acc[i] = 0.0f;
#pragma unroll
    for (int i = 0; i < 24; ++i) {
      carry[i] = 0.0f;
      vals[i] = 0.0f;
    }

    u32 slot = 0, phase = 0;
    int g = g0;
    int n = g / 27;
    int P = g - n * 27;
    int cnt = min(27 - P, g1 - g);
    int i = 0; // tile of the segment, 0 to cnt
    int pend = -1;
    bool first = true;

    NEXT_PAIR(q0);
    NEXT_PAIR(q2);
    mbarWait(wbar, 0);

    for (;;) {
#pragma unroll
      for (int j = 0; j < 18; ++j) {
        q1[2 * j] = q0[2 * j + 1] | zr; // zr is 0: a copy into registers of its own
        q1[2 * j + 1] = q2[2 * j] | zr;
      }
      z[0] = q2[24] | zr;
      z[1] = q2[25] | zr;
      z[2] = q2[26] & lastMask;
      z[3] = q2[27] & lastMask;
#pragma unroll
      for (int j = 0; j < 36; ++j) {
        asm volatile("" : "+r"(q0[j]));
        asm volatile("" : "+r"(q1[j]));
        asm volatile("" : "+r"(q2[j]));
      }
#pragma unroll
      for (int j = 0; j < 4; ++j)
        asm volatile("" : "+r"(z[j]));
      const bool last = i == cnt && g + cnt >= g1;
#if PINGPONG
      if (wg != 0 || !first)
        barSync(3 + wg, 256); // this warpgroup's turn
      first = false;
#endif
      wgmmaFence();
#pragma unroll
      for (int p = 0; p < 9; ++p)
        mma96(acc, q0[4 * p], q0[4 * p + 1], q0[4 * p + 2], q0[4 * p + 3], desc + (u64)(192 * p), p != 0 ? 1u : 0u);
#pragma unroll
      for (int p = 0; p < 9; ++p)
        mma96(acc, q1[4 * p], q1[4 * p + 1], q1[4 * p + 2], q1[4 * p + 3], desc + (u64)(192 * (9 + p)), 1u);
#pragma unroll
      for (int p = 0; p < 6; ++p)
        mma96(acc, q2[4 * p], q2[4 * p + 1], q2[4 * p + 2], q2[4 * p + 3], desc + (u64)(192 * (18 + p)), 1u);
      mma96(acc, z[0], z[1], z[2], z[3], desc + (u64)(192 * 24), 1u);
      wgmmaCommit();
#if PINGPONG
      if (wg == 0 || !last)
        barArrive(4 - wg, 256); // the other warpgroup's turn
#endif
#if EPI_LATE
      if (pend >= 0)
        epilogue(vals, stW, stR, bS, outT + pend, valid, stageBar);
#endif
      wgmmaWait<0>();
#pragma unroll
      for (int j = 0; j < 48; ++j)
        asm volatile("" : "+f"(acc[j]) : : "memory");
#pragma unroll
      for (int j = 0; j < 12; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          vals[2 * j + e] = maxNan(carry[2 * j + e], acc[4 * j + e]);
          carry[2 * j + e] = maxNan(acc[4 * j + e], acc[4 * j + 2 + e]);
        }
      }
#pragma unroll
      for (int j = 0; j < 24; ++j) {
        asm volatile("" : "+f"(vals[j]));
        asm volatile("" : "+f"(carry[j]));
      }
      pend = i > 0 ? n * 69984 + (P + i - 1) * 27 : -1;
#if !EPI_LATE
      if (pend >= 0)
        epilogue(vals, stW, stR, bS, outT + pend, valid, stageBar);
#endif
      if (i < cnt) {
        ++i;
#pragma unroll
        for (int j = 0; j < 36; ++j)
          q0[j] = q2[j];
        NEXT_PAIR(q2);
      } else {
        if (last)
          break;
        g += cnt;
        n = g / 27;
        P = g - n * 27;
        cnt = min(27 - P, g1 - g);
        i = 0;
        NEXT_PAIR(q0);
        NEXT_PAIR(q2);
      }
    }
#if EPI_LATE
    epilogue(vals, stW, stR, bS, outT + pend, valid, stageBar);
#endif
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in2","ws0"],"block":[256],"grid":[75],"launch":"pack_weights"},
// fastk-plan: {"arguments":["map0","in1","ws0","out0",{"i32":0}],"block":[384],"grid":["BLOCKS"],"launch":"conv_pool",
// fastk-plan: "overlaps_previous":true,"shared_bytes":"SMEM_BYTES"}],"tensor_maps":[{"box":[240,8,3,
// fastk-plan: 1],"buffer":"in0","dims":[224,224,3,100],"l2_promotion":"256B","strides":[896,200704,602112],
// fastk-plan: "swizzle":"none","type":"f32"}],"workspaces":[{"bytes":"W_BYTES"}]}
