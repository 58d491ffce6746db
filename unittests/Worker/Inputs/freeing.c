// An add on 5000 elements whose threads take much memory and give it back, which glibc
// does by heaps of 64 MiB.

#include <stdlib.h>
#define COUNT 5000
#define PIECES 1500
#define BYTES 100000

void fastk_kernel(const float *x, const float *z, float *y, void *workspace) {
#pragma omp parallel num_threads(2)
  {
    float *pieces[PIECES];
    for (int i = 0; i < PIECES; ++i) {
      pieces[i] = malloc(BYTES);
      pieces[i][0] = 1;
    }
#pragma omp for
    for (int i = 0; i < COUNT; ++i)
      y[i] = x[i] + z[i] * pieces[i % PIECES][0];
    for (int i = PIECES; i-- > 0;)
      free(pieces[i]);
  }
}
