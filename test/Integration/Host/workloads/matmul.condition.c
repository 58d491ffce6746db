// Condition numbers of matmul.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *a, const float *b, double *c) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      Sum sum = noTerms();
      for (int k = 0; k < K; ++k)
        add(&sum, times(operand(a[i * K + k]), operand(b[k * N + j])));
      c[i * N + j] = total(sum).k;
    }
}
