// Condition numbers of long_product.

extern "C" __global__ void condition(const float *a, const float *b, double *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  Sum sum = noTerms();
  for (int k = 0; k < 8192; ++k)
    add(&sum, times(operand(a[m * 8192 + k]), operand(b[k * 64 + n])));
  c[m * 64 + n] = total(sum).k;
}
