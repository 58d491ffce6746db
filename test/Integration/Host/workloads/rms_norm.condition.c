// Condition numbers of rms_norm.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, const float *scale, double *k) {
  for (int i = 0; i < RmsRows; ++i) {
    const float *row = x + i * RmsRow;
    Sum squares = noTerms();
    for (int j = 0; j < RmsRow; ++j)
      add(&squares, times(exact(row[j]), exact(row[j])));
    Value mean = scaled(total(squares), 1.0 / RmsRow);
    Value factor = rsqrtOf(plus(mean, exact(1e-5)));
    for (int j = 0; j < RmsRow; ++j)
      k[i * RmsRow + j] =
          times(times(exact(row[j]), factor), exact(scale[j])).k;
  }
}
