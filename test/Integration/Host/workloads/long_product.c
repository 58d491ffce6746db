// Oracle (T is double) and baseline (float) of long_product.
#include "workloads.h"

void fastk_kernel(const float *a, const float *b, T *c) {
  longProduct(a, b, c);
}
