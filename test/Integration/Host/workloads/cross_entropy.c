// Oracle (T is double) and baseline (float) of cross_entropy.
#include "workloads.h"

void fastk_kernel(const float *x, const int64_t *labels, T *y) {
  crossEntropy(x, labels, y);
}
