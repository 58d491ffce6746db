#include <cuda_fp16.h>

#define GRID 264      // tune: 264, 1400
#define UNROLL_G 1    // tune: 1, 2, 4, 8
#define PREFETCH 1    // tune: 1, 0
#define STAGGER 0     // tune: 0, 2000, 4000

#define TILES 1400          // 100 images x 14 bands of 4 output rows
#define BANDS 14
#define STEPS 25
#define W_BYTES 76800       // 25 steps x 6 m tiles x 32 lanes x 16 bytes
#define PLANE_ROWS 23       // (4 - 1) * 4 + 11
#define PITCH 480           // bytes of a row in shared memory: 60 units of 4 halfs
#define IN_BYTES 33120      // 3 * 23 * 480
#define SMEM_BYTES 109920
#define NLOAD 12            // ceil(23 / 2) loads of 16 bytes a thread and plane

#if W_BYTES + IN_BYTES != SMEM_BYTES
#error "shared memory size"
#endif

// ---------------------------------------------------------------------------------------------
// Weights in exact A fragment order: [step 25][m tile 6][lane 32][8 halfs]
// ---------------------------------------------------------------------------------------------
static __device__ __forceinline__ float weightAt(const float *__restrict__ w, int ch, int r, int kx) {
  return (kx < 11) ? w[ch * 363 + r * 11 + kx] : 0.0f;
}

extern "C" __global__ void __launch_bounds__(192)
pack_weights(const float *__restrict__ w, uint4 *__restrict__ packed) {
  launchNext();
  const int s = blockIdx.x;
  const int mi = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int g = lane / 4, t = lane % 4;
  int r, j;
  if (s < 24) {
    r = 4 * (s / 3) + t;
    j = s % 3;
  } else {
    r = 32;
    j = t; // t == 3: all taps are 12 and up, hence zero
  }
  const int ch0 = mi * 16 + g, ch1 = ch0 + 8;
  uint4 v;
  v.x = packF16(weightAt(w, ch0, r, 4 * j), weightAt(w, ch0, r, 4 * j + 1));
  v.y = packF16(weightAt(w, ch1, r, 4 * j), weightAt(w, ch1, r, 4 * j + 1));
  v.z = packF16(weightAt(w, ch0, r, 4 * j + 2), weightAt(w, ch0, r, 4 * j + 3));
  v.w = packF16(weightAt(w, ch1, r, 4 * j + 2), weightAt(w, ch1, r, 4 * j + 3));
  packed[(s * 6 + mi) * 32 + lane] = v;
}

// ---------------------------------------------------------------------------------------------
// Input: 23 rows of a plane, two rows at a time, 56 threads a row
// ---------------------------------------------------------------------------------------------
static __device__ __forceinline__ void loadPlane(float4 (&v)[NLOAD], const float *__restrict__ in, int image,
                                                 int plane, int iy0, int h, int q, bool active) {
  const int off = ((image * 3 + plane) * 224 + iy0 + h) * 224 + 4 * q;
  const float4 *p = (const float4 *)(in + off);
#pragma unroll
  for (int i = 0; i < NLOAD; ++i) {
    const int lr = h + 2 * i;
    const bool ok = active && lr < PLANE_ROWS && (unsigned)(iy0 + lr) < 224u;
    v[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (ok)
      v[i] = __ldg(p + i * 112);
  }
}

static __device__ __forceinline__ void storePlane(const float4 (&v)[NLOAD], unsigned char *xin, int plane, int h,
                                                  int q, bool active) {
  if (!active)
    return;
  unsigned char *base = xin + (plane * PLANE_ROWS + h) * PITCH;
  const bool edge = (q == 0) || (q == 55);
  const int edgeOff = (q == 0) ? 0 : 452;
#pragma unroll
  for (int i = 0; i < NLOAD; ++i) {
    const int lr = h + 2 * i;
    if (lr < PLANE_ROWS) {
      unsigned char *row = base + i * 2 * PITCH;
      *(u32 *)(row + 8 * q + 4) = packF16(v[i].x, v[i].y);
      *(u32 *)(row + 8 * q + 8) = packF16(v[i].z, v[i].w);
      if (edge)
        *(u32 *)(row + edgeOff) = 0u;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// One k16 step: 6 m tiles x 7 n tiles
// ---------------------------------------------------------------------------------------------
static __device__ __forceinline__ void loadB(u32 (&b)[7][2], const unsigned char *p) {
#pragma unroll
  for (int nt = 0; nt < 7; ++nt) {
    const uint2 u = *(const uint2 *)(p + nt * 64);
    b[nt][0] = u.x;
    b[nt][1] = u.y;
  }
}

static __device__ __forceinline__ void loadA(u32 (&a)[4], const unsigned char *p) {
  const uint4 u = *(const uint4 *)p;
  a[0] = u.x;
  a[1] = u.y;
  a[2] = u.z;
  a[3] = u.w;
}

// wp: this lane's fragment of (step, m tile 0); a holds it already. On return a holds that of the next step.
static __device__ __forceinline__ void multiply(float (&acc)[6][7][4], const u32 (&b)[7][2], u32 (&a)[4],
                                                const unsigned char *wp) {
#pragma unroll
  for (int mi = 0; mi < 6; ++mi) {
    u32 an[4];
    loadA(an, wp + (mi + 1) * 512);
#pragma unroll
    for (int nt = 0; nt < 7; ++nt)
      mmaF16(acc[mi][nt], a, b[nt]);
#pragma unroll
    for (int e = 0; e < 4; ++e)
      a[e] = an[e];
  }
}

template <int MI0, int MI1>
static __device__ __forceinline__ void storeTiles(const float (&acc)[6][7][4], float *stage, float *__restrict__ out,
                                                  int outBase, int lane, int g, int t) {
#pragma unroll
  for (int mi = MI0; mi < MI1; ++mi) {
    float *st = stage + (mi & 1) * 896;
#pragma unroll
    for (int nt = 0; nt < 7; ++nt) {
      *(float2 *)(st + g * 56 + 8 * nt + 2 * t) = make_float2(acc[mi][nt][0], acc[mi][nt][1]);
      *(float2 *)(st + (g + 8) * 56 + 8 * nt + 2 * t) = make_float2(acc[mi][nt][2], acc[mi][nt][3]);
    }
    __syncwarp();
    float *o = out + outBase + lane;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float r0[8], r1[8];
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        r0[k] = st[(half * 8 + k) * 56 + lane];
        r1[k] = 0.0f;
        if (lane < 23)
          r1[k] = st[(half * 8 + k) * 56 + 32 + lane];
      }
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        float *oc = o + (mi * 16 + half * 8 + k) * 3025;
        oc[0] = r0[k];
        if (lane < 23)
          oc[32] = r1[k];
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(128, 2)
conv(const float *__restrict__ in, const float *__restrict__ bias, const unsigned char *__restrict__ packed,
     float *__restrict__ out) {
  extern __shared__ __align__(128) unsigned char smem[];
  unsigned char *xin = smem + W_BYTES;

  const int tid = threadIdx.x;
  const int warp = tid / 32, lane = tid % 32;
  const int g = lane / 4, t = lane % 4;

  // roles for loading
  const int h = (tid >= 56) ? 1 : 0;
  const int q = (tid < 56) ? tid : ((tid < 112) ? tid - 56 : 0);
  const bool active = tid < 112;

#if STAGGER
  if (blockIdx.x >= 132)
    __nanosleep(STAGGER);
#endif

  int tile = blockIdx.x;
  float4 v[NLOAD];
  loadPlane(v, in, tile / BANDS, 0, (tile % BANDS) * 16 - 2, h, q, active);

  waitPrevious();
  for (int i = tid; i < W_BYTES / 16; i += 128)
    cpAsync16(smem + i * 16, packed + i * 16);
  cpAsyncCommit();

  // masks of the last step, where lane t has unit t of row 32
  const u32 mask0 = (t == 3) ? 0u : 0xffffffffu;
  const u32 mask1 = (t == 3) ? 0u : ((t == 2) ? 0x0000ffffu : 0xffffffffu);

  const unsigned char *laneIn = xin + warp * 4 * PITCH + g * 8;
  const unsigned char *lastIn = laneIn + 56 * PITCH + ((t < 2) ? t : 2) * 8;
  const unsigned char *laneW = smem + lane * 16;
  float *stage = (float *)(xin + warp * 7168);

#pragma unroll 1
  for (; tile < TILES; tile += GRID) {
    const int image = tile / BANDS;
    const int oy0 = (tile % BANDS) * 4;
    const int iy0 = oy0 * 4 - 2;
    const int oy = oy0 + warp;
    const int next = tile + GRID;

    {
      float4 u[NLOAD];
      loadPlane(u, in, image, 1, iy0, h, q, active);
      storePlane(v, xin, 0, h, q, active);
      loadPlane(v, in, image, 2, iy0, h, q, active);
      storePlane(u, xin, 1, h, q, active);
      storePlane(v, xin, 2, h, q, active);
    }

    float acc[6][7][4];
#pragma unroll
    for (int mi = 0; mi < 6; ++mi) {
      const float b0 = __ldg(bias + mi * 16 + g);
      const float b1 = __ldg(bias + mi * 16 + 8 + g);
#pragma unroll
      for (int nt = 0; nt < 7; ++nt) {
        acc[mi][nt][0] = b0;
        acc[mi][nt][1] = b0;
        acc[mi][nt][2] = b1;
        acc[mi][nt][3] = b1;
      }
    }

    cpAsyncWait<0>();
    __syncthreads();

#if PREFETCH
    if (tid < 3 && next < TILES) {
      const int ny0 = (next % BANDS) * 16 - 2;
      const int lo = ny0 < 0 ? 0 : ny0;
      const int hi = (ny0 + PLANE_ROWS > 224) ? 224 : ny0 + PLANE_ROWS;
      prefetchL2(in + (((next / BANDS) * 3 + tid) * 224 + lo) * 224, (u32)((hi - lo) * 896));
    }
    __syncwarp();
#endif

    if (oy < 55) {
      u32 a[4], bA[7][2], bB[7][2];
      const unsigned char *wp = laneW;
      const unsigned char *p = laneIn + t * PITCH;
      loadA(a, wp);
      loadB(bA, p);
#pragma unroll UNROLL_G
      for (int G = 0; G < 8; ++G) {
        // kx = 0..3
        loadB(bB, p + 8);
        multiply(acc, bA, a, wp);
        // kx = 4..7
        loadB(bA, p + 16);
        multiply(acc, bB, a, wp + 3072);
        // the next group of four rows, or the last step
        const int r = 4 * (G + 1) + t;
        const int row = r + ((r >= 11) ? 12 : 0) + ((r >= 22) ? 12 : 0);
        p = (G < 7) ? laneIn + row * PITCH : lastIn;
        loadB(bB, p);
        // kx = 8..10, the twelfth tap is masked
#pragma unroll
        for (int nt = 0; nt < 7; ++nt)
          bA[nt][1] &= 0x0000ffffu;
        multiply(acc, bA, a, wp + 6144);
#pragma unroll
        for (int nt = 0; nt < 7; ++nt) {
          bA[nt][0] = bB[nt][0];
          bA[nt][1] = bB[nt][1];
        }
        wp += 9216;
      }
#pragma unroll
      for (int nt = 0; nt < 7; ++nt) {
        bA[nt][0] &= mask0;
        bA[nt][1] &= mask1;
      }
      multiply(acc, bA, a, wp); // also reads 512 bytes past the weights: the input, not used
    }

    __syncthreads(); // the input has been read by all warps: it becomes the staging memory

    const int outBase = image * (96 * 3025) + oy * 55;
    if (oy < 55)
      storeTiles<0, 3>(acc, stage, out, outBase, lane, g, t);
    if (next < TILES)
      loadPlane(v, in, next / BANDS, 0, (next % BANDS) * 16 - 2, h, q, active);
    if (oy < 55)
      storeTiles<3, 6>(acc, stage, out, outBase, lane, g, t);

    __syncthreads(); // staging memory has been read: the next input may be written
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in2","ws0"],"block":[192],"grid":["STEPS"],"launch":"pack_weights"},
// fastk-plan: {"arguments":["in0","in1","ws0","out0"],"block":[128],"grid":["GRID"],"launch":"conv",
// fastk-plan: "overlaps_previous":true,"shared_bytes":"SMEM_BYTES"}],"workspaces":[{"bytes":"W_BYTES"}]}
