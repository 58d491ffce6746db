// Condition numbers of layernorm.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, const float *scale, const float *bias,
                  double *k) {
  for (int i = 0; i < LayernormRows; ++i) {
    const float *row = x + i * LayernormRow;
    Sum sum = noTerms(), squares = noTerms();
    for (int j = 0; j < LayernormRow; ++j)
      add(&sum, operand(row[j]));
    Value mean = scaled(total(sum), 1.0 / LayernormRow);
    for (int j = 0; j < LayernormRow; ++j) {
      Value d = minus(operand(row[j]), mean);
      add(&squares, times(d, d));
    }
    Value variance = scaled(total(squares), 1.0 / LayernormRow);
    Value factor = rsqrtOf(plus(variance, constant(1e-5)));
    for (int j = 0; j < LayernormRow; ++j) {
      Value normal = times(minus(operand(row[j]), mean), factor);
      k[i * LayernormRow + j] =
          plus(times(normal, operand(scale[j])), operand(bias[j])).k;
    }
  }
}
