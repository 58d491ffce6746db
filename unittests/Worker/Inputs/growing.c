// An add on 5000 elements that takes longer with every call: one for each it had.

void fastk_kernel(const float *x, const float *z, float *y, void *workspace) {
  static volatile long calls;
  for (long i = 0; i < 5000; ++i)
    y[i] = x[i] + z[i];
  calls = calls + 1;
  for (volatile long i = 0; i < 200 * calls; ++i)
    ;
}
