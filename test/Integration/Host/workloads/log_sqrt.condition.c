// Condition numbers of log_sqrt.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < Points; ++i)
    k[i] = x[i] > 0 ? times(logOf(operand(x[i])), sqrtOf(operand(x[i]))).k : 0;
}
