// A product of two 256x256 matrices, plain, in float.

extern "C" __global__ void baseline(const float *a, const float *b, float *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 256; ++k)
    sum += a[m * 256 + k] * b[k * 256 + n];
  c[m * 256 + n] = sum;
}
