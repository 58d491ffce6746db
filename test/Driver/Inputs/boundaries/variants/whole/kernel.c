#include <stdint.h>
void fastk_kernel(const int32_t *restrict a, const int32_t *restrict b,
                  const int32_t *restrict bias, int32_t *restrict c,
                  void *workspace) {
  (void)workspace;
  for (int i = 0; i < 192; ++i)
    for (int j = 0; j < 192; ++j) {
      int32_t sum = bias[j];
      for (int k = 0; k < 192; ++k)
        sum += a[i * 192 + k] * b[k * 192 + j];
      c[i * 192 + j] = sum;
    }
}
