// Oracle (T is double) and baseline (float) of int_quotient.
#include "workloads.h"

void fastk_kernel(const int32_t *a, const int32_t *b, int32_t *y) {
  intQuotient(a, b, y);
}
