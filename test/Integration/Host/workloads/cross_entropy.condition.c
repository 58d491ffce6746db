// Condition numbers of cross_entropy.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, const int64_t *labels, double *k) {
  for (int i = 0; i < Labels; ++i) {
    const float *row = x + i * Classes;
    Value most = operand(row[0]);
    for (int j = 0; j < Classes; ++j)
      most = larger(operand(row[j]), most);
    Sum sum = noTerms();
    for (int j = 0; j < Classes; ++j)
      add(&sum, expOf(minus(operand(row[j]), most)));
    Value distance = minus(most, operand(row[classOf(labels[i])]));
    Value loss = plus(logOf(total(sum)), distance);
    k[i] = labels[i] == Ignored ? 0 : loss.k;
  }
}
