#define SLOTS 14 // tune: 14, 13, 12, 10
#define LOAD_FIRST 1 // tune: 1, 0
#define STORE_STREAM 0 // tune: 0, 1

#define CLUSTERS 66
#define ROWS 512
#define ROW_ELEMS 65536
#define HALF_ELEMS 32768
#define CHUNK_ELEMS 4096
#define CHUNK_BYTES 16384
#define CHUNKS 8
#define CONSUMER_WARPS 16
#define CONSUMERS 512
#define THREADS 544
#define RING_BYTES (SLOTS * 16384)
#define SMEM_BYTES (SLOTS * 16384 + 2048)

static __device__ __forceinline__ void loadChunk(unsigned char *ring, u64 *full, u32 slot, const float *src) {
  mbarExpectTx(&full[slot], CHUNK_BYTES);
#if LOAD_FIRST
  bulkLoadHint(ring + slot * CHUNK_BYTES, src, CHUNK_BYTES, &full[slot], policyEvictFirst());
#else
  bulkLoad(ring + slot * CHUNK_BYTES, src, CHUNK_BYTES, &full[slot]);
#endif
}

static __device__ __forceinline__ void sendPartial(u32 remote, double mean, double m2) {
  asm volatile("st.shared::cluster.v2.f64 [%0], {%1, %2};" ::"r"(remote), "d"(mean), "d"(m2) : "memory");
}

static __device__ __forceinline__ void arriveCluster(u32 remoteBar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remoteBar) : "memory");
}

static __device__ __forceinline__ void readPartial(u32 addr, double &mean, double &m2) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(mean), "=d"(m2) : "r"(addr) : "memory");
}

// merges the statistics of 32 lanes, each of n elements
static __device__ __forceinline__ void mergeWarp(double &mean, double &m2, double n) {
  double half = 0.5 * n;
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    const double om = __shfl_xor_sync(0xffffffffu, mean, o);
    const double oq = __shfl_xor_sync(0xffffffffu, m2, o);
    const double delta = mean - om;
    m2 = (m2 + oq) + (delta * delta) * half;
    mean = 0.5 * (mean + om);
    half = half * 2.0;
  }
}

static __device__ __forceinline__ float siluOne(float x, float hi, float lo, float a, float b) {
  const float t = fmaf((x - hi) - lo, a, b);
  const float e = exp2Fast(t * -1.4426950408889634f);
  return t * rcpFast(1.0f + e);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gn_silu(const float *__restrict__ in, const float *__restrict__ gamma, const float *__restrict__ beta,
        float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 statAddr = smemAddr(smem + RING_BYTES); // 2 x 32 pairs of f64
  u64 *full = (u64 *)(smem + RING_BYTES + 1024);
  u64 *empty = full + SLOTS;
  u64 *statBar = empty + SLOTS;

  const u32 rank = ctaRank();
  const u32 first = blockIdx.x >> 1;
  const u32 rows = (ROWS - first + CLUSTERS - 1) / CLUSTERS;
  const u32 total = rows * CHUNKS;
  const u32 warp = threadIdx.x >> 5;
  const u32 lane = threadIdx.x & 31;
  const float *src = in + (size_t)first * ROW_ELEMS + rank * HALF_ELEMS;

  if (threadIdx.x == CONSUMERS) {
    for (int i = 0; i < SLOTS; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], CONSUMER_WARPS);
    }
    mbarInit(&statBar[0], 2 * CONSUMER_WARPS);
    mbarInit(&statBar[1], 2 * CONSUMER_WARPS);
    mbarInitFence();
    fenceAsyncShared();
    // every cluster has at least 56 chunks, so the ring can be filled at once
    for (u32 i = 0; i < SLOTS; ++i)
      loadChunk(smem, full, i, src + (size_t)(i >> 3) * CLUSTERS * ROW_ELEMS + (i & 7) * CHUNK_ELEMS);
  }
  __syncwarp();
  __syncthreads();
  clusterSync();

  if (warp == CONSUMER_WARPS) {
    if (lane == 0) {
      u32 slot = 0, parity = 0;
      for (u32 i = SLOTS; i < total; ++i) {
        mbarWait(&empty[slot], parity);
        loadChunk(smem, full, slot, src + (size_t)(i >> 3) * CLUSTERS * ROW_ELEMS + (i & 7) * CHUNK_ELEMS);
        if (++slot == SLOTS) {
          slot = 0;
          parity ^= 1;
        }
      }
    }
    __syncwarp();
  } else {
    u32 slot = 0, parity = 0;
    const u32 tid = threadIdx.x;
    for (u32 it = 0; it < rows; ++it) {
      const u32 row = first + it * CLUSTERS;
      const u32 channel = (row & 31) * 16 + rank * 8;

      float4 x[16];
      float s[8];
      // pass A: the chunks into registers, sums as trees
#pragma unroll
      for (int c = 0; c < CHUNKS; ++c) {
        mbarWait(&full[slot], parity);
        const float4 *p = (const float4 *)(smem + slot * CHUNK_BYTES);
        x[2 * c] = p[tid];
        x[2 * c + 1] = p[tid + CONSUMERS];
        const float4 u = x[2 * c], v = x[2 * c + 1];
        s[c] = ((u.x + u.y) + (u.z + u.w)) + ((v.x + v.y) + (v.z + v.w));
        __syncwarp();
        if (lane == 0)
          mbarArrive(&empty[slot]);
        if (++slot == SLOTS) {
          slot = 0;
          parity ^= 1;
        }
      }
      const float4 g0 = __ldg((const float4 *)(gamma + channel));
      const float4 g1 = __ldg((const float4 *)(gamma + channel + 4));
      const float4 b0 = __ldg((const float4 *)(beta + channel));
      const float4 b1 = __ldg((const float4 *)(beta + channel + 4));

      const float m = (((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) * 0.015625f;
      float r0 = 0.0f, r1 = 0.0f, r2 = 0.0f, r3 = 0.0f;
      float q0 = 0.0f, q1 = 0.0f, q2 = 0.0f, q3 = 0.0f;
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        const float d0 = x[k].x - m, d1 = x[k].y - m, d2 = x[k].z - m, d3 = x[k].w - m;
        r0 += d0;
        r1 += d1;
        r2 += d2;
        r3 += d3;
        q0 = fmaf(d0, d0, q0);
        q1 = fmaf(d1, d1, q1);
        q2 = fmaf(d2, d2, q2);
        q3 = fmaf(d3, d3, q3);
      }
      const double res = (double)((r0 + r1) + (r2 + r3));
      double mean = (double)m + res * 0.015625;
      double m2 = (double)((q0 + q1) + (q2 + q3)) - res * res * 0.015625;
      if (m2 < 0.0) // keeps NaN
        m2 = 0.0;
      mergeWarp(mean, m2, 64.0);

      // lane 0 sends to block 0 of the cluster, lane 1 to block 1 (one of them is this block)
      const u32 buf = it & 1;
      if (lane < 2) {
        const u32 at = mapaShared(statAddr + (buf * 32 + rank * 16 + warp) * 16, lane);
        const u32 bar = mapaShared(smemAddr(&statBar[buf]), lane);
        sendPartial(at, mean, m2);
        arriveCluster(bar);
      }
      __syncwarp();
      mbarWaitCluster(&statBar[buf], (it >> 1) & 1);
      readPartial(statAddr + (buf * 32 + lane) * 16, mean, m2);
      mergeWarp(mean, m2, 2048.0);

      const float hi = (float)mean;
      const float lo = (float)(mean - (double)hi);
      const float rstd = rsqrtf((float)(m2 * (1.0 / 65536.0)) + 1e-5f);

      const float ga[8] = {g0.x, g0.y, g0.z, g0.w, g1.x, g1.y, g1.z, g1.w};
      const float be[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
      float4 *o = (float4 *)(out + (size_t)row * ROW_ELEMS + rank * HALF_ELEMS) + tid;
      // pass B: from registers
#pragma unroll
      for (int c = 0; c < CHUNKS; ++c) {
        const float a = rstd * ga[c], b = be[c];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float4 v = x[2 * c + h];
          float4 y;
          y.x = siluOne(v.x, hi, lo, a, b);
          y.y = siluOne(v.y, hi, lo, a, b);
          y.z = siluOne(v.z, hi, lo, a, b);
          y.w = siluOne(v.w, hi, lo, a, b);
#if STORE_STREAM
          storeStream(o + c * (CHUNK_ELEMS / 4) + h * CONSUMERS, y);
#else
          o[c * (CHUNK_ELEMS / 4) + h * CONSUMERS] = y;
#endif
        }
      }
    }
    __syncwarp();
  }
  // no block leaves while the other may still write to its shared memory
  clusterSync();
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":["THREADS"],"cluster":[2],
// fastk-plan: "grid":[132],"launch":"gn_silu","shared_bytes":"SLOTS * 16384 + 2048"}]}
