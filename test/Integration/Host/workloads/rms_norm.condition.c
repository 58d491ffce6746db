// Condition numbers of rms_norm.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, const float *scale, double *k) {
  for (int i = 0; i < RmsRows; ++i) {
    const float *row = x + i * RmsRow;
    Sum squares = noTerms();
    for (int j = 0; j < RmsRow; ++j)
      add(&squares, times(operand(row[j]), operand(row[j])));
    Value mean = scaled(total(squares), 1.0 / RmsRow);
    Value factor = rsqrtOf(plus(mean, constant(1e-5)));
    for (int j = 0; j < RmsRow; ++j)
      k[i * RmsRow + j] =
          times(times(operand(row[j]), factor), operand(scale[j])).k;
  }
}
