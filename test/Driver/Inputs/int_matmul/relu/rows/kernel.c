#include <stdint.h>
void fastk_kernel(const int32_t *restrict a, const int32_t *restrict b,
                  int32_t *restrict c, void *workspace) {
  (void)workspace;
  for (int i = 0; i < 128; ++i) {
    for (int j = 0; j < 128; ++j)
      c[i * 128 + j] = 0;
    for (int k = 0; k < 128; ++k)
      for (int j = 0; j < 128; ++j)
        c[i * 128 + j] += a[i * 128 + k] * b[k * 128 + j];
    for (int j = 0; j < 128; ++j)
      if (c[i * 128 + j] < 0)
        c[i * 128 + j] = 0;
  }
}
