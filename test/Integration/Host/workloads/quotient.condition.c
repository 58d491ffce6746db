// Condition numbers of quotient.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *a, const float *b, double *k) {
  for (int i = 0; i < Points; ++i)
    k[i] = over(operand(a[i]), operand(b[i])).k;
}
