// Condition numbers of softmax.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < SoftmaxRows; ++i) {
    const float *row = x + i * SoftmaxRow;
    Value most = exact(row[0]);
    for (int j = 0; j < SoftmaxRow; ++j)
      most = larger(exact(row[j]), most);
    Sum sum = noTerms();
    for (int j = 0; j < SoftmaxRow; ++j)
      add(&sum, expOf(minus(exact(row[j]), most)));
    for (int j = 0; j < SoftmaxRow; ++j) {
      Value p = over(expOf(minus(exact(row[j]), most)), total(sum));
      k[i * SoftmaxRow + j] = p.k;
    }
  }
}
