#include <stdint.h>
typedef int32_t vec __attribute__((vector_size(64), aligned(4)));

/* Two rows of 32 columns stay in registers while the rows of b stream by. */
void fastk_kernel(const int32_t *restrict a, const int32_t *restrict b,
                  int32_t *restrict c, void *workspace) {
  (void)workspace;
#pragma omp parallel for
  for (int i = 0; i < 128; i += 2)
    for (int j = 0; j < 128; j += 32) {
      const vec zero = {0};
      vec c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0};
      for (int k = 0; k < 128; ++k) {
        const vec b0 = *(const vec *)(b + k * 128 + j);
        const vec b1 = *(const vec *)(b + k * 128 + j + 16);
        c00 += a[i * 128 + k] * b0;
        c01 += a[i * 128 + k] * b1;
        c10 += a[(i + 1) * 128 + k] * b0;
        c11 += a[(i + 1) * 128 + k] * b1;
      }
      *(vec *)(c + i * 128 + j) = c00 & (c00 > zero);
      *(vec *)(c + i * 128 + j + 16) = c01 & (c01 > zero);
      *(vec *)(c + (i + 1) * 128 + j) = c10 & (c10 > zero);
      *(vec *)(c + (i + 1) * 128 + j + 16) = c11 & (c11 > zero);
    }
}
