// Condition numbers of sine.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < Points; ++i)
    k[i] = sinOf(operand(x[i])).k;
}
