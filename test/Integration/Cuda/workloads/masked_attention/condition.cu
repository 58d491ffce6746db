// Condition numbers of masked_attention.

__device__ Value logitOf(const float *q, const float *k, float added) {
  if (added == -FASTK_INFINITY) // What the mask hides has no error.
    return operand(added);
  Sum dot = noTerms();
  for (int d = 0; d < 32; ++d)
    add(&dot, times(operand(q[d]), operand(k[d])));
  return plus(scaled(total(dot), 0.1767766952966369), operand(added));
}

extern "C" __global__ void condition(const float *q, const float *k, const float *v,
                                     const float *added, double *out) {
  int i = blockIdx.x * 32 + threadIdx.x;
  Value largest = constant(-FASTK_INFINITY);
  for (int j = 0; j < 256; ++j)
    largest = larger(logitOf(q + i * 32, k + j * 32, added[i * 256 + j]), largest);
  Sum sum = noTerms(), sums[32];
  for (int d = 0; d < 32; ++d)
    sums[d] = noTerms();
  for (int j = 0; j < 256; ++j) {
    Value logit = logitOf(q + i * 32, k + j * 32, added[i * 256 + j]);
    if (logit.v == -FASTK_INFINITY)
      continue;
    Value p = expOf(minus(logit, largest));
    add(&sum, p);
    for (int d = 0; d < 32; ++d)
      add(&sums[d], times(p, operand(v[j * 32 + d])));
  }
  for (int d = 0; d < 32; ++d)
    out[i * 32 + d] = sum.terms ? over(total(sums[d]), total(sum)).k : 0;
}
