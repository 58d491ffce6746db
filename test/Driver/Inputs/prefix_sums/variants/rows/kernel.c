#include <stdint.h>

/* A sum goes on from column to column, in arithmetic that wraps around. */
void fastk_kernel(const int32_t *restrict a, int32_t *restrict out,
                  void *workspace) {
  (void)workspace;
#pragma omp parallel for
  for (int i = 0; i < 256; ++i) {
    uint32_t total = 0;
    for (int j = 0; j < 256; ++j) {
      total += (uint32_t)a[i * 256 + j];
      const int32_t sum = (int32_t)total;
      out[i * 256 + j] = sum > 0 ? sum : 0;
    }
  }
}
