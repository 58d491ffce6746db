#define LOAD_BATCH 8 // tune: 4, 8, 16
#define UNROLL_G 2 // tune: 1, 2, 4, 8
#define PREFETCH 1 // tune: 0, 1

#define STEPS 25
#define W_BYTES 76800          /* 25 steps * 6 m tiles * 32 lanes * 16 bytes */
#define ROW_BYTES 480          /* 60 units of 4 halfs; 57 hold data */
#define PLANE_ROWS 23          /* (4 - 1) * 4 + 11 */
#define IN_BYTES 33120         /* 3 * 23 * 480 */
#define STAGE_PITCH 56         /* floats */
#define STAGE_BYTES 3584       /* 16 channels * 56 floats */
#define SMEM_BYTES (W_BYTES + 2 * IN_BYTES + 16 * STAGE_BYTES)
#define BLOCKS 132
#define GROUPS (BLOCKS * 2)
#define TILES 1400             /* 100 images * 14 groups of 4 output rows */
#define PIECES 3864            /* 69 rows * 56 float4 */

// Weights in the order of the A fragments: [step][m tile][lane][8 halfs].
// Steps 0..23: G = s / 3, j = s % 3, lane t has row r = 4 G + t, taps 4 j .. 4 j + 3.
// Step 24: row 32, lane t has taps 4 t .. 4 t + 3 (t = 3: zero).
extern "C" __global__ void __launch_bounds__(128)
pack_weights(const float *__restrict__ w, uint4 *__restrict__ dst) {
  launchNext();
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= STEPS * 6 * 32)
    return;
  const int lane = i % 32, g = lane / 4, t = lane % 4;
  const int mt = (i / 32) % 6, s = i / 192;
  int r, j;
  if (s < 24) {
    r = 4 * (s / 3) + t;
    j = s % 3;
  } else {
    r = 32;
    j = t;
  }
  const int ch = mt * 16 + g;
  float lo[4], hi[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int kx = 4 * j + k;
    const bool ok = kx < 11;
    lo[k] = ok ? w[ch * 363 + r * 11 + kx] : 0.0f;
    hi[k] = ok ? w[(ch + 8) * 363 + r * 11 + kx] : 0.0f;
  }
  uint4 v;
  v.x = packF16(lo[0], lo[1]);
  v.y = packF16(hi[0], hi[1]);
  v.z = packF16(lo[2], lo[3]);
  v.w = packF16(hi[2], hi[3]);
  dst[i] = v;
}

// 3 x 23 input rows of one tile, converted to f16, rows outside of the image zero.
// Padded columns 0, 1, 226 and up are zeroed once at the start and never written here.
static __device__ __forceinline__ void load_tile(const float *__restrict__ in, unsigned char *buf,
                                                 int tile, int tg) {
  const int n = tile / 14, rg = tile - n * 14;
  const int iy0 = rg * 16 - 2;
  const float *src = in + n * 150528;
#pragma unroll 1
  for (int b = 0; b < 16 / LOAD_BATCH; ++b) {
    float4 v[LOAD_BATCH];
    const unsigned first = (unsigned)tg + 256u * (unsigned)(b * LOAD_BATCH);
#pragma unroll
    for (int k = 0; k < LOAD_BATCH; ++k) {
      const unsigned idx = first + 256u * k;
      const unsigned row = idx / 56u, q = idx - row * 56u;
      const unsigned c = row / 23u;
      const int iy = iy0 + (int)(row - c * 23u);
      v[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (idx < PIECES && (unsigned)iy < 224u)
        v[k] = __ldg((const float4 *)(src + (int)c * 50176 + iy * 224 + (int)q * 4));
    }
#pragma unroll
    for (int k = 0; k < LOAD_BATCH; ++k) {
      const unsigned idx = first + 256u * k;
      const unsigned row = idx / 56u, q = idx - row * 56u;
      if (idx < PIECES) {
        u32 *d = (u32 *)(buf + row * ROW_BYTES + q * 8u + 4u);
        d[0] = packF16(v[k].x, v[k].y);
        d[1] = packF16(v[k].z, v[k].w);
      }
    }
  }
}

static __device__ __forceinline__ void prefetch_tile(const float *in, int tile, int c) {
  const int n = tile / 14, rg = tile - n * 14;
  const int iy0 = rg * 16 - 2;
  const int lo = iy0 < 0 ? 0 : iy0;
  const int hi = iy0 + PLANE_ROWS > 224 ? 224 : iy0 + PLANE_ROWS;
  prefetchL2(in + (n * 3 + c) * 50176 + lo * 224, (u32)((hi - lo) * 896));
}

static __device__ __forceinline__ void products(float (&acc)[3][7][4], const u32 (&b)[7][2],
                                                const unsigned char *wp) {
#pragma unroll
  for (int m = 0; m < 3; ++m) {
    const uint4 av = *(const uint4 *)(wp + m * 512);
    const u32 a[4] = {av.x, av.y, av.z, av.w};
#pragma unroll
    for (int i = 0; i < 7; ++i)
      mmaF16(acc[m][i], a, b[i]);
  }
}

extern "C" __global__ void __launch_bounds__(512, 1)
conv_main(const float *__restrict__ in, const float *__restrict__ bias, const uint4 *wpacked,
          float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const int tid = threadIdx.x;
  const int grp = tid / 256, tg = tid % 256;
  const int warp = tid / 32, lane = tid % 32;
  const int g = lane / 4, t = lane % 4;
  const int yl = warp & 3;           // output row of the tile
  const int mh = (warp >> 2) & 1;    // half of the channels
  unsigned char *buf = smem + W_BYTES + grp * IN_BYTES;
  float *stage = (float *)(smem + W_BYTES + 2 * IN_BYTES + warp * STAGE_BYTES);

  int tile = grp * BLOCKS + blockIdx.x;

#if PREFETCH
  if (tg < 3)
    prefetch_tile(in, tile, tg);
#endif
  // zeros for the borders of both input buffers
  for (int i = tid; i < 2 * IN_BYTES / 16; i += 512)
    *(uint4 *)(smem + W_BYTES + i * 16) = make_uint4(0u, 0u, 0u, 0u);
  __syncthreads();

  load_tile(in, buf, tile, tg);

  waitPrevious();
  for (int i = tid; i < W_BYTES / 16; i += 512)
    cpAsync16(smem + i * 16, wpacked + i);
  cpAsyncCommit();
  cpAsyncWait<0>();
  __syncthreads();

  const unsigned char *wbase = smem + mh * 1536 + lane * 16;
  const unsigned char *bbase = buf + yl * (4 * ROW_BYTES) + g * 8;
  const u32 mask0 = t == 3 ? 0u : 0xffffffffu;
  const u32 mask1 = t == 3 ? 0u : (t == 2 ? 0x0000ffffu : 0xffffffffu);

#pragma unroll 1
  for (;;) {
    const int next = tile + GROUPS;
#if PREFETCH
    if (next < TILES && tg < 3)
      prefetch_tile(in, next, tg);
#endif
    const int n = tile / 14, rg = tile - n * 14;
    const int y = rg * 4 + yl;
    if (y < 55) {
      float acc[3][7][4];
#pragma unroll
      for (int m = 0; m < 3; ++m) {
        const float b0 = __ldg(bias + mh * 48 + m * 16 + g);
        const float b1 = __ldg(bias + mh * 48 + m * 16 + g + 8);
#pragma unroll
        for (int i = 0; i < 7; ++i) {
          acc[m][i][0] = b0;
          acc[m][i][1] = b0;
          acc[m][i][2] = b1;
          acc[m][i][3] = b1;
        }
      }

#pragma unroll UNROLL_G
      for (int G = 0; G < 8; ++G) {
        const int r = 4 * G + t;
        // row c * 23 + ky with r = c * 11 + ky is r + 12 c
        const int c = (r >= 11 ? 1 : 0) + (r >= 22 ? 1 : 0);
        const unsigned char *bp = bbase + (r + 12 * c) * ROW_BYTES;
        const unsigned char *wp = wbase + G * (3 * 3072);
#pragma unroll
        for (int j = 0; j < 3; ++j) {
          u32 b[7][2];
#pragma unroll
          for (int i = 0; i < 7; ++i) {
            const uint2 v = *(const uint2 *)(bp + (8 * i + j) * 8);
            b[i][0] = v.x;
            b[i][1] = j == 2 ? (v.y & 0x0000ffffu) : v.y; // the 12th tap does not exist
          }
          products(acc, b, wp + j * 3072);
        }
      }
      { // the last row, r = 32: lane t takes unit x + t
        const unsigned char *bp = bbase + 56 * ROW_BYTES + t * 8;
        u32 b[7][2];
#pragma unroll
        for (int i = 0; i < 7; ++i) {
          const uint2 v = *(const uint2 *)(bp + i * 64);
          b[i][0] = v.x & mask0;
          b[i][1] = v.y & mask1;
        }
        products(acc, b, wbase + 24 * 3072);
      }

      float *op = out + (n * 96 + mh * 48) * 3025 + y * 55 + lane;
#pragma unroll
      for (int m = 0; m < 3; ++m) {
#pragma unroll
        for (int i = 0; i < 7; ++i) {
          *(float2 *)(stage + g * STAGE_PITCH + 8 * i + 2 * t) =
              make_float2(acc[m][i][0], acc[m][i][1]);
          *(float2 *)(stage + (g + 8) * STAGE_PITCH + 8 * i + 2 * t) =
              make_float2(acc[m][i][2], acc[m][i][3]);
        }
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
          float *p = op + (m * 16 + k) * 3025;
          p[0] = stage[k * STAGE_PITCH + lane];
          if (lane < 23)
            p[32] = stage[k * STAGE_PITCH + 32 + lane];
        }
        __syncwarp();
      }
    }
    if (next >= TILES)
      break;
    barSync(1 + grp, 256); // all warps of the half have read the input tile
    load_tile(in, buf, next, tg);
    barSync(1 + grp, 256);
    tile = next;
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in2","ws0"],"block":[128],"grid":[38],"launch":"pack_weights"},
// fastk-plan: {"arguments":["in0","in1","ws0","out0"],"block":[512],"grid":["BLOCKS"],"launch":"conv_main",
// fastk-plan: "overlaps_previous":true,"shared_bytes":"SMEM_BYTES"}],"workspaces":[{"bytes":76800}]}
