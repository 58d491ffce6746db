#define BLOCK 512 // tune: 256, 512, 1024

void fastk_kernel(const float *restrict in0, float *restrict out0, void *workspace) {
  for (int begin = 0; begin < 8192; begin += BLOCK)
    for (int i = begin; i < begin + BLOCK; ++i)
      out0[i] = in0[i] != in0[i] || in0[i] > 0.0f ? in0[i] : 0.0f;
}
