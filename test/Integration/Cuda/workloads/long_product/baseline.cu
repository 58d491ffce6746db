// A product of 64x8192 and 8192x64, plain, plain, in float.

extern "C" __global__ void baseline(const float *a, const float *b, float *c) {
  int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 8192; ++k)
    sum += (float)a[m * 8192 + k] * (float)b[k * 64 + n];
  c[m * 64 + n] = sum;
}
