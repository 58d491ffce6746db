// Prefixes of rows whose columns lie together. A team of threads has a row, or (SPLIT) a tile of one: it loads UNROLL vectors
// of each thread at once, scans them in registers, over lanes by shuffles and over warps through shared memory, adds what
// came before the tile, and stores. Without SPLIT a team walks along its row and carries the prefix. With it the tiles of a
// row are blocks: a tile publishes its total, and what came before is the prefix of the group of tiles before its own, which
// that group's last tile publishes, and the totals of its group. Always in the same order, so results are the same bits.

#define LANES 256 // tune: 4, 8, 16, 32, 64, 128, 256, 512, 1024
#define UNROLL 4 // tune: 1, 2, 4, 8
#define SPLIT 0 // tune: 0, 1
#define SHORT_THREADS 128 // tune: 64, 128, 256
#define ONCE_MB 200 // tune: 0, 200, 1000000
#define STREAM 0 // tune: 0, 1

// A team of fewer than 32 threads shares a block with others.
#define THREADS (LANES > 32 ? LANES : SHORT_THREADS)
#define WARPS (LANES > 32 ? LANES / 32 : 1)
#define BLOCK_ROWS (LANES > 32 ? 1 : THREADS / LANES)
#define ROW_BLOCKS ((ROWS + BLOCK_ROWS - 1) / BLOCK_ROWS)
// A step is a vector of each lane, a tile UNROLL steps.
#define STEP_COLUMNS (LANES * COLUMN_VECTOR)
#define TILE_COLUMNS (STEP_COLUMNS * UNROLL)
#define TILES ((COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS)
#define GROUPS ((TILES + 31) / 32)
#define GRID (SPLIT ? ROWS * TILES : ROW_BLOCKS)
// Totals of tiles and prefixes of groups, in 16 bytes each with a mark that says that it is there.
#define MARKED_BYTES (16 * ROWS * (TILES + GROUPS))
#define HINTS ((i64)ROWS * COLUMNS * READ_BYTES <= (i64)ONCE_MB * 1000000)
#define SUM_WORDS (SUM_BYTES / 4)
#define LIVE_BYTES (UNROLL * COLUMN_VECTOR * (SUM_BYTES + VALUE_BYTES))

struct Words {
  u32 at[SUM_WORDS];
};

static FASTK_DEVICE Words wordsOf(const Sum &s) {
  Words words;
  memcpy(&words, &s, SUM_BYTES);
  return words;
}

static FASTK_DEVICE Sum sumOf(const Words &words) {
  Sum s;
  memcpy(&s, &words, SUM_BYTES);
  return s;
}

// Of the lane `distance` before; and of one lane.
template <int N> static FASTK_DEVICE Sum fromBefore(const Sum &s, int distance) {
  Words words = wordsOf(s);
#pragma unroll
  for (int k = 0; k < SUM_WORDS; ++k)
    words.at[k] = __shfl_up_sync(0xffffffffu, words.at[k], distance, N);
  return sumOf(words);
}

template <int N> static FASTK_DEVICE Sum fromLane(const Sum &s, int lane) {
  Words words = wordsOf(s);
#pragma unroll
  for (int k = 0; k < SUM_WORDS; ++k)
    words.at[k] = __shfl_sync(0xffffffffu, words.at[k], lane, N);
  return sumOf(words);
}

// The prefix over N lanes, a power of two, up to and with this one.
template <int N> static FASTK_DEVICE Sum scanLanes(Sum s) {
  const int lane = threadIdx.x % N;
#pragma unroll
  for (int distance = 1; distance < N; distance *= 2) {
    const Sum before = fromBefore<N>(s, distance);
    if (lane >= distance)
      s = combine(before, s);
  }
  return s;
}

// What lanes before this one have.
template <int N> static FASTK_DEVICE Sum exclusive(const Sum &scanned) {
  const Sum before = fromBefore<N>(scanned, 1);
  return threadIdx.x % N == 0 ? neutral() : before;
}

static FASTK_DEVICE void publish(ulonglong2 *slot, const Sum &s) {
  u64 bits = 0;
  memcpy(&bits, &s, SUM_BYTES);
  storeRelaxed128(slot, bits, 1);
}

static FASTK_DEVICE Sum await(const ulonglong2 *slot) {
  ulonglong2 found;
  do
    found = loadRelaxed128(slot);
  while (found.y == 0);
  Sum s;
  memcpy(&s, &found.x, SUM_BYTES);
  return s;
}

// What comes before a tile of its row; the first warp asks, the block's threads get it.
static FASTK_DEVICE Sum beforeTile(ulonglong2 *marked, i32 row, i32 tile, const Sum &total) {
  __shared__ Sum shared;
  ulonglong2 *totals = marked + (i64)row * TILES, *prefixes = marked + (i64)ROWS * TILES + (i64)row * GROUPS;
  if (threadIdx.x < 32) {
    const int place = tile % 32, group = tile / 32, lane = threadIdx.x;
    if (lane == 0)
      publish(totals + tile, total);
    Sum s = neutral();
    if (lane < place)
      s = await(totals + group * 32 + lane);
    s = fromLane<32>(scanLanes<32>(s), 31);
    if (group > 0)
      s = combine(await(prefixes + group - 1), s);
    if (lane == 0) {
      if (place == 31)
        publish(prefixes + group, combine(s, total));
      shared = s;
    }
  }
  __syncthreads();
  return shared;
}

struct Team {
  i32 row, lane;
  bool writes;
};

// Scans and stores one tile; `carry` is what came before, and then what comes before the next.
static FASTK_DEVICE void runTile(const Team &team, i32 tile, Sum &carry, ulonglong2 *marked, OUT_TYPE *out,
                                 OPERAND_PARAMETERS) {
  constexpr int N = LANES < 32 ? LANES : 32;
  const Index first = (Index)tile * TILE_COLUMNS + team.lane * COLUMN_VECTOR;
  Sum y[UNROLL][COLUMN_VECTOR];
  {
    Values v[UNROLL][COLUMN_VECTOR];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const Index c = first + u * STEP_COLUMNS;
      if (COLUMNS % TILE_COLUMNS == 0 || c < COLUMNS)
        load<HINTS>(OPERANDS, placeOf(team.row, c), v[u]);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const Index c = first + u * STEP_COLUMNS;
      if (COLUMNS % TILE_COLUMNS == 0 || c < COLUMNS) {
        elements(OPERANDS, placeOf(team.row, c), v[u], y[u]);
      } else {
#pragma unroll
        for (int j = 0; j < COLUMN_VECTOR; ++j)
          y[u][j] = neutral();
      }
    }
  }
  // Each vector, then the lanes of a warp; `ends` is the total of lanes and steps so far, of each warp.
  Sum ends[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
    for (int j = 1; j < COLUMN_VECTOR; ++j)
      y[u][j] = combine(y[u][j - 1], y[u][j]);
    const Sum scanned = scanLanes<N>(y[u][COLUMN_VECTOR - 1]);
    const Sum before = exclusive<N>(scanned);
#pragma unroll
    for (int j = 0; j < COLUMN_VECTOR; ++j)
      y[u][j] = combine(before, y[u][j]);
    ends[u] = fromLane<N>(scanned, N - 1);
  }
  Sum starts[UNROLL], total;
#if LANES > 32
  // Two sets by turns: who writes one again has met all who read it.
  __shared__ Sum warps[2][UNROLL * WARPS];
  const int warp = threadIdx.x / 32, set = SPLIT ? 0 : tile % 2;
  if (threadIdx.x % 32 == 0) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
      warps[set][u * WARPS + warp] = ends[u];
  }
  __syncthreads();
  // Every warp scans the totals of all warps and steps, 32 at a time.
  total = neutral();
#pragma unroll
  for (int u = 0; u < UNROLL; ++u)
    starts[u] = neutral();
#pragma unroll
  for (int begin = 0; begin < UNROLL * WARPS; begin += 32) {
    const int at = begin + threadIdx.x % 32;
    Sum s = at < UNROLL * WARPS ? warps[set][at] : neutral();
    s = combine(total, scanLanes<32>(s));
    const Sum before = fromBefore<32>(s, 1);
    const Sum earlier = threadIdx.x % 32 == 0 ? total : before;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const int wanted = u * WARPS + warp;
      const Sum found = fromLane<32>(earlier, wanted % 32);
      if (wanted / 32 == begin / 32)
        starts[u] = found;
    }
    total = fromLane<32>(s, 31);
  }
#else
  total = neutral();
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    starts[u] = total;
    total = combine(total, ends[u]);
  }
#endif
#if SPLIT
  carry = beforeTile(marked, team.row, tile, total);
#endif
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const Index c = first + u * STEP_COLUMNS;
    const Sum start = combine(carry, starts[u]);
#pragma unroll
    for (int j = 0; j < COLUMN_VECTOR; ++j)
      y[u][j] = combine(start, y[u][j]);
    if (team.writes && (COLUMNS % TILE_COLUMNS == 0 || c < COLUMNS))
      finish<STREAM>(out, OPERANDS, placeOf(team.row, c), y[u]);
  }
  carry = combine(carry, total);
}

#if SPLIT

// Tiles that others wait for have lower numbers of blocks: they run, or have run.
extern "C" __global__ void __launch_bounds__(THREADS, 1) scanTile(ulonglong2 *marked, OUT_TYPE *out, OPERAND_PARAMETERS) {
  const Team team = {(i32)(blockIdx.x % ROWS), (i32)threadIdx.x, true};
  Sum carry = neutral();
  runTile(team, (i32)(blockIdx.x / ROWS), carry, marked, out, OPERANDS);
}

#else

// Teams without a row go along with the last one, and write nothing.
extern "C" __global__ void __launch_bounds__(THREADS, 1) scanRow(OUT_TYPE *out, OPERAND_PARAMETERS) {
  Team team = {(i32)(blockIdx.x * BLOCK_ROWS + threadIdx.x / LANES), (i32)(threadIdx.x % LANES), true};
  if (ROWS % BLOCK_ROWS != 0 && team.row >= ROWS) {
    team.row = ROWS - 1;
    team.writes = false;
  }
  Sum carry = neutral();
#pragma unroll 1
  for (i32 tile = 0; tile < TILES; ++tile)
    runTile(team, tile, carry, nullptr, out, OPERANDS);
}

#endif
