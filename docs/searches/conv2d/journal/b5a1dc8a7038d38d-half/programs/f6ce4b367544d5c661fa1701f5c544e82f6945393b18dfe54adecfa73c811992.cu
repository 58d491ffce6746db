#define CWARPS 3 // tune: 3, 7
#define RING 12 // tune: 10, 11, 12
#define STAGES 3 // tune: 2, 3
#define PLANE_PAD 0 // tune: 0, 1, 4
#define WROWS 97 // tune: 96, 97
#define ORDER 1 // tune: 0, 1, 2

#define BLOCKS 132
#define THREADS (32 * (13 + CWARPS))
#define GRIDW 57
#define TILES_IMG 49
#define CHUNKS 342
#define CT (32 * CWARPS)
#define CITER ((CHUNKS + CT - 1) / CT)
#define MIRROR 180
#define RING_Q (RING * GRIDW)
#define PLANE_Q (RING_Q + MIRROR + PLANE_PAD)

#define BOX_BYTES 10944
#define STAGE_BYTES 11008
#define EPI_STRIDE 68
#define EPI_FLOATS (48 * EPI_STRIDE)
#define EPI_BYTES (EPI_FLOATS * 4)
#define W_BYTES (54 * WROWS * 16)
#define RING_BYTES (6 * PLANE_Q * 16)

#define OFF_EPI (STAGES * STAGE_BYTES)
#define OFF_W (OFF_EPI + 2 * EPI_BYTES)
#define OFF_RING (OFF_W + W_BYTES)
#define OFF_BIAS (OFF_RING + RING_BYTES)
#define OFF_BARS (OFF_BIAS + 384)
#define BAR_COUNT (2 * RING + 2 * STAGES + 4)
#define OFF_FLAGS (OFF_BARS + BAR_COUNT * 8)
#define TOTAL_BYTES (OFF_FLAGS + RING * 8)

#if TOTAL_BYTES > 232448
#error "too much shared memory"
#endif
#if CWARPS > 8
#error "flags hold eight converter warps"
#endif

#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
              "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

static __device__ __forceinline__ void mma96(float (&d)[48], u64 a, u64 b, int keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47}, "
      "%48, %49, p, 1, 1, 0, 0;\n"
      "}\n"
      : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40)
      : "l"(a), "l"(b), "r"(keep));
}

static __device__ __forceinline__ void hold48(float (&d)[48]) {
  asm volatile("" : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40) : : "memory");
}

// no swizzle, K-major: leading = distance of the two 8-column halves, stride = distance of groups of 8 rows
static __device__ __forceinline__ u64 descNoSwizzle(u32 addr, u32 leading, u32 stride) {
  return (u64)((addr >> 4) & 0x3FFFu) | ((u64)((leading >> 4) & 0x3FFFu) << 16) |
         ((u64)((stride >> 4) & 0x3FFFu) << 32);
}

// bit 15 or 31 is set if a half is infinite or NaN
static __device__ __forceinline__ u32 notFinite(u32 v) {
  return (v & 0x7C007C00u) + 0x04000400u;
}

// last block row that tile ta of an image reads
static __device__ __forceinline__ int lastRow(int ta) {
  const int r = (64 * ta + MIRROR - 1) / GRIDW;
  return r < 56 ? r : 56;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_roll(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
          const float *__restrict__ bias, const float *__restrict__ weight,
          float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *rFull = (u64 *)(smem + OFF_BARS);
  u64 *rEmpty = rFull + RING;
  u64 *sFull = rEmpty + RING;
  u64 *sEmpty = sFull + STAGES;
  u64 *eFull = sEmpty + STAGES;
  u64 *eEmpty = eFull + 2;
  volatile u64 *flags = (volatile u64 *)(smem + OFF_FLAGS);
  float *biasS = (float *)(smem + OFF_BIAS);
  float *epi = (float *)(smem + OFF_EPI);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < RING; ++i) {
      mbarInit(&rFull[i], CWARPS);
      mbarInit(&rEmpty[i], 8);
      flags[i] = 0ull;
    }
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&sFull[i], 1);
      mbarInit(&sEmpty[i], CWARPS);
    }
    mbarInit(&eFull[0], 4);
    mbarInit(&eFull[1], 4);
    mbarInit(&eEmpty[0], 2);
    mbarInit(&eEmpty[1], 2);
    mbarInitFence();
  }
  __syncthreads();

  // this block's tiles: 4900 = 132 * 37 + 16; at most two images (segments)
  const int blk = (int)blockIdx.x;
  const int first = blk * 37 + (blk < 16 ? blk : 16);
  const int n = 37 + (blk < 16 ? 1 : 0);
  const int img0 = first / TILES_IMG;
  const int a0 = first - img0 * TILES_IMG;
  const int n0 = (TILES_IMG - a0) < n ? (TILES_IMG - a0) : n;
  const int rF0 = (64 * a0) / GRIDW;
  const int rows0 = lastRow(a0 + n0 - 1) - rF0 + 1;
  const int rows1 = n > n0 ? lastRow(n - n0 - 1) + 1 : 0;
  const int rowsAll = rows0 + rows1;

  if (warp == 12 + CWARPS) {
    // ---------------- TMA ----------------
    if (lane == 0) {
      tmaPrefetchMap(&map);
      int st = 0;
      u32 ph = 1;
#pragma unroll 1
      for (int s = 0; s < rowsAll; ++s) {
        const bool s1 = s >= rows0;
        const int img = s1 ? img0 + 1 : img0;
        const int by = s1 ? s - rows0 : rF0 + s;
        mbarWait(&sEmpty[st], ph);
        mbarExpectTx(&sFull[st], BOX_BYTES);
        tmaLoad3D(smem + st * STAGE_BYTES, &map, &sFull[st], -2, 4 * by - 2, img * 3);
        if (++st == STAGES) {
          st = 0;
          ph ^= 1u;
        }
      }
    }
  } else if (warp >= 12) {
    // ---------------- converters ----------------
    const int ct = (int)threadIdx.x - 384;
    const int cw = warp - 12;
    int srcOff[CITER], dstOff[CITER], posOf[CITER];
    bool used[CITER];
#pragma unroll
    for (int i = 0; i < CITER; ++i) {
      const int idx = ct + i * CT;
      const int plane = idx / GRIDW;
      const int pos = idx - plane * GRIDW;
      used[i] = idx < CHUNKS;
      srcOff[i] = plane * 114 + pos;
      dstOff[i] = plane * PLANE_Q + pos;
      posOf[i] = pos;
    }
    uint4 *ring = (uint4 *)(smem + OFF_RING);
    volatile unsigned char *flagBytes = (volatile unsigned char *)(smem + OFF_FLAGS);
    int st = 0, slot = 0;
    u32 sph = 0, rph = 1;
#pragma unroll 1
    for (int s = 0; s < rowsAll; ++s) {
      const float4 *S = (const float4 *)(smem + st * STAGE_BYTES);
      uint4 v[CITER];
      u32 bad = 0;
      mbarWait(&sFull[st], sph);
#pragma unroll
      for (int i = 0; i < CITER; ++i) {
        v[i] = make_uint4(0u, 0u, 0u, 0u);
        if (used[i]) {
          const float4 f0 = S[srcOff[i]];
          const float4 f1 = S[srcOff[i] + GRIDW];
          v[i] = make_uint4(packF16(f0.x, f0.y), packF16(f0.z, f0.w), packF16(f1.x, f1.y),
                            packF16(f1.z, f1.w));
        }
        bad |= notFinite(v[i].x) | notFinite(v[i].y) | notFinite(v[i].z) | notFinite(v[i].w);
      }
      const int any = __any_sync(0xffffffffu, (bad & 0x80008000u) != 0u);
      __syncwarp();
      if (lane == 0)
        mbarArrive(&sEmpty[st]);
      if (++st == STAGES) {
        st = 0;
        sph ^= 1u;
      }

      mbarWait(&rEmpty[slot], rph);
      const int base = slot * GRIDW;
#pragma unroll
      for (int i = 0; i < CITER; ++i) {
        if (used[i]) {
          uint4 *dst = ring + (dstOff[i] + base);
          dst[0] = v[i];
          if (base + posOf[i] < MIRROR)
            dst[RING_Q] = v[i];
        }
      }
      fenceAsyncShared();
      __syncwarp();
      if (lane == 0) {
        flagBytes[slot * 8 + cw] = any ? (unsigned char)1 : (unsigned char)0;
        mbarArrive(&rFull[slot]);
      }
      if (++slot == RING) {
        slot = 0;
        rph ^= 1u;
      }
    }
  } else {
    // weights (by consumers and store warps): f16, [k chunk 54][channel WROWS][8 halfs]
    {
      int from[5], to[5];
      bool real[5], used[5];
#pragma unroll
      for (int i = 0; i < 5; ++i) {
        const int r = lane + 32 * i;
        const int ky = r / 12, kx = r - 12 * ky;
        used[i] = r < 144;
        real[i] = used[i] && ky < 11 && kx < 11;
        from[i] = ky * 11 + kx;
        const int by = ky >> 2, dy = ky & 3, bx = kx >> 2, dx = kx & 3;
        to[i] = ((by * 3 + bx) * 2 + (dy >> 1)) * (WROWS * 16) + ((dy & 1) * 4 + dx) * 2;
      }
#pragma unroll 1
      for (int b0 = 0; b0 < 24; b0 += 8) {
        float v[8][5];
#pragma unroll
        for (int a = 0; a < 8; ++a) {
          const float *p = weight + (warp * 24 + b0 + a) * 121;
#pragma unroll
          for (int i = 0; i < 5; ++i) {
            v[a][i] = 0.0f;
            if (real[i])
              v[a][i] = __ldg(p + from[i]);
          }
        }
#pragma unroll
        for (int a = 0; a < 8; ++a) {
          const int pair = warp * 24 + b0 + a;
          const int ch = pair / 3, c = pair - 3 * ch;
          unsigned char *q = smem + OFF_W + c * (18 * WROWS * 16) + ch * 16;
#pragma unroll
          for (int i = 0; i < 5; ++i)
            if (used[i])
              *(u16 *)(q + to[i]) = (u16)(packF16(v[a][i], 0.0f) & 0xffffu);
        }
      }
      if (threadIdx.x < 96)
        biasS[threadIdx.x] = bias[threadIdx.x];
      fenceAsyncShared();
      barSync(3, 384);
    }

    if (warp >= 8) {
      // ---------------- store warps: two for each warpgroup ----------------
      const int w = (warp - 8) >> 1;
      const int hf = (warp - 8) & 1;
      const float *eb = epi + w * EPI_FLOATS + (hf * 24) * EPI_STRIDE + lane;
      u32 u = 0;
#pragma unroll 1
      for (int i = w; i < n; i += 2) {
        const bool s1 = i >= n0;
        const int img = s1 ? img0 + 1 : img0;
        const int ta = s1 ? i - n0 : a0 + i;
        const int qa = 64 * ta + lane;
        const int ya = qa / GRIDW;
        const int xa = qa - ya * GRIDW;
        const int qb = qa + 32;
        const int yb = qb / GRIDW;
        const int xb = qb - yb * GRIDW;
        const bool okA = ya < 55 && xa < 55;
        const bool okB = yb < 55 && xb < 55;
        float *base = out + (img * 96 + hf * 24) * 3025;
#pragma unroll 1
        for (int p = 0; p < 2; ++p) {
          float va[24], vb[24];
          mbarWait(&eFull[w], u & 1u);
#pragma unroll
          for (int c = 0; c < 24; ++c) {
            va[c] = eb[c * EPI_STRIDE];
            vb[c] = eb[c * EPI_STRIDE + 32];
          }
          __syncwarp();
          if (lane == 0)
            mbarArrive(&eEmpty[w]);
          ++u;
          float *pa = base + p * (48 * 3025) + (ya * 55 + xa);
          float *pb = base + p * (48 * 3025) + (yb * 55 + xb);
          const float4 *bs = (const float4 *)(biasS + p * 48 + hf * 24);
#pragma unroll
          for (int c4 = 0; c4 < 6; ++c4) {
            const float4 bv = bs[c4];
            if (okA) {
              pa[(4 * c4 + 0) * 3025] = va[4 * c4 + 0] + bv.x;
              pa[(4 * c4 + 1) * 3025] = va[4 * c4 + 1] + bv.y;
              pa[(4 * c4 + 2) * 3025] = va[4 * c4 + 2] + bv.z;
              pa[(4 * c4 + 3) * 3025] = va[4 * c4 + 3] + bv.w;
            }
            if (okB) {
              pb[(4 * c4 + 0) * 3025] = vb[4 * c4 + 0] + bv.x;
              pb[(4 * c4 + 1) * 3025] = vb[4 * c4 + 1] + bv.y;
              pb[(4 * c4 + 2) * 3025] = vb[4 * c4 + 2] + bv.z;
              pb[(4 * c4 + 3) * 3025] = vb[4 * c4 + 3] + bv.w;
            }
          }
          __syncwarp();
        }
      }
    } else {
      // ---------------- consumers ----------------
      const int w = warp >> 2;  // warpgroup 0 or 1
      const int wq = warp & 3;
      const u64 bDesc = descNoSwizzle(smemAddr(smem + OFF_W), WROWS * 16, 128);
      const u64 aDesc0 = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_Q * 16, 128);
      float *eb = epi + w * EPI_FLOATS;
      float *ebT = eb + (2 * (lane & 3)) * EPI_STRIDE + 16 * wq + (lane >> 2);

      float d[48];
#pragma unroll
      for (int i = 0; i < 48; ++i)
        d[i] = 0.0f;

#if ORDER
      if (w == 1)
        barArrive(1, 256);
#endif

      int waited = 0, released = 0;  // block rows, in the order of their loading
      u32 eu = 0;
#pragma unroll 1
      for (int i = w; i < n; i += 2) {
        const bool s1 = i >= n0;
        const int img = s1 ? img0 + 1 : img0;
        const int ta = s1 ? i - n0 : a0 + i;
        const int rbase = s1 ? rows0 : -rF0;
        const int q0 = 64 * ta;
        const int y0 = q0 / GRIDW;
        const int x0 = q0 - y0 * GRIDW;
        const int ra = rbase + y0;
        const int rb = rbase + lastRow(ta);

        // rows before this tile's first one are no longer needed here
#pragma unroll 1
        while (released < ra) {
          if (waited == released) {
            mbarWait(&rFull[waited % RING], (u32)((waited / RING) & 1));
            ++waited;
          }
          if (lane == 0)
            mbarArrive(&rEmpty[released % RING]);
          ++released;
        }
#pragma unroll 1
        while (waited <= rb) {
          mbarWait(&rFull[waited % RING], (u32)((waited / RING) & 1));
          ++waited;
        }
        u64 flag = 0ull;
        if (ra + lane <= rb)
          flag = flags[(ra + lane) % RING];
        const int slow = __any_sync(0xffffffffu, flag != 0ull);
        __syncwarp();

        if (!slow) {
          const u64 aTile = aDesc0 + (u64)((ra % RING) * GRIDW + x0);
#if ORDER
          barSync(1 + w, 256);
#endif
          hold48(d);
          wgmmaFence();
#pragma unroll
          for (int s = 0; s < 27; ++s) {
            const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
            mma96(d, aTile + (u64)(c * 2 * PLANE_Q + by * GRIDW + bx),
                  bDesc + (u64)(s * 2 * WROWS), s == 0 ? 0 : 1);
          }
          wgmmaCommit();
#if ORDER == 1
          barArrive(2 - w, 256);
#endif
          wgmmaWait<0>();
          hold48(d);
#if ORDER == 2
          barArrive(2 - w, 256);
#endif
          // release what the next tile of this warpgroup does not need
          const int i2 = i + 2;
          if (i2 < n) {
            const int nextA = i2 >= n0 ? rows0 + (64 * (i2 - n0)) / GRIDW
                                       : (64 * (a0 + i2)) / GRIDW - rF0;
            const int limit = nextA < waited ? nextA : waited;
#pragma unroll 1
            while (released < limit) {
              if (lane == 0)
                mbarArrive(&rEmpty[released % RING]);
              ++released;
            }
          }
          __syncwarp();

#pragma unroll
          for (int p = 0; p < 2; ++p) {
            mbarWait(&eEmpty[w], (eu & 1u) ^ 1u);
#pragma unroll
            for (int jj = 0; jj < 6; ++jj) {
              const int j = 6 * p + jj;
              float *e = ebT + 8 * jj * EPI_STRIDE;
              e[0] = d[4 * j + 0];
              e[EPI_STRIDE] = d[4 * j + 1];
              e[8] = d[4 * j + 2];
              e[EPI_STRIDE + 8] = d[4 * j + 3];
            }
            __syncwarp();
            if (lane == 0)
              mbarArrive(&eFull[w]);
            ++eu;
          }
          __syncwarp();
        } else {
          // values that are not finite in f16: exact sums in f32
#if ORDER
          barSync(1 + w, 256);
          barArrive(2 - w, 256);
#endif
          const float *image = in + img * (3 * 224 * 224);
          const int tw = (int)(threadIdx.x & 127u);
#pragma unroll 1
          for (int p = 0; p < 2; ++p) {
            mbarWait(&eEmpty[w], (eu & 1u) ^ 1u);
#pragma unroll 1
            for (int idx = tw; idx < 48 * 64; idx += 128) {
              const int cl = idx >> 6;
              const int pix = idx & 63;
              const int q = q0 + pix;
              const int oy = q / GRIDW;
              const int ox = q - oy * GRIDW;
              if (oy < 55 && ox < 55) {
                const int iy0 = oy * 4 - 2, ix0 = ox * 4 - 2;
                const float *wp = weight + (p * 48 + cl) * 363;
                float acc = 0.0f;
#pragma unroll 1
                for (int c = 0; c < 3; ++c) {
#pragma unroll 1
                  for (int ky = 0; ky < 11; ++ky) {
                    const int iy = iy0 + ky;
                    const bool rowOk = iy >= 0 && iy < 224;
                    const float *ip = image + (c * 224 + iy) * 224;
#pragma unroll 1
                    for (int kx = 0; kx < 11; ++kx) {
                      const int ix = ix0 + kx;
                      float a = 0.0f;
                      if (rowOk && ix >= 0 && ix < 224)
                        a = ip[ix];
                      acc = fmaf(a, wp[(c * 11 + ky) * 11 + kx], acc);
                    }
                  }
                }
                eb[cl * EPI_STRIDE + pix] = acc;
              }
            }
            __syncwarp();
            if (lane == 0)
              mbarArrive(&eFull[w]);
            ++eu;
          }
          __syncwarp();
        }
      }
#if ORDER
      // the one arrival that is left over
      if ((n & 1) == 0) {
        if (w == 0)
          barSync(1, 256);
      } else {
        if (w == 1)
          barSync(2, 256);
      }
#endif
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","in0","in1","in2","out0"],"block":["32 * (13 + CWARPS)",
// fastk-plan: 1,1],"grid":[132,1,1],"launch":"conv_roll","shared_bytes":232448}],"tensor_maps":[{"box":[228,
// fastk-plan: 4,3],"buffer":"in0","dims":[224,224,300],"l2_promotion":"256B","oob_fill":"zero","strides":[896,
// fastk-plan: 200704],"swizzle":"none","type":"f32"}]}
