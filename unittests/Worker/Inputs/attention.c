// Attention: two heads, 40 queries and 48 keys of 32 elements.
//   T        float, or double for the oracle
//   VARIANT  0 the usual way; others are named below

#include <math.h>
#define HEADS 2
#define QUERIES 40
#define KEYS 48
#define DEPTH 32
#ifndef T
#define T float
#endif
#ifndef VARIANT
#define VARIANT 0
#endif
#define ONLINE 1    // one pass over the keys, as flash attention does
#define NOMAX 2     // exp of the logits as they are
#define FROM_ZERO 3 // one pass, the running maximum starting at 0
#define AS_MASK 4   // a bias below 0 is taken for -inf, any other for 0
#define NO_GUARD 5  // one pass; a row that begins masked becomes NaN
#define SAFE 6      // an empty row is 0
// MASKED: a fourth operand, of queries by keys, is added to the logits.

static T power(T x) { return sizeof(T) == 8 ? exp(x) : (T)expf((float)x); }

static T logit(const float *q, const float *k) {
  T sum = 0;
  for (int d = 0; d < DEPTH; ++d)
    sum += (T)q[d] * (T)k[d];
  return sum * (T)0.17677669529663688110;
}

static void row(const float *q, const float *k, const float *v,
                const float *mask, T *o) {
  T sum = 0;
  for (int d = 0; d < DEPTH; ++d)
    o[d] = 0;
#if VARIANT == ONLINE || VARIANT == FROM_ZERO || VARIANT == NO_GUARD
  T largest = VARIANT == FROM_ZERO ? 0 : -INFINITY;
  for (int j = 0; j < KEYS; ++j) {
    T x = logit(q, k + j * DEPTH) + (mask ? mask[j] : 0);
    T next = x > largest ? x : largest;
    if (VARIANT == ONLINE && x == -INFINITY)
      continue;
    T scale = power(largest - next), weight = power(x - next);
    sum = sum * scale + weight;
    for (int d = 0; d < DEPTH; ++d)
      o[d] = o[d] * scale + weight * v[j * DEPTH + d];
    largest = next;
  }
#else
  T x[KEYS], largest = -INFINITY;
  for (int j = 0; j < KEYS; ++j) {
    T added = mask ? mask[j] : 0;
    if (VARIANT == AS_MASK)
      added = added < 0 ? -INFINITY : 0;
    x[j] = logit(q, k + j * DEPTH) + added;
    largest = x[j] > largest ? x[j] : largest;
  }
  if (VARIANT == NOMAX)
    largest = 0;
  for (int j = 0; j < KEYS; ++j)
    sum += x[j] = power(x[j] - largest);
  for (int j = 0; j < KEYS; ++j)
    for (int d = 0; d < DEPTH; ++d)
      o[d] += x[j] * v[j * DEPTH + d];
#endif
  for (int d = 0; d < DEPTH; ++d)
    o[d] = VARIANT == SAFE && !(sum > 0) ? 0 : o[d] / sum;
}

#ifdef MASKED
void fastk_kernel(const float *q, const float *k, const float *v,
                  const float *mask, T *o, void *workspace) {
#else
void fastk_kernel(const float *q, const float *k, const float *v, T *o,
                  void *workspace) {
  const float *mask = 0;
#endif
  for (int h = 0; h < HEADS; ++h)
    for (int i = 0; i < QUERIES; ++i)
      row(q + (h * QUERIES + i) * DEPTH, k + h * KEYS * DEPTH,
          v + h * KEYS * DEPTH, mask ? mask + i * KEYS : mask,
          o + (h * QUERIES + i) * DEPTH);
}
