// A product of two 512x512 matrices of f16, plain, in double.
#include <cuda_fp16.h>

extern "C" __global__ void oracle(const __half *a, const __half *b, double *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  double sum = 0;
  for (int k = 0; k < 512; ++k)
    sum += (double)__half2float(a[m * 512 + k]) * __half2float(b[k * 512 + n]);
  c[m * 512 + n] = sum;
}
