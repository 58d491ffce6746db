// Condition numbers of gelu_tanh.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < Points; ++i) {
    Value cubed = times(times(operand(x[i]), operand(x[i])), operand(x[i]));
    Value inside = plus(operand(x[i]), scaled(cubed, 0.044715));
    inside = scaled(inside, 0.79788456080286536);
    Value outside = plus(constant(1), tanhOf(inside));
    k[i] = times(scaled(operand(x[i]), 0.5), outside).k;
  }
}
