// Condition numbers of softmax.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < SoftmaxRows; ++i) {
    const float *row = x + i * SoftmaxRow;
    Value most = operand(row[0]);
    for (int j = 0; j < SoftmaxRow; ++j)
      most = larger(operand(row[j]), most);
    Sum sum = noTerms();
    for (int j = 0; j < SoftmaxRow; ++j)
      add(&sum, expOf(minus(operand(row[j]), most)));
    for (int j = 0; j < SoftmaxRow; ++j) {
      Value p = over(expOf(minus(operand(row[j]), most)), total(sum));
      k[i * SoftmaxRow + j] = p.k;
    }
  }
}
