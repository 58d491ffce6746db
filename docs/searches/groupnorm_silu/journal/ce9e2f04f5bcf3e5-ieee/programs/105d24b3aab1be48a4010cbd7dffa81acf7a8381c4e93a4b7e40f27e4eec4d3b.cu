#define CHUNK_F4 2 // tune: 2, 4
#define HELD_F4 16 // tune: 12, 16, 20
#define RING_KB 14 // tune: 12, 14

#define WARPS 16
#define THREADS 512
#define GRID 132
#define ROWS 512
#define ROW_ELEMS 65536
#define CHANNEL_ELEMS 4096

#define CHUNK_BYTES (CHUNK_F4 * 512)
#define CHUNK_ELEMS (CHUNK_F4 * 128)
#define CHUNKS (32 / CHUNK_F4)
#define HELD_CHUNKS (HELD_F4 / CHUNK_F4)
#define SLOTS (RING_KB * 1024 / CHUNK_BYTES)
#define RING_BYTES (RING_KB * 1024 * WARPS)
#define LANE_CHUNK (CHUNK_F4 * 4)

#if (CHUNKS - HELD_CHUNKS) > SLOTS
#error "ring too small for the part of the row that stays in shared memory"
#endif
#if SLOTS > CHUNKS
#error "ring larger than a row"
#endif

static __device__ __forceinline__ float silu1(float x, float hi, float lo, float a, float b) {
  const float t = fmaf((x - hi) - lo, a, b);
  const float e = exp2Fast(t * -1.4426950408889634f);
  return t * rcpFast(1.0f + e);
}

static __device__ __forceinline__ float4 silu4(float4 v, float hi, float lo, float a, float b) {
  float4 r;
  r.x = silu1(v.x, hi, lo, a, b);
  r.y = silu1(v.y, hi, lo, a, b);
  r.z = silu1(v.z, hi, lo, a, b);
  r.w = silu1(v.w, hi, lo, a, b);
  return r;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
group_norm_silu(const float *__restrict__ in, const float *__restrict__ scale,
                const float *__restrict__ bias, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];

  const int lane = threadIdx.x & 31;
  const int w = threadIdx.x >> 5;

  unsigned char *ring = smem + w * (RING_KB * 1024);
  u64 *bars = (u64 *)(smem + RING_BYTES) + w * SLOTS;
  double *partMean = (double *)(smem + RING_BYTES + WARPS * SLOTS * 8); // [2][16]
  float *partM2 = (float *)(partMean + 2 * WARPS);                      // [2][16]

  if (lane == 0) {
    for (int i = 0; i < SLOTS; ++i)
      mbarInit(bars + i, 1);
  }
  mbarInitFence();
  fenceAsyncShared();
  __syncthreads();

  const u64 policy = policyEvictFirst();

  int row = blockIdx.x;
  const float *src = in + (size_t)row * ROW_ELEMS + w * CHANNEL_ELEMS;
  float *dst = out + (size_t)row * ROW_ELEMS + w * CHANNEL_ELEMS + lane * 4;

  if (lane == 0) {
    for (int i = 0; i < SLOTS; ++i) {
      mbarExpectTx(bars + i, CHUNK_BYTES);
      bulkLoadHint(ring + i * CHUNK_BYTES, src + i * CHUNK_ELEMS, CHUNK_BYTES, bars + i, policy);
    }
  }
  __syncwarp();

  int slot = 0;      // slot of the next chunk to arrive
  u32 parity = 0;    // its phase parity
  int buf = 0;       // which half of the partials

  for (; row < ROWS; row += GRID) {
    const bool hasNext = row + GRID < ROWS;
    const int channel = (row & 31) * 16 + w;
    const float gamma = __ldg(scale + channel);
    const float beta = __ldg(bias + channel);
    const float *srcNext = src + (size_t)GRID * ROW_ELEMS;

    float4 hold[HELD_F4];
    float shift = 0.0f, mean = 0.0f, m2 = 0.0f;
    int stay = 0; // slot of the first chunk that stays in shared memory

#pragma unroll
    for (int j = 0; j < CHUNKS; ++j) {
      if (j == HELD_CHUNKS)
        stay = slot;
      mbarWait(bars + slot, parity);
      float4 v[CHUNK_F4];
      const float4 *p = (const float4 *)(ring + slot * CHUNK_BYTES) + lane;
#pragma unroll
      for (int k = 0; k < CHUNK_F4; ++k)
        v[k] = p[k * 32];

      if (j < HELD_CHUNKS) {
#pragma unroll
        for (int k = 0; k < CHUNK_F4; ++k)
          hold[(j < HELD_CHUNKS ? j : 0) * CHUNK_F4 + k] = v[k];
        __syncwarp();
        // chunk j + SLOTS goes to the slot that has just been read
        const bool same = j + SLOTS < CHUNKS;
        if (lane == 0 && (same || hasNext)) {
          const float *g = same ? src + (j + SLOTS) * CHUNK_ELEMS
                                : srcNext + (j + SLOTS - CHUNKS) * CHUNK_ELEMS;
          mbarExpectTx(bars + slot, CHUNK_BYTES);
          bulkLoadHint(ring + slot * CHUNK_BYTES, g, CHUNK_BYTES, bars + slot, policy);
        }
        __syncwarp();
      }

      // statistics of this lane's values, relative to its first value of the row
      if (j == 0)
        shift = v[0].x;
      float s = 0.0f;
#pragma unroll
      for (int k = 0; k < CHUNK_F4; ++k) {
        v[k].x -= shift;
        v[k].y -= shift;
        v[k].z -= shift;
        v[k].w -= shift;
        s += (v[k].x + v[k].y) + (v[k].z + v[k].w);
      }
      const float mb = s * (1.0f / LANE_CHUNK);
      float qa = 0.0f, qb = 0.0f;
#pragma unroll
      for (int k = 0; k < CHUNK_F4; ++k) {
        const float dx = v[k].x - mb, dy = v[k].y - mb, dz = v[k].z - mb, dw = v[k].w - mb;
        qa = fmaf(dx, dx, qa);
        qb = fmaf(dy, dy, qb);
        qa = fmaf(dz, dz, qa);
        qb = fmaf(dw, dw, qb);
      }
      if (j == 0) {
        mean = mb;
        m2 = qa + qb;
      } else {
        // counts: j * LANE_CHUNK before, LANE_CHUNK now
        const float d = mb - mean;
        mean = fmaf(d, 1.0f / (float)(j + 1), mean);
        m2 += fmaf(d * d, (float)LANE_CHUNK * ((float)j / (float)(j + 1)), qa + qb);
      }

      if (++slot == SLOTS) {
        slot = 0;
        parity ^= 1u;
      }
    }

    // over the 32 lanes of the warp (128 values each)
    const double laneMean = (double)shift + (double)mean;
    double wm = laneMean;
#pragma unroll
    for (int o = 16; o; o >>= 1)
      wm += __shfl_xor_sync(0xffffffffu, wm, o);
    wm *= 1.0 / 32.0;
    {
      const float d = (float)(laneMean - wm);
      m2 = fmaf(d * d, 128.0f, m2);
    }
#pragma unroll
    for (int o = 16; o; o >>= 1)
      m2 += __shfl_xor_sync(0xffffffffu, m2, o);

    if (lane == 0) {
      partMean[buf * WARPS + w] = wm;
      partM2[buf * WARPS + w] = m2;
    }
    __syncthreads();

    // over the 16 warps (4096 values each); both halves of a warp do the same
    const double pm = partMean[buf * WARPS + (lane & 15)];
    float q = partM2[buf * WARPS + (lane & 15)];
    double rm = pm;
#pragma unroll
    for (int o = 8; o; o >>= 1)
      rm += __shfl_xor_sync(0xffffffffu, rm, o);
    rm *= 1.0 / 16.0;
    {
      const float d = (float)(pm - rm);
      q = fmaf(d * d, 4096.0f, q);
    }
#pragma unroll
    for (int o = 8; o; o >>= 1)
      q += __shfl_xor_sync(0xffffffffu, q, o);
    buf ^= 1;

    const float var = q * (1.0f / 65536.0f);
    const float rstd = 1.0f / sqrtf(var + 1e-5f);
    const float hi = (float)rm;
    const float lo = (float)(rm - (double)hi);
    const float a = rstd * gamma;

    // first the chunks in shared memory: each one frees a slot for the next row
#pragma unroll
    for (int j = HELD_CHUNKS; j < CHUNKS; ++j) {
      float4 v[CHUNK_F4];
      const float4 *p = (const float4 *)(ring + stay * CHUNK_BYTES) + lane;
#pragma unroll
      for (int k = 0; k < CHUNK_F4; ++k)
        v[k] = p[k * 32];
      __syncwarp();
      const bool same = j + SLOTS < CHUNKS;
      if (lane == 0 && (same || hasNext)) {
        const float *g = same ? src + (j + SLOTS) * CHUNK_ELEMS
                              : srcNext + (j + SLOTS - CHUNKS) * CHUNK_ELEMS;
        mbarExpectTx(bars + stay, CHUNK_BYTES);
        bulkLoadHint(ring + stay * CHUNK_BYTES, g, CHUNK_BYTES, bars + stay, policy);
      }
      __syncwarp();
#pragma unroll
      for (int k = 0; k < CHUNK_F4; ++k)
        storeStream(dst + j * CHUNK_ELEMS + k * 128, silu4(v[k], hi, lo, a, beta));
      if (++stay == SLOTS)
        stay = 0;
    }

    // then the chunks in registers, while the next row arrives
#pragma unroll
    for (int i = 0; i < HELD_F4; ++i)
      storeStream(dst + i * 128, silu4(hold[i], hi, lo, a, beta));

    src = srcNext;
    dst += (size_t)GRID * ROW_ELEMS;
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":["THREADS"],"grid":["GRID"],
// fastk-plan: "launch":"group_norm_silu","shared_bytes":"RING_KB * 16384 + 2304"}]}
