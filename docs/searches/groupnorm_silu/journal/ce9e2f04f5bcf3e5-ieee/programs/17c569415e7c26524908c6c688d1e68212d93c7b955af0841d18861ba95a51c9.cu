#define CLUSTER 8 // tune: 4, 8
#define VECS 16 // tune: 8, 16, 32
#define EXTRA_REGS 32 // tune: 16, 24, 32, 64
#define LOAD_MODE 1 // tune: 0, 1
#define STORE_MODE 1 // tune: 0, 1, 2

#define ROW 65536
#define THREADS (16384 / (CLUSTER * VECS))
#define WARPS (THREADS / 32)
#define TRIPLES (CLUSTER * WARPS)
#define MIN_BLOCKS (65536 / ((4 * VECS + EXTRA_REGS) * THREADS) > 0 ? 65536 / ((4 * VECS + EXTRA_REGS) * THREADS) : 1)
#define CHANNELS (16 / CLUSTER)
#define VECS_PER_CHANNEL (1024 / THREADS)
#define PER_TRIPLE (128 * VECS)
#define PER_LANE (TRIPLES > 32 ? TRIPLES / 32 : 1)
#define COUNTED (32 * PER_LANE)

template <int LO, int N>
static __device__ __forceinline__ float sumTree(const float4 (&v)[VECS]) {
  if constexpr (N == 1) {
    return (v[LO].x + v[LO].y) + (v[LO].z + v[LO].w);
  } else {
    return sumTree<LO, N / 2>(v) + sumTree<LO + N / 2, N / 2>(v);
  }
}

static __device__ __forceinline__ float warpSum(float s) {
#pragma unroll
  for (int o = 16; o; o >>= 1)
    s += __shfl_xor_sync(0xffffffffu, s, o);
  return s;
}

static __device__ __forceinline__ float siluOf(float x, float hi, float lo, float a, float b) {
  const float y = fmaf((x - hi) - lo, a, b);
  const float e = exp2Fast(y * -1.4426950408889634f);
  return y * rcpFast(e + 1.0f);
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
group_norm_silu(const float *__restrict__ in, const float *__restrict__ gamma,
                const float *__restrict__ beta, float *__restrict__ out) {
  __shared__ __align__(16) float4 triples[TRIPLES];

  const int tid = threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  const int rank = blockIdx.x % CLUSTER;
  const int row = blockIdx.x / CLUSTER;

  // tells the peers that this block has started; waited for before the first remote write
  clusterArriveRelaxed();

  const size_t base = (size_t)blockIdx.x * (ROW / CLUSTER) + (size_t)tid * 4;
  const float *p = in + base;

  float4 v[VECS];
#if LOAD_MODE == 1
  const u64 loadPolicy = policyEvictFirst();
#endif
#pragma unroll
  for (int j = 0; j < VECS; j++) {
#if LOAD_MODE == 1
    v[j] = loadHint(p + j * (THREADS * 4), loadPolicy);
#else
    v[j] = loadStream(p + j * (THREADS * 4));
#endif
  }

  // mean of the warp's elements
  const float m = warpSum(sumTree<0, VECS>(v)) * (1.0f / PER_TRIPLE);

  // second pass over the registers
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  float q0 = 0.0f, q1 = 0.0f, q2 = 0.0f, q3 = 0.0f;
#pragma unroll
  for (int j = 0; j < VECS; j++) {
    const float d0 = v[j].x - m, d1 = v[j].y - m, d2 = v[j].z - m, d3 = v[j].w - m;
    s0 += d0;
    s1 += d1;
    s2 += d2;
    s3 += d3;
    q0 = fmaf(d0, d0, q0);
    q1 = fmaf(d1, d1, q1);
    q2 = fmaf(d2, d2, q2);
    q3 = fmaf(d3, d3, q3);
  }
  float sd = (s0 + s1) + (s2 + s3);
  float sq = (q0 + q1) + (q2 + q3);
#pragma unroll
  for (int o = 16; o; o >>= 1) {
    sd += __shfl_xor_sync(0xffffffffu, sd, o);
    sq += __shfl_xor_sync(0xffffffffu, sq, o);
  }
  const float correction = sd * (1.0f / PER_TRIPLE);
  float m2 = fmaf(-sd, correction, sq);
  m2 = m2 < 0.0f ? 0.0f : m2; // keeps NaN

  // one triple of each warp to all blocks of the cluster
  clusterWait();
  if (lane < CLUSTER) {
    const u32 remote = mapaShared(smemAddr(&triples[rank * WARPS + warp]), (u32)lane);
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(remote), "f"(m),
                 "f"(correction), "f"(m2), "f"(0.0f)
                 : "memory");
  }
  __syncwarp();
  clusterArrive();

  // the scalars of the channels, while the barrier is under way
  float g[CHANNELS], b[CHANNELS];
  const int channel = (row % 32) * 16 + rank * CHANNELS;
#pragma unroll
  for (int c = 0; c < CHANNELS; c++) {
    g[c] = __ldg(gamma + channel + c);
    b[c] = __ldg(beta + channel + c);
  }

  clusterWait();

  // merge: every warp of the cluster does the same sums in the same order
  const float m0 = triples[0].x;
  float delta[PER_LANE], part[PER_LANE];
  float total = 0.0f;
#pragma unroll
  for (int i = 0; i < PER_LANE; i++) {
    const float4 t = triples[(lane + 32 * i) % TRIPLES];
    delta[i] = (t.x - m0) + t.y;
    part[i] = t.z;
    total += delta[i];
  }
  const float average = warpSum(total) * (1.0f / COUNTED);
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < PER_LANE; i++) {
    const float d = delta[i] - average;
    squares += fmaf(d * (float)PER_TRIPLE, d, part[i]);
  }
  const float variance = warpSum(squares) * (1.0f / ((float)COUNTED * (float)PER_TRIPLE));
  const float rstd = rsqrtf(variance + 1e-5f);

  // mean = hi + lo
  const float hi = m0 + average;
  const float back = hi - m0;
  const float lo = (m0 - (hi - back)) + (average - back);

  float *o = out + base;
#if STORE_MODE == 2
  const u64 storePolicy = policyEvictFirst();
#endif
#pragma unroll
  for (int c = 0; c < CHANNELS; c++)
    g[c] *= rstd;
#pragma unroll
  for (int j = 0; j < VECS; j++) {
    const float a = g[j / VECS_PER_CHANNEL], s = b[j / VECS_PER_CHANNEL];
    float4 r;
    r.x = siluOf(v[j].x, hi, lo, a, s);
    r.y = siluOf(v[j].y, hi, lo, a, s);
    r.z = siluOf(v[j].z, hi, lo, a, s);
    r.w = siluOf(v[j].w, hi, lo, a, s);
#if STORE_MODE == 2
    storeHint(o + j * (THREADS * 4), r, storePolicy);
#elif STORE_MODE == 1
    storeStream(o + j * (THREADS * 4), r);
#else
    *(float4 *)(o + j * (THREADS * 4)) = r;
#endif
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":["16384 / (CLUSTER * VECS)"],
// fastk-plan: "cluster":["CLUSTER"],"grid":["512 * CLUSTER"],"launch":"group_norm_silu"}]}
