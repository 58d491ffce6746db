// Condition numbers of half_attention.
#include <cuda_fp16.h>

__device__ Value logitOf(const __half *q, const __half *k) {
  Sum dot = noTerms();
  for (int d = 0; d < 32; ++d)
    add(&dot, times(operand(__half2float(q[d])), operand(__half2float(k[d]))));
  return scaled(total(dot), 0.1767766952966369);
}

extern "C" __global__ void condition(const __half *q, const __half *k, const __half *v,
                                     double *out) {
  int i = blockIdx.x * 32 + threadIdx.x;
  Value largest = constant(-FASTK_INFINITY);
  for (int j = 0; j < 256; ++j)
    largest = larger(logitOf(q + i * 32, k + j * 32), largest);
  Sum sum = noTerms(), sums[32];
  for (int d = 0; d < 32; ++d)
    sums[d] = noTerms();
  for (int j = 0; j < 256; ++j)
    add(&sum, expOf(minus(logitOf(q + i * 32, k + j * 32), largest)));
  for (int j = 0; j < 256; ++j) {
    Value e = expOf(minus(logitOf(q + i * 32, k + j * 32), largest));
    // torch keeps the probabilities in f16.
    Value p = storedF16(over(e, total(sum)));
    for (int d = 0; d < 32; ++d)
      add(&sums[d], times(p, operand(__half2float(v[j * 32 + d]))));
  }
  for (int d = 0; d < 32; ++d)
    out[i * 32 + d] = storedF16(total(sums[d])).k;
}
