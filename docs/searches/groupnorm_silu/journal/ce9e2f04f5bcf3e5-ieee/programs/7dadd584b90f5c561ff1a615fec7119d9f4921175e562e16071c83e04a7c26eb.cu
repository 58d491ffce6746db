#define CLUSTER 8 // tune: 4, 8
#define THREADS 256 // tune: 256, 512
#define RESIDENT 4 // tune: 3, 4, 5
#define STORE_KIND 0 // tune: 0, 1, 2

#define ROWS 512
#define ROW_ELEMS 65536
#define CTA_ELEMS (ROW_ELEMS / CLUSTER)
#define CTA_F4 (CTA_ELEMS / 4)
#define V (CTA_F4 / THREADS)
#define WARPS (THREADS / 32)
#define J_PER_CH (1024 / THREADS)
#define CH (CTA_ELEMS / 4096)

#if V == 4
#define BLOCKS (1536 / THREADS)
#elif V == 8
#define BLOCKS (RESIDENT * 256 / THREADS)
#elif V == 16
#define BLOCKS (512 / THREADS)
#else
#error "unsupported combination"
#endif

static __device__ __forceinline__ float warpSum(float v) {
#pragma unroll
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}

static __device__ __forceinline__ float4 ldsVolatile4(u32 addr) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(addr)
               : "memory");
  return v;
}

static __device__ __forceinline__ void readCluster(float (&d)[CLUSTER], u32 addr) {
#pragma unroll
  for (int k = 0; k < CLUSTER / 4; k++) {
    const float4 v = ldsVolatile4(addr + 16 * k);
    d[4 * k + 0] = v.x;
    d[4 * k + 1] = v.y;
    d[4 * k + 2] = v.z;
    d[4 * k + 3] = v.w;
  }
}

static __device__ __forceinline__ float sumCluster(const float (&d)[CLUSTER]) {
  float s = (d[0] + d[1]) + (d[2] + d[3]);
#pragma unroll
  for (int k = 1; k < CLUSTER / 4; k++)
    s += (d[4 * k + 0] + d[4 * k + 1]) + (d[4 * k + 2] + d[4 * k + 3]);
  return s;
}

static __device__ __forceinline__ float normSilu(float x, float hi, float lo, float a, float b) {
  const float y = fmaf((x - hi) - lo, a, b);
  const float z = exp2Fast(y * -1.4426950408889634f);
  return y * rcpFast(1.0f + z);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
group_norm_silu(const float *__restrict__ in, const float *__restrict__ scale,
                const float *__restrict__ bias, float *__restrict__ out) {
  __shared__ __align__(16) float sSum[WARPS];
  __shared__ __align__(16) float sD[WARPS];
  __shared__ __align__(16) float sD2[WARPS];
  // 0: means, 1: corrections, 2: M2, of the blocks of the cluster; written by the peers
  __shared__ __align__(16) float sExchange[3 * CLUSTER];

  const u32 tid = threadIdx.x;
  const u32 lane = tid & 31;
  const u32 warp = tid >> 5;
  const u32 rank = blockIdx.x % CLUSTER;
  const u32 row = blockIdx.x / CLUSTER;
  const u32 first = blockIdx.x * (u32)CTA_F4 + tid;

  // all loads under way at once
  float4 x[V];
  {
    const u64 policy = policyEvictFirst();
    const float4 *p = (const float4 *)in + first;
#pragma unroll
    for (int j = 0; j < V; j++)
      x[j] = loadHint(p + j * THREADS, policy);
  }

  // tells the peers that this block has started
  clusterArriveRelaxed();

  float gamma[CH], beta[CH];
  {
    const u32 channel = (row % 32) * 16 + rank * CH;
#pragma unroll
    for (int c = 0; c < CH; c++) {
      gamma[c] = __ldg(scale + channel + c);
      beta[c] = __ldg(bias + channel + c);
    }
  }

  // mean of the block
  float mean;
  {
    float t[V];
#pragma unroll
    for (int j = 0; j < V; j++)
      t[j] = (x[j].x + x[j].y) + (x[j].z + x[j].w);
#pragma unroll
    for (int j = 0; j < V / 2; j++)
      t[j] = t[2 * j] + t[2 * j + 1];
#pragma unroll
    for (int j = 0; j < V / 4; j++)
      t[j] = t[2 * j] + t[2 * j + 1];
    float s = t[0];
#if V == 8
    s = t[0] + t[1];
#elif V == 16
    s = (t[0] + t[1]) + (t[2] + t[3]);
#endif
    s = warpSum(s);
    if (lane == 0)
      sSum[warp] = s;
    __syncthreads();
    float q[WARPS / 4];
#pragma unroll
    for (int k = 0; k < WARPS / 4; k++) {
      const float4 v = *(const float4 *)(sSum + 4 * k);
      q[k] = (v.x + v.y) + (v.z + v.w);
    }
    float total = q[0] + q[1];
#if WARPS == 16
    total += q[2] + q[3];
#endif
    mean = total * (1.0f / CTA_ELEMS);
  }

  // second pass over the registers
  {
    float d = 0.0f, a0 = 0.0f, a1 = 0.0f;
#pragma unroll
    for (int j = 0; j < V; j++) {
      const float dx = x[j].x - mean, dy = x[j].y - mean;
      const float dz = x[j].z - mean, dw = x[j].w - mean;
      d += (dx + dy) + (dz + dw);
      a0 = fmaf(dx, dx, a0);
      a1 = fmaf(dy, dy, a1);
      a0 = fmaf(dz, dz, a0);
      a1 = fmaf(dw, dw, a1);
    }
    float d2 = a0 + a1;
#pragma unroll
    for (int o = 16; o; o >>= 1) {
      d += __shfl_xor_sync(0xffffffffu, d, o);
      d2 += __shfl_xor_sync(0xffffffffu, d2, o);
    }
    if (lane == 0) {
      sD[warp] = d;
      sD2[warp] = d2;
    }
  }
  __syncthreads();

  // all blocks of the cluster have started: their shared memory may be written
  clusterWait();

  const u32 exchange = smemAddr(sExchange);
  if (warp == 0) {
    float d = sD[lane % WARPS], d2 = sD2[lane % WARPS];
#pragma unroll
    for (int o = WARPS / 2; o; o >>= 1) {
      d += __shfl_xor_sync(0xffffffffu, d, o);
      d2 += __shfl_xor_sync(0xffffffffu, d2, o);
    }
    const float correction = d * (1.0f / CTA_ELEMS);
    float m2 = fmaf(-d, correction, d2);
    m2 = m2 < 0.0f ? 0.0f : m2; // keeps NaN
    if (lane < CLUSTER) {
      const u32 remote = mapaShared(exchange + 4 * rank, lane);
      storeCluster(remote, mean);
      storeCluster(remote + 4 * CLUSTER, correction);
      storeCluster(remote + 8 * CLUSTER, m2);
    }
    __syncwarp();
  }
  clusterArrive();
  clusterWait();

  // the blocks merged, in the same order everywhere
  float hi, lo, rstd;
  {
    float m[CLUSTER], c[CLUSTER];
    readCluster(m, exchange);
    hi = sumCluster(m) * (1.0f / CLUSTER);
    readCluster(c, exchange + 4 * CLUSTER);
#pragma unroll
    for (int k = 0; k < CLUSTER; k++)
      m[k] = (m[k] - hi) + c[k];
    lo = sumCluster(m) * (1.0f / CLUSTER);
#pragma unroll
    for (int k = 0; k < CLUSTER; k++) {
      const float e = m[k] - lo;
      m[k] = e * e;
    }
    const float between = sumCluster(m);
    readCluster(c, exchange + 8 * CLUSTER);
    const float within = sumCluster(c);
    const float var = fmaf(between, 1.0f / CLUSTER, within * (1.0f / ROW_ELEMS));
    rstd = rsqrtf(var + 1e-5f);
  }

  float4 *p = (float4 *)out + first;
#if STORE_KIND == 2
  const u64 storePolicy = policyEvictFirst();
#endif
#pragma unroll
  for (int c = 0; c < CH; c++) {
    const float a = rstd * gamma[c];
    const float b = beta[c];
#pragma unroll
    for (int i = 0; i < J_PER_CH; i++) {
      const int j = c * J_PER_CH + i;
      float4 y;
      y.x = normSilu(x[j].x, hi, lo, a, b);
      y.y = normSilu(x[j].y, hi, lo, a, b);
      y.z = normSilu(x[j].z, hi, lo, a, b);
      y.w = normSilu(x[j].w, hi, lo, a, b);
#if STORE_KIND == 0
      p[j * THREADS] = y;
#elif STORE_KIND == 1
      storeStream(p + j * THREADS, y);
#else
      storeHint(p + j * THREADS, y, storePolicy);
#endif
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":["THREADS"],"cluster":["CLUSTER"],
// fastk-plan: "grid":["ROWS * CLUSTER"],"launch":"group_norm_silu"}]}
