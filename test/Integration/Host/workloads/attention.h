// Attention. Included by workloads.h.
#ifndef ATTENTION_H
#define ATTENTION_H

enum { Queries = 48, Keys = 64, Head = 16 };

/// One row; what is added to the logits is a bias or a mask. A row without any
/// key is zero, as in torch.
static inline void attentionOfRow(const float *q, const float *k,
                                  const float *v, const float *added, T *y) {
  T logits[Keys], most = -INFINITY, sum = 0, out[Head] = {0};
  int keys = 0;
  for (int j = 0; j < Keys; ++j) {
    T dot = 0;
    for (int d = 0; d < Head; ++d)
      dot += (T)q[d] * k[j * Head + d];
    logits[j] = dot * (T)0.25 + added[j];
    most = logits[j] > most ? logits[j] : most;
    keys += logits[j] != -INFINITY;
  }
  for (int j = 0; j < Keys && keys; ++j) {
    T p = MATH(exp, logits[j] - most);
    sum += p;
    for (int d = 0; d < Head; ++d)
      out[d] += p * v[j * Head + d];
  }
  for (int d = 0; d < Head; ++d)
    y[d] = keys ? out[d] / sum : 0;
}

static inline void attention(const float *q, const float *k, const float *v,
                             const float *added, T *y) {
  for (int i = 0; i < Queries; ++i)
    attentionOfRow(q + i * Head, k, v, added + i * Keys, y + i * Head);
}

#endif
