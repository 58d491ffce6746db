// A B^T of 8448 x 256 and 64 x 256 f16, plain, in double.
#include <cuda_fp16.h>

extern "C" __global__ void oracle(const __half *a, const __half *b, double *c) {
  int column = threadIdx.x, row = blockIdx.x * 4 + threadIdx.y;
  double sum = 0;
  for (int k = 0; k < 256; ++k)
    sum += (double)__half2float(a[row * 256 + k]) * (double)__half2float(b[column * 256 + k]);
  c[row * 64 + column] = sum;
}
