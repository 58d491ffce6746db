// Condition numbers of transpose.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  // An operand: exact.
  (void)x;
  memset(k, 0, Points * sizeof(double));
}
