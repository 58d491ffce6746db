// Condition numbers of half_matmul.
#include <cuda_fp16.h>

extern "C" __global__ void condition(const __half *a, const __half *b, double *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  Sum sum = noTerms();
  for (int k = 0; k < 512; ++k)
    add(&sum, times(operand(__half2float(a[m * 512 + k])),
                    operand(__half2float(b[k * 512 + n]))));
  c[m * 512 + n] = storedF16(total(sum)).k;
}
