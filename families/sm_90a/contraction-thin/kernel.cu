// Sums of products where one operand has few rows: what takes time is the way of the other one, the wide one, from memory.
// The warps of a block share a tile of its rows and take slices of the terms in turns. Each copies its slices ahead to a
// ring of its own, so that no warp waits for another, and multiplies them on tensor cores with the wide operand's rows as
// rows. The warps' sums are added in shared memory, then over a cluster.

#define WIDE_ROWS 32 // tune: 16, 32, 64, 128
#define CLUSTER 1 // tune: 1, 2, 4, 8
#define SLICE 64 // tune: 64, 128
#define SHARED_KB 100 // tune: 64, 100, 200

#define WIDE_IS_B (N >= M)
#define WIDE (WIDE_IS_B ? N : M)
#define THIN (WIDE_IS_B ? M : N)
#define OCTETS ((THIN + 7) / 8)
#define W_PLAIN (WIDE_IS_B ? B_PLAIN : A_PLAIN)
#define W_ALIGNED (WIDE_IS_B ? B_ALIGNED : A_ALIGNED)
#define W_K_MAJOR (WIDE_IS_B ? B_K_MAJOR : A_K_MAJOR)
#define W_BATCHED (WIDE_IS_B ? B_BATCHED : A_BATCHED)
#define W_OFFSET (WIDE_IS_B ? B_OFFSET : A_OFFSET)
#define W_BATCH_STRIDE (WIDE_IS_B ? B_BATCH_STRIDE : A_BATCH_STRIDE)
#define W_ROW_STRIDE (WIDE_IS_B ? B_ROW_STRIDE : A_ROW_STRIDE)
#define X_ALIGNED (WIDE_IS_B ? A_ALIGNED : B_ALIGNED)
#define X_K_MAJOR (WIDE_IS_B ? A_K_MAJOR : B_K_MAJOR)
#define X_BATCHED (WIDE_IS_B ? A_BATCHED : B_BATCHED)
#define X_OFFSET (WIDE_IS_B ? A_OFFSET : B_OFFSET)
#define X_BATCH_STRIDE (WIDE_IS_B ? A_BATCH_STRIDE : B_BATCH_STRIDE)
#define X_ROW_STRIDE (WIDE_IS_B ? A_ROW_STRIDE : B_ROW_STRIDE)

// Copies are of 16 bytes or a multiple.
#define BYTES (A_BITS / 8)
#define TOGETHER (16 / BYTES)
#define COPIES_W (W_ALIGNED && (W_K_MAJOR ? K : WIDE) % TOGETHER == 0)
// The thin operand is written out where no copy can take it: its terms together, zeros behind them.
#define COPIES_X (X_ALIGNED && X_K_MAJOR && K % TOGETHER == 0)
#define X_PITCH ((K + TOGETHER - 1) / TOGETHER * TOGETHER)
#define X_PACKED ((X_BATCHED ? BATCH : 1) * THIN * X_PITCH)

// A slice is SLICE bytes of terms of each row. Of the wide operand whose rows lie together these are so many lines of them.
#define SLICE_K (SLICE / BYTES)
#define SLICES ((K + SLICE_K - 1) / SLICE_K)
#define WARPS 8
#define STEPS ((SLICES + WARPS * CLUSTER - 1) / (WARPS * CLUSTER))
// Distances in shared memory, so that lanes meet different banks; 16 bytes of rows of 128 change places instead.
#define W_LINES (W_K_MAJOR ? WIDE_ROWS : SLICE_K)
#define W_LINE (W_K_MAJOR ? SLICE : WIDE_ROWS * BYTES)
#define W_PITCH (W_K_MAJOR ? SLICE : W_LINE + 8 * BYTES)
#define X_PITCH_IN_STAGE (W_K_MAJOR ? SLICE : SLICE + 16)
#define W_STAGE (W_LINES * W_PITCH)
#define STAGE_BYTES (W_STAGE + 8 * OCTETS * X_PITCH_IN_STAGE)
#define MOST_STAGES (SHARED_KB * 1024 / (WARPS * STAGE_BYTES))
#define STAGES (MOST_STAGES > 8 ? 8 : MOST_STAGES)
#define BLOCKS (SHARED_KB == 200 ? 1 : SHARED_KB == 100 ? 2 : 3)
#define TILES ((WIDE + WIDE_ROWS - 1) / WIDE_ROWS)
#define GRID (BATCH * TILES * CLUSTER)
// Sums of the warps, in the stages' memory: of each a column of rows for each thin row.
#define SUM_PITCH (WIDE_ROWS + 4)
#define WARP_SUMS (8 * OCTETS * SUM_PITCH)
#define SUM_BYTES (WARPS * WARP_SUMS * 4)
#define RING_BYTES (WARPS * STAGES * STAGE_BYTES)
#define SHARED_BYTES (RING_BYTES > SUM_BYTES ? RING_BYTES : SUM_BYTES)
#define ROW_TILES (WIDE_ROWS / 16)
#define SUMS (ROW_TILES * OCTETS * 4)
// Tensor cores cut off bits of what they add up. Of f32 that may not be rounded they add the terms of a slice, whose sums
// are added as f32 is.
#define IS_EXACT (A_BITS == 32 && !ACCEPTS_TF32)
#define PRODUCTS (IS_EXACT ? 3 : 1)

#if A_BITS == 16
typedef u16 Element;
static FASTK_DEVICE Element elementOf(f16 x) { return x.bits; }
static FASTK_DEVICE Element elementOf(bf16 x) { return x.bits; }
#else
typedef float Element;
static FASTK_DEVICE Element elementOf(float x) { return x; }
#endif

// What a lane has of an operand of a tensor cores' product, in 32 bits a register. Of f32 that may not be rounded, what TF32
// keeps of an element and what it leaves; of an infinity or a NaN nothing is left, and nothing is kept in products with
// what is left of the other operand.
template <int Length>
struct Fragment {
  u32 kept[Length];
#if IS_EXACT
  u32 left[Length], finite[Length];
#endif
  FASTK_DEVICE Fragment() {}
  FASTK_DEVICE Fragment(const u32 (&bits)[Length]) {
#pragma unroll
    for (int i = 0; i < Length; ++i) {
#if A_BITS == 16
      kept[i] = bits[i];
#elif !IS_EXACT
      kept[i] = toTF32(__uint_as_float(bits[i]));
#else
      const u32 rounded = (bits[i] + 0x1000u) & 0xffffe000u;
      const float rest = __uint_as_float(bits[i]) - __uint_as_float(rounded);
      const bool isFinite = fabsf(rest) < FASTK_INFINITY;
      kept[i] = isFinite ? rounded : bits[i];
      left[i] = isFinite ? __float_as_uint(rest) : 0;
      finite[i] = isFinite ? rounded : 0;
#endif
    }
  }
};

// Of f32 that may not be rounded three products: the product of what is left of both is below what f32 keeps.
static FASTK_DEVICE void multiply(float (&d)[4], const Fragment<4> &a, const Fragment<2> &b) {
#if A_BITS == 16 && A_IS_F16
  mmaF16(d, a.kept, b.kept);
#elif A_BITS == 16
  mmaBF16(d, a.kept, b.kept);
#else
#if IS_EXACT
  mmaTF32(d, a.left, b.finite);
  mmaTF32(d, a.finite, b.left);
#endif
  mmaTF32(d, a.kept, b.kept);
#endif
}

// Copies 16 bytes, or writes zeros where nothing is. What is read once passes by the first cache.
static FASTK_DEVICE void copyWide(unsigned char *to, const unsigned char *from, bool exists) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(smemAddr(to)), "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}
static FASTK_DEVICE void copyThin(unsigned char *to, const unsigned char *from, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(smemAddr(to)), "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}

static FASTK_DEVICE u32 at(const uint4 &v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }
static FASTK_DEVICE uint4 load16(const unsigned char *from) { return *(const uint4 *)from; }

// Where 16 bytes of a row of terms lie in a stage.
static FASTK_DEVICE u32 pieceAt(u32 row, u32 piece, u32 pitch) {
  return row * pitch + (W_K_MAJOR && SLICE == 128 ? piece ^ (row & 1) * 4 : piece) * 16;
}

// Copies a warp's slice: zeros beyond the last term, the last row again where there is none.
static FASTK_DEVICE void copySlice(unsigned char *stage, const unsigned char *wide, const unsigned char *thin, i32 row0,
                                   i32 k0, u32 lane) {
  constexpr u32 wPieces = W_LINE / 16, xPieces = SLICE / 16;
  constexpr i64 xPitch = (i64)(COPIES_X ? X_ROW_STRIDE : X_PITCH) * BYTES;
#pragma unroll
  for (u32 i = 0; i < (W_LINES * wPieces + 31) / 32; ++i) {
    const u32 number = i * 32 + lane, line = number / wPieces, piece = number % wPieces;
    if (W_LINES * wPieces % 32 != 0 && line >= W_LINES)
      continue;
    const i32 k = k0 + (i32)(W_K_MAJOR ? piece * TOGETHER : line), last = W_K_MAJOR ? WIDE - 1 : WIDE - TOGETHER;
    i32 row = row0 + (i32)(W_K_MAJOR ? line : piece * TOGETHER);
    row = WIDE % WIDE_ROWS == 0 || row < last ? row : last;
    const bool exists = k < K;
    const unsigned char *from = wide + ((i64)(W_K_MAJOR ? row : exists ? k : 0) * W_ROW_STRIDE + (W_K_MAJOR ? exists ? k : 0 : row)) * BYTES;
    copyWide(stage + (W_K_MAJOR ? pieceAt(line, piece, W_PITCH) : line * W_PITCH + piece * 16), from, exists);
  }
#pragma unroll
  for (u32 i = 0; i < (8 * OCTETS * xPieces + 31) / 32; ++i) {
    const u32 number = i * 32 + lane, line = number / xPieces, piece = number % xPieces;
    if (8 * OCTETS * xPieces % 32 != 0 && line >= 8 * OCTETS)
      continue;
    const i32 k = k0 + (i32)(piece * TOGETHER);
    const bool exists = k < K && (THIN % 8 == 0 || line < THIN);
    copyThin(stage + W_STAGE + pieceAt(line, piece, X_PITCH_IN_STAGE), thin + (exists ? (i64)line * xPitch + (i64)k * BYTES : 0),
             exists);
  }
}

// What a lane multiplies of a slice: lane / 4 names a row, lane % 4 terms. The order of terms is free as long as both
// operands have the same.
static FASTK_DEVICE void multiplySlice(float (&d)[ROW_TILES][OCTETS][4], const unsigned char *stage, u32 lane) {
  const u32 row = lane >> 2, four = lane & 3;
  const unsigned char *const x = stage + W_STAGE;
#if W_K_MAJOR
  // 16 bytes of each row, which are two products' terms.
#pragma unroll
  for (u32 part = 0; part < SLICE / 64; ++part) {
    uint4 of[OCTETS];
#pragma unroll
    for (int j = 0; j < OCTETS; ++j)
      of[j] = load16(x + pieceAt(8 * j + row, 4 * part + four, X_PITCH_IN_STAGE));
    uint4 upper[ROW_TILES], lower[ROW_TILES];
#pragma unroll
    for (int i = 0; i < ROW_TILES; ++i) {
      upper[i] = load16(stage + pieceAt(16 * i + row, 4 * part + four, W_PITCH));
      lower[i] = load16(stage + pieceAt(16 * i + 8 + row, 4 * part + four, W_PITCH));
    }
#pragma unroll
    for (int half = 0; half < 4; half += 2) {
      Fragment<4> a[ROW_TILES];
#pragma unroll
      for (int i = 0; i < ROW_TILES; ++i)
        a[i] = Fragment<4>({at(upper[i], half), at(lower[i], half), at(upper[i], half + 1), at(lower[i], half + 1)});
#pragma unroll
      for (int j = 0; j < OCTETS; ++j) {
        const Fragment<2> b({at(of[j], half), at(of[j], half + 1)});
#pragma unroll
        for (int i = 0; i < ROW_TILES; ++i)
          multiply(d[i][j], a[i], b);
      }
    }
  }
#else
  // 32 bytes of terms at a time.
#pragma unroll
  for (u32 part = 0; part < SLICE / 32; ++part) {
    const u32 k = part * (32 / BYTES) + (A_BITS == 16 ? 2 * four : four);
    auto thinAt = [&](int j) {
      const unsigned char *const from = x + (8 * j + row) * X_PITCH_IN_STAGE + k * BYTES;
      return Fragment<2>({*(const u32 *)from, *(const u32 *)(from + 16)});
    };
    const unsigned char *const w = stage + k * W_PITCH + row * 16;
#if A_BITS == 16
    // Neighbouring terms of eight rows, which become pairs of each row.
#pragma unroll
    for (int i = 0; i < ROW_TILES; i += 4) {
      const uint4 first = load16(w + 32 * i), second = load16(w + W_PITCH + 32 * i);
      const uint4 ninth = load16(w + 8 * W_PITCH + 32 * i), tenth = load16(w + 9 * W_PITCH + 32 * i);
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const Fragment<4> a({__byte_perm(at(first, q), at(second, q), 0x5410), __byte_perm(at(first, q), at(second, q), 0x7632),
                             __byte_perm(at(ninth, q), at(tenth, q), 0x5410), __byte_perm(at(ninth, q), at(tenth, q), 0x7632)});
#pragma unroll
        for (int j = 0; j < OCTETS; ++j)
          multiply(d[i + q][j], a, thinAt(j));
      }
    }
#else
    // Two terms of four rows.
#pragma unroll
    for (int i = 0; i < ROW_TILES; i += 2) {
      const uint4 first = load16(w + 64 * i), fifth = load16(w + 4 * W_PITCH + 64 * i);
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        const Fragment<4> a({at(first, 2 * q), at(first, 2 * q + 1), at(fifth, 2 * q), at(fifth, 2 * q + 1)});
#pragma unroll
        for (int j = 0; j < OCTETS; ++j)
          multiply(d[i + q][j], a, thinAt(j));
      }
    }
#endif
  }
#endif
}

// The wide row, within its tile, of a sum: of fragment i, where a lane has rows `row` and row + 8.
static FASTK_DEVICE u32 wideRow(int i, u32 row, int isLower) {
#if W_K_MAJOR
  return 16 * i + row + 8 * isLower;
#elif A_BITS == 16
  return 64 * (i / 4) + 8 * row + 2 * (i % 4) + isLower;
#else
  return 32 * (i / 2) + 4 * row + 2 * (i % 2) + isLower;
#endif
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
contraction(const unsigned char *wide, const unsigned char *thin, OUT_TYPE *out, OPERAND_PARAMETERS) {
  extern __shared__ __align__(128) unsigned char smem[];
  const u32 warp = warpIndex(), lane = threadIdx.x & 31;
  const u32 rank = CLUSTER > 1 ? ctaRank() : 0, tile = blockIdx.x / CLUSTER;
  const i32 batch = (i32)(tile / TILES), row0 = (i32)(tile % TILES) * WIDE_ROWS;
#if !COPIES_X
  waitPrevious();
#endif
  wide += W_OFFSET + (W_BATCHED ? (i64)batch * W_BATCH_STRIDE * BYTES : 0);
#if COPIES_X
  thin += X_OFFSET + (X_BATCHED ? (i64)batch * X_BATCH_STRIDE * BYTES : 0);
#else
  thin += X_BATCHED ? (i64)batch * THIN * X_PITCH * BYTES : 0;
#endif

  // Neighbouring warps, of neighbouring blocks too, have neighbouring slices.
  unsigned char *const ring = smem + warp * STAGES * STAGE_BYTES;
  i32 next = (i32)(rank * WARPS + warp) * SLICE_K;
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) {
    if (i < STEPS)
      copySlice(ring + i * STAGE_BYTES, wide, thin, row0, next, lane);
    cpAsyncCommit();
    next += CLUSTER * WARPS * SLICE_K;
  }
  float d[ROW_TILES][OCTETS][4] = {};
  u32 stage = 0, vacant = STAGES - 1;
#pragma unroll 1
  for (i32 step = 0; step < STEPS; ++step) {
    cpAsyncWait<STAGES - 2>();
    __syncwarp();
    if (step + STAGES - 1 < STEPS)
      copySlice(ring + vacant * STAGE_BYTES, wide, thin, row0, next, lane);
    cpAsyncCommit();
    next += CLUSTER * WARPS * SLICE_K;
#if IS_EXACT
    float few[ROW_TILES][OCTETS][4] = {};
    multiplySlice(few, ring + stage * STAGE_BYTES, lane);
#pragma unroll
    for (int i = 0; i < ROW_TILES; ++i)
#pragma unroll
      for (int j = 0; j < OCTETS; ++j)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          d[i][j][c] += few[i][j][c];
#else
    multiplySlice(d, ring + stage * STAGE_BYTES, lane);
#endif
    vacant = stage;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }

  float *const sums = (float *)smem;
  // All have multiplied what lies there.
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ROW_TILES; ++i)
#pragma unroll
    for (int j = 0; j < OCTETS; ++j)
#pragma unroll
      for (int c = 0; c < 4; ++c)
        sums[warp * WARP_SUMS + (8 * j + 2 * (lane & 3) + c % 2) * SUM_PITCH + wideRow(i, lane >> 2, c / 2)] = d[i][j][c];
  __syncthreads();

  // Neighbouring threads have neighbours in the result.
  constexpr u32 count = THIN * WIDE_ROWS;
  auto placeOf = [](u32 e) {
    return WIDE_IS_B ? e / WIDE_ROWS * SUM_PITCH + e % WIDE_ROWS : e % THIN * SUM_PITCH + e / THIN;
  };
  auto store = [&](u32 e, float sum) {
    const i32 x = (i32)(WIDE_IS_B ? e / WIDE_ROWS : e % THIN), w = row0 + (i32)(WIDE_IS_B ? e % WIDE_ROWS : e / THIN);
    if (WIDE % WIDE_ROWS != 0 && w >= WIDE)
      return;
    const i32 m = WIDE_IS_B ? x : w, n = WIDE_IS_B ? w : x;
    out[outOffset(batch, m, n)] = finish(OPERANDS, batch, m, n, sum);
  };
#pragma unroll 1
  for (u32 e = threadIdx.x; e < count; e += 32 * WARPS) {
    const u32 place = placeOf(e);
    float sum[WARPS];
#pragma unroll
    for (int i = 0; i < WARPS; ++i)
      sum[i] = sums[i * WARP_SUMS + place];
#pragma unroll
    for (int width = WARPS / 2; width > 0; width /= 2)
#pragma unroll
      for (int i = 0; i < width; ++i)
        sum[i] += sum[i + width];
#if CLUSTER == 1
    store(e, sum[0]);
#else
    sums[place] = sum[0];
#endif
  }
#if CLUSTER > 1
  clusterSync();
  // Each block has a share of the tile, and adds in the order of the blocks.
  const u32 base = smemAddr(sums);
#pragma unroll 1
  for (u32 e = rank * 32 * WARPS + threadIdx.x; e < count; e += CLUSTER * 32 * WARPS) {
    float part[CLUSTER];
#pragma unroll
    for (u32 i = 0; i < CLUSTER; ++i)
      part[i] = loadCluster(mapaShared(base + placeOf(e) * 4, i));
#pragma unroll
    for (int i = 1; i < CLUSTER; ++i)
      part[0] += part[i];
    store(e, part[0]);
  }
  clusterSync();
#endif
}

#if !COPIES_X
extern "C" __global__ void __launch_bounds__(256) packThin(Element *to, OPERAND_PARAMETERS) {
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  if (i < X_PACKED) {
    const i32 k = (i32)(i % X_PITCH), x = (i32)(i / X_PITCH % THIN), b = (i32)(i / X_PITCH / THIN);
    Element made = 0;
    if (k < K)
#if WIDE_IS_B
      made = elementOf(elementA(OPERANDS, b, x, k));
#else
      made = elementOf(elementB(OPERANDS, b, x, k));
#endif
    to[i] = made;
  }
  launchNext();
}
#endif
