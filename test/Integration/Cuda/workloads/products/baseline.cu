// A B^T of 8448 x 256 and 64 x 256 f16, plain, in float.
#include <cuda_fp16.h>

extern "C" __global__ void baseline(const __half *a, const __half *b, float *c) {
  int column = threadIdx.x, row = blockIdx.x * 4 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < 256; ++k)
    sum += (float)__half2float(a[row * 256 + k]) * (float)__half2float(b[column * 256 + k]);
  c[row * 64 + column] = sum;
}
