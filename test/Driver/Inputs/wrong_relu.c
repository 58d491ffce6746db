/* The oracle of relu.mlir as a wrong lowering might make it: negative numbers pass. */
void fastk_kernel(const float *x, double *y, void *workspace) {
  for (int i = 0; i < 64 * 128; ++i)
    y[i] = x[i];
}
