// Condition numbers of half_softmax.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const _Float16 *x, double *k) {
  for (int i = 0; i < HalfRows; ++i) {
    const _Float16 *row = x + i * HalfRow;
    Value most = operand(row[0]);
    for (int j = 0; j < HalfRow; ++j)
      most = larger(operand(row[j]), most);
    Sum sum = noTerms();
    for (int j = 0; j < HalfRow; ++j)
      add(&sum, expOf(minus(operand(row[j]), most)));
    for (int j = 0; j < HalfRow; ++j) {
      Value p = over(expOf(minus(operand(row[j]), most)), total(sum));
      k[i * HalfRow + j] = storedF16(p).k;
    }
  }
}
