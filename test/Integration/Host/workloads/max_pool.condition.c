// Condition numbers of max_pool.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  // An operand: exact.
  (void)x;
  memset(k, 0, PoolChannels * Pooled * Pooled * sizeof(double));
}
