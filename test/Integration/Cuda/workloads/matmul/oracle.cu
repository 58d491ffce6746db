// A product of two 256x256 matrices, plain, in double.

extern "C" __global__ void oracle(const float *a, const float *b, double *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  double sum = 0;
  for (int k = 0; k < 256; ++k)
    sum += (double)a[m * 256 + k] * (double)b[k * 256 + n];
  c[m * 256 + n] = sum;
}
