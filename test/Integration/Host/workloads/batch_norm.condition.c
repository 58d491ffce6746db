// Condition numbers of batch_norm.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, const float *mean, const float *variance,
                  const float *scale, const float *bias, double *k) {
  for (int i = 0; i < BnBatch * BnChannels; ++i) {
    int c = i % BnChannels;
    Value root = sqrtOf(plus(operand(variance[c]), constant(1e-5)));
    Value factor = over(operand(scale[c]), root);
    for (int j = i * BnPixels; j < (i + 1) * BnPixels; ++j) {
      Value d = minus(operand(x[j]), operand(mean[c]));
      k[j] = plus(times(d, factor), operand(bias[c])).k;
    }
  }
}
