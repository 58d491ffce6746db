// Prefixes of columns that lie apart, where neighbouring rows lie together. Lanes beside each other take neighbouring rows, so
// that accesses coalesce; the teams of a block take runs of columns one after another. A thread loads DEPTH columns of its row
// at once and scans them in registers, totals of teams meet in shared memory. Where rows are fewer than a warp, its lanes share
// them, and scan neighbouring columns by shuffles. Without SPLIT a block walks along its rows and carries their prefixes. With
// it the tiles of a row are blocks: a tile publishes its rows' totals, and what came before is the prefix of the group of tiles
// before its own, which that group's last tile publishes, and the totals of its group. Always in the same order.

#define ROW_LANES 32 // tune: 1, 2, 4, 8, 16, 32, 64, 128, 256
#define TEAMS 8 // tune: 1, 2, 4, 8, 16, 32
#define DEPTH 8 // tune: 1, 2, 4, 8, 16, 32
#define SPLIT 0 // tune: 0, 1
#define PREFETCH 0 // tune: 0, 1
#define ONCE_MB 200 // tune: 0, 200, 1000000
#define STREAM 0 // tune: 0, 1

// A team is a warp, or more where that many rows are side by side; in a warp of fewer rows lanes have neighbouring columns.
#define TEAM_LANES (ROW_LANES > 32 ? ROW_LANES : 32)
#define WARP_COLUMNS (ROW_LANES < 32 ? 32 / ROW_LANES : 1)
#define THREADS (TEAM_LANES * TEAMS)
#define ROW_BLOCKS ((ROWS + ROW_LANES - 1) / ROW_LANES)
// A step is a vector of each lane of a team, a run DEPTH steps, a tile the runs of all teams.
#define STEP_COLUMNS (WARP_COLUMNS * COLUMN_VECTOR)
#define RUN_COLUMNS (STEP_COLUMNS * DEPTH)
#define TILE_COLUMNS (RUN_COLUMNS * TEAMS)
#define TILES ((COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS)
#define GROUPS ((TILES + 31) / 32)
#define GRID (SPLIT ? ROW_BLOCKS * TILES : ROW_BLOCKS)
// Totals of tiles and prefixes of groups, in 16 bytes each with a mark that says that it is there.
#define MARKED_BYTES (16 * ROWS * (TILES + GROUPS))
// One thread has all of a row: each element is combined with the prefix before it, in order.
#define ALONE (TEAMS == 1 && ROW_LANES >= 32 && !SPLIT)
// Factors that are multiplied in another order lose more than in order.
#define IN_ORDER (IS_PRODUCT && OUT_BITS > 16)
#define HINTS ((i64)ROWS * COLUMNS * READ_BYTES <= (i64)ONCE_MB * 1000000)
#define SUM_WORDS (SUM_BYTES / 4)
#define LIVE_BYTES (DEPTH * COLUMN_VECTOR * (SUM_BYTES + VALUE_BYTES * (1 + PREFETCH)))

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

static FASTK_DEVICE Sum fromBefore(const Sum &s, int distance) {
  Words words = wordsOf(s);
#pragma unroll
  for (int k = 0; k < SUM_WORDS; ++k)
    words.at[k] = __shfl_up_sync(0xffffffffu, words.at[k], distance);
  return sumOf(words);
}

static FASTK_DEVICE Sum fromLane(const Sum &s, int lane) {
  Words words = wordsOf(s);
#pragma unroll
  for (int k = 0; k < SUM_WORDS; ++k)
    words.at[k] = __shfl_sync(0xffffffffu, words.at[k], lane);
  return sumOf(words);
}

static FASTK_DEVICE void publish(ulonglong2 *slot, const Sum &s) {
  u64 bits = 0;
  memcpy(&bits, &s, SUM_BYTES);
  storeRelaxed128(slot, bits, 1);
}

static FASTK_DEVICE Sum awaitFrom(ulonglong2 found, const ulonglong2 *slot) {
  while (found.y == 0)
    found = loadRelaxed128(slot);
  Sum s;
  memcpy(&s, &found.x, SUM_BYTES);
  return s;
}

struct Lane {
  // Its row; that in the block; its column of a warp's; its team; the thread's number among those that have its row.
  Index row;
  i32 rowLane, columnLane, team, rank;
  bool writes;
};

// Lanes without a row go along with the last one, and write nothing.
static FASTK_DEVICE Lane laneOf(u32 rowBlock) {
  Lane lane;
  lane.rowLane = (i32)(threadIdx.x % ROW_LANES);
  lane.columnLane = (i32)(threadIdx.x % TEAM_LANES / ROW_LANES);
  lane.team = (i32)(threadIdx.x / TEAM_LANES);
  lane.rank = (i32)(threadIdx.x / ROW_LANES);
  lane.row = (Index)rowBlock * ROW_LANES + lane.rowLane;
  lane.writes = true;
  if (ROWS % ROW_LANES != 0 && lane.row >= ROWS) {
    lane.row = ROWS - 1;
    lane.writes = false;
  }
  return lane;
}

static FASTK_DEVICE Index columnOf(const Lane &lane, Index tile, int step) {
  return tile * TILE_COLUMNS + lane.team * RUN_COLUMNS + step * STEP_COLUMNS + lane.columnLane * COLUMN_VECTOR;
}

static FASTK_DEVICE bool isThere(Index c) { return COLUMNS % TILE_COLUMNS == 0 || c < COLUMNS; }

struct Loaded {
  Values of[DEPTH][COLUMN_VECTOR];
};

static FASTK_DEVICE void loadTile(Loaded &v, const Lane &lane, Index tile, OPERAND_PARAMETERS) {
#pragma unroll
  for (int u = 0; u < DEPTH; ++u) {
    const Index c = columnOf(lane, tile, u);
    if (isThere(c))
      load<HINTS>(OPERANDS, placeOf(lane.row, c), v.of[u]);
  }
}

#if SPLIT

// How many threads of a row ask for totals of tiles, and for how many each.
#define ASKING (THREADS / ROW_LANES < 32 ? THREADS / ROW_LANES : 32)
#define ASKED (32 / ASKING)
#define AT_ONCE (ASKED < 4 ? ASKED : 4)

// What comes before a tile of its rows, of which `total` is this tile's.
static FASTK_DEVICE Sum beforeTile(ulonglong2 *marked, const Lane &lane, Index tile, const Sum &total) {
  __shared__ Sum parts[ASKING][ROW_LANES], found[ROW_LANES];
  // Slots of neighbouring rows are neighbours.
  ulonglong2 *totals = marked + lane.row, *prefixes = marked + (i64)ROWS * TILES + lane.row;
  const i32 place = (i32)(tile % 32);
  const i64 group = tile / 32;
  if (lane.rank == 0 && lane.writes)
    publish(totals + (i64)tile * ROWS, total);
  if (lane.rank < ASKING) {
    const ulonglong2 *from = totals + (group * 32 + lane.rank * ASKED) * (i64)ROWS;
    const i32 count = place - lane.rank * ASKED;
    Sum s = neutral();
#pragma unroll 1
    for (int k = 0; k < ASKED; k += AT_ONCE) {
      ulonglong2 slots[AT_ONCE];
#pragma unroll
      for (int j = 0; j < AT_ONCE; ++j)
        if (k + j < count)
          slots[j] = loadRelaxed128(from + (k + j) * (i64)ROWS);
#pragma unroll
      for (int j = 0; j < AT_ONCE; ++j)
        if (k + j < count)
          s = combine(s, awaitFrom(slots[j], from + (k + j) * (i64)ROWS));
    }
    parts[lane.rank][lane.rowLane] = s;
  }
  __syncthreads();
  if (lane.rank == 0) {
    Sum s = parts[0][lane.rowLane];
#pragma unroll
    for (int k = 1; k < ASKING; ++k)
      s = combine(s, parts[k][lane.rowLane]);
    if (group > 0) {
      const ulonglong2 *slot = prefixes + (group - 1) * (i64)ROWS;
      s = combine(awaitFrom(loadRelaxed128(slot), slot), s);
    }
    if (place == 31 && lane.writes)
      publish(prefixes + group * (i64)ROWS, combine(s, total));
    found[lane.rowLane] = s;
  }
  __syncthreads();
  return found[lane.rowLane];
}

#endif

// Scans and stores what a tile has loaded; `carry` is what came before, and then what comes before the next.
static FASTK_DEVICE void runTile(const Lane &lane, Index tile, const Loaded &v, Sum &carry, ulonglong2 *marked, OUT_TYPE *out,
                                 OPERAND_PARAMETERS) {
  Sum y[DEPTH][COLUMN_VECTOR];
#pragma unroll
  for (int u = 0; u < DEPTH; ++u) {
    const Index c = columnOf(lane, tile, u);
    if (isThere(c)) {
      elements(OPERANDS, placeOf(lane.row, c), v.of[u], y[u]);
    } else {
#pragma unroll
      for (int j = 0; j < COLUMN_VECTOR; ++j)
        y[u][j] = neutral();
    }
  }
  // Prefixes of the run, up to and with each element.
  Sum run = neutral();
#if ALONE
  run = carry;
#endif
#pragma unroll
  for (int u = 0; u < DEPTH; ++u) {
#if ROW_LANES < 32
#pragma unroll
    for (int j = 1; j < COLUMN_VECTOR; ++j)
      y[u][j] = combine(y[u][j - 1], y[u][j]);
    Sum scanned = y[u][COLUMN_VECTOR - 1];
#pragma unroll
    for (int distance = ROW_LANES; distance < 32; distance *= 2) {
      const Sum before = fromBefore(scanned, distance);
      if (threadIdx.x % 32 >= distance)
        scanned = combine(before, scanned);
    }
    const Sum neighbour = fromBefore(scanned, ROW_LANES);
    const Sum before = lane.columnLane == 0 ? run : combine(run, neighbour);
#pragma unroll
    for (int j = 0; j < COLUMN_VECTOR; ++j)
      y[u][j] = combine(before, y[u][j]);
    run = combine(run, fromLane(scanned, 32 - ROW_LANES + lane.rowLane));
#else
#pragma unroll
    for (int j = 0; j < COLUMN_VECTOR; ++j)
      y[u][j] = run = combine(run, y[u][j]);
#endif
  }
#if ALONE
  carry = run;
#else
  Sum start = neutral(), total = run;
#if TEAMS > 1
  // Two sets by turns: who writes one again has met all who read it.
  __shared__ Sum runs[2][TEAMS][ROW_LANES];
  const int set = SPLIT ? 0 : (int)(tile % 2);
  if (lane.columnLane == 0)
    runs[set][lane.team][lane.rowLane] = run;
  __syncthreads();
  total = neutral();
#pragma unroll
  for (int k = 0; k < TEAMS; ++k) {
    if (k == lane.team)
      start = total;
    total = combine(total, runs[set][k][lane.rowLane]);
  }
#endif
#if SPLIT
  carry = beforeTile(marked, lane, tile, total);
#endif
  start = combine(carry, start);
  carry = combine(carry, total);
#pragma unroll
  for (int u = 0; u < DEPTH; ++u)
#pragma unroll
    for (int j = 0; j < COLUMN_VECTOR; ++j)
      y[u][j] = combine(start, y[u][j]);
#endif
#pragma unroll
  for (int u = 0; u < DEPTH; ++u) {
    const Index c = columnOf(lane, tile, u);
    if (lane.writes && isThere(c))
      finish<STREAM>(out, OPERANDS, placeOf(lane.row, c), y[u]);
  }
}

#if SPLIT

// Tiles that others wait for have lower numbers of blocks: they run, or have run.
extern "C" __global__ void __launch_bounds__(THREADS, 1) scanTile(ulonglong2 *marked, OUT_TYPE *out, OPERAND_PARAMETERS) {
  const Lane lane = laneOf(blockIdx.x % ROW_BLOCKS);
  const Index tile = (Index)(blockIdx.x / ROW_BLOCKS);
  Loaded v;
  loadTile(v, lane, tile, OPERANDS);
  Sum carry = neutral();
  runTile(lane, tile, v, carry, marked, out, OPERANDS);
}

#else

extern "C" __global__ void __launch_bounds__(THREADS, 1) scanColumns(OUT_TYPE *out, OPERAND_PARAMETERS) {
  const Lane lane = laneOf(blockIdx.x);
  Sum carry = neutral();
#if PREFETCH
  // The next tile is on its way while one is scanned and stored.
  Loaded next;
  loadTile(next, lane, 0, OPERANDS);
#pragma unroll 1
  for (Index tile = 0; tile < TILES; ++tile) {
    const Loaded v = next;
    if (tile + 1 < TILES)
      loadTile(next, lane, tile + 1, OPERANDS);
    runTile(lane, tile, v, carry, nullptr, out, OPERANDS);
  }
#else
#pragma unroll 1
  for (Index tile = 0; tile < TILES; ++tile) {
    Loaded v;
    loadTile(v, lane, tile, OPERANDS);
    runTile(lane, tile, v, carry, nullptr, out, OPERANDS);
  }
#endif
}

#endif
