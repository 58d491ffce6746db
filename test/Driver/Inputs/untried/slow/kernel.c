void fastk_kernel(const float *restrict in0, float *restrict out0, void *workspace) {
  for (int i = 0; i < 8192; ++i) {
    volatile float x = in0[i];
    for (int wait = 0; wait < 200; ++wait)
      x = x;
    out0[i] = x != x || x > 0.0f ? x : 0.0f;
  }
}
