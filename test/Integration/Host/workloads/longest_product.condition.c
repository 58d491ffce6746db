// Condition numbers of longest_product.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *a, const float *b, double *c) {
  for (int i = 0; i < LongestM; ++i)
    for (int j = 0; j < LongestN; ++j) {
      Sum sum = noTerms();
      for (int k = 0; k < LongestK; ++k)
        add(&sum,
            times(operand(a[i * LongestK + k]), operand(b[k * LongestN + j])));
      c[i * LongestN + j] = total(sum).k;
    }
}
