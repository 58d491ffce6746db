// Oracle (T is double) and baseline (float) of int_product.
#include "workloads.h"

void fastk_kernel(const int32_t *a, const int32_t *b, int32_t *c) {
  intProduct(a, b, c);
}
