// Condition numbers of exponential.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < Points; ++i)
    k[i] = expOf(operand(x[i])).k;
}
