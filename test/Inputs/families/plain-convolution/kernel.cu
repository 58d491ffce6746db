// A thread for each element of the result; where two neighbours of 16 bits are finished at once, one thread for both.
#define THREADS 256 // tune: 128, 256
#define ELEMENTS (BATCH * GROUPS * OUT_CHANNELS * OUT_Z * OUT_Y * OUT_X)
#define HAS_PAIRS (OUT_BITS == 16 && (PAIRS_ALONG_G || PAIRS_ALONG_O || PAIRS_ALONG_X))

static FASTK_DEVICE float sumOf(OPERAND_PARAMETERS, i32 n, i32 g, i32 o, i32 z, i32 y, i32 x) {
  float sum = 0.0f;
  for (i32 c = 0; c < IN_CHANNELS; ++c)
    for (i32 kz = 0; kz < KERNEL_Z; ++kz)
      for (i32 ky = 0; ky < KERNEL_Y; ++ky)
        for (i32 kx = 0; kx < KERNEL_X; ++kx)
          sum = fmaf((float)paddedX(OPERANDS, n, g, c, z * STRIDE_Z + kz * DILATION_Z - PADDING_Z,
                                    y * STRIDE_Y + ky * DILATION_Y - PADDING_Y,
                                    x * STRIDE_X + kx * DILATION_X - PADDING_X),
                     (float)elementW(OPERANDS, g, o, c, kz, ky, kx), sum);
  return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) convolve(OUT_TYPE *out, OPERAND_PARAMETERS) {
  const i64 element = (i64)blockIdx.x * THREADS + threadIdx.x;
  if (element >= ELEMENTS)
    return;
  i32 rest = (i32)element;
  const i32 x = rest % OUT_X;
  rest /= OUT_X;
  const i32 y = rest % OUT_Y;
  rest /= OUT_Y;
  const i32 z = rest % OUT_Z;
  rest /= OUT_Z;
  const i32 o = rest % OUT_CHANNELS;
  rest /= OUT_CHANNELS;
  const i32 g = rest % GROUPS, n = rest / GROUPS;
  const float sum = sumOf(OPERANDS, n, g, o, z, y, x);
#if HAS_PAIRS
  const i32 along = PAIRS_ALONG_G ? g : PAIRS_ALONG_O ? o : x;
  if (along % 2 == 1)
    return;
  if (along + 1 < (PAIRS_ALONG_G ? GROUPS : PAIRS_ALONG_O ? OUT_CHANNELS : OUT_X)) {
    const float next = sumOf(OPERANDS, n, g + PAIRS_ALONG_G, o + PAIRS_ALONG_O, z, y, x + PAIRS_ALONG_X);
    const u32 both = finish2(OPERANDS, n, g, o, z, y, x, sum, next);
    // Where rows are of an odd number, a pair begins at no multiple of 4 bytes.
    u16 *const to = (u16 *)out + outOffset(n, g, o, z, y, x);
    to[0] = (u16)both;
    to[1] = (u16)(both >> 16);
    return;
  }
#endif
  out[outOffset(n, g, o, z, y, x)] = finish(OPERANDS, n, g, o, z, y, x, sum);
}
