// Condition numbers of matmul.

extern "C" __global__ void condition(const float *a, const float *b, double *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  Sum sum = noTerms();
  for (int k = 0; k < 256; ++k)
    add(&sum, times(operand(a[m * 256 + k]), operand(b[k * 256 + n])));
  c[m * 256 + n] = total(sum).k;
}
