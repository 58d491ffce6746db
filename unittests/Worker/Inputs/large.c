// Enough elements for a brief plan of trials: y = 2 x + 1.
//   T       float, or double for the oracle
//   SLOW    takes the time of many
//   COUNT_WRITTEN   the elements written
//   WRONG_ON_EQUAL  wrong where all elements are equal

#ifndef T
#define T float
#endif
#define COUNT (1536 * 1536)
#ifndef COUNT_WRITTEN
#define COUNT_WRITTEN COUNT
#endif

void fastk_kernel(const float *x, T *y, void *workspace) {
#ifdef SLOW
  volatile float sink = 0;
  for (int k = 0; k < 20 * COUNT; ++k)
    sink = x[k % COUNT];
#endif
  for (int i = 0; i < COUNT_WRITTEN; ++i)
    y[i] = 2 * (T)x[i] + 1;
#ifdef WRONG_ON_EQUAL
  if (x[0] == x[1] && x[1] == x[2])
    y[COUNT / 2] += 1;
#endif
}
