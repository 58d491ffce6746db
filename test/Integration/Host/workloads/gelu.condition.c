// Condition numbers of gelu.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < Points; ++i) {
    Value inside = scaled(operand(x[i]), 0.70710678118654752);
    Value outside = plus(constant(1), erfOf(inside));
    k[i] = times(scaled(operand(x[i]), 0.5), outside).k;
  }
}
