// Attention of 128 queries and 256 keys in f16, plain, in double.
#include <cuda_fp16.h>

extern "C" __global__ void oracle(const __half *q, const __half *k, const __half *v,
                                  double *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  double largest = -FASTK_INFINITY, sum = 0, out[32] = {0};
  for (int pass = 0; pass < 3; ++pass)
    for (int j = 0; j < 256; ++j) {
      double dot = 0;
      for (int d = 0; d < 32; ++d)
        dot += (double)__half2float(q[i * 32 + d]) * __half2float(k[j * 32 + d]);
      double logit = dot * (double)0.1767766952966369;
      if (pass == 0) {
        largest = logit > largest ? logit : largest;
      } else if (pass == 1) {
        sum += exp(logit - largest);
      } else {
        double p = exp(logit - largest) / sum;
        for (int d = 0; d < 32; ++d)
          out[d] += p * __half2float(v[j * 32 + d]);
      }
    }
  for (int d = 0; d < 32; ++d)
    y[i * 32 + d] = out[d];
}
