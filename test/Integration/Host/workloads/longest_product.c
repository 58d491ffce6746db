// Oracle (T is double) and baseline (float) of longest_product.
#include "workloads.h"

void fastk_kernel(const float *a, const float *b, T *c) {
  longestProduct(a, b, c);
}
