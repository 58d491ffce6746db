// A block for each row, which is read once more in each pass.
#define THREADS 256 // tune: 128, 256
#define VECTORS (COLUMNS / COLUMN_VECTOR)

template <int STAGE> static FASTK_DEVICE void pass(OPERAND_PARAMETERS, i32 r, Statistics &done, Statistics *all) {
  Statistics part;
  beginStage<STAGE>(part);
  for (i32 i = threadIdx.x; i < VECTORS; i += THREADS) {
    Values v[COLUMN_VECTOR];
    loadColumns(OPERANDS, r, i * COLUMN_VECTOR, v);
    addColumns<STAGE>(OPERANDS, r, i * COLUMN_VECTOR, v, done, part);
  }
  all[threadIdx.x] = part;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      joinStage<STAGE>(all[threadIdx.x], all[threadIdx.x + half]);
  }
  __syncthreads();
  endStage<STAGE>(OPERANDS, r, all[0], done);
  __syncthreads();
}

template <int STAGE> static FASTK_DEVICE void passes(OPERAND_PARAMETERS, i32 r, Statistics &done, Statistics *all) {
  if constexpr (STAGE < STAGES) {
    pass<STAGE>(OPERANDS, r, done, all);
    passes<STAGE + 1>(OPERANDS, r, done, all);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) reduceRows(OUT_TYPE *out, OPERAND_PARAMETERS) {
  __shared__ Statistics all[THREADS];
  const i32 r = blockIdx.x;
  Statistics done;
  passes<0>(OPERANDS, r, done, all);
#if PER_ROW
  if (threadIdx.x == 0)
    finishRow(out, OPERANDS, r, done);
#else
  for (i32 i = threadIdx.x; i < VECTORS; i += THREADS) {
    Values v[COLUMN_VECTOR];
    loadColumns(OPERANDS, r, i * COLUMN_VECTOR, v);
    finishColumns(out, OPERANDS, r, i * COLUMN_VECTOR, v, done);
  }
#endif
}
