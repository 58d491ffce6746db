// An element of the result for each place, nothing reduced. A thread computes vectors of neighbours, whose loads are all
// under way before the first is used. Where an operand lies together along another dimension than the result (TILED), a
// block has a tile: it loads what lies together there, turns it in registers and shared memory, and stores what lies
// together in the result, both in the widest accesses.

#define TILED 0 // tune: 0, 1
#define THREADS 256 // tune: 64, 128, 256, 512, 1024
#define UNROLL 2 // tune: 1, 2, 4, 8
#define LOOPS 0 // tune: 0, 1
#define TILE_ROWS 64 // tune: 4, 8, 16, 32, 64, 128
#define TILE_COLUMNS 64 // tune: 4, 8, 16, 32, 64, 128, 256
#define ONCE_MB 200 // tune: 0, 200, 1000000
#define STREAM 0 // tune: 0, 1

#define READ_BYTES (CONTIGUOUS_BYTES + TRANSPOSED_BYTES + APART_BYTES)
// What is read once leaves L2 first, where so little is read in all that what earlier work has left in L2 would have to be
// written out for it. Large reads are a little slower so.
#define HINTS ((i64)ELEMENTS * READ_BYTES <= (i64)ONCE_MB * 1000000)

// A piece is what a block computes at once: UNROLL vectors of each thread.
#define VECTORS (ELEMENTS / VECTOR)
#define PIECE (THREADS * UNROLL)
#define PIECES ((VECTORS + PIECE - 1) / PIECE)

// A tile's share of a thread is LOAD_STEPS blocks of VECTOR columns by ROW_VECTOR rows, and then STORE_STEPS vectors.
#define ROW_STEPS (TILE_ROWS / ROW_VECTOR)
#define CHUNKS (TILE_COLUMNS / VECTOR)
#define LOAD_STEPS (ROW_STEPS * CHUNKS / THREADS)
#define STORE_STEPS (TILE_ROWS * CHUNKS / THREADS)
#define ROW_TILES ((ROWS + TILE_ROWS - 1) / TILE_ROWS)
#define COLUMN_TILES ((COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS)
#define TILES (OUTER * ROW_TILES * COLUMN_TILES)
#define TILE_BYTES (TILE_ROWS * TILE_COLUMNS * TRANSPOSED_BYTES)

// Registers that loads under way take, elements narrower than one packed.
#define STORE_BYTES (STORE_STEPS * VECTOR * (VALUE_BYTES - TRANSPOSED_BYTES))
#define TILED_BYTES (LOAD_STEPS * VECTOR * ROW_VECTOR * TRANSPOSED_BYTES + STORE_BYTES)
#define LIVE_BYTES (TILED ? TILED_BYTES : UNROLL * VECTOR * VALUE_BYTES)
#define REGISTERS (32 + LIVE_BYTES / 4)
#define FULL_BLOCKS (2048 / THREADS)
#define MOST_BLOCKS (65536 / (THREADS * REGISTERS))
#define BLOCKS_BY_REGISTERS (MOST_BLOCKS < 1 ? 1 : MOST_BLOCKS < FULL_BLOCKS ? MOST_BLOCKS : FULL_BLOCKS)
#define SHARED_BLOCKS (SHARED_LIMIT / (TILE_BYTES + 1024))
#define BLOCKS (TILED && SHARED_BLOCKS < BLOCKS_BY_REGISTERS ? SHARED_BLOCKS : BLOCKS_BY_REGISTERS)
// One wave of blocks that walk over the pieces, or a block for each.
#define WAVE (MULTIPROCESSORS * BLOCKS)
#define GRID (TILED ? TILES : LOOPS && PIECES > WAVE ? WAVE : PIECES)

#if !TILED

static FASTK_DEVICE void runPiece(Index piece, OUT_TYPE *out, OPERAND_PARAMETERS) {
  const Index first = piece * PIECE + threadIdx.x;
  Place places[UNROLL];
  Values v[UNROLL][VECTOR];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const Index i = first + u * THREADS;
    places[u] = placeOf(i * VECTOR);
    if (VECTORS % PIECE == 0 || i < VECTORS)
      load<HINTS>(OPERANDS, places[u], v[u]);
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u)
    if (VECTORS % PIECE == 0 || first + u * THREADS < VECTORS)
      finish<STREAM>(out, OPERANDS, places[u], v[u]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) computeVectors(OUT_TYPE *out, OPERAND_PARAMETERS) {
#if LOOPS
#pragma unroll 1
  for (Index piece = blockIdx.x; piece < PIECES; piece += GRID)
    runPiece(piece, out, OPERANDS);
#else
  runPiece(blockIdx.x, out, OPERANDS);
#endif
}

#else

template <int N> struct Tile {
  typedef typename TransposedType<N>::Type T;
  // VECTOR neighbours of a row are one access.
  static constexpr int BYTES = VECTOR * sizeof(T);
  typedef typename Chunk<BYTES>::Type Piece;
  // Accesses that fill all banks of shared memory once, and how many of them write different rows.
  static constexpr int SLOTS = 128 / BYTES;
  static constexpr int LANES = ROW_STEPS < 32 ? ROW_STEPS : 32;
  static constexpr int ACROSS = LANES < SLOTS ? LANES : SLOTS;
  // Chunks of one bank's word, and how often those of narrow rows are turned.
  static constexpr int OF_WORD = BYTES < 4 ? 4 / BYTES : 1;
  static constexpr int TURNS = ROW_VECTOR * CHUNKS / OF_WORD > 0 ? ROW_VECTOR * CHUNKS / OF_WORD : 1;
  // Where a tile begins in shared memory.
  static FASTK_DEVICE constexpr int begin() {
    if constexpr (N == 0)
      return 0;
    else
      return Tile<N - 1>::begin() + TILE_ROWS * TILE_COLUMNS * (int)sizeof(typename TransposedType<N - 1>::Type);
  }
  // Chunks are swapped so that neither those of a column nor those of a row share banks; of the smallest tiles a few do.
  static FASTK_DEVICE int slot(int row, int chunk) {
    const int turn = ROW_VECTOR * CHUNKS >= SLOTS ? row / ROW_VECTOR % ACROSS * (SLOTS / ACROSS)
                                                  : row * CHUNKS / SLOTS % TURNS * OF_WORD;
    return (row * CHUNKS + chunk) ^ turn;
  }
  static FASTK_DEVICE Piece *at(u8 *shared, int row, int chunk) {
    return (Piece *)(shared + begin()) + slot(row, chunk);
  }
};

struct Corner {
  Index outer, row, column;
};

template <int N> static FASTK_DEVICE void toTiles(u8 *shared, const Corner &corner, OPERAND_PARAMETERS) {
  if constexpr (N < TRANSPOSED) {
    typedef typename TransposedType<N>::Type T;
    typedef typename Tile<N>::Piece Piece;
    T x[LOAD_STEPS][VECTOR][ROW_VECTOR];
#pragma unroll
    for (int step = 0; step < LOAD_STEPS; ++step) {
      const int m = step * THREADS + threadIdx.x;
      const Index row = corner.row + m % ROW_STEPS * ROW_VECTOR, column = corner.column + m / ROW_STEPS * VECTOR;
      if (row < ROWS && column < COLUMNS) {
#pragma unroll
        for (int k = 0; k < VECTOR; ++k)
          loadTransposed<N, HINTS>(OPERANDS, placeOf(corner.outer, row, column + k), x[step][k]);
      }
    }
#pragma unroll
    for (int step = 0; step < LOAD_STEPS; ++step) {
      const int m = step * THREADS + threadIdx.x;
#pragma unroll
      for (int j = 0; j < ROW_VECTOR; ++j) {
        T turned[VECTOR];
#pragma unroll
        for (int k = 0; k < VECTOR; ++k)
          turned[k] = x[step][k][j];
        Piece piece;
        memcpy(&piece, turned, sizeof(Piece));
        *Tile<N>::at(shared, m % ROW_STEPS * ROW_VECTOR + j, m / ROW_STEPS) = piece;
      }
    }
    toTiles<N + 1>(shared, corner, OPERANDS);
  }
}

template <int N> static FASTK_DEVICE void fromTiles(u8 *shared, int row, int chunk, Values *v) {
  if constexpr (N < TRANSPOSED) {
    typename TransposedType<N>::Type x[VECTOR];
    const typename Tile<N>::Piece piece = *Tile<N>::at(shared, row, chunk);
    memcpy(x, &piece, sizeof(piece));
    setTransposed<N>(v, x);
    fromTiles<N + 1>(shared, row, chunk, v);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) computeTile(OUT_TYPE *out, OPERAND_PARAMETERS) {
  __shared__ __align__(16) u8 shared[TILE_BYTES];
  const u32 tile = blockIdx.x;
  const Corner corner = {(Index)(tile / (ROW_TILES * COLUMN_TILES)), (Index)(tile / COLUMN_TILES % ROW_TILES * TILE_ROWS),
                         (Index)(tile % COLUMN_TILES * TILE_COLUMNS)};
  toTiles<0>(shared, corner, OPERANDS);
  // What lies as the result does is under way while the tile becomes complete.
  Values v[STORE_STEPS][VECTOR];
#pragma unroll
  for (int step = 0; step < STORE_STEPS; ++step) {
    const int s = step * THREADS + threadIdx.x;
    const Index row = corner.row + s / CHUNKS, column = corner.column + s % CHUNKS * VECTOR;
    if (row < ROWS && column < COLUMNS)
      load<HINTS, false>(OPERANDS, placeOf(corner.outer, row, column), v[step]);
  }
  __syncthreads();
#pragma unroll
  for (int step = 0; step < STORE_STEPS; ++step) {
    const int s = step * THREADS + threadIdx.x;
    const Index row = corner.row + s / CHUNKS, column = corner.column + s % CHUNKS * VECTOR;
    if (row < ROWS && column < COLUMNS) {
      fromTiles<0>(shared, s / CHUNKS, s % CHUNKS, v[step]);
      finish<STREAM>(out, OPERANDS, placeOf(corner.outer, row, column), v[step]);
    }
  }
}

#endif
