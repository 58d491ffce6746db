// Condition numbers of masked_attention.
#include "condition.h"
#include "workloads.h"

static void row(const float *q, const float *k, const float *v,
                const float *added, double *out) {
  Value logits[Keys], most = constant(-INFINITY);
  for (int j = 0; j < Keys; ++j) {
    Sum dot = noTerms();
    for (int d = 0; d < Head; ++d)
      add(&dot, times(operand(q[d]), operand(k[j * Head + d])));
    // What the mask hides has no error.
    logits[j] = added[j] == -INFINITY
                    ? constant(-INFINITY)
                    : plus(scaled(total(dot), 0.25), operand(added[j]));
    most = larger(logits[j], most);
  }
  Sum sum = noTerms(), sums[Head];
  for (int d = 0; d < Head; ++d)
    sums[d] = noTerms();
  for (int j = 0; j < Keys; ++j) {
    if (logits[j].v == -INFINITY)
      continue;
    Value p = expOf(minus(logits[j], most));
    add(&sum, p);
    for (int d = 0; d < Head; ++d)
      add(&sums[d], times(p, operand(v[j * Head + d])));
  }
  for (int d = 0; d < Head; ++d)
    out[d] = sum.terms ? over(total(sums[d]), total(sum)).k : 0;
}

void fastk_kernel(const float *q, const float *k, const float *v,
                  const float *added, double *out) {
  for (int i = 0; i < Queries; ++i)
    row(q + i * Head, k, v, added + i * Keys, out + i * Head);
}
