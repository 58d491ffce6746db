// Sum over rows of 200: 7 rows.
#ifndef T
#define T float
#endif
#define ROWS 7
#define COLS 200
void fastk_kernel(const float *x, T *y, void *workspace) {
  for (int r = 0; r < ROWS; ++r) {
#ifdef LANES
    T part[16] = {0};
    for (int i = 0; i < COLS; ++i)
      part[i % 16] += x[r * COLS + i];
    T sum = 0;
    for (int i = 0; i < 16; ++i)
      sum += part[i];
#elif defined(SAMPLED)
    T sum = 0;
    for (int i = 0; i < COLS; i += 2)
      sum += 2 * (T)x[r * COLS + i];
#else
    T sum = 0;
    for (int i = 0; i < COLS; ++i)
      sum += x[r * COLS + i];
#endif
    y[r] = sum;
  }
}
