// A product of two 512x512 matrices of f16, plain, in float.
#include <cuda_fp16.h>

extern "C" __global__ void baseline(const __half *a, const __half *b, __half *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 512; ++k)
    sum += (float)__half2float(a[m * 512 + k]) * __half2float(b[k * 512 + n]);
  c[m * 512 + n] = __float2half_rn(sum);
}
