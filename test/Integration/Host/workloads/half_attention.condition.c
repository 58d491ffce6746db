// Condition numbers of half_attention.
#include "condition.h"
#include "workloads.h"

static void row(const _Float16 *q, const _Float16 *k, const _Float16 *v,
                double *out) {
  Value logits[HalfKeys], most = constant(-INFINITY);
  for (int j = 0; j < HalfKeys; ++j) {
    Sum dot = noTerms();
    for (int d = 0; d < HalfHead; ++d)
      add(&dot, times(operand(q[d]), operand(k[j * HalfHead + d])));
    logits[j] = scaled(total(dot), 0.25);
    most = larger(logits[j], most);
  }
  Sum sum = noTerms(), sums[HalfHead];
  for (int d = 0; d < HalfHead; ++d)
    sums[d] = noTerms();
  for (int j = 0; j < HalfKeys; ++j)
    add(&sum, expOf(minus(logits[j], most)));
  for (int j = 0; j < HalfKeys; ++j) {
    // torch keeps the probabilities in f16.
    Value p = storedF16(over(expOf(minus(logits[j], most)), total(sum)));
    for (int d = 0; d < HalfHead; ++d)
      add(&sums[d], times(p, operand(v[j * HalfHead + d])));
  }
  for (int d = 0; d < HalfHead; ++d)
    out[d] = storedF16(total(sums[d])).k;
}

void fastk_kernel(const _Float16 *q, const _Float16 *k, const _Float16 *v,
                  double *out) {
  for (int i = 0; i < HalfQueries; ++i)
    row(q + i * HalfHead, k, v, out + i * HalfHead);
}
