// Condition numbers of long_product.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *a, const float *b, double *c) {
  for (int i = 0; i < LongM; ++i)
    for (int j = 0; j < LongN; ++j) {
      Sum sum = noTerms();
      for (int k = 0; k < LongK; ++k)
        add(&sum, times(operand(a[i * LongK + k]), operand(b[k * LongN + j])));
      c[i * LongN + j] = total(sum).k;
    }
}
