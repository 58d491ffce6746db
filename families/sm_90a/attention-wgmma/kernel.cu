// Attention on tensor cores: softmax over n of score(sum of Q K) times V, in one pass over the keys. One warpgroup loads
// tiles by TMA; CONSUMERS warpgroups have 64 rows each, keep scores, weights and sums in registers, and take turns: while
// one computes weights, another multiplies. Persistent blocks walk over the tiles of rows.

#define BN 128 // tune: 64, 80, 128, 176
#define CONSUMERS 2 // tune: 1, 2, 3
#define TURNS 1 // tune: 0, 1
#define TERMS 1 // tune: 1, 2

// Tiles of BM rows; the keys are walked from the last to the first, BN at a time.
#define BM (64 * CONSUMERS)
#define TILE_ROWS ((M + BM - 1) / BM)
#define TILES (BATCH * TILE_ROWS)
// What a block takes at once: a tile, or where rows reach different numbers of keys a heavy one and a light one, so that
// all units are about equal. Those of a batch follow each other: its keys and values stay in L2.
#define UNIT_ROWS (CAUSAL ? (TILE_ROWS + 1) / 2 : TILE_ROWS)
#define UNITS (BATCH * UNIT_ROWS)
#define GRID (UNITS < MULTIPROCESSORS ? UNITS : MULTIPROCESSORS)
#define KEY_TILES ((N + BN - 1) / BN)
// Columns in shared memory: chunks of 64, rows of 128 bytes, swizzled.
#define D_CHUNKS ((D + 63) / 64)
#define E_CHUNKS ((E + 63) / 64)
#define E_PAD (64 * E_CHUNKS)
#define D_STEPS ((D + 15) / 16)
// Of a thread: scores, weights and sums.
#define REGISTERS_USED (BN / 2 + TERMS * BN / 4 + E_PAD / 2)

// Operands as the tensor maps see them, packed where they do not lie so.
#define D_PITCH ((D + 7) / 8 * 8)
#define E_PITCH ((E + 7) / 8 * 8)
#define Q_PACKED (BATCH * M * D_PITCH)
#define K_PACKED (BATCH * N * D_PITCH)
#define V_PACKED (BATCH * N * E_PITCH)
#define Q_INNER_AT(b) (Q_ALIGNED ? innerQ(b) : (b))
#define Q_OUTER_AT(b) (Q_ALIGNED ? outerQ(b) : 0)
#define K_INNER_AT(b) (K_ALIGNED ? innerK(b) : (b))
#define K_OUTER_AT(b) (K_ALIGNED ? outerK(b) : 0)
#define V_INNER_AT(b) (V_ALIGNED ? innerV(b) : (b))
#define V_OUTER_AT(b) (V_ALIGNED ? outerV(b) : 0)
#define Q_BLOCKS (Q_ALIGNED ? 0 : (Q_PACKED + 2047) / 2048)
#define K_BLOCKS (K_ALIGNED ? 0 : (K_PACKED + 2047) / 2048)
#define V_BLOCKS (V_ALIGNED ? 0 : (V_PACKED + 2047) / 2048)
#define OVERLAPS (!Q_ALIGNED || !K_ALIGNED || !V_ALIGNED)

// Shared memory: slots of Q, whence results are stored too, a ring of stages of K and V, barriers.
#define STORES_TILES (OUT_ALIGNED && OUT_BITS == 16)
#define Q_CHUNKS (D_CHUNKS > E_CHUNKS ? D_CHUNKS : E_CHUNKS)
#define Q_SLOT (8192 * Q_CHUNKS)
#define K_STAGE (BN * 128 * D_CHUNKS)
#define V_STAGE (BN * 128 * E_CHUNKS)
#define FREE_BYTES (SHARED_LIMIT - 2048)
#define Q_SLOTS (2 * CONSUMERS * Q_SLOT + 2 * (K_STAGE + V_STAGE) <= FREE_BYTES ? 2 : 1)
#define Q_BYTES (Q_SLOTS * CONSUMERS * Q_SLOT)
#define MOST_STAGES ((FREE_BYTES - Q_BYTES) / (K_STAGE + V_STAGE))
#define STAGES (MOST_STAGES > 4 ? 4 : MOST_STAGES)
#define K_OFFSET_SHARED Q_BYTES
#define V_OFFSET_SHARED (K_OFFSET_SHARED + STAGES * K_STAGE)
#define BARRIER_OFFSET (V_OFFSET_SHARED + STAGES * V_STAGE)
#define SHARED_BYTES (BARRIER_OFFSET + 512 + 1024)

// Register arrays of products that are not among the prelude's.
#define FASTK_ACC_40(d) FASTK_ACC32(d, 0), FASTK_ACC8(d, 32)
#define FASTK_ACC_88(d) FASTK_ACC32(d, 0), FASTK_ACC32(d, 32), FASTK_ACC8(d, 64), FASTK_ACC8(d, 72), FASTK_ACC8(d, 80)
#define FASTK_REGS_40 FASTK_REGS0 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define FASTK_REGS_88                                                                                                  \
  FASTK_REGS_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87"
#if Q_IS_F16
FASTK_WGMMA_16(wgmmaF16, 40, 40, 41, 42, 43, 44, "m64n80k16", "f16")
FASTK_WGMMA_16(wgmmaF16, 88, 88, 89, 90, 91, 92, "m64n176k16", "f16")
#define WGMMA wgmmaF16
#define WGMMA_RS wgmmaF16RS
#define PACK packF16
#define UNPACK unpackF16
#else
FASTK_WGMMA_16(wgmmaBF16, 40, 40, 41, 42, 43, 44, "m64n80k16", "bf16")
FASTK_WGMMA_16(wgmmaBF16, 88, 88, 89, 90, 91, 92, "m64n176k16", "bf16")
#define WGMMA wgmmaBF16
#define WGMMA_RS wgmmaBF16RS
#define PACK packBF16
#define UNPACK unpackBF16
#endif

// exp2(SCALE_LOG2 * score) is what is summed: a score that is a multiple of the sum is never computed by itself.
#if SCORE_IS_SCALED
#define SCALE_LOG2 (SCORE_SCALE * 1.44269504088896340736f)
#else
#define SCALE_LOG2 1.44269504088896340736f
#endif

// Weights are computed times a power of two, for which f16 has room above 1 and needs it below. They are relative to the
// largest score of a row so far, or to one of before that is smaller by no more than STALE in log2: then sums need not be
// scaled. (Where scores are computed, what they are computed of is loaded later by that.) 2^15 is the largest power of two
// in f16.
#define STALE (SCORE_IS_SCALED ? 4.0f : 0.0f)
#if Q_IS_F16
#define WEIGHT_SHIFT (15.0f - STALE)
#else
#define WEIGHT_SHIFT 0.0f
#endif

struct Tile {
  i32 batch, m0, keyTiles;
};

// A tile is numbered by its batch and by its row of tiles.
static FASTK_DEVICE Tile tileOf(i32 number) {
  Tile tile;
  tile.batch = number / TILE_ROWS;
  tile.m0 = number % TILE_ROWS * BM;
  tile.keyTiles = KEY_TILES;
#if CAUSAL
  i32 keys = tile.m0 + BM + CAUSAL_OFFSET;
  keys = keys < N ? keys : N;
  tile.keyTiles = keys > BN ? (keys + BN - 1) / BN : 1;
#endif
  // No number of steps is known to the compiler, which would make products wait for each other.
  asm volatile("" : "+r"(tile.keyTiles));
  return tile;
}

// The tiles of a block, one after the other; -1 ends them.
struct Schedule {
  i32 unit, round;
  bool isLight;
  FASTK_DEVICE i32 next() {
    if (unit >= UNITS)
      return -1;
    // A block shall not have the same rows of every batch.
    const i32 turned = GRID % UNIT_ROWS == 0 ? unit + round : unit;
    const i32 rank = turned % UNIT_ROWS, mirrored = TILE_ROWS - 1 - rank;
    const i32 number = unit / UNIT_ROWS * TILE_ROWS + (CAUSAL && !isLight ? mirrored : rank);
    isLight = CAUSAL && !isLight && mirrored != rank;
    if (!isLight) {
      unit += (i32)gridDim.x;
      ++round;
    }
    return number;
  }
};

// What a warpgroup knows of its rows; a thread has two, 8 apart.
struct Rows {
  float most[2], sum[2], factor[2];
  // All factors of the warp are 1.
  bool stay;
};

// Scores become weights, and `rows.factor` what sums of before are to be multiplied by.
template <bool Masked>
static FASTK_DEVICE void weigh(float (&s)[BN / 2], Rows &rows, i32 batch, i32 m, i32 n0, OPERAND_PARAMETERS) {
  const i32 column = n0 + 2 * (i32)(threadIdx.x & 3);
#if !SCORE_IS_SCALED && SCORE_PAIRS
#pragma unroll
  for (int i = 0; i < BN / 2; i += 2) {
    i32 row = m + (i & 2) * 4, n = column + (i / 4) * 8;
    if (M % BM != 0)
      row = row < M ? row : M - 1;
    if (Masked)
      n = n < N ? n : N - 2;
    const float2 pair = score2(OPERANDS, batch, row, n, s[i], s[i + 1], loadScores(OPERANDS, batch, row, n));
    s[i] = pair.x;
    s[i + 1] = pair.y;
  }
#elif !SCORE_IS_SCALED
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    i32 row = m + (i & 2) * 4, n = column + (i / 4) * 8 + (i & 1);
    if (M % BM != 0)
      row = row < M ? row : M - 1;
    if (Masked)
      n = n < N ? n : N - 1;
    s[i] = score(OPERANDS, batch, row, n, s[i]);
  }
#endif
  if (Masked) {
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) {
      i32 last = N - 1;
#if CAUSAL
      const i32 reach = m + (i & 2) * 4 + CAUSAL_OFFSET;
      last = reach < last ? reach : last;
#endif
      if (column + (i / 4) * 8 + (i & 1) > last)
        s[i] = -FASTK_INFINITY;
    }
  }
  float base[2], shift[2], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const auto largest = [&](int half) {
    float most[2] = {s[2 * half], s[2 * half + 1]};
#pragma unroll
    for (int i = 4; i < BN / 2; i += 4) {
      most[0] = fmaxf(most[0], s[i + 2 * half]);
      most[1] = fmaxf(most[1], s[i + 2 * half + 1]);
    }
    float next = fmaxf(rows.most[half], fmaxf(most[0], most[1]));
    next = fmaxf(next, __shfl_xor_sync(0xffffffffu, next, 1));
    return fmaxf(next, __shfl_xor_sync(0xffffffffu, next, 2));
  };
  const auto moveTo = [&](int half, float next) {
    // A row without a key so far.
    base[half] = next == -FASTK_INFINITY ? 0.0f : next;
    rows.factor[half] = rows.stay ? 1.0f : exp2Fast((rows.most[half] - base[half]) * SCALE_LOG2);
    rows.most[half] = next;
    shift[half] = fmaf(base[half], -SCALE_LOG2, WEIGHT_SHIFT);
  };
#if SCORE_IS_SCALED
  const float next[2] = {largest(0), largest(1)};
  rows.stay = __all_sync(0xffffffffu, (next[0] - rows.most[0]) * SCALE_LOG2 <= STALE &&
                                          (next[1] - rows.most[1]) * SCALE_LOG2 <= STALE);
#pragma unroll
  for (int half = 0; half < 2; ++half)
    moveTo(half, rows.stay ? rows.most[half] : next[half]);
#else
  rows.stay = false;
#pragma unroll
  for (int half = 0; half < 2; ++half)
    moveTo(half, largest(half));
#endif
  // One step is enough where rounding of the product leaves the largest weight near 1.
  const bool isNear = fabsf(shift[0]) < 4.0e6f && fabsf(shift[1]) < 4.0e6f;
  if (SCORE_IS_SCALED && __all_sync(0xffffffffu, isNear)) {
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) {
      s[i] = exp2Fast(fmaf(s[i], SCALE_LOG2, shift[(i / 2) % 2]));
      sum[i % 4] += s[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) {
      s[i] = exp2Fast(fmaf(s[i] - base[(i / 2) % 2], SCALE_LOG2, WEIGHT_SHIFT));
      sum[i % 4] += s[i];
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half)
    rows.sum[half] = fmaf(rows.sum[half], rows.factor[half], sum[2 * half] + sum[2 * half + 1]);
}

// Weights as the left operand of the second product: of TERMS numbers of 16 bits that add up to each.
static FASTK_DEVICE void packWeights(u32 (&p)[TERMS][BN / 16][4], float (&s)[BN / 2]) {
#pragma unroll
  for (int term = 0; term < TERMS; ++term)
#pragma unroll
    for (int t = 0; t < BN / 16; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const u32 packed = PACK(s[8 * t + 2 * i], s[8 * t + 2 * i + 1]);
        p[term][t][i] = packed;
        if (term + 1 < TERMS) {
          const float2 rounded = UNPACK(packed);
          s[8 * t + 2 * i] -= rounded.x;
          s[8 * t + 2 * i + 1] -= rounded.y;
        }
      }
}

static FASTK_DEVICE void multiplyKeys(float (&s)[BN / 2], u64 q, u64 k) {
#pragma unroll
  for (int i = 0; i < D_STEPS; ++i)
    WGMMA<0, 0>(s, q + (i / 4) * 512 + (i % 4) * 2, k + (i / 4) * (BN * 8) + (i % 4) * 2, i > 0 ? 1u : 0u);
  wgmmaCommit();
}

static FASTK_DEVICE void multiplyValues(float (&o)[E_PAD / 2], const u32 (&p)[TERMS][BN / 16][4], u64 v, u32 keep) {
#pragma unroll
  for (int term = 0; term < TERMS; ++term)
#pragma unroll
    for (int t = 0; t < BN / 16; ++t)
      WGMMA_RS<1>(o, p[term][t], v + t * 128, term + t > 0 ? 1u : keep);
  wgmmaCommit();
}

struct Ring {
  u32 stage, parity;
  FASTK_DEVICE void next() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
attention(const __grid_constant__ CUtensorMap mapQ, const __grid_constant__ CUtensorMap mapK,
          const __grid_constant__ CUtensorMap mapV,
#if STORES_TILES
          const __grid_constant__ CUtensorMap mapOut,
#endif
          OUT_TYPE *out, OPERAND_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  unsigned char *smem = raw + ((1024 - (smemAddr(raw) & 1023)) & 1023);
  u64 *fullK = (u64 *)(smem + BARRIER_OFFSET), *emptyK = fullK + STAGES;
  u64 *fullV = emptyK + STAGES, *emptyV = fullV + STAGES;
  u64 *fullQ = emptyV + STAGES, *emptyQ = fullQ + Q_SLOTS * CONSUMERS;
  // The tiles whose rows the slots hold.
  i32 *numbers = (i32 *)(emptyQ + Q_SLOTS * CONSUMERS);
  const u32 warp = warpIndex(), group = warp >> 2;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapQ);
    tmaPrefetchMap(&mapK);
    tmaPrefetchMap(&mapV);
#if STORES_TILES
    tmaPrefetchMap(&mapOut);
#endif
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&fullK[i], 1);
      mbarInit(&emptyK[i], 4 * CONSUMERS);
      mbarInit(&fullV[i], 1);
      mbarInit(&emptyV[i], 4 * CONSUMERS);
    }
    for (int i = 0; i < Q_SLOTS * CONSUMERS; ++i) {
      mbarInit(&fullQ[i], 1);
      mbarInit(&emptyQ[i], 1);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (group == 0) {
#if CONSUMERS == 2
    registersDown<24>();
#elif CONSUMERS == 3
    registersDown<32>();
#endif
    if (warp == 0 && electOne()) {
#if OVERLAPS
      waitPrevious();
#endif
      Ring k = {0, 1}, v = {0, 1};
      u32 slot = 0, slotParity = 1;
      Schedule schedule = {(i32)blockIdx.x, 0, false};
#pragma unroll 1
      while (true) {
        const i32 number = schedule.next();
        const Tile tile = tileOf(number < 0 ? 0 : number);
        const i32 qInner = Q_INNER_AT(tile.batch), qOuter = Q_OUTER_AT(tile.batch);
        const i32 kInner = K_INNER_AT(tile.batch), kOuter = K_OUTER_AT(tile.batch);
        const i32 vInner = V_INNER_AT(tile.batch), vOuter = V_OUTER_AT(tile.batch);
#pragma unroll 1
        for (i32 w = 0; w < CONSUMERS; ++w) {
          u64 *full = &fullQ[slot * CONSUMERS + w];
          mbarWait(&emptyQ[slot * CONSUMERS + w], slotParity);
          numbers[slot * CONSUMERS + w] = number;
          if (number < 0) {
            mbarArrive(full);
            continue;
          }
          mbarExpectTx(full, 8192 * D_CHUNKS);
#pragma unroll
          for (int c = 0; c < D_CHUNKS; ++c)
            tmaLoad4D(smem + (slot * CONSUMERS + w) * Q_SLOT + c * 8192, &mapQ, full, c * 64, tile.m0 + w * 64, qInner,
                      qOuter);
        }
        if (number < 0)
          break;
        if (++slot == Q_SLOTS) {
          slot = 0;
          slotParity ^= 1;
        }
#pragma unroll 1
        for (i32 j = tile.keyTiles; j >= 0; --j) {
          if (j > 0) {
            mbarWait(&emptyK[k.stage], k.parity);
            mbarExpectTx(&fullK[k.stage], K_STAGE);
#pragma unroll
            for (int c = 0; c < D_CHUNKS; ++c)
              tmaLoad4D(smem + K_OFFSET_SHARED + k.stage * K_STAGE + c * (BN * 128), &mapK, &fullK[k.stage], c * 64,
                        (j - 1) * BN, kInner, kOuter);
            k.next();
          }
          // Values are needed one step later.
          if (j < tile.keyTiles) {
            mbarWait(&emptyV[v.stage], v.parity);
            mbarExpectTx(&fullV[v.stage], V_STAGE);
#pragma unroll
            for (int c = 0; c < E_CHUNKS; ++c)
              tmaLoad4D(smem + V_OFFSET_SHARED + v.stage * V_STAGE + c * (BN * 128), &mapV, &fullV[v.stage], c * 64,
                        j * BN, vInner, vOuter);
            v.next();
          }
        }
      }
    }
  } else {
#if CONSUMERS == 2
    registersUp<240>();
#elif CONSUMERS == 3
    registersUp<160>();
#endif
    const u32 w = group - 1, lane = threadIdx.x & 31, thread = threadIdx.x & 127;
    const u32 base = smemAddr(smem);
    const u64 descK = wgmmaDesc128B(base + K_OFFSET_SHARED);
    const u64 descV = wgmmaDesc(base + V_OFFSET_SHARED, BN * 128, 1024, 1);
    Ring k = {0, 0}, v = {0, 0};
    u32 slot = 0, slotParity = 0;
#if TURNS && CONSUMERS > 1
    // The first goes first.
    if (w == CONSUMERS - 1)
      barArrive(1, 256);
#define TAKE_TURN() barSync(1 + w, 256)
#define PASS_TURN() barArrive(w + 1 == CONSUMERS ? 1 : 2 + w, 256)
#else
#define TAKE_TURN()
#define PASS_TURN()
#endif
#pragma unroll 1
    while (true) {
      mbarWait(&fullQ[slot * CONSUMERS + w], slotParity);
      const i32 number = numbers[slot * CONSUMERS + w];
      if (number < 0)
        break;
      const Tile tile = tileOf(number);
      const i32 w0 = tile.m0 + (i32)w * 64;
      const i32 m = w0 + 16 * (i32)(warp & 3) + (i32)(lane >> 2);
      i32 j = tile.keyTiles - 1;
      // Without rows, or before the tile of keys that its last row reaches, a warpgroup only keeps step. (Beside scores
      // that are computed there are no registers for the first.)
#pragma unroll 1
      for (; j >= 0 && ((SCORE_IS_SCALED && w0 >= M) || (CAUSAL && j > 0 && j * BN > w0 + 63 + CAUSAL_OFFSET)); --j) {
        mbarWait(&fullK[k.stage], k.parity);
        if (lane == 0)
          mbarArrive(&emptyK[k.stage]);
        k.next();
        TAKE_TURN();
        PASS_TURN();
        mbarWait(&fullV[v.stage], v.parity);
        if (lane == 0)
          mbarArrive(&emptyV[v.stage]);
        v.next();
      }
      if (j < 0) {
        // All have read the tile's number.
        barSync(8 + w, 128);
        if (thread == 0)
          mbarArrive(&emptyQ[slot * CONSUMERS + w]);
        __syncwarp();
        if (++slot == Q_SLOTS) {
          slot = 0;
          slotParity ^= 1;
        }
        continue;
      }
      // From this tile on no weight is masked.
      i32 whole = N / BN;
#if CAUSAL
      const i32 reached = (w0 + 1 + CAUSAL_OFFSET) / BN;
      whole = reached < whole ? reached : whole;
      whole = whole > 0 ? whole : 0;
#endif

      float s[BN / 2], o[E_PAD / 2];
      u32 p[TERMS][BN / 16][4];
      Rows rows;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        rows.most[half] = -FASTK_INFINITY;
        rows.sum[half] = 0.0f;
      }
      const u64 descQ = wgmmaDesc128B(base + (slot * CONSUMERS + w) * Q_SLOT);
      mbarWait(&fullK[k.stage], k.parity);
      wgmmaFence();
      multiplyKeys(s, descQ, descK + (u64)(k.stage * (K_STAGE / 16)));
      wgmmaWait<0>();
      wgmmaHold(s);
      if (lane == 0)
        mbarArrive(&emptyK[k.stage]);
      k.next();
      if (j < whole)
        weigh<false>(s, rows, tile.batch, m, j * BN, OPERANDS);
      else
        weigh<true>(s, rows, tile.batch, m, j * BN, OPERANDS);
      packWeights(p, s);
      u32 keep = 0;
      // Keys of this step and values of the one before are multiplied while others compute weights; this step's
      // weights are computed while values are multiplied.
#define STEP(MASKED)                                                                                                   \
  {                                                                                                                    \
    mbarWait(&fullK[k.stage], k.parity);                                                                               \
    TAKE_TURN();                                                                                                       \
    wgmmaFence();                                                                                                      \
    multiplyKeys(s, descQ, descK + (u64)(k.stage * (K_STAGE / 16)));                                                   \
    mbarWait(&fullV[v.stage], v.parity);                                                                               \
    wgmmaFence();                                                                                                      \
    multiplyValues(o, p, descV + (u64)(v.stage * (V_STAGE / 16)), keep);                                               \
    PASS_TURN();                                                                                                       \
    keep = 1;                                                                                                          \
    wgmmaWait<1>();                                                                                                    \
    wgmmaHold(s);                                                                                                      \
    if (lane == 0)                                                                                                     \
      mbarArrive(&emptyK[k.stage]);                                                                                    \
    k.next();                                                                                                          \
    weigh<MASKED>(s, rows, tile.batch, m, j * BN, OPERANDS);                                                           \
    wgmmaWait<0>();                                                                                                    \
    wgmmaHold(o);                                                                                                      \
    if (lane == 0)                                                                                                     \
      mbarArrive(&emptyV[v.stage]);                                                                                    \
    v.next();                                                                                                          \
    packWeights(p, s);                                                                                                 \
    if (!rows.stay) {                                                                                                  \
      _Pragma("unroll") for (int i = 0; i < E_PAD / 2; ++i) o[i] *= rows.factor[(i / 2) % 2];                          \
    }                                                                                                                  \
  }
      --j;
#pragma unroll 1
      for (; j >= whole; --j)
        STEP(true)
#pragma unroll 1
      for (; j >= 0; --j)
        STEP(false)
      mbarWait(&fullV[v.stage], v.parity);
      TAKE_TURN();
      wgmmaFence();
      multiplyValues(o, p, descV + (u64)(v.stage * (V_STAGE / 16)), keep);
      PASS_TURN();
      float inverse[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = rows.sum[half];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        inverse[half] = HAS_ZERO_ROWS && sum == 0.0f ? 0.0f : 1.0f / sum;
      }
      wgmmaWait<0>();
      wgmmaHold(o);
      if (lane == 0)
        mbarArrive(&emptyV[v.stage]);
      v.next();
#pragma unroll
      for (int i = 0; i < E_PAD / 2; ++i)
        o[i] *= inverse[(i / 2) % 2];

      // All warps have read their rows of Q.
      barSync(8 + w, 128);
#if STORES_TILES
      unsigned char *staging = smem + (slot * CONSUMERS + w) * Q_SLOT;
      unsigned char *stageRow = staging + (16 * (warp & 3) + (lane & 15)) * 128;
      const u32 piece = ((lane >> 4) ^ (lane & 7)) * 16;
#pragma unroll
      for (int c = 0; c < E_CHUNKS; ++c)
#pragma unroll
        for (int g = 0; g < 4; ++g) {
          const int i = c * 32 + g * 8;
          u32 r[4];
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            i32 row = m + (q & 1) * 8, e = c * 64 + g * 16 + (q >> 1) * 8 + 2 * (i32)(lane & 3);
            if (M % BM != 0)
              row = row < M ? row : M - 1;
            if (E % 64 != 0)
              e = e < E ? e : E - 2;
            r[q] = finish2(OPERANDS, tile.batch, row, e, o[i + 2 * q], o[i + 2 * q + 1]);
          }
          stmatrix4(stageRow + c * 8192 + (piece ^ (u32)(g * 32)), r[0], r[1], r[2], r[3]);
        }
      fenceAsyncShared();
      barSync(8 + w, 128);
      if (thread == 0) {
        const i32 inner = innerOut(tile.batch), outer = outerOut(tile.batch);
#pragma unroll
        for (int c = 0; c < E_CHUNKS; ++c)
          tmaStore4D(&mapOut, staging + c * 8192, c * 64, w0, inner, outer);
        bulkCommit();
        bulkWaitRead<0>();
      }
#else
#pragma unroll
      for (int i = 0; i < E_PAD / 2; ++i) {
        const i32 row = m + (i & 2) * 4, e = (i / 4) * 8 + 2 * (i32)(lane & 3) + (i & 1);
        if (row < M && e < E)
          out[outOffset(tile.batch, row, e)] = finish(OPERANDS, tile.batch, row, e, o[i]);
      }
#endif
      if (thread == 0)
        mbarArrive(&emptyQ[slot * CONSUMERS + w]);
      __syncwarp();
      if (++slot == Q_SLOTS) {
        slot = 0;
        slotParity ^= 1;
      }
    }
#if TURNS && CONSUMERS > 1
    // The last arrival is nobody's turn.
    if (w == 0)
      barSync(1, 256);
#endif
#if STORES_TILES
    if (thread == 0)
      bulkWait<0>();
#endif
  }
}

#if OVERLAPS
// 2048 elements of an operand with rows at multiples of 16 bytes. A thread has four pairs of them, all of which are loaded
// before any is stored.
template <int Rows, int Columns, int Pitch, class Element>
static FASTK_DEVICE void packOperand(u16 *to, i32 block, Element element) {
  constexpr i32 count = BATCH * Rows * Pitch;
  u32 pairs[4];
#pragma unroll
  for (i32 j = 0; j < 4; ++j) {
    const i32 i = block * 2048 + j * 512 + 2 * (i32)threadIdx.x;
    const i32 column = i % Pitch, row = i / Pitch % Rows, b = i / Pitch / Rows;
    pairs[j] = 0;
    if ((count % 2048 == 0 || i < count) && (Columns == Pitch || column < Columns)) {
      pairs[j] = element(b, row, column).bits;
      if (Columns % 2 == 0 || column + 1 < Columns)
        pairs[j] |= (u32)element(b, row, column + 1).bits << 16;
    }
  }
#pragma unroll
  for (i32 j = 0; j < 4; ++j) {
    const i32 i = block * 2048 + j * 512 + 2 * (i32)threadIdx.x;
    if (count % 2048 == 0 || i < count)
      *(u32 *)(to + i) = pairs[j];
  }
}

// Those that are no operands as tensor maps load them, one after the other.
extern "C" __global__ void __launch_bounds__(256) packOperands(u16 *q, u16 *k, u16 *v, OPERAND_PARAMETERS) {
  const i32 block = (i32)blockIdx.x;
  if (block < Q_BLOCKS)
    packOperand<M, D, D_PITCH>(q, block,
                               [&](i32 b, i32 row, i32 column) { return elementQ(OPERANDS, b, row, column); });
  else if (block < Q_BLOCKS + K_BLOCKS)
    packOperand<N, D, D_PITCH>(k, block - Q_BLOCKS,
                               [&](i32 b, i32 row, i32 column) { return elementK(OPERANDS, b, row, column); });
  else
    packOperand<N, E, E_PITCH>(v, block - Q_BLOCKS - K_BLOCKS,
                               [&](i32 b, i32 row, i32 column) { return elementV(OPERANDS, b, row, column); });
  launchNext();
}
#endif
