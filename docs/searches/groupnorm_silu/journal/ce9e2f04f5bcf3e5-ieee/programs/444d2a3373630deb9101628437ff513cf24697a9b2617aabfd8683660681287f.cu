#define SLOTS 14 // tune: 14, 13, 12
#define CWARPS 16 // tune: 16, 8
#define STORE_STREAM 0 // tune: 0, 1
#define LOAD_FIRST 1 // tune: 1, 0

#define CLUSTERS 66
#define ROWS 512
#define ROW_ELEMS 65536
#define CHUNK 4096
#define CHUNK_BYTES 16384
#define CHUNKS 8
#define CTHREADS (CWARPS * 32)
#define VEC (CHUNK / 4 / CTHREADS)
#define NV (VEC * 4)
#define THREADS_ALL (CTHREADS + 32)
#define PARTS (2 * CWARPS)

#if SLOTS < 9 || SLOTS > 14
#error "SLOTS out of range"
#endif

static __device__ __forceinline__ void loadChunk(float4 (&v)[VEC], const unsigned char *slot, int tid) {
  const float4 *p = (const float4 *)slot;
#pragma unroll
  for (int j = 0; j < VEC; j++)
    v[j] = p[j * CTHREADS + tid];
}

static __device__ __forceinline__ void storePartial(u32 remote, double a, double b) {
  asm volatile("st.shared::cluster.v2.f64 [%0], {%1, %2};" ::"r"(remote), "d"(a), "d"(b) : "memory");
}

static __device__ __forceinline__ void arriveCluster(u32 remote) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}

static __device__ __forceinline__ float siluOf(float x, float hi, float lo, float a, float b) {
  const float t = fmaf((x - hi) - lo, a, b);
  const float e = exp2Fast(t * -1.4426950408889634f);
  return t * rcpFast(1.0f + e);
}

extern "C" __global__ void __launch_bounds__(THREADS_ALL, 1)
group_norm_silu(const float *__restrict__ in, const float *__restrict__ gamma,
                const float *__restrict__ beta, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  // after the slots: partials (2 * PARTS * 16 bytes, at most 1024), then barriers
  double2 *parts = (double2 *)(smem + SLOTS * CHUNK_BYTES);
  u64 *fullBar = (u64 *)(smem + SLOTS * CHUNK_BYTES + 1024);
  u64 *emptyBar = fullBar + 16;
  u64 *statBar = fullBar + 32;

  const int tid = threadIdx.x;
  const int warp = tid >> 5;
  const int lane = tid & 31;
  const u32 rank = ctaRank();
  const int cluster = blockIdx.x >> 1;

  if (tid == 0) {
    for (int i = 0; i < SLOTS; i++) {
      mbarInit(fullBar + i, 1);
      mbarInit(emptyBar + i, CWARPS);
    }
    mbarInit(statBar, PARTS);
    mbarInitFence();
  }
  __syncthreads();
  clusterSync();

  if (warp == CWARPS) {
    // producer
    if (lane == 0) {
#if LOAD_FIRST
      const u64 policy = policyEvictFirst();
#else
      const u64 policy = policyEvictNormal();
#endif
      int slot = 0;
      u32 par = 1;
      for (int row = cluster; row < ROWS; row += CLUSTERS) {
        const float *src = in + (size_t)row * ROW_ELEMS + rank * (CHUNKS * CHUNK);
        for (int c = 0; c < CHUNKS; c++) {
          mbarWait(emptyBar + slot, par);
          mbarExpectTx(fullBar + slot, CHUNK_BYTES);
          bulkLoadHint(smem + slot * CHUNK_BYTES, src + c * CHUNK, CHUNK_BYTES, fullBar + slot, policy);
          if (++slot == SLOTS) {
            slot = 0;
            par ^= 1;
          }
        }
      }
    }
    __syncwarp();
  } else {
    // consumers
    const u32 statLocal = smemAddr(statBar);
    int slot = 0;
    u32 par = 0;
    u32 rowPar = 0;
    for (int row = cluster; row < ROWS; row += CLUSTERS) {
      const int channel = (row & 31) * 16 + (int)rank * CHUNKS;
      float gb = 0.0f;
      if (lane < 8)
        gb = __ldg(gamma + channel + lane);
      else if (lane < 16)
        gb = __ldg(beta + channel + lane - 8);

      int slotB = slot;

      // pass A: statistics of the chunks as they arrive
      double mean = 0.0, between = 0.0;
      float within = 0.0f;
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) {
        mbarWait(fullBar + slot, par);
        float4 v[VEC];
        loadChunk(v, smem + slot * CHUNK_BYTES, tid);
        if (++slot == SLOTS) {
          slot = 0;
          par ^= 1;
        }
        const float q = v[0].x;
        float s = 0.0f;
#pragma unroll
        for (int j = 0; j < VEC; j++) {
          v[j].x -= q;
          v[j].y -= q;
          v[j].z -= q;
          v[j].w -= q;
          s += (v[j].x + v[j].y) + (v[j].z + v[j].w);
        }
        const float m = s * (1.0f / NV);
        float w0 = 0.0f, w1 = 0.0f;
#pragma unroll
        for (int j = 0; j < VEC; j++) {
          const float a0 = v[j].x - m, a1 = v[j].y - m, a2 = v[j].z - m, a3 = v[j].w - m;
          w0 = fmaf(a0, a0, w0);
          w1 = fmaf(a1, a1, w1);
          w0 = fmaf(a2, a2, w0);
          w1 = fmaf(a3, a3, w1);
        }
        within += w0 + w1;
        const double mc = (double)q + (double)m;
        if (c == 0) {
          mean = mc;
        } else {
          const double delta = mc - mean;
          mean += delta * (1.0 / (double)(c + 1));
          between += delta * delta * ((double)(NV * c) / (double)(c + 1));
        }
      }
      double m2 = between + (double)within;

      // warp: equal counts on both sides
      double half = 0.5 * (double)(NV * CHUNKS);
#pragma unroll
      for (int o = 16; o; o >>= 1) {
        const double mo = __shfl_xor_sync(0xffffffffu, mean, o);
        const double qo = __shfl_xor_sync(0xffffffffu, m2, o);
        const double delta = mo - mean;
        m2 = (m2 + qo) + delta * delta * half;
        mean = 0.5 * (mean + mo);
        half *= 2.0;
      }

      // lane 0 writes to block 0, lane 1 to block 1 of the cluster
      if (lane < 2) {
        const u32 local = smemAddr(parts + rowPar * PARTS + rank * CWARPS + warp);
        storePartial(mapaShared(local, (u32)lane), mean, m2);
        arriveCluster(mapaShared(statLocal, (u32)lane));
      }
      __syncwarp();
      mbarWaitCluster(statBar, rowPar);
      __syncwarp();
      {
        const double2 p = parts[rowPar * PARTS + (lane & (PARTS - 1))];
        mean = p.x;
        m2 = p.y;
      }
#pragma unroll
      for (int o = CWARPS; o; o >>= 1) {
        const double mo = __shfl_xor_sync(0xffffffffu, mean, o);
        const double qo = __shfl_xor_sync(0xffffffffu, m2, o);
        const double delta = mo - mean;
        m2 = (m2 + qo) + delta * delta * half;
        mean = 0.5 * (mean + mo);
        half *= 2.0;
      }
      rowPar ^= 1;

      const float hi = (float)mean;
      const float lo = (float)(mean - (double)hi);
      const float var = (float)(m2 * (1.0 / 65536.0));
      const float rstd = rsqrtf(var + 1e-5f);

      // pass B: apply; slots are released one chunk ahead of the arithmetic
      float *dst = out + (size_t)row * ROW_ELEMS + rank * (CHUNKS * CHUNK) + tid * 4;
      float4 v[VEC];
      loadChunk(v, smem + slotB * CHUNK_BYTES, tid);
      __syncwarp();
      if (lane == 0)
        mbarArrive(emptyBar + slotB);
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) {
        float4 w[VEC];
        if (c + 1 < CHUNKS) {
          if (++slotB == SLOTS)
            slotB = 0;
          loadChunk(w, smem + slotB * CHUNK_BYTES, tid);
          __syncwarp();
          if (lane == 0)
            mbarArrive(emptyBar + slotB);
        }
        const float a = rstd * __shfl_sync(0xffffffffu, gb, c);
        const float b = __shfl_sync(0xffffffffu, gb, c + 8);
#pragma unroll
        for (int j = 0; j < VEC; j++) {
          float4 y;
          y.x = siluOf(v[j].x, hi, lo, a, b);
          y.y = siluOf(v[j].y, hi, lo, a, b);
          y.z = siluOf(v[j].z, hi, lo, a, b);
          y.w = siluOf(v[j].w, hi, lo, a, b);
          float4 *o4 = (float4 *)(dst + c * CHUNK + j * (CTHREADS * 4));
#if STORE_STREAM
          __stcs(o4, y);
#else
          *o4 = y;
#endif
        }
        if (c + 1 < CHUNKS) {
#pragma unroll
          for (int j = 0; j < VEC; j++)
            v[j] = w[j];
        }
      }
    }
    __syncwarp();
  }
  clusterSync();
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":["32 * (CWARPS + 1)"],
// fastk-plan: "cluster":[2],"grid":[132],"launch":"group_norm_silu","shared_bytes":"SLOTS * 16384 + 2048"}]}
