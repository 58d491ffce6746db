// A product of 64x8192 and 8192x64, plain, plain, in double.

extern "C" __global__ void oracle(const float *a, const float *b, double *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  double sum = 0;
  for (int k = 0; k < 8192; ++k)
    sum += (double)a[m * 8192 + k] * (double)b[k * 64 + n];
  c[m * 64 + n] = sum;
}
