// y = 2 x + 1 after work of a known length.
//   T         float, or double for the oracle
//   LENGTH    of the work, of each thread
//   BARRIERS  so many parts of it, each awaited by all threads; 0: one thread

#ifndef T
#define T float
#endif
#define COUNT 4096

static void work(long length) {
  volatile float sink = 0;
  for (long i = 0; i < length; ++i)
    sink = sink + 1;
}

void fastk_kernel(const float *x, T *y, void *workspace) {
#if BARRIERS > 0
#pragma omp parallel
  for (int part = 0; part < BARRIERS; ++part) {
    work(LENGTH / BARRIERS);
#pragma omp barrier
  }
#else
  work(LENGTH);
#endif
  for (int i = 0; i < COUNT; ++i)
    y[i] = 2 * (T)x[i] + 1;
}
