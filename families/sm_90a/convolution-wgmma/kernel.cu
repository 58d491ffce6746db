// Convolutions as implicit products on tensor cores, of f16, bf16, and f32 that may be rounded. Rows are pixels of the
// result, columns output channels, terms are channels at each place of the kernel. One warpgroup loads boxes of X and W
// by TMA, CONSUMERS warpgroups multiply 64 pixels each, persistent blocks walk over the tiles.

#define BN 128 // tune: 64, 128, 192, 256
#define CONSUMERS 2 // tune: 1, 2
#define TILE_X 16 // tune: 4, 8, 16, 32, 64, 128

// An element on its way to the tensor cores is 16 bits, or two such halves: f32 rounded to TF32. f32 is rounded to f16
// where class half is accepted. A row of a tile is 128 bytes.
#define HALVES (X_BITS == 32 && !ACCEPTS_HALF ? 2 : 1)
#define CHUNK (64 / HALVES)

// Where a group has few channels, or windows move as no box does, axes from x outwards are written out: their places in
// the kernel become channels, v.
#define IS_BOX_X (STRIDE_X == 1 || INPUT_DILATION_X == 1 && STRIDE_X <= 8)
#define IS_BOX_Y (STRIDE_Y == 1 || INPUT_DILATION_Y == 1 && STRIDE_Y <= 8)
#define IS_BOX_Z (STRIDE_Z == 1 || INPUT_DILATION_Z == 1 && STRIDE_Z <= 8)
#define FEW (CHUNK / 2)
#define WRITES_Z (!IS_BOX_Z || IN_CHANNELS * KERNEL_X * KERNEL_Y < FEW && KERNEL_Z > 1 && INPUT_DILATION_Z == 1)
#define WRITES_Y (WRITES_Z || !IS_BOX_Y || IN_CHANNELS * KERNEL_X < FEW && KERNEL_Y > 1 && INPUT_DILATION_Y == 1)
#define WRITES_X (WRITES_Y || !IS_BOX_X || IN_CHANNELS < FEW && KERNEL_X > 1 && INPUT_DILATION_X == 1)
#define V_CHANNELS (IN_CHANNELS * (WRITES_X ? KERNEL_X : 1) * (WRITES_Y ? KERNEL_Y : 1) * (WRITES_Z ? KERNEL_Z : 1))
#define V_PITCH ((V_CHANNELS + CHUNK / 8 - 1) / (CHUNK / 8) * (CHUNK / 8))
#define V_CHUNKS ((V_CHANNELS + CHUNK - 1) / CHUNK)

// The convolution that is left.
#define V_IN_X (WRITES_X ? OUT_X : IN_X)
#define V_IN_Y (WRITES_Y ? OUT_Y : IN_Y)
#define V_IN_Z (WRITES_Z ? OUT_Z : IN_Z)
#define V_KERNEL_X (WRITES_X ? 1 : KERNEL_X)
#define V_KERNEL_Y (WRITES_Y ? 1 : KERNEL_Y)
#define V_KERNEL_Z (WRITES_Z ? 1 : KERNEL_Z)
#define V_STRIDE_X (WRITES_X ? 1 : STRIDE_X)
#define V_STRIDE_Y (WRITES_Y ? 1 : STRIDE_Y)
#define V_STRIDE_Z (WRITES_Z ? 1 : STRIDE_Z)
#define V_PADDING_X (WRITES_X ? 0 : PADDING_X)
#define V_PADDING_Y (WRITES_Y ? 0 : PADDING_Y)
#define V_PADDING_Z (WRITES_Z ? 0 : PADDING_Z)
// Pixels of the result that meet the same places of the kernel, among zeros between elements of X, are a phase.
#define PHASES_X (WRITES_X ? 1 : INPUT_DILATION_X)
#define PHASES_Y (WRITES_Y ? 1 : INPUT_DILATION_Y)
#define PHASES_Z (WRITES_Z ? 1 : INPUT_DILATION_Z)
#define PHASES (PHASES_X * PHASES_Y * PHASES_Z)
#define TAPS (V_KERNEL_X * V_KERNEL_Y * V_KERNEL_Z)
#define PHASE_OUT_X ((OUT_X + PHASES_X - 1) / PHASES_X)
#define PHASE_OUT_Y ((OUT_Y + PHASES_Y - 1) / PHASES_Y)
#define PHASE_OUT_Z ((OUT_Z + PHASES_Z - 1) / PHASES_Z)

// A tile is a box of pixels of one phase, a power of two in each direction.
#define BM (64 * CONSUMERS)
#define POWER_Y (PHASE_OUT_Y <= 1 ? 1 : PHASE_OUT_Y <= 2 ? 2 : PHASE_OUT_Y <= 4 ? 4 : PHASE_OUT_Y <= 8 ? 8 : PHASE_OUT_Y <= 16 ? 16 : 32)
#define POWER_Z (PHASE_OUT_Z <= 1 ? 1 : PHASE_OUT_Z <= 2 ? 2 : PHASE_OUT_Z <= 4 ? 4 : PHASE_OUT_Z <= 8 ? 8 : PHASE_OUT_Z <= 16 ? 16 : 32)
#define ROOM_Y (TILE_X < BM ? BM / TILE_X : 1)
#define TILE_Y (POWER_Y < ROOM_Y ? POWER_Y : ROOM_Y)
#define ROOM_Z (ROOM_Y / TILE_Y)
#define TILE_Z (POWER_Z < ROOM_Z ? POWER_Z : ROOM_Z)
#define TILE_N (ROOM_Z / TILE_Z)
#define BOX_X ((TILE_X - 1) * V_STRIDE_X + 1)
#define BOX_Y ((TILE_Y - 1) * V_STRIDE_Y + 1)
#define BOX_Z ((TILE_Z - 1) * V_STRIDE_Z + 1)
#define TILES_X ((PHASE_OUT_X + TILE_X - 1) / TILE_X)
#define TILES_Y ((PHASE_OUT_Y + TILE_Y - 1) / TILE_Y)
#define TILES_Z ((PHASE_OUT_Z + TILE_Z - 1) / TILE_Z)
#define TILES_N ((BATCH + TILE_N - 1) / TILE_N)
#define TILE_ROWS (TILES_X * TILES_Y * TILES_Z * TILES_N)
#define TILE_COLUMNS ((OUT_CHANNELS + BN - 1) / BN)
#define TILES (GROUPS * PHASES * TILE_ROWS * TILE_COLUMNS)
#define GRID (TILES < MULTIPROCESSORS ? TILES : MULTIPROCESSORS)

// X as the tensor map sees it: where channels come last, as it lies; else packed, a group after the other.
#define LOADS_X (X_BITS == 16 && X_ALIGNED && X_STRIDE_C == 1 && !WRITES_X && (GROUPS == 1 || IN_CHANNELS % 64 == 0 && X_STRIDE_G == IN_CHANNELS))
#define PIXEL_TILES ((V_IN_Y * V_IN_X + 31) / 32)
#define CHANNEL_TILES ((V_PITCH + 63) / 64)

// Shared memory: stages, sums on their way out, barriers.
#define X_STAGE (BM * 128)
#define W_STAGE (BN * 128)
#define STAGE_BYTES (X_STAGE + W_STAGE)
#define SUM_COLUMNS 32
// Neighbours in the result lie next to each other here, too.
#define BY_CHANNEL (OUT_STRIDE_O == 1)
#define SUM_PITCH (BY_CHANNEL ? SUM_COLUMNS + 2 : 66)
#define SUM_BYTES 8704
#define MOST_STAGES ((SHARED_LIMIT - CONSUMERS * SUM_BYTES - 2048) / STAGE_BYTES)
#define STAGES (MOST_STAGES > 8 ? 8 : MOST_STAGES)
#define SUM_OFFSET (STAGES * STAGE_BYTES)
#define BARRIER_OFFSET (SUM_OFFSET + CONSUMERS * SUM_BYTES)
#define SHARED_BYTES (BARRIER_OFFSET + STAGES * 16 + 1024)

#if X_BITS == 16
typedef u16 Element;
static FASTK_DEVICE Element elementOf(f16 x) { return x.bits; }
static FASTK_DEVICE Element elementOf(bf16 x) { return x.bits; }
#elif HALVES == 1
typedef u16 Element;
static FASTK_DEVICE Element elementOf(float x) { return f16(x).bits; }
#else
typedef u32 Element;
static FASTK_DEVICE Element elementOf(float x) { return toTF32(x); }
#endif

#if HALVES == 2
#define WGMMA(d, a, b) wgmmaTF32(d, a, b)
#elif X_IS_BF16
#define WGMMA(d, a, b) wgmmaBF16<0, 0>(d, a, b, 1u)
#else
#define WGMMA(d, a, b) wgmmaF16<0, 0>(d, a, b, 1u)
#endif

struct Tile {
  // Origin of the pixels, within their phase; the phase.
  i32 n, z, y, x, phaseZ, phaseY, phaseX, group, column;
};

static FASTK_DEVICE Tile tileOf(u32 t) {
  Tile tile;
  tile.column = (i32)(t % TILE_COLUMNS) * BN;
  t /= TILE_COLUMNS;
  tile.x = (i32)(t % TILES_X) * TILE_X;
  t /= TILES_X;
  tile.y = (i32)(t % TILES_Y) * TILE_Y;
  t /= TILES_Y;
  tile.z = (i32)(t % TILES_Z) * TILE_Z;
  t /= TILES_Z;
  tile.n = (i32)(t % TILES_N) * TILE_N;
  t /= TILES_N;
  tile.phaseX = (i32)(t % PHASES_X);
  t /= PHASES_X;
  tile.phaseY = (i32)(t % PHASES_Y);
  t /= PHASES_Y;
  tile.phaseZ = (i32)(t % PHASES_Z);
  tile.group = (i32)(t / PHASES_Z);
  return tile;
}

// Where a place of the kernel meets X: coordinates of the first pixel's element, or that it meets zeros alone.
struct Tap {
  i32 z, y, x;
  bool meets;
};

static FASTK_DEVICE Tap tapOf(const Tile &tile, i32 tap) {
  const i32 kx = tap % V_KERNEL_X, ky = tap / V_KERNEL_X % V_KERNEL_Y, kz = tap / (V_KERNEL_X * V_KERNEL_Y);
  const i32 z = tile.phaseZ + kz * DILATION_Z - V_PADDING_Z, y = tile.phaseY + ky * DILATION_Y - V_PADDING_Y,
            x = tile.phaseX + kx * DILATION_X - V_PADDING_X;
  Tap found;
  found.meets = z % PHASES_Z == 0 && y % PHASES_Y == 0 && x % PHASES_X == 0;
  found.z = tile.z * V_STRIDE_Z + z / PHASES_Z;
  found.y = tile.y * V_STRIDE_Y + y / PHASES_Y;
  found.x = tile.x * V_STRIDE_X + x / PHASES_X;
  return found;
}

// A pixel of the tile, by its row.
struct Pixel {
  i32 n, z, y, x;
  bool exists;
};

static FASTK_DEVICE Pixel pixelOf(const Tile &tile, i32 row) {
  Pixel pixel;
  pixel.x = (tile.x + row % TILE_X) * PHASES_X + tile.phaseX;
  pixel.y = (tile.y + row / TILE_X % TILE_Y) * PHASES_Y + tile.phaseY;
  pixel.z = (tile.z + row / (TILE_X * TILE_Y) % TILE_Z) * PHASES_Z + tile.phaseZ;
  pixel.n = tile.n + row / (TILE_X * TILE_Y * TILE_Z);
  pixel.exists = pixel.x < OUT_X && pixel.y < OUT_Y && pixel.z < OUT_Z && pixel.n < BATCH;
  return pixel;
}

static FASTK_DEVICE void storeOne(OUT_TYPE *out, OPERAND_PARAMETERS, const Pixel &pixel, i32 g, i32 o, float sum) {
  out[outOffset(pixel.n, g, o, pixel.z, pixel.y, pixel.x)] =
      finish(OPERANDS, pixel.n, g, o, pixel.z, pixel.y, pixel.x, sum);
}

#if OUT_BITS == 16 && (PAIRS_ALONG_O || PAIRS_ALONG_X)
static FASTK_DEVICE void storePair(OUT_TYPE *out, OPERAND_PARAMETERS, const Pixel &pixel, i32 g, i32 o, float sum0,
                                   float sum1) {
  const u32 both = finish2(OPERANDS, pixel.n, g, o, pixel.z, pixel.y, pixel.x, sum0, sum1);
  u16 *const to = (u16 *)out + outOffset(pixel.n, g, o, pixel.z, pixel.y, pixel.x);
  if (((u64)to & 3) == 0) {
    *(u32 *)to = both;
  } else {
    to[0] = (u16)both;
    to[1] = (u16)(both >> 16);
  }
}
#endif

// Stores 64 pixels and SUM_COLUMNS channels from shared memory.
static FASTK_DEVICE void storeSums(OUT_TYPE *out, OPERAND_PARAMETERS, const float *sums, const Tile &tile, i32 row0,
                                   i32 o0, u32 thread) {
#if BY_CHANNEL
#pragma unroll 4
  for (i32 i = (i32)thread; i < 64 * SUM_COLUMNS / 2; i += 128) {
    const i32 row = i / (SUM_COLUMNS / 2), column = i % (SUM_COLUMNS / 2) * 2, o = o0 + column;
    const Pixel pixel = pixelOf(tile, row0 + row);
    if (!pixel.exists || o >= OUT_CHANNELS)
      continue;
    const float2 sum = *(const float2 *)(sums + row * SUM_PITCH + column);
#if OUT_BITS == 16 && PAIRS_ALONG_O
    if (o + 1 < OUT_CHANNELS) {
      storePair(out, OPERANDS, pixel, tile.group, o, sum.x, sum.y);
      continue;
    }
#endif
    storeOne(out, OPERANDS, pixel, tile.group, o, sum.x);
    if (o + 1 < OUT_CHANNELS)
      storeOne(out, OPERANDS, pixel, tile.group, o + 1, sum.y);
  }
#else
#pragma unroll 4
  for (i32 i = (i32)thread; i < 32 * SUM_COLUMNS; i += 128) {
    const i32 row = i % 32 * 2, column = i / 32, o = o0 + column;
    const Pixel pixel = pixelOf(tile, row0 + row), next = pixelOf(tile, row0 + row + 1);
    if (!pixel.exists || o >= OUT_CHANNELS)
      continue;
    const float2 sum = *(const float2 *)(sums + column * SUM_PITCH + row);
#if OUT_BITS == 16 && PAIRS_ALONG_X
    // Rows of a tile are even in number, and so is the first pixel's x where there is one phase.
    if (PHASES_X == 1 && next.exists) {
      storePair(out, OPERANDS, pixel, tile.group, o, sum.x, sum.y);
      continue;
    }
#endif
    storeOne(out, OPERANDS, pixel, tile.group, o, sum.x);
    if (next.exists)
      storeOne(out, OPERANDS, next, tile.group, o, sum.y);
  }
#endif
}

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
convolution(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapW, OUT_TYPE *out,
            OPERAND_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  unsigned char *smem = raw + ((1024 - (smemAddr(raw) & 1023)) & 1023);
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES;
  const u32 warp = warpIndex(), group = warp >> 2;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapX);
    tmaPrefetchMap(&mapW);
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 4 * CONSUMERS);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (group == 0) {
#if CONSUMERS == 2
    registersDown<40>();
#endif
    if (warp == 0 && electOne()) {
      waitPrevious();
      u32 s = 0, parity = 1;
      for (u32 t = blockIdx.x; t < TILES; t += gridDim.x) {
        const Tile tile = tileOf(t);
        // Behind X's batches come those of the next group, where it is packed.
        const i32 n = LOADS_X ? tile.n : tile.group * BATCH + tile.n;
        const i32 c0 = LOADS_X ? tile.group * IN_CHANNELS : 0;
#pragma unroll 1
        for (i32 tap = 0; tap < TAPS; ++tap) {
          const Tap at = tapOf(tile, tap);
          if (!at.meets)
            continue;
#pragma unroll 1
          for (i32 chunk = 0; chunk < V_CHUNKS; ++chunk) {
            mbarWait(&empty[s], parity);
            unsigned char *a = smem + s * STAGE_BYTES, *b = a + X_STAGE;
            mbarExpectTx(&full[s], STAGE_BYTES);
            tmaLoad5D(a, &mapX, &full[s], c0 + chunk * 64, at.x, at.y, at.z, n);
            tmaLoad4D(b, &mapW, &full[s], chunk * 64, tap, tile.column, tile.group);
            if (++s == STAGES) {
              s = 0;
              parity ^= 1;
            }
          }
        }
      }
    }
    __syncwarp();
  } else {
#if CONSUMERS == 2
    registersUp<232>();
#endif
    const u32 w = group - 1;
    const u32 lane = threadIdx.x & 31, thread = threadIdx.x & 127;
    const u32 base = smemAddr(smem);
    const u64 descA = wgmmaDesc128B(base + w * 8192), descB = wgmmaDesc128B(base + X_STAGE);
    float *sums = (float *)(smem + SUM_OFFSET + w * SUM_BYTES);

    float d[BN / 2];
    u32 s = 0, parity = 0;
    for (u32 t = blockIdx.x; t < TILES; t += gridDim.x) {
      const Tile tile = tileOf(t);
#pragma unroll
      for (int i = 0; i < BN / 2; ++i)
        d[i] = 0.0f;
      u32 previous = s;
      bool isFirst = true;
#pragma unroll 1
      for (i32 tap = 0; tap < TAPS; ++tap) {
        if (!tapOf(tile, tap).meets)
          continue;
#pragma unroll 1
        for (i32 chunk = 0; chunk < V_CHUNKS; ++chunk) {
          mbarWait(&full[s], parity);
          const u64 a = descA + (u64)(s * (STAGE_BYTES / 16));
          const u64 b = descB + (u64)(s * (STAGE_BYTES / 16));
          wgmmaFence();
#pragma unroll
          for (int i = 0; i < 4; ++i)
            WGMMA(d, a + i * 2, b + i * 2);
          wgmmaCommit();
          wgmmaWait<1>();
          if (!isFirst && lane == 0)
            mbarArrive(&empty[previous]);
          isFirst = false;
          previous = s;
          if (++s == STAGES) {
            s = 0;
            parity ^= 1;
          }
        }
      }
      wgmmaWait<0>();
      wgmmaHold(d);
      if (!isFirst && lane == 0)
        mbarArrive(&empty[previous]);
      __syncwarp();

      const i32 row = 16 * (i32)(warp & 3) + (i32)(lane >> 2), column = 2 * (i32)(lane & 3);
#pragma unroll
      for (int q = 0; q < BN / SUM_COLUMNS; ++q) {
        // The sums before these have been read.
        barSync(1 + w, 128);
#pragma unroll
        for (int i = 0; i < SUM_COLUMNS / 2; i += 2) {
          const i32 r = row + (i & 2) * 4, c = column + (i / 4) * 8;
          const float x = d[q * (SUM_COLUMNS / 2) + i], y = d[q * (SUM_COLUMNS / 2) + i + 1];
          if (BY_CHANNEL) {
            *(float2 *)(sums + r * SUM_PITCH + c) = make_float2(x, y);
          } else {
            sums[c * SUM_PITCH + r] = x;
            sums[(c + 1) * SUM_PITCH + r] = y;
          }
        }
        barSync(1 + w, 128);
        if (tile.column + q * SUM_COLUMNS < OUT_CHANNELS)
          storeSums(out, OPERANDS, sums, tile, (i32)w * 64, tile.column + q * SUM_COLUMNS, thread);
      }
    }
  }
}

// What channel v at a pixel of the convolution that is left is of X.
#if !LOADS_X
static FASTK_DEVICE Element channelOfX(OPERAND_PARAMETERS, i32 n, i32 g, i32 v, i32 z, i32 y, i32 x) {
#if WRITES_X
  const i32 c = v % IN_CHANNELS, kx = v / IN_CHANNELS % KERNEL_X;
  const i32 ky = WRITES_Y ? v / (IN_CHANNELS * KERNEL_X) % KERNEL_Y : 0;
  const i32 kz = WRITES_Z ? v / (IN_CHANNELS * KERNEL_X * KERNEL_Y) : 0;
  // An axis that is not written out is X's own.
  return elementOf(paddedX(OPERANDS, n, g, c,
                           WRITES_Z ? z * STRIDE_Z + kz * DILATION_Z - PADDING_Z : z * INPUT_DILATION_Z,
                           WRITES_Y ? y * STRIDE_Y + ky * DILATION_Y - PADDING_Y : y * INPUT_DILATION_Y,
                           x * STRIDE_X + kx * DILATION_X - PADDING_X));
#else
  return elementOf(elementX(OPERANDS, n, g, v, z, y, x));
#endif
}

// Tiles of 32 pixels and 64 channels are read along pixels and written along channels.
extern "C" __global__ void __launch_bounds__(256) packX(Element *to, OPERAND_PARAMETERS) {
  __shared__ Element tile[64][HALVES == 2 ? 33 : 34];
  const i32 warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  u32 rest = blockIdx.x;
  const i32 v0 = (i32)(rest % CHANNEL_TILES) * 64;
  rest /= CHANNEL_TILES;
  const i32 p0 = (i32)(rest % PIXEL_TILES) * 32;
  rest /= PIXEL_TILES;
  const i32 z = (i32)(rest % V_IN_Z), n = (i32)(rest / V_IN_Z % BATCH), g = (i32)(rest / V_IN_Z / BATCH);
  const i32 p = p0 + lane;
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    const i32 v = v0 + warp + 8 * i;
    tile[warp + 8 * i][lane] = v < V_CHANNELS && p < V_IN_Y * V_IN_X
                                   ? channelOfX(OPERANDS, n, g, v, z, p / V_IN_X, p % V_IN_X)
                                   : (Element)0;
  }
  __syncthreads();
  const i32 v = v0 + 2 * lane;
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    const i32 row = warp + 8 * i;
    if (p0 + row >= V_IN_Y * V_IN_X || v >= V_PITCH)
      continue;
    Element *const at = to + ((((i64)g * BATCH + n) * V_IN_Z + z) * (V_IN_Y * V_IN_X) + p0 + row) * V_PITCH + v;
#if HALVES == 2
    *(uint2 *)at = make_uint2(tile[2 * lane][row], tile[2 * lane + 1][row]);
#else
    *(u32 *)at = (u32)tile[2 * lane][row] | (u32)tile[2 * lane + 1][row] << 16;
#endif
  }
}
#endif

// W as [g][o][tap][v].
extern "C" __global__ void __launch_bounds__(256) packW(Element *to, OPERAND_PARAMETERS) {
  const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
  if (i < (i64)GROUPS * OUT_CHANNELS * TAPS * V_PITCH) {
    const i32 v = (i32)(i % V_PITCH), tap = (i32)(i / V_PITCH % TAPS), o = (i32)(i / V_PITCH / TAPS % OUT_CHANNELS),
              g = (i32)(i / V_PITCH / TAPS / OUT_CHANNELS);
    i32 kx = tap % V_KERNEL_X, ky = tap / V_KERNEL_X % V_KERNEL_Y, kz = tap / (V_KERNEL_X * V_KERNEL_Y);
    if (WRITES_X)
      kx = v / IN_CHANNELS % KERNEL_X;
    if (WRITES_Y)
      ky = v / (IN_CHANNELS * KERNEL_X) % KERNEL_Y;
    if (WRITES_Z)
      kz = v / (IN_CHANNELS * KERNEL_X * KERNEL_Y);
    to[i] = v < V_CHANNELS ? elementOf(elementW(OPERANDS, g, o, v % IN_CHANNELS, kz, ky, kx)) : (Element)0;
  }
  launchNext();
}
