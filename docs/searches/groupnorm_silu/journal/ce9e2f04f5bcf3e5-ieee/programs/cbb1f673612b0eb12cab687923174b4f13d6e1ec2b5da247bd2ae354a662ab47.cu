#define PV 4 // tune: 2, 4
#define REGV 12 // tune: 12, 16, 20
#define EVICT 1 // tune: 0, 1

#define CTAS 132
#define ROWS 512
#define COLS 65536
#define WARPS 16
#define CHAN 4096                       // elements of a channel: one warp's share of a row
#define PIECES (32 / PV)                // pieces of a channel (a lane has 32 float4 of it)
#define NSLOT (28 / PV)                 // slots of the ring of a warp
#define REGP (REGV / PV)                // pieces kept in registers
#define SMP (PIECES - REGP)             // pieces kept in shared memory
#define PIECE_FLOATS (PV * 128)
#define PIECE_BYTES (PV * 512)
#define RING_BYTES (NSLOT * PIECE_BYTES)
#define BAR_OFF (WARPS * RING_BYTES)
#define PM_OFF (BAR_OFF + WARPS * NSLOT * 8)
#define PQ_OFF (PM_OFF + 2 * WARPS * 8)
#define SMEM_BYTES (PQ_OFF + 2 * WARPS * 4)

#if REGV % PV != 0
#error "REGV has to be a multiple of PV"
#endif

struct LaneStats {
  float piv, s1, s2, m2, r;
};

// Eight values: local mean m, residual of the mean, squares around m;
// the local means are summed relative to the lane's first local mean.
static __device__ __forceinline__ void addGroup(LaneStats &st, const float4 a, const float4 b, const bool first) {
  const float s = ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
  const float m = s * 0.125f;
  if (first)
    st.piv = m;
  const float D = m - st.piv;
  st.s1 += D;
  st.s2 = fmaf(D, D, st.s2);
  const float d0 = a.x - m, d1 = a.y - m, d2 = a.z - m, d3 = a.w - m;
  const float d4 = b.x - m, d5 = b.y - m, d6 = b.z - m, d7 = b.w - m;
  st.r += ((d0 + d1) + (d2 + d3)) + ((d4 + d5) + (d6 + d7));
  float q0 = d0 * d0, q1 = d1 * d1;
  q0 = fmaf(d2, d2, q0);
  q1 = fmaf(d3, d3, q1);
  q0 = fmaf(d4, d4, q0);
  q1 = fmaf(d5, d5, q1);
  q0 = fmaf(d6, d6, q0);
  q1 = fmaf(d7, d7, q1);
  st.m2 += q0 + q1;
}

static __device__ __forceinline__ float silu1(float x, float hi, float a, float b) {
  const float y = fmaf(x - hi, a, b);
  const float e = exp2Fast(y * -1.4426950408889634f);
  return y * rcpFast(1.0f + e);
}

static __device__ __forceinline__ float4 silu4(float4 v, float hi, float a, float b) {
  return make_float4(silu1(v.x, hi, a, b), silu1(v.y, hi, a, b), silu1(v.z, hi, a, b), silu1(v.w, hi, a, b));
}

// Merges two equally large sets; both lanes of a pair get the same bits.
static __device__ __forceinline__ void mergeXor(double &mean, float &m2, const int o, const float halfCount) {
  const double om = __shfl_xor_sync(0xffffffffu, mean, o);
  const float oq = __shfl_xor_sync(0xffffffffu, m2, o);
  const float delta = (float)(om - mean);
  m2 = fmaf(delta * delta, halfCount, m2 + oq);
  mean = 0.5 * (mean + om);
}

static __device__ __forceinline__ void issuePiece(const float *in, unsigned char *ring, u64 *bars, u32 slot,
                                                  u32 warpBase, u32 m) {
  const u32 off = warpBase + (m / PIECES) * (u32)(CTAS * COLS) + (m % PIECES) * (u32)PIECE_FLOATS;
  mbarExpectTx(bars + slot, PIECE_BYTES);
#if EVICT
  bulkLoadHint(ring + slot * PIECE_BYTES, in + off, PIECE_BYTES, bars + slot, policyEvictFirst());
#else
  bulkLoad(ring + slot * PIECE_BYTES, in + off, PIECE_BYTES, bars + slot);
#endif
}

// True in every lane, but known only when the values that tag was made of
// have arrived in the registers of all 32 lanes: a refill that depends on it
// cannot overtake the reads of the slot.
static __device__ __forceinline__ bool readsDone(u32 tag) {
  u32 r;
  asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(tag | 1u) : "memory");
  return (r & 1u) != 0u;
}

extern "C" __global__ void __launch_bounds__(512, 1)
gn_silu(const float *__restrict__ in, const float *__restrict__ gamma, const float *__restrict__ beta,
        float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 lane = laneId();
  const u32 w = warpIndex();
  unsigned char *ring = smem + w * RING_BYTES;
  u64 *allBars = (u64 *)(smem + BAR_OFF);
  u64 *bars = allBars + w * NSLOT;
  double *pMean = (double *)(smem + PM_OFF);
  float *pM2 = (float *)(smem + PQ_OFF);

  if (threadIdx.x < WARPS * NSLOT)
    mbarInit(allBars + threadIdx.x, 1);
  mbarInitFence();
  __syncthreads();

  const u32 nrows = (ROWS - blockIdx.x + CTAS - 1) / CTAS;
  const u32 total = nrows * PIECES;
  const u32 warpBase = blockIdx.x * (u32)COLS + w * (u32)CHAN;

  if (lane == 0) {
    for (u32 m = 0; m < NSLOT; ++m)
      issuePiece(in, ring, bars, m, warpBase, m);
  }
  __syncwarp();

  u32 slot = 0, phase = 0, n0 = 0;

#pragma unroll 1
  for (u32 k = 0; k < nrows; ++k) {
    const u32 row = blockIdx.x + k * CTAS;
    const u32 ch = (row & 31u) * 16u + w;
    const float ga = __ldg(gamma + ch);
    const float be = __ldg(beta + ch);

    float4 data[REGV];
    LaneStats st;
    st.piv = 0.0f;
    st.s1 = 0.0f;
    st.s2 = 0.0f;
    st.m2 = 0.0f;
    st.r = 0.0f;

    // First part of the channel: into registers, slots released at once.
#pragma unroll
    for (int p = 0; p < REGP; ++p) {
      mbarWait(bars + slot, phase);
      const float4 *src = (const float4 *)(ring + slot * PIECE_BYTES) + lane;
      u32 tag = 0;
#pragma unroll
      for (int j = 0; j < PV; ++j) {
        data[p * PV + j] = src[j * 32];
        tag ^= __float_as_uint(data[p * PV + j].x) ^ __float_as_uint(data[p * PV + j].w);
      }
#pragma unroll
      for (int j = 0; j < PV; j += 2)
        addGroup(st, data[p * PV + j], data[p * PV + j + 1], p == 0 && j == 0);
      __syncwarp();
      const bool done = readsDone(tag);
      const u32 m = n0 + p + NSLOT;
      if (done && lane == 0 && m < total)
        issuePiece(in, ring, bars, slot, warpBase, m);
      __syncwarp();
      if (++slot == NSLOT) {
        slot = 0;
        phase ^= 1u;
      }
    }

    // Second part: statistics only, the pieces stay in their slots.
    const u32 heldSlot = slot;
#pragma unroll 2
    for (int p = 0; p < SMP; ++p) {
      mbarWait(bars + slot, phase);
      const float4 *src = (const float4 *)(ring + slot * PIECE_BYTES) + lane;
#pragma unroll
      for (int j = 0; j < PV; j += 2) {
        const float4 a = src[j * 32];
        const float4 b = src[(j + 1) * 32];
        addGroup(st, a, b, false);
      }
      if (++slot == NSLOT) {
        slot = 0;
        phase ^= 1u;
      }
    }
    __syncwarp();

    // 16 groups of 8 in a lane, 32 lanes, 16 warps.
    const float c = st.s1 * (1.0f / 16.0f);
    float between = fmaf(-st.s1, c, st.s2);
    between = between < 0.0f ? 0.0f : between;
    float m2 = fmaf(8.0f, between, st.m2);
    double mean = (double)st.piv + ((double)c + (double)(st.r * (1.0f / 128.0f)));
    mergeXor(mean, m2, 1, 64.0f);
    mergeXor(mean, m2, 2, 128.0f);
    mergeXor(mean, m2, 4, 256.0f);
    mergeXor(mean, m2, 8, 512.0f);
    mergeXor(mean, m2, 16, 1024.0f);
    const u32 buf = (k & 1u) * WARPS;
    if (lane == 0) {
      pMean[buf + w] = mean;
      pM2[buf + w] = m2;
    }
    __syncthreads();
    mean = pMean[buf + (lane & 15u)];
    m2 = pM2[buf + (lane & 15u)];
    mergeXor(mean, m2, 1, 2048.0f);
    mergeXor(mean, m2, 2, 4096.0f);
    mergeXor(mean, m2, 4, 8192.0f);
    mergeXor(mean, m2, 8, 16384.0f);

    const float hi = (float)mean;
    const float lo = (float)(mean - (double)hi);
    const float rstd = rsqrtf(fmaf(m2, 1.0f / 65536.0f, 1e-5f));
    const float a = rstd * ga;
    const float b = fmaf(-lo, a, be);

    float4 *dst = (float4 *)(out + ((size_t)row * COLS + w * (u32)CHAN)) + lane;

    // Pieces in shared memory first: each one frees its slot for the next row.
    // The next piece is read before the current one is stored.
    u32 hs = heldSlot;
    float4 v[PV];
    {
      const float4 *src = (const float4 *)(ring + hs * PIECE_BYTES) + lane;
#pragma unroll
      for (int j = 0; j < PV; ++j)
        v[j] = src[j * 32];
    }
#pragma unroll 2
    for (int p = 0; p < SMP; ++p) {
      u32 tag = 0;
#pragma unroll
      for (int j = 0; j < PV; ++j)
        tag ^= __float_as_uint(v[j].x) ^ __float_as_uint(v[j].w);
      __syncwarp();
      const bool done = readsDone(tag);
      const u32 m = n0 + REGP + p + NSLOT;
      if (done && lane == 0 && m < total)
        issuePiece(in, ring, bars, hs, warpBase, m);
      __syncwarp();
      if (++hs == NSLOT)
        hs = 0;
      float4 nv[PV];
#pragma unroll
      for (int j = 0; j < PV; ++j)
        nv[j] = v[j];
      if (p + 1 < SMP) {
        const float4 *src = (const float4 *)(ring + hs * PIECE_BYTES) + lane;
#pragma unroll
        for (int j = 0; j < PV; ++j)
          nv[j] = src[j * 32];
      }
#pragma unroll
      for (int j = 0; j < PV; ++j)
        storeStream(dst + ((REGP + p) * PV + j) * 32, silu4(v[j], hi, a, b));
#pragma unroll
      for (int j = 0; j < PV; ++j)
        v[j] = nv[j];
    }

    // Then the pieces in registers, while the next row arrives.
#pragma unroll
    for (int i = 0; i < REGV; ++i)
      storeStream(dst + i * 32, silu4(data[i], hi, a, b));

    n0 += PIECES;
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":[512],"grid":["CTAS"],
// fastk-plan: "launch":"gn_silu","shared_bytes":"SMEM_BYTES"}]}
