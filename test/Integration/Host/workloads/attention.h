// Attention. Included by workloads.h.
#ifndef ATTENTION_H
#define ATTENTION_H

enum { Queries = 48, Keys = 64, Head = 16 };
enum { HalfQueries = 48, HalfKeys = 128, HalfHead = 16 };

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

/// In f16, as torch does it: probabilities are rounded to f16 before the second
/// product. In an oracle nothing is.
static inline void halfAttention(const _Float16 *q, const _Float16 *k,
                                 const _Float16 *v, HalfResult *y) {
  for (int i = 0; i < HalfQueries; ++i) {
    T logits[HalfKeys], most = -INFINITY, sum = 0, out[HalfHead] = {0};
    for (int j = 0; j < HalfKeys; ++j) {
      T dot = 0;
      for (int d = 0; d < HalfHead; ++d)
        dot += (T)q[i * HalfHead + d] * (T)k[j * HalfHead + d];
      logits[j] = dot * (T)0.25;
      most = logits[j] > most ? logits[j] : most;
    }
    for (int j = 0; j < HalfKeys; ++j)
      sum += MATH(exp, logits[j] - most);
    for (int j = 0; j < HalfKeys; ++j) {
      HalfResult p = (HalfResult)(MATH(exp, logits[j] - most) / sum);
      for (int d = 0; d < HalfHead; ++d)
        out[d] += (T)p * (T)v[j * HalfHead + d];
    }
    for (int d = 0; d < HalfHead; ++d)
      y[i * HalfHead + d] = (HalfResult)out[d];
  }
}

#endif
