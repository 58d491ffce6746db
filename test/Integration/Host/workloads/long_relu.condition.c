// Condition numbers of relu, in two rows.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  // An operand or zero: exact.
  (void)x;
  memset(k, 0, ReluSize * sizeof(double));
}
