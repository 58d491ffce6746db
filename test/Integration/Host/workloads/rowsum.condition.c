// Condition numbers of rowsum.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, double *k) {
  for (int i = 0; i < RowsumRows; ++i) {
    Sum sum = noTerms();
    for (int j = 0; j < RowsumRow; ++j)
      add(&sum, operand(x[i * RowsumRow + j]));
    k[i] = total(sum).k;
  }
}
