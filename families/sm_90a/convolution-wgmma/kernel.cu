// Convolutions as implicit products on tensor cores, of f16, bf16, and f32 that may be rounded. Rows are pixels of the
// result, columns output channels, terms are channels at each place of the kernel. One warpgroup loads boxes of X and W
// by TMA; two multiply: each a tile of its own, one storing while the other multiplies, or halves of one. Persistent
// blocks walk over the tiles. What would not fill the device is split along the terms, and a last launch adds the parts.

#define BM 128 // tune: 64, 128, 256
#define BN 128 // tune: 32, 64, 128, 192, 256
#define PINGPONG 1 // tune: 0, 1
#define TILE_X 16 // tune: 4, 8, 16, 32, 64, 128, 256
#define JOIN 0 // tune: 0, 1
#define SPLIT 1 // tune: 1, 2, 4, 8, 16

// Groups of 64 rows of a tile that a warpgroup multiplies.
#define BLOCKS (PINGPONG ? BM / 64 : BM / 128)

// An element on its way to the tensor cores is 16 bits, or two such halves: f32 rounded to TF32. f32 is rounded to f16
// where class half is accepted.
#define HALVES (X_BITS == 32 && !ACCEPTS_HALF ? 2 : 1)

// Where a group has few channels, or windows move as no box does, axes from x outwards are written out: their places in
// the kernel become channels, v.
// So they are where windows of one element leave out others, which then are not written out.
#define LIES ((X_BITS == 16 || HALVES == 2) && X_ALIGNED && X_STRIDE_C == 1)
#define IS_BOX_X (STRIDE_X == 1 || INPUT_DILATION_X == 1 && STRIDE_X <= 8 && (LIES || KERNEL_X > 1))
#define IS_BOX_Y (STRIDE_Y == 1 || INPUT_DILATION_Y == 1 && STRIDE_Y <= 8 && (LIES || KERNEL_Y > 1 || KERNEL_X > 1))
#define IS_BOX_Z (STRIDE_Z == 1 || INPUT_DILATION_Z == 1 && STRIDE_Z <= 8 && (LIES || KERNEL_Z > 1 || KERNEL_Y > 1 || KERNEL_X > 1))
#define FEW (16 / HALVES)
#define WRITES_Z (!IS_BOX_Z || IN_CHANNELS * KERNEL_X * KERNEL_Y < FEW && KERNEL_Z > 1 && INPUT_DILATION_Z == 1)
#define WRITES_Y (WRITES_Z || !IS_BOX_Y || IN_CHANNELS * KERNEL_X < FEW && KERNEL_Y > 1 && INPUT_DILATION_Y == 1)
// Few channels slide along x: the pixels that a window meets lie one behind the other, so that one row of a box has the
// channels of all of them, and rows overlap in memory. The padding is written, too, and pixels have a pitch by which
// windows begin at multiples of 16 bytes. It pays where rows of single pixels would have less than 64 bytes, or where it
// takes fewer rows.
#define SLIDE_UNIT ((STRIDE_X % 2 == 0 ? 4 : 8) / HALVES)
#define SLIDE_PITCH ((IN_CHANNELS + SLIDE_UNIT - 1) / SLIDE_UNIT * SLIDE_UNIT)
#define SLIDE_ROWS ((2 * HALVES * SLIDE_PITCH * KERNEL_X + 127) / 128)
#define PIXEL_BYTES (2 * HALVES * IN_CHANNELS)
#define SLIDES_PAY (PIXEL_BYTES < 64 || PIXEL_BYTES > 64 && PIXEL_BYTES < 128 && STRIDE_X == 1 && SLIDE_ROWS < KERNEL_X)
#define SLIDES (!LIES && !WRITES_Y && KERNEL_X > 1 && DILATION_X == 1 && INPUT_DILATION_X == 1 && SLIDE_PITCH <= 2 * IN_CHANNELS && SLIDES_PAY)
#define WRITES_X (WRITES_Y || !SLIDES && (!IS_BOX_X || IN_CHANNELS < FEW && KERNEL_X > 1 && INPUT_DILATION_X == 1))
#define CHANNELS_X (SLIDES ? SLIDE_PITCH * KERNEL_X : WRITES_X ? IN_CHANNELS * KERNEL_X : IN_CHANNELS)
#define V_CHANNELS (CHANNELS_X * (WRITES_Y ? KERNEL_Y : 1) * (WRITES_Z ? KERNEL_Z : 1))
// 16 bytes are the least distance of a tensor map.
#define V_PITCH ((V_CHANNELS + 8 / HALVES - 1) / (8 / HALVES) * (8 / HALVES))

// Terms come in boxes, at one place of the kernel: a row of one has 128 bytes, or fewer where more would be zeros. A
// stage has 128 bytes of each row, in one to four boxes.
#define V_BYTES (2 * HALVES * V_CHANNELS)
#define ROW_BYTES (V_BYTES <= 32 ? 32 : V_BYTES <= 64 ? 64 : 128)
#define CHUNK (ROW_BYTES / 2 / HALVES)
#define V_CHUNKS ((V_CHANNELS + CHUNK - 1) / CHUNK)
// Of a tap's last row, pieces of 32 bytes that are not all zeros: no others are multiplied.
#define LAST_PIECES ((V_BYTES - (V_CHUNKS - 1) * ROW_BYTES + 31) / 32)
#define SWIZZLE (ROW_BYTES == 128 ? 1 : ROW_BYTES == 64 ? 2 : 3)

// The convolution that is left.
#define MOVES_X (WRITES_X || SLIDES)
#define V_IN_X (MOVES_X ? OUT_X : IN_X)
#define V_IN_Y (WRITES_Y ? OUT_Y : IN_Y)
#define V_IN_Z (WRITES_Z ? OUT_Z : IN_Z)
#define V_KERNEL_X (MOVES_X ? 1 : KERNEL_X)
#define V_KERNEL_Y (WRITES_Y ? 1 : KERNEL_Y)
#define V_KERNEL_Z (WRITES_Z ? 1 : KERNEL_Z)
#define V_STRIDE_X (MOVES_X ? 1 : STRIDE_X)
#define V_STRIDE_Y (WRITES_Y ? 1 : STRIDE_Y)
#define V_STRIDE_Z (WRITES_Z ? 1 : STRIDE_Z)
#define V_PADDING_X (MOVES_X ? 0 : PADDING_X)
#define V_PADDING_Y (WRITES_Y ? 0 : PADDING_Y)
#define V_PADDING_Z (WRITES_Z ? 0 : PADDING_Z)
// Pixels of the result that meet the same places of the kernel, among zeros between elements of X, are a phase.
#define PHASES_X (WRITES_X ? 1 : INPUT_DILATION_X)
#define PHASES_Y (WRITES_Y ? 1 : INPUT_DILATION_Y)
#define PHASES_Z (WRITES_Z ? 1 : INPUT_DILATION_Z)
#define PHASES (PHASES_X * PHASES_Y * PHASES_Z)
// Two phases along x are neighbours in the result: a tile may have the pixels of both, so that it fills lines of the
// result.
#define JOINED (JOIN ? PHASES_X : 1)
#define TAPS (V_KERNEL_X * V_KERNEL_Y * V_KERNEL_Z)
#define PHASE_OUT_X ((OUT_X + PHASES_X - 1) / PHASES_X)
#define PHASE_OUT_Y ((OUT_Y + PHASES_Y - 1) / PHASES_Y)
#define PHASE_OUT_Z ((OUT_Z + PHASES_Z - 1) / PHASES_Z)

// A tile is a box of pixels of one phase, or the same of two that are joined, a power of two in each direction.
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
#define TILES (GROUPS * (PHASES / JOINED) * TILE_ROWS * TILE_COLUMNS)
#define ITEMS (TILES * SPLIT)
#define GRID (ITEMS < MULTIPROCESSORS ? ITEMS : MULTIPROCESSORS)
// Where tiles leave nothing over, no pixel and no channel need be asked for.
#define PIXELS_FIT (OUT_X % (TILE_X * PHASES_X) == 0 && OUT_Y % (TILE_Y * PHASES_Y) == 0 && OUT_Z % (TILE_Z * PHASES_Z) == 0 && BATCH % TILE_N == 0)
#define CHANNELS_FIT (OUT_CHANNELS % SUM_COLUMNS == 0)

// Boxes of a tile; of pixels in phases, which meet different places, each is a stage.
#define BOXES (PHASES > 1 ? 1 : 128 / ROW_BYTES)
#define ALL_BOXES (TAPS * V_CHUNKS)
#define PART_STEPS ((ALL_BOXES + BOXES * SPLIT - 1) / (BOXES * SPLIT))
// Where a part would have nothing to sum, there is one less.
#define PART_BOXES (PART_STEPS * BOXES)

// X as the tensor map sees it: where channels come last, as it lies, f32 rounded by the map; else packed, a group after
// the other.
#define LOADS_X (LIES && !WRITES_X && (GROUPS == 1 || IN_CHANNELS % CHUNK == 0 && X_STRIDE_G == IN_CHANNELS))
#define X_BOX_CHANNELS (LOADS_X ? CHUNK : ROW_BYTES / 2)
// A pixel of X as it is written out, and how many of them there are in a line.
#define PIXEL_CHANNELS (SLIDES ? IN_CHANNELS : V_CHANNELS)
#define PIXEL_PITCH (SLIDES ? SLIDE_PITCH : V_PITCH)
#define PIXELS_X (SLIDES ? ((OUT_X - 1) * STRIDE_X + KERNEL_X + 1) / 2 * 2 : V_IN_X)
#define PIXEL_TILES ((V_IN_Y * PIXELS_X + 31) / 32)
#define CHANNEL_TILES ((PIXEL_PITCH + 63) / 64)
// Channels of at most 64 bytes are written by the thread of their pixel: of more, lines of many pixels would be open.
#define WRITES_PIXELS (2 * HALVES * PIXEL_PITCH <= 64)
#define PIXELS (GROUPS * BATCH * V_IN_Z * V_IN_Y * PIXELS_X)
#define X_BLOCKS (LOADS_X ? 0 : WRITES_PIXELS ? (PIXELS + 255) / 256 : GROUPS * BATCH * V_IN_Z * PIXEL_TILES * CHANNEL_TILES)
// Of W a thread has two neighbours at one place of the kernel, or where there are many threads at up to nine places.
#define W_TOGETHER (GROUPS * OUT_CHANNELS * V_PITCH < 32768 ? 1 : TAPS < 9 ? TAPS : 9)
#define W_PARTS ((TAPS + W_TOGETHER - 1) / W_TOGETHER)
#define W_PAIRS (GROUPS * OUT_CHANNELS * W_PARTS * (V_PITCH / 2))
#define W_BLOCKS ((W_PAIRS + 255) / 256)

// Shared memory: stages, sums on their way out, barriers.
#define X_BOX (BM * ROW_BYTES)
#define W_BOX (BN * ROW_BYTES)
// Neighbours in the result lie next to each other here, too.
#define BY_CHANNEL (OUT_STRIDE_O == 1)
#define SUM_COLUMNS 32
#define SUM_ROWS (64 * JOINED)
#define SUM_PITCH (SUM_ROWS + 4)
#define SUM_BYTES (4 * SUM_COLUMNS * SUM_PITCH)
#define ROOM (SHARED_LIMIT - 2 * SUM_BYTES - 2048)
// W stays where all tiles multiply the same and it leaves room for stages of X.
#define ALL_W (ALL_BOXES * W_BOX)
#define KEEPS_W (PHASES * SPLIT * GROUPS * TILE_COLUMNS == 1 && ALL_W + 4 * BOXES * X_BOX <= ROOM)
#define KEPT_BYTES (KEEPS_W ? ALL_W : 0)
#define STAGE_BYTES (BOXES * (X_BOX + (KEEPS_W ? 0 : W_BOX)))
#define MOST_STAGES ((ROOM - KEPT_BYTES) / STAGE_BYTES)
#define STAGES (MOST_STAGES > 8 ? 8 : MOST_STAGES)
#define KEPT_OFFSET (STAGES * STAGE_BYTES)
#define SUM_OFFSET (KEPT_OFFSET + KEPT_BYTES)
#define BARRIER_OFFSET (SUM_OFFSET + 2 * SUM_BYTES)
#define SHARED_BYTES (BARRIER_OFFSET + STAGES * 16 + 8 + 1024)

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

// The prelude has no product of 32 columns.
#define FASTK_ACC_16(d) FASTK_ACC8(d, 0), FASTK_ACC8(d, 8)
#define FASTK_REGS_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
FASTK_WGMMA_16(wgmmaF16, 16, 16, 17, 18, 19, 20, "m64n32k16", "f16")
FASTK_WGMMA_16(wgmmaBF16, 16, 16, 17, 18, 19, 20, "m64n32k16", "bf16")
FASTK_WGMMA_K(wgmmaTF32, 16, 16, 17, 18, "m64n32k8", "tf32")

#if HALVES == 2
#define WGMMA(d, a, b) wgmmaTF32(d, a, b)
#elif X_IS_BF16
#define WGMMA(d, a, b) wgmmaBF16<0, 0>(d, a, b, 1u)
#else
#define WGMMA(d, a, b) wgmmaF16<0, 0>(d, a, b, 1u)
#endif

struct Tile {
  // Origin of the pixels, within their phase; the phase, along x the first where they are joined.
  i32 n, z, y, x, phaseZ, phaseY, phaseX, group, column;
  // Which of the parts of its terms.
  u32 number, part;
};

// Neighbours in time share X, and fill the same lines of the result.
static FASTK_DEVICE Tile tileOf(u32 t) {
  Tile tile;
  tile.part = t % SPLIT;
  t /= SPLIT;
  tile.number = t;
  tile.column = (i32)(t % TILE_COLUMNS) * BN;
  t /= TILE_COLUMNS;
  tile.phaseX = (i32)(t % (PHASES_X / JOINED));
  t /= PHASES_X / JOINED;
  tile.phaseY = (i32)(t % PHASES_Y);
  t /= PHASES_Y;
  tile.x = (i32)(t % TILES_X) * TILE_X;
  t /= TILES_X;
  tile.y = (i32)(t % TILES_Y) * TILE_Y;
  t /= TILES_Y;
  tile.phaseZ = (i32)(t % PHASES_Z);
  t /= PHASES_Z;
  tile.z = (i32)(t % TILES_Z) * TILE_Z;
  t /= TILES_Z;
  tile.n = (i32)(t % TILES_N) * TILE_N;
  tile.group = (i32)(t / TILES_N);
  return tile;
}

// The same pixels of another joined phase.
static FASTK_DEVICE Tile ofPhase(Tile tile, i32 phase) {
  tile.phaseX += phase;
  return tile;
}

// Places of the kernel along an axis that meet elements of X in a phase, and not the zeros between them: each STEP-th from
// the first on.
constexpr i32 divisorOf(i32 a, i32 b) { return b == 0 ? a : divisorOf(b, a % b); }
#define STEP_X (PHASES_X / divisorOf(DILATION_X, PHASES_X))
#define STEP_Y (PHASES_Y / divisorOf(DILATION_Y, PHASES_Y))
#define STEP_Z (PHASES_Z / divisorOf(DILATION_Z, PHASES_Z))

struct Places {
  i32 first, count;
};

template <i32 Phases, i32 Step, i32 Dilation, i32 Padding, i32 Kernel>
static FASTK_DEVICE Places placesOf(i32 phase) {
  Places found = {0, 0};
#pragma unroll
  for (i32 k = 0; k < Step && k < Kernel; ++k)
    if ((phase + k * Dilation - Padding) % Phases == 0)
      found = {k, (Kernel - k + Step - 1) / Step};
  return found;
}

struct Met {
  Places z, y, x;
  FASTK_DEVICE Met(const Tile &tile)
      : z(placesOf<PHASES_Z, STEP_Z, DILATION_Z, V_PADDING_Z, V_KERNEL_Z>(tile.phaseZ)),
        y(placesOf<PHASES_Y, STEP_Y, DILATION_Y, V_PADDING_Y, V_KERNEL_Y>(tile.phaseY)),
        x(placesOf<PHASES_X, STEP_X, DILATION_X, V_PADDING_X, V_KERNEL_X>(tile.phaseX)) {}
};

// Boxes of a tile's part that meet more than zeros.
static FASTK_DEVICE u32 boxesOf(const Tile &tile) {
  if (PHASES == 1) {
    const i32 left = ALL_BOXES - (i32)tile.part * PART_BOXES;
    return (u32)(left < 0 ? 0 : left < PART_BOXES ? left : PART_BOXES);
  }
  const Met met(tile);
  return (u32)(met.z.count * met.y.count * met.x.count * V_CHUNKS);
}

// Places of the kernel that a tile meets, in their order, and where the first pixel's element is for each: a thread that
// loads has no time to divide.
struct Walk {
  i32 kz, ky, kx, z, y, x, countY, countX;
  // The first is counted among all places where there is one phase, and is 0 else.
  FASTK_DEVICE Walk(const Tile &tile, i32 first) {
    const Met met(tile);
    kz = met.z.first + first / (V_KERNEL_X * V_KERNEL_Y);
    ky = met.y.first + first / V_KERNEL_X % V_KERNEL_Y;
    kx = met.x.first + first % V_KERNEL_X;
    z = tile.z * V_STRIDE_Z + (tile.phaseZ + kz * DILATION_Z - V_PADDING_Z) / PHASES_Z;
    y = tile.y * V_STRIDE_Y + (tile.phaseY + ky * DILATION_Y - V_PADDING_Y) / PHASES_Y;
    x = tile.x * V_STRIDE_X + (tile.phaseX + kx * DILATION_X - V_PADDING_X) / PHASES_X;
    countY = met.y.count;
    countX = met.x.count;
  }
  FASTK_DEVICE i32 place() const { return (kz * V_KERNEL_Y + ky) * V_KERNEL_X + kx; }
  FASTK_DEVICE void next() {
    constexpr i32 moveX = STEP_X * DILATION_X / PHASES_X, moveY = STEP_Y * DILATION_Y / PHASES_Y;
    kx += STEP_X;
    x += moveX;
    if (kx < V_KERNEL_X)
      return;
    kx -= countX * STEP_X;
    x -= countX * moveX;
    ky += STEP_Y;
    y += moveY;
    if (ky < V_KERNEL_Y)
      return;
    ky -= countY * STEP_Y;
    y -= countY * moveY;
    kz += STEP_Z;
    z += STEP_Z * DILATION_Z / PHASES_Z;
  }
};

// A pixel of the tile, by its row, where those of joined phases take turns: the last one of a picture where it does not
// exist.
struct Pixel {
  i32 n, z, y, x;
  bool exists;
};

static FASTK_DEVICE Pixel pixelOf(const Tile &tile, i32 row) {
  Pixel pixel;
  const i32 phaseX = JOINED > 1 ? row % JOINED : tile.phaseX;
  row /= JOINED;
  pixel.x = (tile.x + row % TILE_X) * PHASES_X + phaseX;
  pixel.y = (tile.y + row / TILE_X % TILE_Y) * PHASES_Y + tile.phaseY;
  pixel.z = (tile.z + row / (TILE_X * TILE_Y) % TILE_Z) * PHASES_Z + tile.phaseZ;
  pixel.n = tile.n + row / (TILE_X * TILE_Y * TILE_Z);
  pixel.exists = PIXELS_FIT || pixel.x < OUT_X && pixel.y < OUT_Y && pixel.z < OUT_Z && pixel.n < BATCH;
  if (PIXELS_FIT)
    return pixel;
  pixel.x = pixel.x < OUT_X ? pixel.x : OUT_X - 1;
  pixel.y = pixel.y < OUT_Y ? pixel.y : OUT_Y - 1;
  pixel.z = pixel.z < OUT_Z ? pixel.z : OUT_Z - 1;
  pixel.n = pixel.n < BATCH ? pixel.n : BATCH - 1;
  return pixel;
}

static FASTK_DEVICE i64 offsetOf(const Pixel &pixel, i32 g, i32 o) {
  return outOffset(pixel.n, g, o, pixel.z, pixel.y, pixel.x);
}

static FASTK_DEVICE OUT_TYPE finishAt(OPERAND_PARAMETERS, const Pixel &pixel, i32 g, i32 o, float sum, const Kept &kept) {
  return finish(OPERANDS, pixel.n, g, o, pixel.z, pixel.y, pixel.x, sum, kept);
}

// Of 16 bits, two pixels or channels at a time.
#define PAIRED_X (OUT_BITS == 16 && PAIRS_ALONG_X && PHASES_X == JOINED)
#define PAIRED_O (OUT_BITS == 16 && PAIRS_ALONG_O)

static FASTK_DEVICE void storeTwo(OUT_TYPE *to, const OUT_TYPE (&made)[2]) {
#if OUT_BITS == 16
  if (OUT_ALIGNED || ((u64)to & 3) == 0) {
    *(u32 *)to = (u32)made[0].bits | (u32)made[1].bits << 16;
    return;
  }
#endif
  to[0] = made[0];
  to[1] = made[1];
}

// Where a sum of SUM_ROWS pixels and SUM_COLUMNS channels lies in shared memory; two of neighbouring channels, the first
// of them even, lie together where channels do.
static FASTK_DEVICE u32 sumAt(i32 row, i32 column) {
  return (u32)(BY_CHANNEL ? row * SUM_COLUMNS + (column ^ (row & 3) * 8) : column * SUM_PITCH + row);
}

// The pixels that a lane stores. Where channels are next to each other, eight: where their first channel lies, and which
// of them exist. Else two of each 64.
#if BY_CHANNEL
struct Own {
  i64 offsets[8];
  u32 exists;
  FASTK_DEVICE Own(const Tile &tile, i32 row0, u32 warp, u32 lane) : exists(0) {
#pragma unroll
    for (i32 i = 0; i < 8; ++i) {
      const Pixel pixel = pixelOf(tile, row0 + 16 * (i32)warp + (i32)(lane >> 4) + 2 * i);
      offsets[i] = offsetOf(pixel, tile.group, 0);
      exists |= (u32)pixel.exists << i;
    }
  }
};
#else
struct Own {
  Pixel pixels[JOINED][2];
  FASTK_DEVICE Own(const Tile &tile, i32 row0, u32 warp, u32 lane) {
#pragma unroll
    for (i32 i = 0; i < JOINED; ++i) {
      pixels[i][0] = pixelOf(tile, row0 + 64 * i + (i32)(PAIRED_X ? 2 * lane : lane));
      pixels[i][1] = pixelOf(tile, row0 + 64 * i + (i32)(PAIRED_X ? 2 * lane + 1 : 32 + lane));
    }
  }
};
#endif

// Stores SUM_ROWS pixels and SUM_COLUMNS channels from shared memory: a warp channel by channel, for what lies together
// must be written together. Where something is loaded beside the sums, it is on its way before any result is stored.
#define AT_ONCE (FINISH_LOADS ? 8 / JOINED : 1)

static FASTK_DEVICE void storeSums(OUT_TYPE *out, OPERAND_PARAMETERS, const float *sums, const Tile &tile, i32 row0,
                                   const Own &own, i32 o0, u32 warp, u32 lane) {
  const i32 g = tile.group;
#if BY_CHANNEL
  OUT_TYPE made[AT_ONCE][2];
  const i32 column = 2 * (i32)(lane & 15), row = 16 * (i32)warp + (i32)(lane >> 4);
  const bool exists[2] = {CHANNELS_FIT || o0 + column < OUT_CHANNELS, CHANNELS_FIT || o0 + column + 1 < OUT_CHANNELS};
  const i32 o[2] = {exists[0] ? o0 + column : OUT_CHANNELS - 1, exists[1] ? o0 + column + 1 : OUT_CHANNELS - 1};
  const Kept kept[2] = {keep(OPERANDS, g, o[0]), keep(OPERANDS, g, o[1])};
#pragma unroll
  for (i32 first = 0; first < 8; first += AT_ONCE) {
#pragma unroll
    for (i32 i = 0; i < AT_ONCE; ++i) {
      const i32 at = row + 2 * (first + i);
      const Pixel pixel = pixelOf(tile, row0 + at);
      const float2 sum = *(const float2 *)(sums + sumAt(at, column));
      made[i][0] = finishAt(OPERANDS, pixel, g, o[0], sum.x, kept[0]);
      made[i][1] = finishAt(OPERANDS, pixel, g, o[1], sum.y, kept[1]);
    }
#pragma unroll
    for (i32 i = 0; i < AT_ONCE; ++i) {
      if (!PIXELS_FIT && (own.exists >> (first + i) & 1) == 0)
        continue;
      OUT_TYPE *const to = out + own.offsets[first + i] + (o0 + column);
      if (PAIRED_O && exists[1]) {
        storeTwo(to, made[i]);
        continue;
      }
      for (i32 j = 0; j < 2; ++j)
        if (exists[j])
          to[j] = made[i][j];
    }
  }
#else
  OUT_TYPE made[AT_ONCE][JOINED][2];
  // A lane keeps what one of the warp's channels needs.
  const i32 ofLane = o0 + 4 * (i32)(lane & 7) + (i32)warp;
  const Kept mine = keep(OPERANDS, g, ofLane < OUT_CHANNELS ? ofLane : OUT_CHANNELS - 1);
  // Of long functions more copies would not fit into the cache of instructions.
#pragma unroll 4
  for (i32 first = 0; first < 8; first += AT_ONCE) {
#pragma unroll
    for (i32 i = 0; i < AT_ONCE; ++i) {
      const i32 column = 4 * (first + i) + (i32)warp;
      const i32 o = CHANNELS_FIT || o0 + column < OUT_CHANNELS ? o0 + column : OUT_CHANNELS - 1;
      const Kept kept = keptOf(mine, (u32)(first + i));
#pragma unroll
      for (i32 j = 0; j < JOINED; ++j) {
        const float *const from = sums + column * SUM_PITCH + 64 * j + (PAIRED_X ? 2 : 1) * (i32)lane;
        made[i][j][0] = finishAt(OPERANDS, own.pixels[j][0], g, o, from[0], kept);
        made[i][j][1] = finishAt(OPERANDS, own.pixels[j][1], g, o, from[PAIRED_X ? 1 : 32], kept);
      }
    }
#pragma unroll
    for (i32 i = 0; i < AT_ONCE; ++i) {
      const i32 o = o0 + 4 * (first + i) + (i32)warp;
      if (!CHANNELS_FIT && o >= OUT_CHANNELS)
        continue;
#pragma unroll
      for (i32 j = 0; j < JOINED; ++j) {
        // A tile's rows are even in number, and so is the first pixel's x.
        if (PAIRED_X && own.pixels[j][1].exists) {
          storeTwo(out + offsetOf(own.pixels[j][0], g, o), made[i][j]);
          continue;
        }
#pragma unroll
        for (i32 half = 0; half < 2; ++half)
          if (own.pixels[j][half].exists)
            out[offsetOf(own.pixels[j][half], g, o)] = made[i][j][half];
      }
    }
  }
#endif
}

// Where parts are added later: by tiles, parts, and rows of channels or of pixels.
static FASTK_DEVICE i64 partOffset(u32 number, u32 part, i32 row, i32 column) {
  const i64 tile = ((i64)number * SPLIT + part) * (BM * BN);
  return tile + (BY_CHANNEL ? row * BN + column : column * BM + row);
}

static FASTK_DEVICE void storePart(float *parts, const float *sums, const Tile &tile, i32 row0, i32 column0, u32 warp,
                                   u32 lane) {
#pragma unroll
  for (i32 i = 0; i < 16; ++i) {
    const i32 row = BY_CHANNEL ? 16 * (i32)warp + i : 32 * (i & 1) + (i32)lane;
    const i32 column = BY_CHANNEL ? (i32)lane : 4 * (i >> 1) + (i32)warp;
    parts[partOffset(tile.number, tile.part, row0 + row, column0 + column)] =
        sums[sumAt(row, column)];
  }
}

// The products of `Boxes` boxes of a stage, of `Pieces` pieces of each row.
template <int Boxes, int Pieces> static FASTK_DEVICE void multiply(float (&d)[BLOCKS][BN / 2], u64 a, u64 b) {
#pragma unroll
  for (int box = 0; box < Boxes; ++box)
#pragma unroll
    for (int k = 0; k < Pieces; ++k)
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block)
        WGMMA(d[block], a + (u64)((box * X_BOX + block * 64 * ROW_BYTES) / 16 + 2 * k),
              b + (u64)(box * (W_BOX / 16) + 2 * k));
}

// A stage of the ring, and how often the ring was walked.
struct Place {
  u32 stage, parity;
  FASTK_DEVICE void skip(u32 steps) {
    stage += steps;
    parity ^= stage / STAGES & 1;
    stage %= STAGES;
  }
  FASTK_DEVICE void next() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Where a warpgroup reads the ring: it holds the stage that it multiplied last, until its products are done.
struct Reader {
  u64 *full, *empty;
  Place at;
  u32 held;
  bool holds;
  FASTK_DEVICE void release(u32 lane) {
    if (holds && lane == 0)
      mbarArrive(&empty[held]);
    holds = false;
  }
};

// Multiplies `Pieces` pieces of each row of `Boxes` boxes of the next stage. W lies in the stage, or where it is kept.
template <int Boxes, int Pieces>
static FASTK_DEVICE void multiplyNext(float (&d)[BLOCKS][BN / 2], Reader &reader, u64 a, u64 b, u64 keptW, u32 lane) {
  mbarWait(&reader.full[reader.at.stage], reader.at.parity);
  const u64 stage = (u64)(reader.at.stage * (STAGE_BYTES / 16));
  wgmmaFence();
  multiply<Boxes, Pieces>(d, a + stage, b + (KEEPS_W ? keptW : stage));
  wgmmaCommit();
  wgmmaWait<1>();
  reader.release(lane);
  reader.held = reader.at.stage;
  reader.holds = true;
  reader.at.next();
}

extern "C" __global__ void __launch_bounds__(384, 1)
convolution(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapW, OUT_TYPE *out,
            float *parts, OPERAND_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  unsigned char *smem = raw + ((1024 - (smemAddr(raw) & 1023)) & 1023);
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES, *kept = empty + STAGES;
  const u32 warp = warpIndex(), group = warp >> 2;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapX);
    tmaPrefetchMap(&mapW);
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], PINGPONG ? 4 : 8);
    }
    mbarInit(kept, 1);
    mbarInitFence();
  }
  __syncthreads();

  if (group == 0) {
    registersDown<40>();
    if (warp == 0 && electOne()) {
      waitPrevious();
      if (KEEPS_W) {
        mbarExpectTx(kept, KEPT_BYTES);
#pragma unroll 1
        for (i32 box = 0; box < ALL_BOXES; ++box)
          tmaLoad4D(smem + KEPT_OFFSET + box * W_BOX, &mapW, kept, box % V_CHUNKS * (ROW_BYTES / 2), box / V_CHUNKS, 0, 0);
      }
      Place at = {0, 1};
      for (u32 t = blockIdx.x; t < ITEMS; t += gridDim.x) {
        const Tile first = tileOf(t);
        // Behind X's batches come those of the next group, where it is packed.
        const i32 n = LOADS_X ? first.n : first.group * BATCH + first.n;
        const i32 c0 = LOADS_X ? first.group * IN_CHANNELS : 0;
#pragma unroll 1
        for (i32 phase = 0; phase < JOINED; ++phase) {
          const Tile tile = ofPhase(first, phase);
          i32 left = (i32)boxesOf(tile), box = 0;
          Walk walk(tile, (i32)tile.part * PART_BOXES / V_CHUNKS);
          i32 chunk = (i32)tile.part * PART_BOXES % V_CHUNKS;
#pragma unroll 1
          while (left > 0) {
            unsigned char *x = smem + at.stage * STAGE_BYTES + box * X_BOX;
            unsigned char *w = smem + at.stage * STAGE_BYTES + BOXES * X_BOX + box * W_BOX;
            if (box == 0) {
              mbarWait(&empty[at.stage], at.parity);
              mbarExpectTx(&full[at.stage], (u32)(left < BOXES ? left : BOXES) * (STAGE_BYTES / BOXES));
            }
            tmaLoad5D(x, &mapX, &full[at.stage], c0 + chunk * X_BOX_CHANNELS, walk.x, walk.y, walk.z, n);
            if (!KEEPS_W)
              tmaLoad4D(w, &mapW, &full[at.stage], chunk * (ROW_BYTES / 2), walk.place(), tile.column, tile.group);
            if (++chunk == V_CHUNKS) {
              chunk = 0;
              walk.next();
            }
            --left;
            if (++box == BOXES || left == 0) {
              box = 0;
              at.next();
            }
          }
        }
      }
    }
    __syncwarp();
  } else {
    registersUp<232>();
    const u32 w = group - 1, lane = threadIdx.x & 31;
    const u32 base = smemAddr(smem);
    const i32 first = PINGPONG ? 0 : (i32)w * BLOCKS * 64;
    const u64 descA = wgmmaDesc(base + (u32)first * ROW_BYTES, 16, 8 * ROW_BYTES, SWIZZLE);
    const u64 descB = wgmmaDesc(base + (KEEPS_W ? KEPT_OFFSET : BOXES * X_BOX), 16, 8 * ROW_BYTES, SWIZZLE);
    float *sums = (float *)(smem + SUM_OFFSET + w * SUM_BYTES);

    float d[JOINED][BLOCKS][BN / 2];
    Reader reader = {full, empty, {0, 0}, 0, false};
    u32 turn = 0;
    // Which stage is meant is known only to who waits for no more than the next: so a warpgroup begins when the other
    // has met all stages of its tile.
    if (PINGPONG && w == 1)
      barArrive(1, 256);
    if (KEEPS_W)
      mbarWait(kept, 0);
    for (u32 t = blockIdx.x; t < ITEMS; t += gridDim.x, turn ^= 1) {
      const Tile tile = tileOf(t);
      u32 boxesOfPhase[JOINED], all = 0;
#pragma unroll
      for (int phase = 0; phase < JOINED; ++phase)
        all += boxesOfPhase[phase] = boxesOf(ofPhase(tile, phase));
      if (PINGPONG && turn != w) {
        reader.at.skip((all + BOXES - 1) / BOXES);
        continue;
      }
      if (PINGPONG)
        barSync(1 + w, 256);
#pragma unroll
      for (int phase = 0; phase < JOINED; ++phase) {
        const u32 boxes = boxesOfPhase[phase];
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
          for (int i = 0; i < BN / 2; ++i)
            d[phase][block][i] = 0.0f;
        u32 chunk = (u32)(tile.part * PART_BOXES % V_CHUNKS);
#pragma unroll 1
        for (u32 step = 0; step < boxes / BOXES; ++step) {
          const u64 keptW = (u64)(step * (BOXES * W_BOX / 16));
          // Rows of several chunks have 128 bytes, of which a stage has one.
          if (V_CHUNKS > 1 && LAST_PIECES < ROW_BYTES / 32 && ++chunk != V_CHUNKS) {
            multiplyNext<BOXES, ROW_BYTES / 32>(d[phase], reader, descA, descB, keptW, lane);
            continue;
          }
          multiplyNext<BOXES, LAST_PIECES>(d[phase], reader, descA, descB, keptW, lane);
          chunk = 0;
        }
        // The last part has the boxes that fill no stage.
        if (ALL_BOXES % BOXES != 0 && boxes % BOXES != 0)
          multiplyNext<ALL_BOXES % BOXES, LAST_PIECES>(d[phase], reader, descA, descB,
                                                       (u64)(ALL_BOXES / BOXES * (BOXES * W_BOX / 16)), lane);
        // Before sums of another phase are defined, those of this one are done.
        if (phase + 1 < JOINED) {
          wgmmaWait<0>();
#pragma unroll
          for (int block = 0; block < BLOCKS; ++block)
            wgmmaHold(d[phase][block]);
          reader.release(lane);
        }
      }
      if (PINGPONG)
        barArrive(2 - w, 256);
      wgmmaWait<0>();
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block)
        wgmmaHold(d[JOINED - 1][block]);
      reader.release(lane);

#pragma unroll
      for (int block = 0; block < BLOCKS; ++block) {
        const i32 row0 = (first + block * 64) * JOINED;
        const Own own(tile, row0, warp & 3, lane);
#pragma unroll
        for (int q = 0; q < BN / SUM_COLUMNS; ++q) {
          // The sums before these have been read.
          barSync(3 + w, 128);
#pragma unroll
          for (int i = 0; i < SUM_COLUMNS / 2; i += 2) {
            const i32 r = 16 * (i32)(warp & 3) + (i32)(lane >> 2) + (i & 2) * 4, c = 2 * (i32)(lane & 3) + (i / 4) * 8;
            const int ofThread = q * (SUM_COLUMNS / 2) + i;
            if (BY_CHANNEL) {
              *(float2 *)(sums + sumAt(r, c)) = make_float2(d[0][block][ofThread], d[0][block][ofThread + 1]);
              continue;
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
              float *const to = sums + sumAt(r * JOINED, c + j);
              if (JOINED == 2)
                *(float2 *)to = make_float2(d[0][block][ofThread + j], d[JOINED - 1][block][ofThread + j]);
              else
                *to = d[0][block][ofThread + j];
            }
          }
          barSync(3 + w, 128);
          const i32 column = q * SUM_COLUMNS;
          if (SPLIT > 1)
            storePart(parts, sums, tile, row0, column, warp & 3, lane);
          else if (tile.column + column < OUT_CHANNELS)
            storeSums(out, OPERANDS, sums, tile, row0, own, tile.column + column, warp & 3, lane);
        }
      }
      __syncwarp();
    }
  }
}

#if SPLIT > 1
// Adds the parts of a tile, in their order.
extern "C" __global__ void __launch_bounds__(256) addParts(const float *parts, OUT_TYPE *out, OPERAND_PARAMETERS) {
  waitPrevious();
  const i32 inTile = (i32)(blockIdx.x % (BM * BN / 256)) * 256 + (i32)threadIdx.x;
  const u32 number = blockIdx.x / (BM * BN / 256);
  const i32 row = BY_CHANNEL ? inTile / BN : inTile % BM, column = BY_CHANNEL ? inTile % BN : inTile / BM;
  const Tile tile = tileOf(number * SPLIT);
  const Pixel pixel = pixelOf(tile, row);
  const i32 o = tile.column + column;
  if (!pixel.exists || o >= OUT_CHANNELS)
    return;
  float sum = 0.0f;
#pragma unroll
  for (u32 part = 0; part < SPLIT; ++part)
    sum += parts[partOffset(number, part, row, column)];
  out[offsetOf(pixel, tile.group, o)] = finishAt(OPERANDS, pixel, tile.group, o, sum, keep(OPERANDS, tile.group, o));
}
#endif

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
#elif SLIDES
  return elementOf(paddedX(OPERANDS, n, g, v, z * INPUT_DILATION_Z, y * INPUT_DILATION_Y, x - PADDING_X));
#else
  return elementOf(elementX(OPERANDS, n, g, v, z, y, x));
#endif
}

#if WRITES_PIXELS
static FASTK_DEVICE void packX(u32 block, Element *to, OPERAND_PARAMETERS) {
  const i64 pixel = (i64)block * 256 + threadIdx.x;
  if (pixel >= PIXELS)
    return;
  const i32 x = (i32)(pixel % PIXELS_X), y = (i32)(pixel / PIXELS_X % V_IN_Y), z = (i32)(pixel / (PIXELS_X * V_IN_Y) % V_IN_Z);
  const i32 picture = (i32)(pixel / ((i64)PIXELS_X * V_IN_Y * V_IN_Z)), n = picture % BATCH, g = picture / BATCH;
  u32 words[PIXEL_PITCH * HALVES / 2];
#pragma unroll
  for (i32 i = 0; i < PIXEL_PITCH * HALVES / 2; ++i) {
    const i32 v = i * 2 / HALVES;
    words[i] = v < PIXEL_CHANNELS ? (u32)channelOfX(OPERANDS, n, g, v, z, y, x) : 0u;
    if (HALVES == 1 && v + 1 < PIXEL_CHANNELS)
      words[i] |= (u32)channelOfX(OPERANDS, n, g, v + 1, z, y, x) << 16;
  }
  Element *const at = to + pixel * PIXEL_PITCH;
#if PIXEL_PITCH * HALVES % 8 == 0
#pragma unroll
  for (i32 i = 0; i < PIXEL_PITCH * HALVES / 2; i += 4)
    *(uint4 *)(at + i * 2 / HALVES) = make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
#else
#pragma unroll
  for (i32 i = 0; i < PIXEL_PITCH * HALVES / 2; i += 2)
    *(uint2 *)(at + i * 2 / HALVES) = make_uint2(words[i], words[i + 1]);
#endif
}
#else
// Tiles of 32 pixels and 64 channels are read along pixels and written along channels.
static FASTK_DEVICE void packX(u32 rest, Element *to, OPERAND_PARAMETERS) {
  __shared__ Element tile[64][HALVES == 2 ? 33 : 34];
  const i32 warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const i32 v0 = (i32)(rest % CHANNEL_TILES) * 64;
  rest /= CHANNEL_TILES;
  const i32 p0 = (i32)(rest % PIXEL_TILES) * 32;
  rest /= PIXEL_TILES;
  const i32 z = (i32)(rest % V_IN_Z), n = (i32)(rest / V_IN_Z % BATCH), g = (i32)(rest / V_IN_Z / BATCH);
  const i32 p = p0 + lane;
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    const i32 v = v0 + warp + 8 * i;
    tile[warp + 8 * i][lane] = v < PIXEL_CHANNELS && p < V_IN_Y * PIXELS_X
                                   ? channelOfX(OPERANDS, n, g, v, z, p / PIXELS_X, p % PIXELS_X)
                                   : (Element)0;
  }
  __syncthreads();
  const i32 v = v0 + 2 * lane;
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    const i32 row = warp + 8 * i;
    if (p0 + row >= V_IN_Y * PIXELS_X || v >= PIXEL_PITCH)
      continue;
    Element *const at = to + ((((i64)g * BATCH + n) * V_IN_Z + z) * (V_IN_Y * PIXELS_X) + p0 + row) * PIXEL_PITCH + v;
#if HALVES == 2
    *(uint2 *)at = make_uint2(tile[2 * lane][row], tile[2 * lane + 1][row]);
#else
    *(u32 *)at = (u32)tile[2 * lane][row] | (u32)tile[2 * lane + 1][row] << 16;
#endif
  }
}
#endif
#endif

static FASTK_DEVICE Element tapOfW(OPERAND_PARAMETERS, i32 g, i32 o, i32 v, i32 tap) {
  if (v >= V_CHANNELS || SLIDES && v % SLIDE_PITCH >= IN_CHANNELS)
    return (Element)0;
  i32 kx = tap % V_KERNEL_X, ky = tap / V_KERNEL_X % V_KERNEL_Y, kz = tap / (V_KERNEL_X * V_KERNEL_Y);
  if (WRITES_X)
    kx = v / IN_CHANNELS % KERNEL_X;
  if (WRITES_Y)
    ky = v / (IN_CHANNELS * KERNEL_X) % KERNEL_Y;
  if (WRITES_Z)
    kz = v / (IN_CHANNELS * KERNEL_X * KERNEL_Y);
  if (SLIDES)
    kx = v / SLIDE_PITCH;
  return elementOf(elementW(OPERANDS, g, o, v % (SLIDES ? SLIDE_PITCH : IN_CHANNELS), kz, ky, kx));
}

// W as [g][o][tap][v]. Where places lie together, a line is read once.
static FASTK_DEVICE void packW(u32 block, Element *to, OPERAND_PARAMETERS) {
  const i32 i = (i32)(block * 256 + threadIdx.x);
  if (i >= W_PAIRS)
    return;
  const i32 v = i % (V_PITCH / 2) * 2, first = i / (V_PITCH / 2) % W_PARTS * W_TOGETHER;
  const i32 outer = i / (V_PITCH / 2) / W_PARTS, o = outer % OUT_CHANNELS, g = outer / OUT_CHANNELS;
  to += ((i64)outer * TAPS + first) * V_PITCH + v;
  // All are loaded before any is stored.
  Element pairs[W_TOGETHER][2];
#pragma unroll
  for (i32 j = 0; j < W_TOGETHER; ++j) {
    const i32 tap = TAPS % W_TOGETHER == 0 || first + j < TAPS ? first + j : TAPS - 1;
    pairs[j][0] = tapOfW(OPERANDS, g, o, v, tap);
    pairs[j][1] = tapOfW(OPERANDS, g, o, v + 1, tap);
  }
#pragma unroll
  for (i32 j = 0; j < W_TOGETHER; ++j) {
    if (TAPS % W_TOGETHER != 0 && first + j >= TAPS)
      continue;
    Element *const at = to + (i64)j * V_PITCH;
#if HALVES == 2
    *(uint2 *)at = make_uint2(pairs[j][0], pairs[j][1]);
#else
    *(u32 *)at = (u32)pairs[j][0] | (u32)pairs[j][1] << 16;
#endif
  }
}

extern "C" __global__ void __launch_bounds__(256) pack(Element *x, Element *w, OPERAND_PARAMETERS) {
#if !LOADS_X
  if (blockIdx.x >= W_BLOCKS)
    packX(blockIdx.x - W_BLOCKS, x, OPERANDS);
  else
#endif
    packW(blockIdx.x, w, OPERANDS);
  launchNext();
}
